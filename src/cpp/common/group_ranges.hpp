#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// Groups of rows, with a weight for each: [row][member][feature], of which the first `sizes[row]` members count.
struct WeightedGroups {
    std::size_t n_rows, n_members, n_features;
    const double *values;
    /// [row][member], not all 0
    const double *weights;
    const std::int64_t *sizes;
};

/// What the members of a group have in common in one feature.
struct GroupRange {
    /// The weighted quantiles at 5 % and at 95 %: the smallest value such that it and all smaller ones have at least
    /// this share of the weight.
    double low, high;
    /// The share of the weight between them.
    double share;
    double least, most;
};

/// Describes the groups of rows.
///
/// Sums are those of NumPy to the last bit, see `pairwise_sum`.
///
/// @param features   the features that are described
/// @param ranges     [feature][row]; NaN if a member of the group has no value
/// @param n_counting [row]: the fewest members that hold 95 % of the weight
/// @param squares    [row]: the sum of the squared weights
void describe_groups(const WeightedGroups &groups, const std::vector<std::size_t> &features, GroupRange *ranges,
                     std::int64_t *n_counting, double *squares, std::size_t n_threads);

/// The sum of numbers in the order of NumPy: eight running sums for up to 128 numbers, and halves of more.
double pairwise_sum(const double *values, std::size_t n);

}  // namespace paribus
