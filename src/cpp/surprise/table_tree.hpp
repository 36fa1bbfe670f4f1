#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "surprise/feature_table.hpp"

namespace paribus {

/// What the trees of a forest over the whole table have in common.
struct TreeParameters {
    /// The features that splits may use.
    std::vector<std::uint16_t> features;
    /// How many of them, drawn anew, a split tries.
    std::size_t max_features;
    std::size_t min_samples_leaf;
};

/// A regression tree that keeps the rows of its leaves.
class TableTree {
public:
    /// Where the rows of a leaf are in `rows()`.
    struct Leaf {
        std::uint32_t first, n_rows;
    };

    /// A set of bins of categories.
    using BinSet = std::array<std::uint64_t, FeatureTable::n_bins / 64>;
    static bool is_in(const BinSet &set, std::uint8_t bin) { return (set[bin / 64] >> (bin % 64) & 1) != 0; }

    /// Grows a tree: each split is the one that lowers the squared error of the target most.
    ///
    /// @param rows   the sample, in ascending order
    /// @param target by row, as whole numbers below 2^30 in size: their sums are exact, in any order
    /// @param seed   of the features that splits try
    TableTree(const FeatureTable &table, const TreeParameters &parameters, std::vector<std::uint32_t> rows,
              const std::int32_t *target, std::uint64_t seed);

    /// The sample, the rows of a leaf side by side, by ascending target, equal ones in ascending order.
    const std::vector<std::uint32_t> &rows() const { return rows_; }

    /// By node; those of nodes that are no leaves have no rows.
    const std::vector<Leaf> &leaves() const { return leaves_; }

    /// The leaf of each row in a tree of its own choice. A value that is missing or a category that a split has not
    /// seen goes where the split sends it, or with the majority.
    ///
    /// @param trees       one per row
    /// @param rows        [row][feature of the table]
    /// @param has_missing by row: whether any of its values is missing
    static void find(const FeatureTable &table, const TableTree *const *trees, const double *rows,
                     const std::uint8_t *has_missing, std::size_t n_rows, Leaf *leaves);

private:
    struct Node {
        /// Numbers up to it go left. Of a split of categories: which of the sets goes left. Of a leaf: infinite.
        double threshold;
        /// The left child, whose neighbour is the right one. Of a leaf: itself.
        std::uint32_t left;
        std::uint16_t feature;
        bool missing_left;
        bool is_categorical;
    };

    /// Rows that go down together: while one waits for memory, the others go on.
    static constexpr std::size_t side_by_side = 8;
    /// No more rows than that. Plain ones have no missing values, and their trees no categories.
    template <bool is_plain>
    static void find_some(const FeatureTable &table, const TableTree *const *trees, const double *rows,
                          std::size_t n_rows, Leaf *leaves);
    bool category_goes_left(const FeatureTable &table, const Node &node, double value) const;

    friend class TreeGrower;
    friend class SubtreeGrower;

    std::vector<Node> nodes_;
    std::vector<BinSet> sets_;
    /// By node; without rows where that is no leaf.
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> rows_;
};

}  // namespace paribus
