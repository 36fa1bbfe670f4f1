#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/leaf_finder.hpp"
#include "surprise/target_column.hpp"

namespace paribus {

/// The target that a tree over classes grows by: each class is a number, in a random order that depends on `seed`.
///
/// The variance of such numbers, averaged over all orders, is Gini's impurity up to a factor: what a forest minimizes
/// whose trees have an order each.
///
/// @return by row; any number where the class is missing
std::vector<std::int32_t> number_classes(const TargetColumn &target, std::uint64_t seed);

/// How common each class is in the leaves of rows. A tree whose leaf has n rows, c of them of a class, gives the class a
/// probability of (c + strength * prior) / (n + strength).
///
/// @param shares [row][class, and then the weight of the prior]: the means over the trees of c / (n + strength), and of
///               strength / (n + strength)
void find_class_shares(const AskedRows &rows, const LeafFinder &forest, std::size_t n_classes, double strength,
                       double *shares, std::size_t n_threads, const Tick &on_tick);

}  // namespace paribus
