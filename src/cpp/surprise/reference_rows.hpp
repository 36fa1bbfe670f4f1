#pragma once

#include <vector>

#include "surprise/packed_forest.hpp"
#include "surprise/table_forest.hpp"

namespace paribus {

/// A forest, and how much it counts.
struct CountedForest {
    const PackedForest *forest;
    double share;
    /// The same forest, unpacked; null if rows go down the packed one, which is better for few of them.
    const TableForest *unpacked;
};

/// How far rows are apart in their context: the mean over the features that both have, as in QCAD.
struct ContextDistance {
    /// [row][feature of the table], of which the first are contextual
    const double *rows;
    std::size_t n_features;
    /// By contextual feature: 0 where rows are equal or not, as for categories.
    std::vector<double> ranges;

    double operator()(const double *row, std::uint32_t other) const;
};

/// The fitted rows that share most leaves with rows, nearest first; of those that are as near, those that share more.
///
/// @param features  by feature: its forests, whose shares sum to 1, or none
/// @param positions [row][n_reference]: fitted rows, -1 where there are fewer
/// @param distances [row][n_reference]
/// @param weights   [row][feature][n_reference]: how often each shares a leaf with the row, 1 in all; of a feature
///                  without forests, all alike
void find_reference_rows(const AskedRows &rows, const std::vector<std::vector<CountedForest>> &features,
                         const ContextDistance &distance, std::size_t n_fitted, std::size_t n_reference,
                         std::int64_t *positions, double *distances, double *weights, std::size_t n_threads,
                         const Tick &on_tick);

}  // namespace paribus
