#include "surprise/table_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "common/grid.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "surprise/class_shares.hpp"
#include "surprise/growth_memory.hpp"

namespace paribus {

TableForest::TableForest(const FeatureTable &table, const TreeSamples &samples, const TargetColumn &target,
                         const TreeParameters &parameters, std::uint64_t seed, std::size_t n_threads,
                         const Tick &on_tick)
    : kinds_(*table.kinds()),
      samples_(samples),
      planes_(kinds_, parameters.features),
      is_of_numbers_(target.n_classes() == 0) {
    std::vector<double> values(table.n_rows());
    double high = -std::numeric_limits<double>::infinity();
    grid_.low = -high;
    for (std::uint32_t row = 0; row < values.size(); ++row) {
        values[row] = target[row];
        if (std::isnan(values[row])) continue;
        grid_.low = std::min(grid_.low, values[row]);
        high = std::max(high, values[row]);
    }
    grid_.steps_per_unit = grid_scale(high - grid_.low, TargetGrid::bits);
    std::vector<std::int32_t> steps(values.size());
    std::transform(values.begin(), values.end(), steps.begin(), [&](double value) { return grid_.step(value); });
    values = {};

    std::vector<std::optional<TableTree>> trees(2 * n_pairs());
    for_each_item(
        trees.size(), n_threads,
        [&](const std::atomic<bool> &) {
            return [&, memory = std::make_shared<GrowthMemory>()](std::size_t which) {
                // A stream for each tree, so that threads need not take turns.
                Random random(Random(seed)() + which);
                const std::vector<std::uint32_t> &sample = samples_.sample(which);
                std::vector<std::int32_t> numbered;
                if (target.n_classes() > 0) numbered = number_classes(target, Random(seed)() + which / 2);
                const std::int32_t *const grown_by = numbered.empty() ? steps.data() : numbered.data();
                trees[which].emplace(table, parameters, sample, grown_by, random(), *memory);
            };
        },
        [&](std::size_t n_done) { on_tick(n_done / 2); });
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
    pairs_.resize(n_pairs());
    members_.resize(n_pairs());
    second_.resize(n_pairs());
    for_each_item(
        n_pairs(), n_threads, [&](const std::atomic<bool> &) { return [&](std::size_t pair) { join(pair, steps); }; },
        [](std::size_t) {});
}

void TableForest::join(std::size_t pair, const std::vector<std::int32_t> &steps) {
    const TableTree &first = trees_[2 * pair], &second = trees_[2 * pair + 1];
    second_[pair] = static_cast<std::uint32_t>(first.members().size());
    pairs_[pair] = TreePair(planes_, first, second, second_[pair]);
    std::vector<std::int32_t> &members = members_[pair];
    // The last leaf is read by lots, too.
    members.reserve(first.members().size() + second.members().size() + step_lot);
    for (const std::size_t tree : {2 * pair, 2 * pair + 1}) {
        const std::vector<std::uint32_t> &sample = samples_.sample(tree);
        for (const std::uint32_t position : trees_[tree].members()) members.push_back(steps[sample[position]]);
    }
    members.resize(members.size() + step_lot);
}

TableForest::TableForest(const PackedForest &packed, bool for_new_rows, std::size_t n_threads)
    : kinds_(packed.kinds()),
      samples_(packed.samples()),
      grid_(packed.grid()),
      planes_(kinds_, packed.features()),
      trees_(2 * n_pairs(), TableTree::empty()),
      has_heads_(true),
      is_for_new_rows_(for_new_rows),
      pairs_(n_pairs()),
      members_(n_pairs()),
      second_(n_pairs()) {
    const std::vector<std::int32_t> steps = packed.steps(n_threads);
    for_each_item(
        n_pairs(), n_threads,
        [&](const std::atomic<bool> &) {
            return [&](std::size_t pair) {
                const std::size_t first = 2 * pair, second = first + 1;
                std::vector<std::int32_t> &members = members_[pair];
                const std::vector<TableTree::Leaf> of_first = packed.unpack_leaves(first, steps, members);
                second_[pair] = static_cast<std::uint32_t>(members.size());
                std::vector<TableTree::Leaf> of_second;
                if (!for_new_rows) of_second = packed.unpack_leaves(second, steps, members);
                members.resize(members.size() + step_lot);
                const auto with = [&](std::size_t tree, const std::vector<TableTree::Leaf> &leaves) {
                    return TreePair::Packed{packed.tree(tree), packed.features(), leaves};
                };
                // What is not needed is not read, and not checked.
                std::optional<TreePair::Packed> other;
                if (!for_new_rows) other.emplace(with(second, of_second));
                pairs_[pair] = TreePair(planes_, with(first, of_first), other ? &*other : nullptr, second_[pair]);
                if (pairs_[pair].is_usable()) return;
                trees_[first] = packed.unpack(first, of_first);
                if (!for_new_rows) trees_[second] = packed.unpack(second, of_second);
            };
        },
        [](std::size_t) {});
}

std::vector<std::uint8_t> TableForest::pack(const std::vector<std::uint16_t> &features, bool keeps_leaf_rows) {
    std::vector<std::uint8_t> bytes = PackedForest::pack(kinds_, features, grid_, is_of_numbers_, samples_, trees_);
    for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
        std::vector<std::uint32_t> members = trees_[tree].take_members();
        if (keeps_leaf_rows) leaf_rows_.push_back({std::move(members), trees_[tree].leaves()});
        if (pairs_[tree / 2].is_usable()) trees_[tree] = TableTree::empty();
    }
    return bytes;
}

void TableForest::find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const {
    const std::size_t n = end - begin;
    const double *const values = rows.features + begin * kinds_.n_features();
    scratch.start(n, n_pairs());
    scratch.has_heads = has_heads_;
    scratch.is_second.resize(n);
    planes_.arrange(values, n, scratch.arranged);
    // All rows through one pair of trees before the next, so that it stays near the processor.
    for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
        scratch.targets[pair] = members_[pair].data();
        for (std::size_t row = begin; row < end; ++row) {
            scratch.is_second[row - begin] = samples_.unseen_tree(pair, rows.fitted[row]) != 2 * pair;
        }
        if (pairs_[pair].is_usable()) {
            const TreePair *const next = pair + 1 < n_pairs() ? &pairs_[pair + 1] : nullptr;
            pairs_[pair].find(planes_, scratch.arranged, scratch.is_second.data(), n, scratch.leaves.data() + pair * n,
                              next);
        } else {
            find_exactly(values, pair, scratch);
        }
    }
}

void TableForest::find_exactly(const double *rows, std::size_t pair, Scratch &scratch) const {
    const std::size_t n = scratch.n_rows;
    scratch.trees.resize(n);
    for (std::size_t row = 0; row < n; ++row) scratch.trees[row] = &trees_[2 * pair + scratch.is_second[row]];
    TableTree::Leaf *const leaves = scratch.leaves.data() + pair * n;
    TableTree::find(kinds_, scratch.trees.data(), rows, n, leaves);
    for (std::size_t row = 0; row < n; ++row) leaves[row].first += scratch.is_second[row] != 0 ? second_[pair] : 0;
}

}  // namespace paribus
