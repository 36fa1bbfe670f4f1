#pragma once

#include <functional>
#include <vector>

#include "surprise/table_tree.hpp"

namespace paribus {

struct WeightedSteps;

/// Rows to ask a forest about.
struct AskedRows {
    std::size_t n_rows;
    /// [row][feature of the table]
    const double *features;
    /// By row: the fitted row that it is, or a negative number. No tree that has seen that row is asked about it.
    const std::int64_t *fitted;
};

/// A forest over the whole table for one target, and the distributions of the target that it gives for rows.
///
/// Trees come in pairs, grown on two samples that have no row in common: whatever the row, one tree of each pair has
/// not seen it, and that one is asked (the first, if neither has). So every row, fitted or new, is judged by as many
/// trees. A tree says that the target is one of those in the row's leaf, each as likely as the other; the forest says
/// that each of its trees may be right.
///
/// Everything is the same on any number of threads and in any batch.
class TableForest {
public:
    using Tick = std::function<void(std::size_t)>;

    /// @param table    must outlive the forest
    /// @param target   by row, NaN where it is missing: such rows are in no tree
    /// @param originals by row: the first of the rows that it is a copy of, or itself; copies are in the same trees as
    ///                  their original, so that no tree that is asked about one has seen another. Null: no copies
    /// @param n_sample  rows per tree, drawn without replacement, and their copies besides; at most half of those that
    ///                  have a target
    TableForest(const FeatureTable &table, const TreeParameters &parameters, const double *target,
                const std::int64_t *originals, std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed,
                std::size_t n_threads, const Tick &on_tick);

    /// The mean absolute deviation of each row's distribution from its mean.
    void deviations(const AskedRows &rows, double *deviations, std::size_t n_threads, const Tick &on_tick) const;

    /// Minus the logarithm of each row's density at a value. The density is that of the distribution, smoothed by
    /// Student's t with 3 degrees of freedom, whose width is `width` times the mean absolute deviation, or times
    /// `least_deviation` where that is more; it must be above 0. NaN for a value that is missing.
    void surprises(const AskedRows &rows, const double *values, double width, double least_deviation, double *surprises,
                   std::size_t n_threads, const Tick &on_tick) const;

    /// The quantiles of each row's distribution at the middles of n equal shares, from the lowest to the highest:
    /// [row][n].
    void quantiles(const AskedRows &rows, std::size_t n, double *quantiles, std::size_t n_threads,
                   const Tick &on_tick) const;

    /// How much each fitted row counts in the distribution of one row, 1 in all: added to `weights`, times `factor`.
    void add_weights(const AskedRows &row, double factor, double *weights) const;

    std::size_t n_pairs() const { return n_pairs_; }

    /// Memory for `find_leaves`.
    struct LeafScratch {
        std::vector<std::uint8_t> has_missing;
        std::vector<const TableTree *> trees;
    };

    /// The leaves that rows `begin` to `end` are in, in the tree of each pair that is asked about them:
    /// [pair][row - begin], `end - begin` to a pair.
    void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, LeafScratch &scratch,
                     TableTree::Leaf *leaves) const;

    /// The targets in a leaf of the tree of a pair that is asked about a row, as steps, in ascending order. May be read
    /// by lots: what follows the leaf is there, too.
    const std::int32_t *members(std::size_t pair, std::int64_t fitted, const TableTree::Leaf &leaf) const {
        return members_[unseen_tree(pair, fitted)].data() + leaf.first;
    }

    double steps_per_unit() const { return steps_per_unit_; }
    /// A target as a place on the grid, which steps are counted on; and back.
    double place_of(double value) const { return (value - low_) * steps_per_unit_ - middle; }
    double value_at(double place) const { return low_ + (place + middle) / steps_per_unit_; }

    /// The distribution of one row, and the memory for it.
    class Distribution {
    public:
        /// Takes over the leaves of a row: [pair], `stride` apart.
        WeightedSteps gather(const TableForest &forest, std::int64_t fitted, const TableTree::Leaf *leaves,
                             std::size_t stride);

    private:
        void add(const std::int32_t *steps, std::size_t n, float weight);

        std::size_t n_ = 0;
        std::vector<std::int32_t> steps_;
        std::vector<float> weights_;
    };

private:
    // Steps are whole numbers around 0.
    static constexpr int target_bits = 30;
    static constexpr double middle = 1 << (target_bits - 1);

    using Use = std::function<void(std::size_t row, const WeightedSteps &distribution)>;
    void for_each_row(const AskedRows &rows, std::size_t n_threads, const Tick &on_tick,
                      const std::function<Use()> &make_use) const;
    std::size_t unseen_tree(std::size_t pair, std::int64_t fitted) const {
        const bool first_has_seen = fitted >= 0 && (seen_[pair * n_words_ + fitted / 64] >> (fitted % 64) & 1) != 0;
        return 2 * pair + first_has_seen;
    }

    const FeatureTable &table_;
    /// The target as whole numbers: value = low + (step + middle) / steps_per_unit.
    double low_, steps_per_unit_;
    std::vector<TableTree> trees_;
    /// [tree]: the targets of its leaves, one leaf after the other, each in ascending order.
    std::vector<std::vector<std::int32_t>> members_;
    std::size_t n_pairs_, n_words_;
    /// [pair][row]: whether the first tree has seen it.
    std::vector<std::uint64_t> seen_;
};

}  // namespace paribus
