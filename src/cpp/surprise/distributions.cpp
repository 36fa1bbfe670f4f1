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
        std::vector<TableTree::Leaf> leaves;
        Distribution distribution;
    };
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>();
        scratch->leaves.resize(forest.n_pairs() * std::min(rows.n_rows, rows_per_block));
        return [&, scratch, use = make_use()](std::size_t begin, std::size_t end) {
            forest.find_leaves(rows, begin, end, scratch->finding, scratch->leaves.data());
            for (std::size_t row = begin; row < end; ++row) {
                prefetch_later(rows, forest, scratch->leaves.data(), begin, end, row);
                use(row, scratch->distribution.gather(forest, rows.fitted[row], scratch->leaves.data() + row - begin,
                                                      end - begin, scratch->finding));
            }
        };
    });
}

}  // namespace

void Distribution::add(const std::int32_t *steps, std::size_t n, float weight) {
    // Enough to fill up a lot, too.
    if (n_ + n + WeightedSteps::lot > steps_.size()) {
        steps_.resize(2 * (n_ + n + WeightedSteps::lot));
        weights_.resize(steps_.size());
    }
    // By lots of their own, which leaves seldom fill: faster than to ask how many there are.
    for (std::size_t i = 0; i < n; i += step_lot) {
        std::memcpy(steps_.data() + n_ + i, steps + i, step_lot * sizeof *steps);
        std::fill_n(weights_.data() + n_ + i, step_lot, weight);
    }
    n_ += n;
}

WeightedSteps Distribution::gather(const LeafFinder &forest, std::int64_t fitted, const TableTree::Leaf *leaves,
                                   std::size_t stride, const LeafFinder::Scratch &scratch) {
    n_ = 0;
    const std::size_t n_pairs = forest.n_pairs();
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
        const TableTree::Leaf &leaf = leaves[pair * stride];
        add(forest.members(pair, fitted, leaf, scratch), leaf.n_rows, 1.0f / static_cast<float>(leaf.n_rows * n_pairs));
    }
    const std::size_t n_lots = (n_ + WeightedSteps::lot - 1) / WeightedSteps::lot;
    std::fill(steps_.data() + n_, steps_.data() + n_lots * WeightedSteps::lot, steps_[0]);
    std::fill(weights_.data() + n_, weights_.data() + n_lots * WeightedSteps::lot, 0.0f);
    return {steps_.data(), weights_.data(), n_lots * WeightedSteps::lot};
}

void prefetch_later(const AskedRows &rows, const LeafFinder &forest, const TableTree::Leaf *leaves, std::size_t begin,
                    std::size_t end, std::size_t row) {
    // Memory answers while so many rows are processed.
    constexpr std::size_t ahead = 2;
    const std::size_t later = row + ahead;
    if (later >= end) return;
    for (std::size_t pair = 0; pair < forest.n_pairs(); ++pair) {
        forest.prefetch(pair, rows.fitted[later], leaves[pair * (end - begin) + later - begin]);
    }
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
