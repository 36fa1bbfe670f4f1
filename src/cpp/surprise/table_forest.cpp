#include "surprise/table_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "common/grid.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "surprise/class_shares.hpp"

namespace paribus {

namespace {

/// The lowest 32-bit number that is not below a number.
float rounded_up(double value) {
    const auto nearest = static_cast<float>(value);
    return static_cast<double>(nearest) < value ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
                                                : nearest;
}

}  // namespace

TableForest::TableForest(const FeatureTable &table, const TreeSamples &samples, const TargetColumn &target,
                         const TreeParameters &parameters, std::uint64_t seed, std::size_t n_threads,
                         const Tick &on_tick)
    : kinds_(*table.kinds()), samples_(samples), members_(2 * samples.n_pairs()) {
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
            return [&](std::size_t which) {
                // A stream for each tree, so that threads need not take turns.
                Random random(Random(seed)() + which);
                const std::vector<std::uint32_t> &sample = samples_.sample(which);
                std::vector<std::int32_t> numbered;
                if (target.n_classes() > 0) numbered = number_classes(target, Random(seed)() + which / 2);
                const std::int32_t *const grown_by = numbered.empty() ? steps.data() : numbered.data();
                TableTree &tree = trees[which].emplace(table, parameters, sample, grown_by, random());
                std::vector<std::int32_t> &members = members_[which];
                members.reserve(tree.members().size() + step_lot);
                for (const std::uint32_t position : tree.members()) members.push_back(steps[sample[position]]);
                // The last leaf is read by lots, too.
                members.resize(members.size() + step_lot);
            };
        },
        [&](std::size_t n_done) { on_tick(n_done / 2); });
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
}

TableForest::TableForest(const PackedForest &packed, std::size_t n_threads)
    : kinds_(packed.kinds()), samples_(packed.samples()), grid_(packed.grid()), was_packed_(true),
      members_(2 * samples_.n_pairs()) {
    const std::vector<std::int32_t> steps = packed.steps();
    std::vector<std::optional<TableTree>> trees(members_.size());
    for_each_item(
        trees.size(), n_threads,
        [&](const std::atomic<bool> &) {
            return [&](std::size_t which) {
                trees[which].emplace(packed.unpack(which, steps, members_[which]));
                members_[which].resize(members_[which].size() + step_lot);
            };
        },
        [](std::size_t) {});
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
}

std::vector<std::uint8_t> TableForest::pack(const std::vector<std::uint16_t> &features) {
    std::vector<std::uint8_t> bytes = PackedForest::pack(kinds_, features, grid_, samples_, trees_);
    for (TableTree &tree : trees_) tree.forget_members();
    return bytes;
}

void TableForest::find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch,
                              TableTree::Leaf *leaves) const {
    const std::size_t n = end - begin, n_features = kinds_.n_features();
    scratch.has_missing.resize(std::max(n, scratch.has_missing.size()));
    scratch.trees.resize(std::max(n, scratch.trees.size()));
    bool has_missing = false;
    for (std::size_t row = begin; row < end; ++row) {
        const double *values = rows.features + row * n_features;
        scratch.has_missing[row - begin] =
            std::any_of(values, values + n_features, [](double value) { return value != value; });
        has_missing |= scratch.has_missing[row - begin] != 0;
    }
    if (!has_missing) {
        scratch.rounded.resize(n * n_features);
        std::transform(rows.features + begin * n_features, rows.features + end * n_features, scratch.rounded.begin(),
                       rounded_up);
    }
    // All rows through one tree before the next, so that it stays near the processor.
    for (std::size_t pair = 0; pair < n_pairs(); ++pair) {
        for (std::size_t row = begin; row < end; ++row) {
            scratch.trees[row - begin] = &trees_[samples_.unseen_tree(pair, rows.fitted[row])];
        }
        if (!has_missing && trees_[2 * pair].is_narrow() && trees_[2 * pair + 1].is_narrow()) {
            TableTree::find_narrow(scratch.trees.data(), scratch.rounded.data(), n_features, n, leaves + pair * n);
            continue;
        }
        TableTree::find(kinds_, scratch.trees.data(), rows.features + begin * n_features, scratch.has_missing.data(), n,
                        leaves + pair * n);
    }
}

}  // namespace paribus
