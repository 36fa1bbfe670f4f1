#include "surprise/table_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "common/grid.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "surprise/class_shares.hpp"

namespace paribus {

TableForest::TableForest(const FeatureTable &table, const TreeSamples &samples, const TargetColumn &target,
                         const TreeParameters &parameters, std::uint64_t seed, std::size_t n_threads,
                         const Tick &on_tick)
    : kinds_(*table.kinds()), samples_(samples) {
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
    std::vector<std::vector<std::int32_t>> members_of(trees.size());
    for_each_item(
        trees.size(), n_threads,
        [&](const std::atomic<bool> &) {
            return [&](std::size_t which) {
                // A stream for each tree, so that threads need not take turns.
                Random random(Random(seed)() + which);
                const std::vector<std::uint32_t> &sample = samples_.sample(which);
                std::vector<std::int32_t> numbered;
                if (target.n_classes() > 0) numbered = number_classes(target, Random(seed)() + which / 2);
                const std::int32_t *const grown_by = numbered.empty() ? steps.data() : numbered.data();
                TableTree &tree = trees[which].emplace(table, parameters, sample, grown_by, random());
                std::vector<std::int32_t> &members = members_of[which];
                members.reserve(tree.members().size());
                for (const std::uint32_t position : tree.members()) members.push_back(steps[sample[position]]);
            };
        },
        [&](std::size_t n_done) { on_tick(n_done / 2); });
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
    join(members_of);
}

TableForest::TableForest(const PackedForest &packed, bool for_new_rows, std::size_t n_threads)
    : kinds_(packed.kinds()), samples_(packed.samples()), grid_(packed.grid()), has_second_(true) {
    const std::vector<std::int32_t> steps = packed.steps();
    std::vector<std::optional<TableTree>> trees(2 * n_pairs());
    std::vector<std::vector<std::int32_t>> members_of(trees.size());
    for_each_item(
        trees.size(), n_threads,
        [&](const std::atomic<bool> &) {
            return [&](std::size_t which) {
                const bool is_used = !for_new_rows || which % 2 == 0;
                trees[which].emplace(is_used ? packed.unpack(which, steps, members_of[which]) : TableTree::empty());
            };
        },
        [](std::size_t) {});
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
    join(members_of);
}

void TableForest::join(std::vector<std::vector<std::int32_t>> &members) {
    members_.resize(n_pairs());
    for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
        std::vector<std::int32_t> &first = members[2 * pair], &second = members[2 * pair + 1];
        second_.push_back(static_cast<std::uint32_t>(first.size()));
        pairs_.emplace_back(trees_[2 * pair], trees_[2 * pair + 1], second_.back());
        // The last leaf is read by lots, too.
        members_[pair].reserve(first.size() + second.size() + step_lot);
        members_[pair].insert(members_[pair].end(), first.begin(), first.end());
        members_[pair].insert(members_[pair].end(), second.begin(), second.end());
        members_[pair].resize(members_[pair].size() + step_lot);
        first = {};
        second = {};
    }
}

std::vector<std::uint8_t> TableForest::pack(const std::vector<std::uint16_t> &features) {
    std::vector<std::uint8_t> bytes = PackedForest::pack(kinds_, features, grid_, samples_, trees_);
    for (TableTree &tree : trees_) tree.forget_members();
    return bytes;
}

void TableForest::find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const {
    const std::size_t n = end - begin, n_features = kinds_.n_features();
    const double *const values = rows.features + begin * n_features;
    scratch.start(n, n_pairs());
    scratch.has_second = has_second_;
    scratch.is_second.resize(n);
    scratch.incomplete.clear();
    for (std::size_t row = 0; row < n; ++row) {
        const double *const own = values + row * n_features;
        if (std::any_of(own, own + n_features, [](double value) { return value != value; })) {
            scratch.incomplete.push_back(static_cast<std::uint32_t>(row));
        }
    }
    TreePair::arrange(values, n, n_features, scratch.rounded);
    // All rows through one pair of trees before the next, so that it stays near the processor.
    for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
        scratch.targets[pair] = members_[pair].data();
        for (std::size_t row = begin; row < end; ++row) {
            scratch.is_second[row - begin] = samples_.unseen_tree(pair, rows.fitted[row]) != 2 * pair;
        }
        if (pairs_[pair].is_usable()) {
            pairs_[pair].find(scratch.rounded, n_features, scratch.is_second.data(), n,
                              scratch.leaves.data() + pair * n);
            find_some(values, scratch.incomplete, pair, scratch);
        } else {
            if (scratch.everyone.size() != n) {
                scratch.everyone.resize(n);
                std::iota(scratch.everyone.begin(), scratch.everyone.end(), 0);
            }
            find_some(values, scratch.everyone, pair, scratch);
        }
    }
}

void TableForest::find_some(const double *rows, const std::vector<std::uint32_t> &which, std::size_t pair,
                            Scratch &scratch) const {
    scratch.trees.resize(which.size());
    scratch.found.resize(which.size());
    for (std::size_t i = 0; i < which.size(); ++i) scratch.trees[i] = &trees_[2 * pair + scratch.is_second[which[i]]];
    TableTree::find(kinds_, scratch.trees.data(), rows, which, scratch.found.data());
    for (std::size_t i = 0; i < which.size(); ++i) {
        const TableTree::Leaf &leaf = scratch.found[i];
        const std::uint32_t offset = scratch.is_second[which[i]] != 0 ? second_[pair] : 0;
        scratch.leaves[pair * scratch.n_rows + which[i]] = {leaf.first + offset, leaf.n_rows};
    }
}

}  // namespace paribus
