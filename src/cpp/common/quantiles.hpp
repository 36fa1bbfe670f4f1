#pragma once

#include <cstddef>
#include <vector>

namespace paribus {

/// Weighted quantiles of each row: for each share, the smallest value such that it and all smaller ones have at least
/// this share of the weight. No value may be missing.
///
/// @param values  [row][value], of which there is one or more
/// @param weights [row][value]
/// @param found   [row][share]
void weighted_quantiles(const double *values, const double *weights, std::size_t n_rows, std::size_t n_values,
                        const std::vector<double> &shares, double *found, std::size_t n_threads);

}  // namespace paribus
