#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// The values of a reference group in one contextual feature, as the roots of all trees see them.
struct GroupFeature {
    /// Members in ascending order of values: local rank << 16 | position in the group. Equal values have the same local
    /// rank.
    const std::uint32_t *order;
    /// The value of each local rank; a missing number is minus infinity.
    const double *values;
    /// The point's own value.
    double own;
};

/// A reference group, the behavior of its members, and the trees to be grown over it.
struct PathForestTask {
    std::size_t n_members;
    std::size_t n_features;
    const GroupFeature *features;
    /// The local rank of each member in each feature: [feature][member].
    const std::int32_t *ranks;
    /// The behavior of each member. Members for which it is NaN, a missing value, are in no tree.
    const double *behavior;
    /// The behavior as steps of a grid (see grid.hpp); 0 where it is missing.
    const std::int32_t *grid_behavior;
    /// Grid steps per unit of behavior.
    double grid_scale;
    /// Bits of a grid step: so few that sums of n_members products of multiplicity and step fit into 32 bits.
    int grid_bits;
    /// A node with fewer distinct members is a leaf. At least 2.
    std::uint32_t min_samples_split;

    std::size_t n_trees;
    /// Trees are grown in packs that differ in size by at most one, the larger ones first.
    std::size_t n_packs;
    /// How often each tree drew each position, at most `max_multiplicity`: [pack][position][lane]; 0 in lanes without a
    /// tree.
    const std::uint8_t *multiplicities;

    /// The number of features to try at a node, and their order for each tree and depth: [tree][depth][feature]. Depths
    /// beyond `n_depths` start over. If the order is null, all features are tried at each node.
    std::size_t max_features;
    const std::uint16_t *feature_order;
    std::size_t n_depths;

    /// Scratch memory of `path_forest_scratch_bytes` bytes, aligned to 64 bytes.
    void *scratch;
    /// [member], output, added to: the sum over trees of multiplicity / multiplicity of the leaf, in units of 2^-48.
    /// The summands are whole numbers, so that the sum does not depend on their order.
    std::uint64_t *weights;
};

/// Limits multiplicities so that those of a few members can be summed in bytes. No bootstrap comes near it.
inline constexpr std::uint8_t max_multiplicity = 31;

/// The weight of one tree.
inline constexpr std::uint64_t weight_unit = std::uint64_t{1} << 48;

}  // namespace paribus

// One declaration per instruction set. Other sources use them through kernel.hpp.
#ifdef PARIBUS_KERNEL
namespace paribus::PARIBUS_KERNEL {

/// The number of trees that are grown side by side.
std::size_t path_forest_lanes();

std::size_t path_forest_scratch_bytes(std::size_t n_members, std::size_t n_features);

/// Grows each tree of a pack along the path from its root to the leaf of the point, and adds the weights of the leaves.
void grow_paths(const PathForestTask &task, std::size_t pack);

}  // namespace paribus::PARIBUS_KERNEL
#endif
