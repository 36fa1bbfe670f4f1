#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/table_tree.hpp"

namespace paribus {

/// The two trees of a pair in one array of small nodes, which many rows go down fast: their thresholds are 32-bit
/// numbers, and none asks for a category. Rows must not have missing values.
class TreePair {
public:
    /// Rows that go down together: while one waits for memory, the others go on.
    static constexpr std::size_t side_by_side = 8;

    /// Rows as `find` takes them: [row / side_by_side][feature][row % side_by_side], each value the lowest 32-bit
    /// number that is not below it: it is up to a threshold of 32 bits if and only if the value is.
    static void arrange(const double *rows, std::size_t n_rows, std::size_t n_features, std::vector<float> &arranged);

    /// @param offset what to add to the leaves of the second tree
    TreePair(const TableTree &first, const TableTree &second, std::uint32_t offset);

    /// Whether the trees fit.
    bool is_usable() const { return !nodes_.empty(); }

    /// The leaf of each row in the tree of its choice.
    void find(const std::vector<float> &arranged, std::size_t n_features, const std::uint8_t *is_second,
              std::size_t n_rows, TableTree::Leaf *leaves) const;

private:
    /// A split, or a leaf: that keeps a row, since its threshold is no number, and its left child is itself. The digits
    /// of the threshold are then where its targets begin, and the place is how many there are.
    struct Node {
        float threshold;
        std::uint16_t left;
        /// The feature's place among the values of a group of rows.
        std::uint16_t place;
    };

    bool append(const TableTree &tree, std::uint32_t offset);

    std::vector<Node> nodes_;
    std::uint32_t second_root_ = 0;
};

}  // namespace paribus
