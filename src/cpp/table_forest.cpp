#include "table_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>

#include "grid.hpp"
#include "parallel.hpp"
#include "random.hpp"

namespace paribus {

namespace {

constexpr int target_bits = 30;
// Rows that go down one tree before the next is fetched from memory.
constexpr std::size_t rows_per_block = 128;
constexpr double degrees_of_freedom = 3.0;
// Of Student's t with 3 degrees of freedom, at its middle.
const double peak = 2.0 / (std::numbers::pi * std::sqrt(degrees_of_freedom));
// Sums run in so many strands, side by side: always the same ones, so that vectors of any width give the same bits.
constexpr std::size_t n_strands = 8;

/// The sum of term(0) ... term(n - 1).
template <typename Term>
double sum(std::size_t n, const Term &term) {
    double strands[n_strands] = {};
    std::size_t i = 0;
    for (; i + n_strands <= n; i += n_strands) {
        for (std::size_t k = 0; k < n_strands; ++k) strands[k] += term(i + k);
    }
    for (std::size_t k = 0; i < n; ++i, ++k) strands[k] += term(i);
    return std::accumulate(strands, strands + n_strands, 0.0);
}

/// Draws two samples of `n` rows each that have none in common, both in ascending order.
void draw(const std::vector<std::uint32_t> &rows, std::size_t n, Random &random, std::vector<std::uint32_t> &first,
          std::vector<std::uint32_t> &second) {
    first.reserve(n);
    second.reserve(n);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t place = random.below(rows.size() - i);
        const std::size_t first_needs = n - first.size(), second_needs = n - second.size();
        if (place < first_needs) {
            first.push_back(rows[i]);
        } else if (place < first_needs + second_needs) {
            second.push_back(rows[i]);
        }
    }
}

}  // namespace

TableForest::TableForest(const FeatureTable &table, const TreeParameters &parameters, const double *target,
                         std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed, std::size_t n_threads,
                         const Tick &on_tick)
    : table_(table), steps_(table.n_rows()), n_pairs_(n_pairs), n_words_((table.n_rows() + 63) / 64) {
    std::vector<std::uint32_t> usable;
    double high = -std::numeric_limits<double>::infinity();
    low_ = -high;
    for (std::size_t row = 0; row < table.n_rows(); ++row) {
        if (std::isnan(target[row])) continue;
        usable.push_back(static_cast<std::uint32_t>(row));
        low_ = std::min(low_, target[row]);
        high = std::max(high, target[row]);
    }
    steps_per_unit_ = grid_scale(high - low_, target_bits);
    for (const std::uint32_t row : usable) steps_[row] = grid_step(target[row], low_, steps_per_unit_, target_bits);

    seen_.resize(n_pairs * n_words_);
    std::vector<std::optional<TableTree>> trees(2 * n_pairs);
    for_each_item(
        n_pairs, n_threads,
        [&](const std::atomic<bool> &) {
            return [&](std::size_t pair) {
                // A stream for each pair, so that threads need not take turns.
                Random random(Random(seed)() + pair);
                random = Random(random());
                std::vector<std::uint32_t> samples[2];
                draw(usable, n_sample, random, samples[0], samples[1]);
                for (const std::uint32_t row : samples[0]) {
                    seen_[pair * n_words_ + row / 64] |= std::uint64_t{1} << (row % 64);
                }
                for (std::size_t i = 0; i < 2; ++i) {
                    trees[2 * pair + i].emplace(table_, parameters, std::move(samples[i]), steps_.data(), random());
                }
            };
        },
        on_tick);
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
}

void TableForest::Distribution::mean_and_deviation(double &mean, double &deviation) const {
    // The weights add up to 1.
    const double centre = sum(values.size(), [&](std::size_t i) { return weights[i] * values[i]; });
    mean = centre;
    deviation = sum(values.size(), [&](std::size_t i) { return weights[i] * std::abs(values[i] - centre); });
}

void TableForest::for_each_row(const AskedRows &rows, std::size_t n_threads, const Tick &on_tick,
                               const std::function<Use()> &make_use) const {
    struct Scratch {
        std::vector<TableTree::Leaf> leaves;
        Distribution distribution;
    };
    const std::size_t n_blocks = (rows.n_rows + rows_per_block - 1) / rows_per_block;
    for_each_item(
        n_blocks, n_threads,
        [&](const std::atomic<bool> &) {
            auto scratch = std::make_shared<Scratch>();
            scratch->leaves.resize(n_pairs_ * rows_per_block);
            return [&, scratch, use = make_use()](std::size_t block) {
                const std::size_t begin = block * rows_per_block, end = std::min(begin + rows_per_block, rows.n_rows);
                for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
                    TableTree::Leaf *leaves = scratch->leaves.data() + pair * rows_per_block;
                    const TableTree *trees[rows_per_block];
                    for (std::size_t row = begin; row < end; ++row) {
                        trees[row - begin] = &unseen_tree(pair, rows.fitted[row]);
                    }
                    TableTree::find(table_, trees, rows.features + begin * table_.n_features(), end - begin, leaves);
                }
                Distribution &distribution = scratch->distribution;
                for (std::size_t row = begin; row < end; ++row) {
                    distribution.values.clear();
                    distribution.weights.clear();
                    for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
                        const TableTree::Leaf &leaf = scratch->leaves[pair * rows_per_block + row - begin];
                        const double weight = 1.0 / static_cast<double>(leaf.n_rows * n_pairs_);
                        for (std::size_t i = 0; i < leaf.n_rows; ++i) {
                            distribution.values.push_back(static_cast<double>(steps_[leaf.rows[i]]));
                            distribution.weights.push_back(weight);
                        }
                    }
                    use(row, distribution);
                }
            };
        },
        [&](std::size_t n_done) { on_tick(std::min(n_done * rows_per_block, rows.n_rows)); });
}

void TableForest::deviations(const AskedRows &rows, double *deviations, std::size_t n_threads,
                             const Tick &on_tick) const {
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, Distribution &distribution) {
            double mean, deviation;
            distribution.mean_and_deviation(mean, deviation);
            deviations[row] = deviation / steps_per_unit_;
        };
    });
}

void TableForest::surprises(const AskedRows &rows, const double *values, double width, double least_deviation,
                            double *surprises, std::size_t n_threads, const Tick &on_tick) const {
    const double least = least_deviation * steps_per_unit_;
    const double middle = static_cast<double>(std::int32_t{1} << (target_bits - 1));
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, Distribution &distribution) {
            double mean, deviation;
            distribution.mean_and_deviation(mean, deviation);
            const double scale = width * std::max(deviation, least);
            const double value = (values[row] - low_) * steps_per_unit_ - middle;
            const double squared = 1.0 / (degrees_of_freedom * scale * scale);
            const double density = sum(distribution.values.size(), [&](std::size_t i) {
                const double distance = value - distribution.values[i];
                const double term = 1.0 + distance * distance * squared;
                return distribution.weights[i] / (term * term);
            });
            surprises[row] = -std::log(peak * density / scale * steps_per_unit_);
        };
    });
}

void TableForest::quantiles(const AskedRows &rows, std::size_t n, double *quantiles, std::size_t n_threads,
                            const Tick &on_tick) const {
    const double middle = static_cast<double>(std::int32_t{1} << (target_bits - 1));
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        auto order = std::make_shared<std::vector<std::uint32_t>>();
        return [&, order](std::size_t row, Distribution &distribution) {
            const std::vector<double> &values = distribution.values;
            order->resize(values.size());
            std::iota(order->begin(), order->end(), 0);
            std::stable_sort(order->begin(), order->end(),
                             [&](std::uint32_t a, std::uint32_t b) { return values[a] < values[b]; });
            double *to = quantiles + row * n;
            std::size_t next = 0;
            double reached = 0.0;
            for (const std::uint32_t member : *order) {
                reached += distribution.weights[member];
                // Shares that differ by rounding alone are equal.
                while (next < n && reached >= (static_cast<double>(next) + 0.5) / static_cast<double>(n) - 1e-9) {
                    to[next++] = low_ + (values[member] + middle) / steps_per_unit_;
                }
            }
        };
    });
}

void TableForest::add_weights(const AskedRows &row, double factor, double *weights) const {
    for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
        const TableTree *tree = &unseen_tree(pair, row.fitted[0]);
        TableTree::Leaf leaf;
        TableTree::find(table_, &tree, row.features, 1, &leaf);
        const double weight = factor / static_cast<double>(leaf.n_rows * n_pairs_);
        for (std::size_t i = 0; i < leaf.n_rows; ++i) weights[leaf.rows[i]] += weight;
    }
}

}  // namespace paribus
