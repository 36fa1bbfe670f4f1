#pragma once

#include <functional>
#include <vector>

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
    /// [tree][depth][feature]; empty: all features are tried at each split.
    std::vector<std::uint16_t> feature_order;
    std::size_t max_features;
    std::size_t n_depths;
};

/// The rows to look at, and where the results go. Results that are null are not wanted.
struct Query {
    std::size_t n_rows;
    /// [row][feature]. A category that the fitted rows do not have is a number that none of them has.
    const double *context;
    /// [row][feature], NaN where missing.
    const double *behavior;
    /// [row]: the caller's fitted row that is not to be a reference of this one, or a negative number.
    const std::int64_t *excluded;

    /// [row][feature]: partial scores, behaviour scaled to [0, 1]; NaN without a value or a reference.
    double *partial_scores = nullptr;
    /// [row][feature][n_quantiles + 1], NaN without a reference.
    double *percentiles = nullptr;
    /// [row][feature][k]: how much each neighbour counts, 1 in all; NaN without a reference.
    double *weights = nullptr;
    /// [row][k]: the caller's fitted rows, nearest first, and their distances.
    std::int64_t *neighbors = nullptr;
    double *distances = nullptr;
    /// [row][2]: the distances of the nearest and of the farthest neighbour.
    double *reach = nullptr;
};

using Tick = std::function<void(std::size_t)>;

/// Everything in one pass over the rows: neighbours, paths, percentiles, scores. `on_tick` as in `for_each_item`.
void run(const FittedTable &table, const ForestParameters &parameters, const Query &query, std::size_t n_threads,
         const Tick &on_tick);

}  // namespace paribus
