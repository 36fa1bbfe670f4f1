#include "surprise/packed_forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "common/checksum.hpp"
#include "surprise/packed_bytes.hpp"

namespace paribus {

namespace {

struct ForestHeader {
    std::uint64_t checksum;
    std::uint32_t magic, n_trees, n_features, flags;
    double low, steps_per_unit;
};

struct TreeEntry {
    std::uint64_t begin, size, checksum;
};

constexpr std::uint32_t magic = 0x32465350;  // "PSF2"
constexpr std::uint32_t wide_questions = 1, second_members_omitted = 2;

PackedLayout layout_of(std::uint32_t flags) {
    require_packed(flags <= (wide_questions | second_members_omitted));
    return {(flags & wide_questions) != 0, (flags & second_members_omitted) != 0};
}

bool has_members(const PackedLayout &layout, std::size_t tree) { return tree % 2 == 0 || !layout.omits_second_members; }

/// Writes the header and the places of trees, when these are known.
void seal(std::vector<std::uint8_t> &bytes, ForestHeader header, std::size_t directory,
          const std::vector<TreeEntry> &entries) {
    std::memcpy(bytes.data() + directory, entries.data(), entries.size() * sizeof(TreeEntry));
    const std::size_t described = directory + entries.size() * sizeof(TreeEntry);
    std::memcpy(bytes.data(), &header, sizeof header);
    header.checksum = checksum(bytes.data() + sizeof header.checksum, described - sizeof header.checksum);
    std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace

std::vector<std::uint8_t> PackedForest::pack(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features,
                                             const TargetGrid &grid, bool are_of_numbers, const TreeSamples &samples,
                                             const std::vector<TableTree> &trees) {
    ForestHeader header = {};
    header.magic = magic;
    header.n_trees = static_cast<std::uint32_t>(trees.size());
    header.n_features = static_cast<std::uint32_t>(features.size());
    if (features.size() > PackedTree::max_narrow_slots) header.flags |= wide_questions;
    if (are_of_numbers) header.flags |= second_members_omitted;
    header.low = grid.low;
    header.steps_per_unit = grid.steps_per_unit;
    const PackedLayout layout = layout_of(header.flags);
    std::vector<std::uint16_t> slot_of(kinds.n_features());
    for (std::size_t slot = 0; slot < features.size(); ++slot)
        slot_of[features[slot]] = static_cast<std::uint16_t>(slot);
    std::vector<std::uint8_t> bytes;
    append(bytes, &header, 1);
    append(bytes, features);
    std::vector<TreeEntry> entries(trees.size());
    const std::size_t directory = append(bytes, entries.data(), entries.size());
    for (std::size_t tree = 0; tree < trees.size(); ++tree) {
        const std::size_t begin = bytes.size();
        PackedTree::append_to(bytes, trees[tree], layout, has_members(layout, tree), slot_of,
                              samples.sample(tree).size());
        entries[tree] = {begin, bytes.size() - begin, checksum(bytes.data() + begin, bytes.size() - begin)};
        // Trees are about as large as the first two, one of which may hold no members.
        if (tree == 1) bytes.reserve(directory + (bytes.size() - directory) * (trees.size() + 2) / 2);
    }
    seal(bytes, header, directory, entries);
    return bytes;
}

std::vector<std::uint8_t> PackedForest::splice(const std::uint8_t *older, std::size_t older_size, std::size_t n_dropped,
                                               const std::uint8_t *newer, std::size_t newer_size) {
    struct Part {
        ForestHeader header;
        std::vector<std::uint16_t> features;
        std::vector<TreeEntry> entries;
    };
    const auto read = [](const std::uint8_t *bytes, std::size_t size) {
        PackedReader reader(bytes, size);
        Part part;
        part.header = *reader.take<ForestHeader>(1);
        require_packed(part.header.magic == magic);
        const std::uint16_t *features = reader.take<std::uint16_t>(part.header.n_features);
        part.features.assign(features, features + part.header.n_features);
        const TreeEntry *entries = reader.take<TreeEntry>(part.header.n_trees);
        part.entries.assign(entries, entries + part.header.n_trees);
        for (const TreeEntry &entry : part.entries) {
            require_packed(entry.begin % 8 == 0 && entry.size % 8 == 0 && entry.begin <= size &&
                           entry.size <= size - entry.begin);
        }
        return part;
    };
    const Part before = read(older, older_size), after = read(newer, newer_size);
    require_packed(before.features == after.features && before.header.flags == after.header.flags);
    // Of each pair, the second tree stays the second.
    require_packed(n_dropped % 2 == 0 && n_dropped <= before.entries.size());
    // Members are rows, whose targets are put on the grid on access: any grid that contains them all will do.
    ForestHeader header = after.header;
    header.n_trees = static_cast<std::uint32_t>(before.entries.size() - n_dropped + after.entries.size());
    std::vector<TreeEntry> entries(header.n_trees);
    std::vector<std::uint8_t> bytes;
    // All at once: what is reserved besides would be kept.
    std::size_t size = 0;
    for (std::size_t i = n_dropped; i < before.entries.size(); ++i) size += before.entries[i].size;
    for (const TreeEntry &entry : after.entries) size += entry.size;
    bytes.reserve(padded(sizeof header) + padded(after.features.size() * sizeof(std::uint16_t)) +
                  padded(entries.size() * sizeof(TreeEntry)) + size);
    append(bytes, &header, 1);
    append(bytes, after.features);
    const std::size_t directory = append(bytes, entries.data(), entries.size());
    std::size_t tree = 0;
    const auto copy = [&](const std::uint8_t *from, const TreeEntry &entry) {
        entries[tree++] = {append(bytes, from + entry.begin, entry.size), entry.size, entry.checksum};
    };
    for (std::size_t i = n_dropped; i < before.entries.size(); ++i) copy(older, before.entries[i]);
    for (const TreeEntry &entry : after.entries) copy(newer, entry);
    seal(bytes, header, directory, entries);
    return bytes;
}

PackedForest::PackedForest(const FeatureKinds &kinds, const TreeSamples &samples, const TargetColumn &target,
                           const double *rows, const std::uint8_t *bytes, std::size_t size)
    : kinds_(kinds), samples_(samples), target_(target), rows_(rows), bytes_(bytes) {
    PackedReader reader(bytes, size);
    const ForestHeader &header = *reader.take<ForestHeader>(1);
    const std::size_t n_trees = 2 * samples.n_pairs();
    require_packed(header.magic == magic && header.n_trees == n_trees);
    layout_ = layout_of(header.flags);
    require_packed(header.n_features <= std::min(PackedTree::max_slots, kinds.n_features()));
    const std::uint16_t *features = reader.take<std::uint16_t>(header.n_features);
    const TreeEntry *entries = reader.take<TreeEntry>(n_trees);
    const auto described = static_cast<std::size_t>(reinterpret_cast<const std::uint8_t *>(entries + n_trees) - bytes);
    require_packed(header.checksum == checksum(bytes + sizeof header.checksum, described - sizeof header.checksum));
    require_packed(std::isfinite(header.low) && std::isfinite(header.steps_per_unit) && header.steps_per_unit >= 0.0);
    features_.assign(features, features + header.n_features);
    for (const std::uint16_t feature : features_) require_packed(feature < kinds.n_features());
    grid_ = {header.low, header.steps_per_unit};
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        const TreeEntry &entry = entries[tree];
        require_packed(entry.begin % 8 == 0 && entry.begin <= size && entry.size <= size - entry.begin);
        begins_.push_back(entry.begin);
        sizes_.push_back(entry.size);
        checksums_.push_back(entry.checksum);
    }
    trees_ = std::make_unique<Tree[]>(n_trees);
    is_open_ = std::make_unique<std::atomic<bool>[]>(n_trees);
}

PackedForest::~PackedForest() = default;

std::size_t PackedForest::min_rows_to_unpack(bool for_new_rows) const {
    // Measured: a member takes some nanoseconds to unpack, its target as long again, and a row some microseconds. What
    // takes longest is to send a sample down, which few rows need not wait for.
    const std::size_t of_second = layout_.omits_second_members ? 15 : 1;
    std::size_t n_members = 2 * samples_.n_rows();
    for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
        n_members += samples_.sample(2 * pair).size();
        if (!for_new_rows) n_members += of_second * samples_.sample(2 * pair + 1).size();
    }
    return n_members / 2000;
}

const PackedForest::Tree &PackedForest::open(std::size_t tree) const {
    if (!is_open_[tree].load(std::memory_order_acquire)) {
        const std::lock_guard lock(lock_of(tree));
        if (!is_open_[tree].load(std::memory_order_relaxed)) {
            const std::uint8_t *const begin = bytes_ + begins_[tree];
            require_packed(checksum(begin, sizes_[tree]) == checksums_[tree]);
            trees_[tree].packed = PackedTree(begin, sizes_[tree], layout_, has_members(layout_, tree), kinds_,
                                             features_, samples_.sample(tree).size());
            is_open_[tree].store(true, std::memory_order_release);
        }
    }
    return trees_[tree];
}

LeafMembers &PackedForest::members_of(std::size_t which) const {
    Tree &tree = trees_[which];
    if (!tree.members) tree.members = std::make_unique<LeafMembers>(source(which, tree.packed));
    return *tree.members;
}

void PackedForest::follow(const AskedRows &rows, Walk *walks, std::size_t n) const {
    const auto values = [&](const Walk &walk) { return rows.features + walk.row * kinds_.n_features(); };
    std::size_t n_on_the_way = n;
    // Side by side: while one waits for memory, the others go on.
    while (n_on_the_way > 0) {
        n_on_the_way = 0;
        for (std::size_t i = 0; i < n; ++i) {
            Walk &walk = walks[i];
            const PackedTree &tree = walk.tree->packed;
            if (!tree.has_members() || !tree.splits(walk.node)) continue;
            ++n_on_the_way;
            const std::size_t split = tree.splits_before(walk.node);
            walk.node = 2 * split + 1 + !tree.goes_left(split, kinds_, features_, values(walk));
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        Walk &walk = walks[i];
        const PackedTree &tree = walk.tree->packed;
        if (tree.has_members()) {
            walk.leaf = tree.leaf(tree.leaf_of(walk.node));
            continue;
        }
        const std::lock_guard lock(lock_of(walk.which));
        walk.leaf = members_of(walk.which).find(values(walk), [&](std::uint32_t row) { return step_of(row); });
    }
}

void PackedForest::find_rows(const AskedRows &rows, std::size_t row, std::vector<std::uint32_t> &found,
                             std::vector<std::size_t> &ends) const {
    Walk walks[side_by_side];
    for (std::size_t begin = 0; begin < n_pairs(); begin += side_by_side) {
        const std::size_t n = std::min(side_by_side, n_pairs() - begin);
        for (std::size_t i = 0; i < n; ++i) walks[i] = start(begin + i, row, rows.fitted[row]);
        follow(rows, walks, n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::vector<std::uint32_t> &sample = samples_.sample(walks[i].which);
            const auto [first, n_rows] = walks[i].leaf;
            for (std::uint32_t k = first; k < first + n_rows; ++k) found.push_back(row_of(*walks[i].tree, sample, k));
            ends.push_back(found.size());
        }
    }
}

void PackedForest::copy_rows(std::size_t which, std::uint32_t begin, std::uint32_t n, std::uint32_t *to) const {
    const std::vector<std::uint32_t> &sample = samples_.sample(which);
    const Tree &tree = open(which);
    if (!tree.packed.has_members()) {
        const std::lock_guard lock(lock_of(which));
        members_of(which).find_at(begin, [&](std::uint32_t row) { return step_of(row); });
    }
    for (std::uint32_t k = 0; k < n; ++k) to[k] = row_of(tree, sample, begin + k);
}

PackedForest::Walk PackedForest::start(std::size_t pair, std::size_t row, std::int64_t fitted) const {
    const std::size_t which = samples_.unseen_tree(pair, fitted);
    return {&open(which), which, row, 0, {0, 0}};
}

void PackedForest::find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const {
    scratch.steps.clear();
    scratch.start(end - begin, n_pairs());
    scratch.has_heads = true;
    Walk walks[side_by_side];
    const std::size_t n_walks = n_pairs() * (end - begin);
    for (std::size_t first_walk = 0; first_walk < n_walks; first_walk += side_by_side) {
        const std::size_t n = std::min(side_by_side, n_walks - first_walk);
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t row = begin + (first_walk + i) % (end - begin);
            walks[i] = start((first_walk + i) / (end - begin), row, rows.fitted[row]);
        }
        follow(rows, walks, n);
        for (std::size_t i = 0; i < n; ++i) {
            const std::vector<std::uint32_t> &sample = samples_.sample(walks[i].which);
            const auto [first_member, n_members] = walks[i].leaf;
            scratch.steps.push_back(static_cast<std::int32_t>(first_member));
            scratch.steps.push_back(0);
            const auto first = static_cast<std::uint32_t>(scratch.steps.size());
            std::uint64_t sum = 0;
            for (std::uint32_t k = first_member; k < first_member + n_members; ++k) {
                const std::uint32_t member = row_of(*walks[i].tree, sample, k);
                scratch.steps.push_back(step_of(member));
                if (second_target_ != nullptr) sum += second_target_[member];
            }
            scratch.steps[first - 1] = mean_of(sum, n_members);
            scratch.leaves[first_walk + i] = {first, n_members};
        }
    }
    scratch.steps.resize(scratch.steps.size() + step_lot);
    scratch.targets.assign(n_pairs(), scratch.steps.data());
}

std::vector<TableTree::Leaf> PackedForest::unpack_leaves(std::size_t which, const std::vector<std::int32_t> &step_of,
                                                         std::vector<std::int32_t> &targets) const {
    const PackedTree &tree = open(which).packed;
    const std::uint32_t *const sample = samples_.sample(which).data();
    std::vector<TableTree::Leaf> leaves(tree.n_leaves());
    // Not kept: whoever unpacks trees needs these no longer.
    std::optional<LeafMembers> found;
    std::size_t n_members = 0;
    if (tree.has_members()) {
        for (std::uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
            leaves[leaf] = {static_cast<std::uint32_t>(n_members), tree.leaf_size(leaf)};
            n_members += leaves[leaf].n_rows;
        }
    } else {
        leaves = found.emplace(source(which, tree)).find_all([&](std::uint32_t row) { return step_of[row]; });
        for (const TableTree::Leaf &leaf : leaves) n_members += leaf.n_rows;
    }
    const std::size_t begin = targets.size();
    const std::size_t size = begin + n_members + head_size * leaves.size();
    // The last leaf is read by lots, too.
    targets.reserve(size + step_lot);
    targets.resize(size);
    const auto fill = [&](const auto &row_of) {
        std::int32_t *const start = targets.data() + begin, *to = start;
        const std::uint8_t *const second = second_target_;
        for (TableTree::Leaf &leaf : leaves) {
            std::int32_t *const head = to;
            std::uint64_t sum = 0;
            to += head_size;
            for (std::uint32_t i = leaf.first; i < leaf.first + leaf.n_rows; ++i) {
                const std::uint32_t row = row_of(i);
                *to++ = step_of[row];
                if (second != nullptr) sum += second[row];
            }
            head[0] = static_cast<std::int32_t>(leaf.first);
            head[1] = mean_of(sum, leaf.n_rows);
            leaf.first = static_cast<std::uint32_t>(head - start) + head_size;
        }
    };
    if (found) {
        fill([rows = found->rows()](std::uint32_t i) { return rows[i]; });
    } else {
        fill([sample, &tree](std::uint32_t i) { return sample[tree.member(i)]; });
    }
    return leaves;
}

TableTree PackedForest::unpack(std::size_t which, const std::vector<TableTree::Leaf> &of_number) const {
    const PackedTree &tree = open(which).packed;
    std::vector<TableTree::Node> nodes(tree.n_nodes());
    std::vector<TableTree::Leaf> leaves(tree.n_nodes());
    std::uint32_t split = 0;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        if (tree.splits(node)) {
            nodes[node] = tree.split_node(split++, features_);
            continue;
        }
        nodes[node] = {std::numeric_limits<double>::infinity(), node, 0, true, false};
        leaves[node] = of_number[node - split];
    }
    return {std::move(nodes), tree.sets(), std::move(leaves)};
}

std::vector<std::int32_t> PackedForest::steps(std::size_t n_threads) const {
    constexpr std::size_t rows_at_a_time = 8192;
    std::vector<std::int32_t> found(target_.n_rows());
    for_each_item((found.size() + rows_at_a_time - 1) / rows_at_a_time, n_threads,
                  [&](const std::atomic<bool> &) {
                      return [&](std::size_t lot) {
                          const std::size_t end = std::min((lot + 1) * rows_at_a_time, found.size());
                          for (std::size_t row = lot * rows_at_a_time; row < end; ++row) {
                              found[row] = step_of(static_cast<std::uint32_t>(row));
                          }
                      };
                  },
                  [](std::size_t) {});
    return found;
}

}  // namespace paribus
