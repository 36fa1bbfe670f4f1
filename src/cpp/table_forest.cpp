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
constexpr std::size_t rows_per_block = 2048;
constexpr double degrees_of_freedom = 3.0;
// A value that is farther off than this says is not more surprising.
constexpr double least_density = std::numeric_limits<double>::min();
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
    : table_(table), n_pairs_(n_pairs), n_words_((table.n_rows() + 63) / 64) {
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
    std::vector<std::int32_t> steps(table.n_rows());
    for (const std::uint32_t row : usable) steps[row] = grid_step(target[row], low_, steps_per_unit_, target_bits);

    seen_.resize(n_pairs * n_words_);
    members_.resize(2 * n_pairs);
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
                    trees[2 * pair + i].emplace(table_, parameters, std::move(samples[i]), steps.data(), random());
                    for (const std::uint32_t row : trees[2 * pair + i]->rows()) {
                        members_[2 * pair + i].push_back(steps[row]);
                    }
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
        std::vector<const TableTree *> trees = std::vector<const TableTree *>(rows_per_block);
        std::vector<TableTree::Leaf> leaves = std::vector<TableTree::Leaf>(rows_per_block);
        std::vector<Distribution> distributions = std::vector<Distribution>(rows_per_block);
    };
    const auto n_pairs = static_cast<double>(n_pairs_);
    const std::size_t n_blocks = (rows.n_rows + rows_per_block - 1) / rows_per_block;
    for_each_item(
        n_blocks, n_threads,
        [&](const std::atomic<bool> &) {
            return [&, scratch = std::make_shared<Scratch>(), use = make_use()](std::size_t block) {
                const std::size_t begin = block * rows_per_block, end = std::min(begin + rows_per_block, rows.n_rows);
                std::vector<Distribution> &distributions = scratch->distributions;
                for (Distribution &distribution : distributions) {
                    distribution.values.clear();
                    distribution.weights.clear();
                }
                // All rows of the block through one tree before the next, so that it stays near the processor.
                for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
                    for (std::size_t row = begin; row < end; ++row) {
                        scratch->trees[row - begin] = &trees_[unseen_tree(pair, rows.fitted[row])];
                    }
                    TableTree::find(table_, scratch->trees.data(), rows.features + begin * table_.n_features(),
                                    end - begin, scratch->leaves.data());
                    for (std::size_t row = begin; row < end; ++row) {
                        const TableTree::Leaf &leaf = scratch->leaves[row - begin];
                        const std::int32_t *members = members_[unseen_tree(pair, rows.fitted[row])].data() + leaf.first;
                        Distribution &distribution = distributions[row - begin];
                        distribution.values.insert(distribution.values.end(), members, members + leaf.n_rows);
                        distribution.weights.insert(distribution.weights.end(), leaf.n_rows,
                                                    1.0 / (static_cast<double>(leaf.n_rows) * n_pairs));
                    }
                }
                for (std::size_t row = begin; row < end; ++row) use(row, distributions[row - begin]);
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
            if (std::isnan(values[row])) {
                surprises[row] = values[row];
                return;
            }
            const double value = (values[row] - low_) * steps_per_unit_ - middle;
            const double squared = 1.0 / (degrees_of_freedom * scale * scale);
            const double density = sum(distribution.values.size(), [&](std::size_t i) {
                const double distance = value - distribution.values[i];
                const double term = 1.0 + distance * distance * squared;
                return distribution.weights[i] / (term * term);
            });
            surprises[row] = -std::log(std::max(peak * density / scale * steps_per_unit_, least_density));
        };
    });
}

void TableForest::quantiles(const AskedRows &rows, std::size_t n, double *quantiles, std::size_t n_threads,
                            const Tick &on_tick) const {
    const double middle = static_cast<double>(std::int32_t{1} << (target_bits - 1));
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        auto order = std::make_shared<std::vector<std::uint32_t>>();
        return [&, order](std::size_t row, Distribution &distribution) {
            const std::vector<std::int32_t> &values = distribution.values;
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
        const TableTree *tree = &trees_[unseen_tree(pair, row.fitted[0])];
        TableTree::Leaf leaf;
        TableTree::find(table_, &tree, row.features, 1, &leaf);
        const double weight = factor / static_cast<double>(leaf.n_rows * n_pairs_);
        for (std::size_t i = 0; i < leaf.n_rows; ++i) weights[tree->rows()[leaf.first + i]] += weight;
    }
}

}  // namespace paribus
