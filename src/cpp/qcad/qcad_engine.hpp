#pragma once

#include <vector>

#include "common/parallel.hpp"
#include "qcad/fitted_table.hpp"

namespace paribus {

/// The parameters of the forests and of the score.
struct ForestParameters {
    std::size_t n_neighbors;
    std::size_t n_trees;
    std::uint32_t min_samples_split;
    std::size_t n_quantiles;
    bool scale_tails;
    /// [position][tree]: how often each tree draws each position of a reference group.
    std::vector<std::uint8_t> multiplicities;
    /// [tree][depth][feature]: the order in which features are tried; empty if all are tried at each split.
    std::vector<std::uint16_t> feature_order;
    std::size_t max_features;
    std::size_t n_depths;
};

/// The rows to score, and where to write the results. Results whose pointer is null are not computed.
struct Query {
    std::size_t n_rows;
    /// [row][feature]. The code of an unseen category is a number that no fitted row has.
    const double *context;
    /// [row][feature], NaN where missing.
    const double *behavior;
    /// [row]: the caller's fitted row that must not be a reference of this row, or a negative number.
    const std::int64_t *excluded;

    /// [row][feature]: partial scores in units of the feature's range; NaN without a value or a reference.
    double *partial_scores = nullptr;
    /// [row][feature][n_quantiles + 1]: percentiles; NaN without a reference.
    double *percentiles = nullptr;
    /// [row][feature][k]: the weights of the neighbors, which sum to 1; NaN without a reference.
    double *weights = nullptr;
    /// [row][k]: the caller's fitted rows, nearest first.
    std::int64_t *neighbors = nullptr;
    /// [row][k]: the distances of these rows.
    double *distances = nullptr;
    /// [row][2]: the distances of the nearest and of the farthest neighbor.
    double *reach = nullptr;
};

/// Computes neighbors, paths, percentiles and scores in one pass over the rows. See `for_each_item` for `on_tick`.
void run(const FittedTable &table, const ForestParameters &parameters, const Query &query, std::size_t n_threads,
         const Tick &on_tick);

}  // namespace paribus
