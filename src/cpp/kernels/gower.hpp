#pragma once

#include "common/context.hpp"

// One declaration per instruction set. Other sources use them through kernel.hpp.
namespace paribus::PARIBUS_KERNEL {

/// Gower's distance from one row to each fitted row in [begin, end).
///
/// It is the mean, over the features that both rows have, of |a - b| / range (numeric) or of 0 or 1 (same or different
/// category). A numeric feature that is constant in the fitted table is compared like a category. The distance of rows
/// without a common feature is 1.
///
/// @param query     one value per feature
/// @param distances output: end - begin values
/// @param counts    scratch memory of the same length
void gower_distances(const ContextView &table, const double *query, std::size_t begin, std::size_t end,
                     double *distances, double *counts);

}  // namespace paribus::PARIBUS_KERNEL
