#pragma once

#include <vector>

#include "surprise/packed_forest.hpp"
#include "surprise/tree_pair.hpp"

namespace paribus {

/// A forest in the form in which it grows, and that many rows go down fast.
class TableForest final : public LeafFinder {
public:
    /// Grows it. Rows without a target must be in no sample.
    ///
    /// @param samples must outlive the forest, and so must the kinds of the table's features
    TableForest(const FeatureTable &table, const TreeSamples &samples, const TargetColumn &target,
                const TreeParameters &parameters, std::uint64_t seed, std::size_t n_threads, const Tick &on_tick);

    /// A forest that was grown before, which must outlive this one.
    ///
    /// @param for_new_rows whether it is used for new rows only: these need only the first tree of each pair
    TableForest(const PackedForest &packed, bool for_new_rows, std::size_t n_threads);

    /// The bytes for a `PackedForest`. Only of a forest that was grown, and only once.
    ///
    /// @param keeps_leaf_rows whether `leaf_rows` are kept: 32 bits for each row of a sample, and 64 for each node
    std::vector<std::uint8_t> pack(const std::vector<std::uint16_t> &features, bool keeps_leaf_rows);

    /// Whether leaves have heads, and whether only new rows can be asked about.
    bool has_heads() const { return has_heads_; }
    bool is_for_new_rows() const { return is_for_new_rows_; }

    /// The fitted rows in the leaves of a tree.
    struct LeafRows {
        /// Positions in the sample of the tree.
        std::vector<std::uint32_t> members;
        /// Parts of the members. Those of nodes that are no leaves have no rows.
        std::vector<TableTree::Leaf> leaves;
    };
    /// By tree; of a forest that was grown and packed, and keeps them, else empty.
    const std::vector<LeafRows> &leaf_rows() const { return leaf_rows_; }
    const TreeSamples &samples() const { return samples_; }
    /// Where the leaves of a tree begin in what `find_leaves` finds, beyond where they begin in the tree.
    std::uint32_t begin_of_leaves(std::size_t tree) const { return tree % 2 == 0 ? 0 : second_[tree / 2]; }

    std::size_t n_pairs() const override { return samples_.n_pairs(); }
    const TargetGrid &grid() const override { return grid_; }
    void find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, Scratch &scratch) const override;

private:
    /// Puts two trees that were grown into the form in which rows go down.
    void join(std::size_t pair, const std::vector<std::int32_t> &steps);
    /// The leaves of all rows in one pair of trees whose thresholds have more than 32 bits.
    void find_exactly(const double *rows, std::size_t pair, Scratch &scratch) const;

    const FeatureKinds &kinds_;
    const TreeSamples &samples_;
    TargetGrid grid_;
    RowPlanes planes_;
    /// Empty in the place of those that `pairs_` has.
    std::vector<TableTree> trees_;
    /// Of a forest that was grown: whether its target is numbers, and not classes.
    bool is_of_numbers_ = false;
    /// Only a forest that was packed knows the second target.
    bool has_heads_ = false;
    bool is_for_new_rows_ = false;
    std::vector<TreePair> pairs_;
    /// [pair]: the targets of the leaves of both trees, one leaf after the other, each in ascending order.
    std::vector<std::vector<std::int32_t>> members_;
    /// [pair]: where those of the second tree begin.
    std::vector<std::uint32_t> second_;
    std::vector<LeafRows> leaf_rows_;
};

}  // namespace paribus
