#include "surprise/packed_forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "common/checksum.hpp"
#include "surprise/threshold.hpp"

namespace paribus {

namespace {

static_assert(std::endian::native == std::endian::little, "packed forests are little-endian");

struct ForestHeader {
    std::uint64_t checksum;
    std::uint32_t magic, n_trees, n_features, is_wide;
    double low, steps_per_unit;
};

struct TreeEntry {
    std::uint64_t begin, size, checksum;
};

struct TreeHeader {
    std::uint32_t n_splits, n_exact, n_sets, n_members;
};

constexpr std::uint32_t magic = 0x31465350;  // "PSF1"
constexpr std::size_t word_bits = 64;
// Of a question: the slot of its feature above these.
constexpr std::uint16_t missing_left = 1, categorical = 2, exact = 4;
constexpr int slot_shift = 3;
constexpr std::size_t max_slots = std::size_t{1} << (16 - slot_shift);
// Samples up to this size have positions of 16 bits.
constexpr std::size_t max_narrow = 65535;

void require(bool holds) {
    if (!holds) throw std::invalid_argument("the model file is damaged: a forest in it is not as it was saved");
}

std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

template <typename T>
std::size_t append(std::vector<std::uint8_t> &bytes, const T *values, std::size_t n) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + padded(n * sizeof(T)));
    if (n > 0) std::memcpy(bytes.data() + begin, values, n * sizeof(T));
    return begin;
}

template <typename T>
void append(std::vector<std::uint8_t> &bytes, const std::vector<T> &values) {
    append(bytes, values.data(), values.size());
}

/// Reads arrays one after the other, as `append` wrote them.
class Reader {
public:
    Reader(const std::uint8_t *bytes, std::size_t size) : bytes_(bytes), left_(size) {}

    template <typename T>
    const T *take(std::size_t n) {
        require(n <= left_ / sizeof(T) && padded(n * sizeof(T)) <= left_);
        const auto *found = reinterpret_cast<const T *>(bytes_);
        bytes_ += padded(n * sizeof(T));
        left_ -= padded(n * sizeof(T));
        return found;
    }
    bool is_at_end() const { return left_ == 0; }

private:
    const std::uint8_t *bytes_;
    std::size_t left_;
};

/// The places of leaves in `members`, or positions in a sample: of 16 or of 32 bits.
struct Numbers {
    const std::uint16_t *narrow;
    const std::uint32_t *wide;

    std::uint32_t operator[](std::size_t i) const { return wide != nullptr ? wide[i] : narrow[i]; }
};

void append_numbers(std::vector<std::uint8_t> &bytes, const std::vector<std::uint32_t> &numbers, bool is_wide) {
    if (is_wide) {
        append(bytes, numbers);
    } else {
        append(bytes, std::vector<std::uint16_t>(numbers.begin(), numbers.end()));
    }
}

}  // namespace

/// Nodes are numbered level by level: the children of the k-th split are nodes 2 k + 1 and 2 k + 2, so that it is
/// enough to know which nodes are splits.
struct PackedForest::Tree {
    TreeHeader header;
    const std::uint64_t *is_split;
    /// By word of `is_split`: splits in the words before.
    const std::uint32_t *before;
    /// By split; of one by category: the number of its set; of one that is no 32-bit number: its place in `exact`.
    const std::uint32_t *thresholds;
    const std::uint16_t *questions;
    const double *exact;
    const TableTree::BinSet *sets;
    Numbers first, members;

    std::size_t n_nodes() const { return 2 * std::size_t{header.n_splits} + 1; }
    std::size_t n_words() const { return (n_nodes() + word_bits - 1) / word_bits; }
    bool splits(std::size_t node) const { return (is_split[node / word_bits] >> (node % word_bits) & 1) != 0; }
    std::size_t splits_before(std::size_t node) const {
        const std::uint64_t earlier = (std::uint64_t{1} << (node % word_bits)) - 1;
        return before[node / word_bits] + static_cast<std::size_t>(std::popcount(is_split[node / word_bits] & earlier));
    }
    double threshold(std::size_t split) const {
        if ((questions[split] & paribus::exact) != 0) return exact[thresholds[split]];
        return static_cast<double>(std::bit_cast<float>(thresholds[split]));
    }
};

std::vector<std::uint8_t> PackedForest::pack(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features,
                                             const TargetGrid &grid, const TreeSamples &samples,
                                             const std::vector<TableTree> &trees) {
    ForestHeader header = {};
    header.magic = magic;
    header.n_trees = static_cast<std::uint32_t>(trees.size());
    header.n_features = static_cast<std::uint32_t>(features.size());
    for (std::size_t tree = 0; tree < trees.size(); ++tree) header.is_wide |= samples.sample(tree).size() > max_narrow;
    header.low = grid.low;
    header.steps_per_unit = grid.steps_per_unit;
    std::vector<std::uint16_t> slot_of(kinds.n_features());
    for (std::size_t slot = 0; slot < features.size(); ++slot)
        slot_of[features[slot]] = static_cast<std::uint16_t>(slot);
    std::vector<std::uint8_t> bytes;
    append(bytes, &header, 1);
    append(bytes, features);
    std::vector<TreeEntry> entries(trees.size());
    const std::size_t directory = append(bytes, entries.data(), entries.size());
    for (std::size_t t = 0; t < trees.size(); ++t) {
        const TableTree &tree = trees[t];
        TreeHeader of_tree = {0, 0, static_cast<std::uint32_t>(tree.sets().size()), 0};
        std::vector<std::uint32_t> nodes = {0}, before, thresholds, first, members;
        std::vector<std::uint64_t> is_split;
        std::vector<std::uint16_t> questions;
        std::vector<double> exact_thresholds;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (i % word_bits == 0) {
                is_split.push_back(0);
                before.push_back(of_tree.n_splits);
            }
            const TableTree::Node &node = tree.nodes()[nodes[i]];
            if (node.left == nodes[i]) {
                const TableTree::Leaf &leaf = tree.leaves()[nodes[i]];
                first.push_back(static_cast<std::uint32_t>(members.size()));
                members.insert(members.end(), tree.members().begin() + leaf.first,
                               tree.members().begin() + leaf.first + leaf.n_rows);
                continue;
            }
            is_split.back() |= std::uint64_t{1} << (i % word_bits);
            ++of_tree.n_splits;
            nodes.push_back(node.left);
            nodes.push_back(node.left + 1);
            auto question = static_cast<std::uint16_t>(slot_of[node.feature] << slot_shift | node.missing_left);
            if (node.is_categorical) {
                question |= categorical;
                thresholds.push_back(static_cast<std::uint32_t>(node.threshold));
            } else if (is_single(node.threshold)) {
                thresholds.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(node.threshold)));
            } else {
                question |= exact;
                thresholds.push_back(static_cast<std::uint32_t>(exact_thresholds.size()));
                exact_thresholds.push_back(node.threshold);
            }
            questions.push_back(question);
        }
        first.push_back(static_cast<std::uint32_t>(members.size()));
        of_tree.n_exact = static_cast<std::uint32_t>(exact_thresholds.size());
        of_tree.n_members = static_cast<std::uint32_t>(members.size());
        const std::size_t begin = append(bytes, &of_tree, 1);
        append(bytes, is_split);
        append(bytes, before);
        append(bytes, thresholds);
        append(bytes, questions);
        append(bytes, exact_thresholds);
        append(bytes, tree.sets());
        append_numbers(bytes, first, header.is_wide != 0);
        append_numbers(bytes, members, header.is_wide != 0);
        entries[t] = {begin, bytes.size() - begin, checksum(bytes.data() + begin, bytes.size() - begin)};
    }
    std::memcpy(bytes.data() + directory, entries.data(), entries.size() * sizeof(TreeEntry));
    const std::size_t described = directory + entries.size() * sizeof(TreeEntry);
    header.checksum = checksum(bytes.data() + sizeof header.checksum, described - sizeof header.checksum);
    std::memcpy(bytes.data(), &header, sizeof header);
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
        Reader reader(bytes, size);
        Part part;
        part.header = *reader.take<ForestHeader>(1);
        require(part.header.magic == magic);
        const std::uint16_t *features = reader.take<std::uint16_t>(part.header.n_features);
        part.features.assign(features, features + part.header.n_features);
        const TreeEntry *entries = reader.take<TreeEntry>(part.header.n_trees);
        part.entries.assign(entries, entries + part.header.n_trees);
        for (const TreeEntry &entry : part.entries) {
            require(entry.begin % 8 == 0 && entry.size % 8 == 0 && entry.begin <= size &&
                    entry.size <= size - entry.begin);
        }
        return part;
    };
    const Part before = read(older, older_size), after = read(newer, newer_size);
    require(before.features == after.features && before.header.is_wide == after.header.is_wide);
    require(n_dropped <= before.entries.size());
    // Members are rows, whose targets are put on the grid on access: any grid that contains them all will do.
    ForestHeader header = after.header;
    header.n_trees = static_cast<std::uint32_t>(before.entries.size() - n_dropped + after.entries.size());
    std::vector<std::uint8_t> bytes;
    append(bytes, &header, 1);
    append(bytes, after.features);
    std::vector<TreeEntry> entries(header.n_trees);
    const std::size_t directory = append(bytes, entries.data(), entries.size());
    std::size_t tree = 0;
    const auto copy = [&](const std::uint8_t *from, const TreeEntry &entry) {
        entries[tree++] = {append(bytes, from + entry.begin, entry.size), entry.size, entry.checksum};
    };
    for (std::size_t i = n_dropped; i < before.entries.size(); ++i) copy(older, before.entries[i]);
    for (const TreeEntry &entry : after.entries) copy(newer, entry);
    std::memcpy(bytes.data() + directory, entries.data(), entries.size() * sizeof(TreeEntry));
    const std::size_t described = directory + entries.size() * sizeof(TreeEntry);
    header.checksum = checksum(bytes.data() + sizeof header.checksum, described - sizeof header.checksum);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
}

PackedForest::PackedForest(const FeatureKinds &kinds, const TreeSamples &samples, const TargetColumn &target,
                           const std::uint8_t *bytes, std::size_t size)
    : kinds_(kinds), samples_(samples), target_(target), bytes_(bytes) {
    Reader reader(bytes, size);
    const ForestHeader &header = *reader.take<ForestHeader>(1);
    const std::size_t n_trees = 2 * samples.n_pairs();
    require(header.magic == magic && header.n_trees == n_trees && header.is_wide <= 1);
    require(header.n_features <= std::min<std::size_t>(max_slots, kinds.n_features()));
    const std::uint16_t *features = reader.take<std::uint16_t>(header.n_features);
    const TreeEntry *entries = reader.take<TreeEntry>(n_trees);
    const auto described = static_cast<std::size_t>(reinterpret_cast<const std::uint8_t *>(entries + n_trees) - bytes);
    require(header.checksum == checksum(bytes + sizeof header.checksum, described - sizeof header.checksum));
    require(std::isfinite(header.low) && std::isfinite(header.steps_per_unit) && header.steps_per_unit >= 0.0);
    features_.assign(features, features + header.n_features);
    for (const std::uint16_t feature : features_) require(feature < kinds.n_features());
    grid_ = {header.low, header.steps_per_unit};
    is_wide_ = header.is_wide != 0;
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
        const TreeEntry &entry = entries[tree];
        require(entry.begin % 8 == 0 && entry.begin <= size && entry.size <= size - entry.begin);
        begins_.push_back(entry.begin);
        sizes_.push_back(entry.size);
        checksums_.push_back(entry.checksum);
        require(is_wide_ || samples.sample(tree).size() <= max_narrow);
    }
    trees_ = std::make_unique<Tree[]>(n_trees);
    is_open_ = std::make_unique<std::atomic<bool>[]>(n_trees);
}

PackedForest::~PackedForest() = default;

std::size_t PackedForest::min_rows_to_unpack() const {
    // Measured: a member takes some nanoseconds to unpack, its target as long again, and a row some microseconds.
    std::size_t n_members = 2 * samples_.n_rows();
    for (std::size_t tree = 0; tree < 2 * n_pairs(); ++tree) n_members += samples_.sample(tree).size();
    return n_members / 2000;
}

const PackedForest::Tree &PackedForest::open(std::size_t tree) const {
    if (!is_open_[tree].load(std::memory_order_acquire)) {
        const std::lock_guard lock(locks_[tree % n_locks]);
        if (!is_open_[tree].load(std::memory_order_relaxed)) {
            trees_[tree] = parse(tree);
            is_open_[tree].store(true, std::memory_order_release);
        }
    }
    return trees_[tree];
}

PackedForest::Tree PackedForest::parse(std::size_t tree) const {
    Reader reader(bytes_ + begins_[tree], sizes_[tree]);
    Tree found = {};
    found.header = *reader.take<TreeHeader>(1);
    const std::size_t n_splits = found.header.n_splits;
    const auto take_numbers = [&](std::size_t n) -> Numbers {
        if (is_wide_) return {nullptr, reader.take<std::uint32_t>(n)};
        return {reader.take<std::uint16_t>(n), nullptr};
    };
    found.is_split = reader.take<std::uint64_t>(found.n_words());
    found.before = reader.take<std::uint32_t>(found.n_words());
    found.thresholds = reader.take<std::uint32_t>(n_splits);
    found.questions = reader.take<std::uint16_t>(n_splits);
    found.exact = reader.take<double>(found.header.n_exact);
    found.sets = reader.take<TableTree::BinSet>(found.header.n_sets);
    found.first = take_numbers(n_splits + 2);
    found.members = take_numbers(found.header.n_members);
    require(reader.is_at_end() && checksum(bytes_ + begins_[tree], sizes_[tree]) == checksums_[tree]);
    check(found, samples_.sample(tree));
    return found;
}

void PackedForest::check(const Tree &tree, const std::vector<std::uint32_t> &sample) const {
    std::size_t n_splits = 0;
    for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
        if (node % word_bits == 0) require(tree.before[node / word_bits] == n_splits);
        // A node is the child of a split before it: no way leads back.
        require(node <= 2 * n_splits);
        n_splits += tree.splits(node);
    }
    require(n_splits == tree.header.n_splits);
    for (std::size_t node = tree.n_nodes(); node < tree.n_words() * word_bits; ++node) require(!tree.splits(node));
    for (std::size_t split = 0; split < n_splits; ++split) {
        const std::uint16_t question = tree.questions[split];
        require(static_cast<std::size_t>(question >> slot_shift) < features_.size());
        const bool is_categorical = kinds_.is_categorical(features_[question >> slot_shift]);
        require(is_categorical == ((question & categorical) != 0));
        if (is_categorical) {
            require((question & exact) == 0 && tree.thresholds[split] < tree.header.n_sets);
        } else {
            require((question & exact) == 0 || tree.thresholds[split] < tree.header.n_exact);
            require(!std::isnan(tree.threshold(split)));
        }
    }
    require(tree.first[0] == 0 && tree.first[n_splits + 1] == tree.header.n_members);
    for (std::size_t leaf = 0; leaf <= n_splits; ++leaf) {
        // Only a table of a row or two has a tree without rows.
        require(tree.first[leaf] < tree.first[leaf + 1] || tree.header.n_members == 0);
        require(tree.first[leaf + 1] - tree.first[leaf] <= TableTree::max_leaf_rows);
    }
    for (std::size_t i = 0; i < tree.header.n_members; ++i) require(tree.members[i] < sample.size());
}

void PackedForest::follow(const AskedRows &rows, Walk *walks, std::size_t n) const {
    std::size_t n_on_the_way = n;
    // Side by side: while one waits for memory, the others go on.
    while (n_on_the_way > 0) {
        n_on_the_way = 0;
        for (std::size_t i = 0; i < n; ++i) {
            Walk &walk = walks[i];
            const Tree &tree = *walk.tree;
            if (!tree.splits(walk.node)) continue;
            ++n_on_the_way;
            const std::size_t split = tree.splits_before(walk.node);
            const std::uint16_t question = tree.questions[split];
            const std::uint16_t feature = features_[question >> slot_shift];
            const double value = rows.features[walk.row * kinds_.n_features() + feature];
            const bool unknown_left = (question & missing_left) != 0;
            bool goes_left;
            if ((question & categorical) != 0) {
                const TableTree::BinSet &set = tree.sets[tree.thresholds[split]];
                goes_left = TableTree::category_goes_left(set, kinds_.bin_of_code[feature], value, unknown_left);
            } else {
                goes_left = (value <= tree.threshold(split)) | ((value != value) & unknown_left);
            }
            walk.node = 2 * split + 1 + !goes_left;
        }
    }
    for (std::size_t i = 0; i < n; ++i) {
        const Tree &tree = *walks[i].tree;
        const std::size_t leaf = walks[i].node - tree.splits_before(walks[i].node);
        walks[i].begin = tree.first[leaf];
        walks[i].end = tree.first[leaf + 1];
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
            const Numbers &members = walks[i].tree->members;
            for (std::uint32_t k = walks[i].begin; k < walks[i].end; ++k) found.push_back(sample[members[k]]);
            ends.push_back(found.size());
        }
    }
}

void PackedForest::append_rows(std::size_t which, std::uint32_t begin, std::uint32_t n,
                               std::vector<std::uint32_t> &found) const {
    const std::vector<std::uint32_t> &sample = samples_.sample(which);
    const Numbers &members = open(which).members;
    for (std::uint32_t k = begin; k < begin + n; ++k) found.push_back(sample[members[k]]);
}

PackedForest::Walk PackedForest::start(std::size_t pair, std::size_t row, std::int64_t fitted) const {
    const std::size_t which = samples_.unseen_tree(pair, fitted);
    return {&open(which), which, row, 0, 0, 0};
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
            scratch.steps.push_back(static_cast<std::int32_t>(walks[i].begin));
            scratch.steps.push_back(0);
            const auto first = static_cast<std::uint32_t>(scratch.steps.size());
            std::uint64_t sum = 0;
            for (std::uint32_t k = walks[i].begin; k < walks[i].end; ++k) {
                const std::uint32_t member = sample[walks[i].tree->members[k]];
                scratch.steps.push_back(grid_.step(target_[member]));
                if (second_target_ != nullptr) sum += second_target_[member];
            }
            const std::uint32_t n_members = walks[i].end - walks[i].begin;
            scratch.steps[first - 1] = mean_of(sum, n_members);
            scratch.leaves[first_walk + i] = {first, n_members};
        }
    }
    scratch.steps.resize(scratch.steps.size() + step_lot);
    scratch.targets.assign(n_pairs(), scratch.steps.data());
}

TableTree PackedForest::unpack(std::size_t which, const std::vector<std::int32_t> &step_of,
                               std::vector<std::int32_t> &members) const {
    const Tree &tree = open(which);
    std::vector<TableTree::Node> nodes(tree.n_nodes());
    std::vector<TableTree::Leaf> leaves(tree.n_nodes());
    std::uint32_t split = 0;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        if (!tree.splits(node)) {
            const std::uint32_t leaf = node - split;
            nodes[node] = {std::numeric_limits<double>::infinity(), node, 0, true, false};
            leaves[node] = {tree.first[leaf] + head_size * (leaf + 1), tree.first[leaf + 1] - tree.first[leaf]};
            continue;
        }
        const std::uint16_t question = tree.questions[split];
        const bool is_categorical = (question & categorical) != 0;
        nodes[node] = {is_categorical ? static_cast<double>(tree.thresholds[split]) : tree.threshold(split),
                       2 * split + 1, features_[question >> slot_shift], (question & missing_left) != 0,
                       is_categorical};
        ++split;
    }
    const std::vector<std::uint32_t> &sample = samples_.sample(which);
    members.reserve(members.size() + tree.header.n_members + head_size * (tree.header.n_splits + 1));
    for (std::size_t leaf = 0; leaf <= tree.header.n_splits; ++leaf) {
        members.push_back(static_cast<std::int32_t>(tree.first[leaf]));
        const std::size_t mean = members.size();
        members.push_back(0);
        std::uint64_t sum = 0;
        for (std::uint32_t i = tree.first[leaf]; i < tree.first[leaf + 1]; ++i) {
            const std::uint32_t row = sample[tree.members[i]];
            members.push_back(step_of[row]);
            if (second_target_ != nullptr) sum += second_target_[row];
        }
        members[mean] = mean_of(sum, tree.first[leaf + 1] - tree.first[leaf]);
    }
    return {std::move(nodes), {tree.sets, tree.sets + tree.header.n_sets}, std::move(leaves)};
}

std::vector<std::int32_t> PackedForest::steps() const {
    std::vector<std::int32_t> found(target_.n_rows());
    for (std::uint32_t row = 0; row < found.size(); ++row) found[row] = grid_.step(target_[row]);
    return found;
}

}  // namespace paribus
