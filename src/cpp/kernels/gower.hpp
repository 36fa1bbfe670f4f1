#pragma once

#include "common/context.hpp"

// One declaration per instruction set: other sources reach them through kernel.hpp.
namespace paribus::PARIBUS_KERNEL {

/// Gower's distance from one row to each fitted row in [begin, end).
///
/// The mean over the features that both rows have of |a - b| / range (numeric) or 0 / 1 (same or other category). A
/// numeric feature that is constant in the fitted table counts like a category. No feature in common: 1.
///
/// @param query     one value per feature
/// @param distances end - begin values, written
/// @param counts    scratch of the same length
void gower_distances(const ContextView &table, const double *query, std::size_t begin, std::size_t end,
                     double *distances, double *counts);

}  // namespace paribus::PARIBUS_KERNEL
