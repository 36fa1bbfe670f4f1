#include "surprise/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>

#include "common/parallel.hpp"
#include "kernels/kernel.hpp"
#include "kernels/smooth_density.hpp"
#include "surprise/student.hpp"

namespace paribus {

namespace {

constexpr std::size_t step_lot = LeafFinder::step_lot;
static_assert(step_lot <= WeightedSteps::lot);

using Use = std::function<void(std::size_t row, const WeightedSteps &distribution)>;

void for_each_row(const AskedRows &rows, const LeafFinder &forest, std::size_t n_threads, const Tick &on_tick,
                  const std::function<Use()> &make_use) {
    struct Scratch {
        LeafFinder::Scratch finding;
        Distribution distribution;
    };
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        return [&, scratch = std::make_shared<Scratch>(), use = make_use()](std::size_t begin, std::size_t end) {
            forest.find_leaves(rows, begin, end, scratch->finding);
            for (std::size_t row = begin; row < end; ++row) {
                scratch->finding.prefetch(row + rows_ahead - begin);
                use(row, scratch->distribution.gather(scratch->finding, row - begin));
            }
        };
    });
}

}  // namespace

WeightedSteps Distribution::gather(const LeafFinder::Scratch &found, std::size_t place) {
    const std::size_t n_pairs = found.targets.size();
    if (n_pairs != n_pairs_) {
        n_pairs_ = n_pairs;
        weight_of_.resize(TableTree::max_leaf_rows + 1);
        for (std::size_t n = 1; n < weight_of_.size(); ++n) weight_of_[n] = 1.0f / static_cast<float>(n * n_pairs);
        // Enough to fill up a lot, too.
        steps_.resize(n_pairs * TableTree::max_leaf_rows + WeightedSteps::lot);
        weights_.resize(steps_.size());
    }
    std::int32_t *steps = steps_.data();
    float *weights = weights_.data();
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
        const TableTree::Leaf &leaf = found.leaf(pair, place);
        const std::int32_t *const from = found.targets[pair] + leaf.first;
        const std::size_t n = leaf.n_rows;
        const float weight = weight_of_[n];
        // By lots of their own, which leaves seldom fill: faster than to ask how many there are.
        std::size_t i = 0;
        do {
            std::memcpy(steps + i, from + i, step_lot * sizeof *steps);
            for (std::size_t lane = 0; lane < step_lot; ++lane) weights[i + lane] = weight;
            i += step_lot;
        } while (i < n);
        steps += n;
        weights += n;
    }
    const auto n = static_cast<std::size_t>(steps - steps_.data());
    const std::size_t n_in_lots = (n + WeightedSteps::lot - 1) / WeightedSteps::lot * WeightedSteps::lot;
    std::fill(steps, steps_.data() + n_in_lots, steps_[0]);
    std::fill(weights, weights_.data() + n_in_lots, 0.0f);
    return {steps_.data(), weights_.data(), n_in_lots};
}

void for_each_block(std::size_t n_rows, std::size_t n_threads, const Tick &on_tick,
                    const std::function<std::function<void(std::size_t, std::size_t)>()> &make_work) {
    // Several blocks for each thread, if there are rows for them.
    const std::size_t size = std::clamp<std::size_t>((n_rows + 2 * n_threads - 1) / (2 * n_threads), 1, rows_per_block);
    for_each_item((n_rows + size - 1) / size, n_threads,
                  [&](const std::atomic<bool> &) -> std::function<void(std::size_t)> {
                      return [work = make_work(), n_rows, size](std::size_t block) {
                          work(block * size, std::min((block + 1) * size, n_rows));
                      };
                  },
                  [&](std::size_t n_done) { on_tick(std::min(n_done * size, n_rows)); });
}

void find_deviations(const AskedRows &rows, const LeafFinder &forest, double *deviations, std::size_t n_threads,
                     const Tick &on_tick) {
    const auto mean_deviation = kernel().mean_deviation;
    for_each_row(rows, forest, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, const WeightedSteps &distribution) {
            deviations[row] = mean_deviation(distribution) / forest.grid().steps_per_unit;
        };
    });
}

void find_surprises(const AskedRows &rows, const LeafFinder &forest, const double *values, double width,
                    double least_deviation, double *surprises, std::size_t n_threads, const Tick &on_tick) {
    const Kernel &with = kernel();
    const TargetGrid &grid = forest.grid();
    const double least = least_deviation * grid.steps_per_unit;
    for_each_row(rows, forest, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, const WeightedSteps &distribution) {
            if (std::isnan(values[row])) {
                surprises[row] = values[row];
                return;
            }
            const double scale = width * std::max(with.mean_deviation(distribution), least);
            const double at = grid.place_of(values[row]);
            surprises[row] = surprise(with.student_sum(distribution, at, scale), scale / grid.steps_per_unit);
        };
    });
}

void find_quantiles(const AskedRows &rows, const LeafFinder &forest, std::size_t n, double *quantiles,
                    std::size_t n_threads, const Tick &on_tick) {
    for_each_row(rows, forest, n_threads, on_tick, [&]() -> Use {
        auto order = std::make_shared<std::vector<std::uint32_t>>();
        return [&, order](std::size_t row, const WeightedSteps &distribution) {
            order->resize(distribution.n);
            std::iota(order->begin(), order->end(), 0);
            std::stable_sort(order->begin(), order->end(), [&](std::uint32_t a, std::uint32_t b) {
                return distribution.steps[a] < distribution.steps[b];
            });
            double *to = quantiles + row * n;
            std::size_t next = 0;
            double reached = 0.0;
            for (const std::uint32_t member : *order) {
                reached += static_cast<double>(distribution.weights[member]);
                // Shares that differ by rounding alone are equal.
                while (next < n && reached >= (static_cast<double>(next) + 0.5) / static_cast<double>(n) - 1e-6) {
                    to[next++] = forest.grid().value_at(distribution.steps[member]);
                }
            }
        };
    });
}

}  // namespace paribus
