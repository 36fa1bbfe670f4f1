#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// The reference group of one point in one contextual feature, as every tree's root sees it.
struct GroupFeature {
    /// Members from the lowest to the highest value: local rank << 16 | position in the group. Equal values share
    /// their local rank.
    const std::uint32_t *order;
    /// Value of each local rank; a missing number is minus infinity.
    const double *values;
    /// The point's own value.
    double own;
};

/// A group, the behaviour of its members, and the trees to be grown over it.
struct PathForestTask {
    std::size_t n_members;
    std::size_t n_features;
    const GroupFeature *features;
    /// Local rank of each member in each feature: [feature][member].
    const std::int32_t *ranks;
    /// Behaviour of each member; NaN where it is missing, and such a member is in no tree.
    const double *behavior;
    /// The same as steps of a grid (see grid.hpp); 0 where it is missing.
    const std::int32_t *grid_behavior;
    /// Steps per unit of behaviour.
    double grid_scale;
    /// So few that sums of n_members multiplicities times steps fit into 32 bits.
    int grid_bits;
    /// A node of fewer distinct members is a leaf; at least 2.
    std::uint32_t min_samples_split;

    std::size_t n_trees;
    /// The trees come in packs that differ in size by at most one, the larger ones first.
    std::size_t n_packs;
    /// How often each tree drew each position, `max_multiplicity` at most: [pack][position][lane]; lanes without a
    /// tree are 0.
    const std::uint8_t *multiplicities;

    /// Features tried at a node, and the order in which tree and depth draw them: [tree][depth][feature], depths
    /// beyond `n_depths` start over. Null: all features, always.
    std::size_t max_features;
    const std::uint16_t *feature_order;
    std::size_t n_depths;

    /// Scratch of `path_forest_scratch_bytes`, aligned to 64 bytes.
    void *scratch;
    /// [member], added to: the sum over trees of multiplicity / multiplicity of the leaf, in units of 2^-48. Whole
    /// numbers, so that the sum does not depend on its order.
    std::uint64_t *weights;
};

/// Counts of a few members are added up in bytes. A bootstrap never comes near it.
inline constexpr std::uint8_t max_multiplicity = 31;

/// One tree's share of the weights.
inline constexpr std::uint64_t weight_unit = std::uint64_t{1} << 48;

}  // namespace paribus

// One declaration per instruction set: other sources reach them through kernel.hpp.
#ifdef PARIBUS_KERNEL
namespace paribus::PARIBUS_KERNEL {

/// Trees grown side by side.
std::size_t path_forest_lanes();

std::size_t path_forest_scratch_bytes(std::size_t n_members, std::size_t n_features);

/// Grows each tree of a pack along the path from its root to the leaf that holds the point, and adds the leaves'
/// weights.
void grow_paths(const PathForestTask &task, std::size_t pack);

}  // namespace paribus::PARIBUS_KERNEL
#endif
