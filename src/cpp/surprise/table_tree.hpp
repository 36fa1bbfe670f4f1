#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "surprise/feature_table.hpp"

namespace paribus {

struct GrowthMemory;

/// What the trees of a forest over the whole table have in common.
struct TreeParameters {
    /// The features that splits may use.
    std::vector<std::uint16_t> features;
    /// How many of them, drawn anew, a split tries.
    std::size_t max_features;
    std::size_t min_samples_leaf;
};

/// A regression tree that keeps the rows of its leaves, in a form that rows go down fast.
class TableTree {
public:
    /// A leaf of more rows is represented by this many of them, evenly spaced in the order of their targets: what is
    /// asked of it takes no longer, however large it is.
    static constexpr std::size_t max_leaf_rows = 256;
    /// Which of the rows of a leaf is the i-th that represents it.
    static std::size_t kept_member(std::size_t i, std::size_t n_rows) {
        return n_rows <= max_leaf_rows ? i : (2 * i + 1) * n_rows / (2 * max_leaf_rows);
    }

    /// Where the rows of a leaf are in `members()`.
    struct Leaf {
        std::uint32_t first, n_rows;
    };

    struct Node {
        /// Numbers up to it go left. Of a split of categories: which of the sets goes left. Of a leaf: infinite.
        double threshold;
        /// The left child, whose neighbor is the right one. Of a leaf: itself.
        std::uint32_t left;
        std::uint16_t feature;
        bool missing_left;
        bool is_categorical;
    };

    /// A set of bins of categories.
    using BinSet = std::array<std::uint64_t, FeatureTable::n_bins / 64>;
    static bool is_in(const BinSet &set, std::uint8_t bin) { return (set[bin / 64] >> (bin % 64) & 1) != 0; }
    static bool category_goes_left(const BinSet &set, const std::vector<std::uint8_t> &bin_of_code, double code,
                                   bool unknown_left) {
        if (code != code) return is_in(set, FeatureTable::missing_bin);
        const bool is_known = code >= 0.0 && code < static_cast<double>(bin_of_code.size());
        return is_known ? is_in(set, bin_of_code[static_cast<std::size_t>(code)]) : unknown_left;
    }

    /// Grows a tree: each split is the one that lowers the squared error of the target most.
    ///
    /// @param sample rows, in ascending order
    /// @param target by row, as whole numbers below 2^29 in size: their sums are exact, in any order
    /// @param seed   of the features that splits try
    /// @param memory of any tree before, or none; not for two trees at once
    TableTree(const FeatureTable &table, const TreeParameters &parameters, const std::vector<std::uint32_t> &sample,
              const std::int32_t *target, std::uint64_t seed, GrowthMemory &memory);

    /// A tree that was grown before, without its members.
    ///
    /// @param leaves by node
    TableTree(std::vector<Node> nodes, std::vector<BinSet> sets, std::vector<Leaf> leaves)
        : nodes_(std::move(nodes)), sets_(std::move(sets)), leaves_(std::move(leaves)) {}

    /// A tree that knows nothing: one leaf without rows.
    static TableTree empty() { return {{{std::numeric_limits<double>::infinity(), 0, 0, true, false}}, {}, {{0, 0}}}; }

    const std::vector<Node> &nodes() const { return nodes_; }
    const std::vector<BinSet> &sets() const { return sets_; }
    /// By node; those of nodes that are no leaves have no rows.
    const std::vector<Leaf> &leaves() const { return leaves_; }
    /// The positions in the sample of the rows that represent the leaves, those of a leaf side by side, by ascending
    /// target, equal ones in ascending order.
    const std::vector<std::uint32_t> &members() const { return members_; }
    std::vector<std::uint32_t> take_members() { return std::exchange(members_, {}); }

    /// The leaf of each row in a tree of its own choice. A value that is missing or a category that a split has not
    /// seen goes where the split sends it, or with the majority.
    ///
    /// @param trees by row
    /// @param rows  [row][feature of the table]
    static void find(const FeatureKinds &kinds, const TableTree *const *trees, const double *rows, std::size_t n_rows,
                     Leaf *leaves);

private:
    /// Keeps only the rows of each leaf that represent it.
    void thin_out_leaves();

    /// Rows that go down together: while one waits for memory, the others go on.
    static constexpr std::size_t side_by_side = 8;
    /// No more rows than that.
    static void find_some(const FeatureKinds &kinds, const TableTree *const *trees, const double *rows,
                          std::size_t n_rows, Leaf *leaves);
    bool category_goes_left(const FeatureKinds &kinds, const Node &node, double value) const;

    friend class TreeGrower;
    friend class SubtreeGrower;

    std::vector<Node> nodes_;
    std::vector<BinSet> sets_;
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> members_;
};

}  // namespace paribus
