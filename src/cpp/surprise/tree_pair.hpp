#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/packed_tree.hpp"
#include "surprise/row_planes.hpp"
#include "surprise/table_tree.hpp"

namespace paribus {

/// The two trees of a pair in one array of small nodes, which many rows go down fast. Their thresholds must be 32-bit
/// numbers.
class TreePair {
public:
    TreePair() = default;

    /// @param planes of the rows that go down
    /// @param offset what to add to the leaves of the second tree
    TreePair(const RowPlanes &planes, const TableTree &first, const TableTree &second, std::uint32_t offset);

    /// A packed tree, and what is known of its leaves by their numbers.
    struct Packed {
        const PackedTree &tree;
        /// By slot.
        const std::vector<std::uint16_t> &features;
        const std::vector<TableTree::Leaf> &leaves;
    };

    /// The same of packed trees.
    ///
    /// @param second null: a tree of one leaf without rows
    TreePair(const RowPlanes &planes, const Packed &first, const Packed *second, std::uint32_t offset);

    /// Whether the trees fit.
    bool is_usable() const { return !nodes_.empty(); }

    /// The leaf of each row in the tree of its choice.
    ///
    /// @param arranged  the rows, as `planes` arranges them
    /// @param is_second by row
    /// @param next      the pair that is asked after this one, which is fetched meanwhile if there are many rows; null:
    ///                  none
    void find(const RowPlanes &planes, const std::vector<float> &arranged, const std::uint8_t *is_second,
              std::size_t n_rows, TableTree::Leaf *leaves, const TreePair *next) const;

private:
    /// A split, or a leaf: that keeps a row, since its threshold is no number, and its left child is itself. The digits
    /// of the threshold are then where its targets begin, and the place is how many there are, beyond the planes of
    /// categories.
    struct Node {
        /// Of a split by category: bits of the bins that go left.
        float threshold;
        std::uint16_t left;
        /// The plane in a group of rows.
        std::uint16_t place;
    };

    template <typename Tree>
    class Builder;
    class GrownNodes;
    class PackedNodes;

    template <typename Tree>
    bool append(const RowPlanes &planes, Tree &&tree, std::uint32_t offset);

    template <bool has_categories>
    void find_all(const RowPlanes &planes, const std::vector<float> &arranged, const std::uint8_t *is_second,
                  std::size_t n_rows, TableTree::Leaf *leaves, const TreePair *next) const;

    std::vector<Node> nodes_;
    std::uint32_t second_root_ = 0;
};

}  // namespace paribus
