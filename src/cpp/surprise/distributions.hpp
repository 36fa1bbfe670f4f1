#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "surprise/leaf_finder.hpp"

namespace paribus {

struct WeightedSteps;

/// The distribution of one row, and the memory for it.
class Distribution {
public:
    /// Takes over the leaves of a row.
    ///
    /// @param place the row's place in the block that was found
    WeightedSteps gather(const LeafFinder::Scratch &found, std::size_t place);

private:
    std::size_t n_pairs_ = 0;
    std::vector<std::int32_t> steps_;
    std::vector<float> weights_;
    /// What a value counts, by the size of its leaf.
    std::vector<float> weight_of_;
};

/// Leaves are prefetched this many rows ahead, to hide the latency of memory.
inline constexpr std::size_t rows_ahead = 3;

/// The number of rows in a block. All rows of a block pass through one tree before the next tree is fetched.
inline constexpr std::size_t rows_per_block = 4096;

/// Does the work for blocks of rows on some threads.
///
/// @param make_work called once on each thread; returns what does the work for rows from `begin` to `end`
void for_each_block(std::size_t n_rows, std::size_t n_threads, const Tick &on_tick,
                    const std::function<std::function<void(std::size_t begin, std::size_t end)>()> &make_work);

/// The mean absolute deviation of each row's distribution from its mean.
void find_deviations(const AskedRows &rows, const LeafFinder &forest, double *deviations, std::size_t n_threads,
                     const Tick &on_tick);

/// Minus the logarithm of each row's density at a value. The density is that of the distribution, smoothed by Student's
/// t with 3 degrees of freedom, whose width is `width` times the mean absolute deviation, or times `least_deviation`
/// where that is more; it must be above 0. NaN for a value that is missing.
void find_surprises(const AskedRows &rows, const LeafFinder &forest, const double *values, double width,
                    double least_deviation, double *surprises, std::size_t n_threads, const Tick &on_tick);

/// The quantiles of each row's distribution at the middles of n equal shares, from the lowest to the highest: [row][n].
void find_quantiles(const AskedRows &rows, const LeafFinder &forest, std::size_t n, double *quantiles,
                    std::size_t n_threads, const Tick &on_tick);

}  // namespace paribus
