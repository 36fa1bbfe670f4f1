#include "surprise/found_leaves.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/parallel.hpp"

namespace paribus {

namespace {

using Stored = std::uint16_t;
// Sums of so many rows, and the means of one pair of trees, are near the processor.
constexpr std::size_t rows_at_a_time = 16'384;

/// In the leaves of both trees of a pair.
std::size_t n_members(const TableForest &forest, std::size_t pair) {
    return forest.leaf_rows()[2 * pair].members.size() + forest.leaf_rows()[2 * pair + 1].members.size();
}

/// The mean of the second target over the rows of each leaf of a pair, by where the leaf begins.
std::vector<Stored> means_of_leaves(const TableForest &forest, std::size_t pair, const std::uint8_t *values) {
    std::vector<Stored> means(n_members(forest, pair));
    for (const std::size_t tree : {2 * pair, 2 * pair + 1}) {
        const TableForest::LeafRows &known = forest.leaf_rows()[tree];
        const std::vector<std::uint32_t> &sample = forest.samples().sample(tree);
        for (const TableTree::Leaf &leaf : known.leaves) {
            if (leaf.n_rows == 0) continue;
            std::uint64_t sum = 0;
            for (std::uint32_t i = leaf.first; i < leaf.first + leaf.n_rows; ++i)
                sum += values[sample[known.members[i]]];
            means[forest.begin_of_leaves(tree) + leaf.first] =
                static_cast<Stored>(LeafFinder::mean_of(sum, leaf.n_rows));
        }
    }
    return means;
}

bool knows_all_leaves(const TableForest &forest) {
    const std::vector<TableForest::LeafRows> &known = forest.leaf_rows();
    // The leaf of a tree without rows is not told from the one that begins in its place.
    const auto has_rows = [](const TableForest::LeafRows &tree) { return !tree.members.empty(); };
    return !known.empty() && std::all_of(known.begin(), known.end(), has_rows);
}

std::size_t bytes_per_row(const TreeSamples &samples) { return samples.n_pairs() * sizeof(Stored); }

}  // namespace

bool FoundLeaves::could_store(const TreeSamples &samples) {
    for (std::size_t pair = 0; pair < samples.n_pairs(); ++pair) {
        const std::size_t n_in_pair = samples.sample(2 * pair).size() + samples.sample(2 * pair + 1).size();
        if (n_in_pair > std::size_t{std::numeric_limits<Stored>::max()} + 1) return false;
    }
    return bytes_per_row(samples) <= max_bytes_per_row;
}

bool FoundLeaves::can_store(const std::vector<std::shared_ptr<const TableForest>> &forests) {
    std::size_t n_bytes = 0;
    for (const auto &forest : forests) {
        if (!forest || !could_store(forest->samples()) || !knows_all_leaves(*forest)) return false;
        n_bytes += bytes_per_row(forest->samples());
    }
    return !forests.empty() && n_bytes <= max_bytes_per_row;
}

FoundLeaves::FoundLeaves(std::vector<std::shared_ptr<const TableForest>> forests, std::size_t n_rows)
    : n_rows_(n_rows), forests_(std::move(forests)), first_place_{0} {
    for (const auto &forest : forests_) first_place_.push_back(n_places() + forest->n_pairs());
    leaves_.resize(n_places() * n_rows_);
}

void FoundLeaves::store(std::size_t view, std::size_t begin, const LeafFinder::Scratch &found) {
    const std::size_t n_pairs = first_place_[view + 1] - first_place_[view];
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
        const TableTree::Leaf *const leaf = found.leaves.data() + pair * found.n_rows;
        Stored *const to = leaves_.data() + (first_place_[view] + pair) * n_rows_ + begin;
        for (std::size_t i = 0; i < found.n_rows; ++i) to[i] = static_cast<Stored>(leaf[i].first);
    }
}

void FoundLeaves::find_second_means(const std::uint8_t *values, double *means, std::size_t n_threads,
                                    const Tick &on_tick) const {
    // [place of the pair][where a leaf begins]
    std::vector<std::vector<Stored>> of_leaves(n_places());
    for (std::size_t view = 0; view < forests_.size(); ++view) {
        const TableForest &forest = *forests_[view];
        const auto find_means = [&](std::size_t pair) {
            of_leaves[first_place_[view] + pair] = means_of_leaves(forest, pair, values);
        };
        for_each_item(forest.n_pairs(), n_threads, [&](const std::atomic<bool> &) { return find_means; }, on_tick);
    }
    const auto n_steps = static_cast<double>(n_places() * LeafFinder::second_steps);
    for_each_item((n_rows_ + rows_at_a_time - 1) / rows_at_a_time, n_threads,
                  [&](const std::atomic<bool> &) {
                      return [&, sums = std::vector<std::uint64_t>()](std::size_t lot) mutable {
                          const std::size_t begin = lot * rows_at_a_time, n = std::min(rows_at_a_time, n_rows_ - begin);
                          sums.assign(n, 0);
                          for (std::size_t place = 0; place < n_places(); ++place) {
                              const Stored *const leaf = leaves_.data() + place * n_rows_ + begin;
                              const Stored *const mean = of_leaves[place].data();
                              for (std::size_t i = 0; i < n; ++i) sums[i] += mean[leaf[i]];
                          }
                          for (std::size_t i = 0; i < n; ++i) means[begin + i] = static_cast<double>(sums[i]) / n_steps;
                      };
                  },
                  on_tick);
}

}  // namespace paribus
