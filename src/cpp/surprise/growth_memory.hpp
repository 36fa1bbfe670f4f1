#pragma once

#include <cstdint>
#include <vector>

#include "surprise/position_sorter.hpp"
#include "surprise/table_tree.hpp"

namespace paribus {

/// Memory for growing a tree, which a thread keeps for its next one: to ask the system for it takes a twentieth of the
/// time of a forest. Sizes and contents are those of the tree before.
struct GrowthMemory {
    // Of `TableTree`.
    std::vector<TableTree::Node> nodes;
    std::vector<TableTree::Leaf> leaves;
    // Of `TreeSample`.
    std::vector<std::int32_t> targets;
    std::vector<std::uint8_t> bins;
    PositionSorter sorter;
    // Of `BinCounts`.
    std::vector<std::vector<std::uint64_t>> counts;
    std::vector<std::uint64_t> packed;
    // Of `TreeGrower`.
    std::vector<std::uint32_t> positions, right;
    // Of `SubtreeGrower`.
    std::vector<std::uint8_t> dealt, ranks, orders;
    std::vector<std::uint32_t> places;
};

}  // namespace paribus
