#include "surprise/table_forest.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "common/grid.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "kernels/kernel.hpp"
#include "kernels/smooth_density.hpp"
#include "surprise/student.hpp"

namespace paribus {

namespace {

// Rows that go down one tree before the next is fetched from memory.
constexpr std::size_t rows_per_block = 2048;
constexpr std::size_t step_lot = 8;
static_assert(step_lot <= WeightedSteps::lot);

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

/// Adds the copies of the rows of a sample; in ascending order again.
void add_copies(std::vector<std::uint32_t> &sample,
                const std::vector<std::pair<std::uint32_t, std::uint32_t>> &copies) {
    if (copies.empty()) return;
    const std::size_t n = sample.size();
    auto copy = copies.begin();
    for (std::size_t i = 0; i < n; ++i) {
        while (copy != copies.end() && copy->first < sample[i]) ++copy;
        for (; copy != copies.end() && copy->first == sample[i]; ++copy) sample.push_back(copy->second);
    }
    std::sort(sample.begin(), sample.end());
}

}  // namespace

TableForest::TableForest(const FeatureTable &table, const TreeParameters &parameters, const double *target,
                         const std::int64_t *originals, std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed,
                         std::size_t n_threads, const Tick &on_tick)
    : table_(table), n_pairs_(n_pairs), n_words_((table.n_rows() + 63) / 64) {
    std::vector<std::uint32_t> usable;
    // Of originals, in the order of these.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> copies;
    double high = -std::numeric_limits<double>::infinity();
    low_ = -high;
    for (std::size_t row = 0; row < table.n_rows(); ++row) {
        if (std::isnan(target[row])) continue;
        if (originals == nullptr || originals[row] == static_cast<std::int64_t>(row)) {
            usable.push_back(static_cast<std::uint32_t>(row));
        } else {
            copies.emplace_back(static_cast<std::uint32_t>(originals[row]), static_cast<std::uint32_t>(row));
        }
        low_ = std::min(low_, target[row]);
        high = std::max(high, target[row]);
    }
    steps_per_unit_ = grid_scale(high - low_, target_bits);
    std::vector<std::int32_t> steps(table.n_rows());
    for (std::size_t row = 0; row < table.n_rows(); ++row) {
        if (!std::isnan(target[row])) steps[row] = grid_step(target[row], low_, steps_per_unit_, target_bits);
    }
    std::sort(copies.begin(), copies.end());
    n_sample = std::min(n_sample, usable.size() / 2);

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
                for (std::vector<std::uint32_t> &sample : samples) add_copies(sample, copies);
                for (const std::uint32_t row : samples[0]) {
                    seen_[pair * n_words_ + row / 64] |= std::uint64_t{1} << (row % 64);
                }
                for (std::size_t i = 0; i < 2; ++i) {
                    trees[2 * pair + i].emplace(table_, parameters, std::move(samples[i]), steps.data(), random());
                    std::vector<std::int32_t> &members = members_[2 * pair + i];
                    members.reserve(trees[2 * pair + i]->rows().size() + step_lot);
                    for (const std::uint32_t row : trees[2 * pair + i]->rows()) members.push_back(steps[row]);
                    // The last leaf is read by lots, too.
                    members.resize(members.size() + step_lot);
                }
            };
        },
        on_tick);
    trees_.reserve(trees.size());
    for (auto &tree : trees) trees_.push_back(std::move(*tree));
}

void TableForest::Distribution::add(const std::int32_t *steps, std::size_t n, float weight) {
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

WeightedSteps TableForest::Distribution::gather(const TableForest &forest, std::int64_t fitted,
                                                const TableTree::Leaf *leaves, std::size_t stride) {
    n_ = 0;
    for (std::size_t pair = 0; pair < forest.n_pairs_; ++pair) {
        const TableTree::Leaf &leaf = leaves[pair * stride];
        add(forest.members(pair, fitted, leaf), leaf.n_rows, 1.0f / static_cast<float>(leaf.n_rows * forest.n_pairs_));
    }
    const std::size_t n_lots = (n_ + WeightedSteps::lot - 1) / WeightedSteps::lot;
    std::fill(steps_.data() + n_, steps_.data() + n_lots * WeightedSteps::lot, steps_[0]);
    std::fill(weights_.data() + n_, weights_.data() + n_lots * WeightedSteps::lot, 0.0f);
    return {steps_.data(), weights_.data(), n_lots * WeightedSteps::lot};
}

void TableForest::find_leaves(const AskedRows &rows, std::size_t begin, std::size_t end, LeafScratch &scratch,
                              TableTree::Leaf *leaves) const {
    const std::size_t n = end - begin;
    scratch.has_missing.resize(std::max(n, scratch.has_missing.size()));
    scratch.trees.resize(std::max(n, scratch.trees.size()));
    for (std::size_t row = begin; row < end; ++row) {
        const double *values = rows.features + row * table_.n_features();
        scratch.has_missing[row - begin] =
            std::any_of(values, values + table_.n_features(), [](double value) { return value != value; });
    }
    // All rows through one tree before the next, so that it stays near the processor.
    for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
        for (std::size_t row = begin; row < end; ++row) {
            scratch.trees[row - begin] = &trees_[unseen_tree(pair, rows.fitted[row])];
        }
        TableTree::find(table_, scratch.trees.data(), rows.features + begin * table_.n_features(),
                        scratch.has_missing.data(), n, leaves + pair * n);
    }
}

void TableForest::for_each_row(const AskedRows &rows, std::size_t n_threads, const Tick &on_tick,
                               const std::function<Use()> &make_use) const {
    struct Scratch {
        LeafScratch finding;
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
                find_leaves(rows, begin, end, scratch->finding, scratch->leaves.data());
                for (std::size_t row = begin; row < end; ++row) {
                    use(row, scratch->distribution.gather(*this, rows.fitted[row], scratch->leaves.data() + row - begin,
                                                          end - begin));
                }
            };
        },
        [&](std::size_t n_done) { on_tick(std::min(n_done * rows_per_block, rows.n_rows)); });
}

void TableForest::deviations(const AskedRows &rows, double *deviations, std::size_t n_threads,
                             const Tick &on_tick) const {
    const auto mean_deviation = kernel().mean_deviation;
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, const WeightedSteps &distribution) {
            deviations[row] = mean_deviation(distribution) / steps_per_unit_;
        };
    });
}

void TableForest::surprises(const AskedRows &rows, const double *values, double width, double least_deviation,
                            double *surprises, std::size_t n_threads, const Tick &on_tick) const {
    const Kernel &with = kernel();
    const double least = least_deviation * steps_per_unit_;
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
        return [&](std::size_t row, const WeightedSteps &distribution) {
            if (std::isnan(values[row])) {
                surprises[row] = values[row];
                return;
            }
            const double scale = width * std::max(with.mean_deviation(distribution), least);
            const double at = place_of(values[row]);
            surprises[row] = surprise(with.student_sum(distribution, at, scale), scale / steps_per_unit_);
        };
    });
}

void TableForest::quantiles(const AskedRows &rows, std::size_t n, double *quantiles, std::size_t n_threads,
                            const Tick &on_tick) const {
    for_each_row(rows, n_threads, on_tick, [&]() -> Use {
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
                    to[next++] = value_at(distribution.steps[member]);
                }
            }
        };
    });
}

void TableForest::add_weights(const AskedRows &row, double factor, double *weights) const {
    constexpr std::uint8_t may_be_missing = 1;
    for (std::size_t pair = 0; pair < n_pairs_; ++pair) {
        const TableTree *tree = &trees_[unseen_tree(pair, row.fitted[0])];
        TableTree::Leaf leaf;
        TableTree::find(table_, &tree, row.features, &may_be_missing, 1, &leaf);
        const double weight = factor / static_cast<double>(leaf.n_rows * n_pairs_);
        for (std::size_t i = 0; i < leaf.n_rows; ++i) weights[tree->rows()[leaf.first + i]] += weight;
    }
}

}  // namespace paribus
