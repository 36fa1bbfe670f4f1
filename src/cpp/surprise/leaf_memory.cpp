#include "surprise/leaf_memory.hpp"

#include <algorithm>
#include <functional>
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

}  // namespace

bool LeafMemory::fits(const TableForest &forest) {
    if (forest.leaf_rows().empty()) return false;
    for (std::size_t pair = 0; pair < forest.n_pairs(); ++pair) {
        if (n_members(forest, pair) > std::size_t{std::numeric_limits<Stored>::max()} + 1) return false;
    }
    return true;
}

LeafMemory::LeafMemory(std::vector<std::shared_ptr<const TableForest>> forests, std::size_t n_rows)
    : n_rows_(n_rows), forests_(std::move(forests)), first_place_{0} {
    for (const auto &forest : forests_) first_place_.push_back(n_places() + forest->n_pairs());
    leaves_.resize(n_places() * n_rows_);
}

void LeafMemory::store(std::size_t view, std::size_t begin, const LeafFinder::Scratch &found) {
    const std::size_t n_pairs = first_place_[view + 1] - first_place_[view];
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
        const TableTree::Leaf *const leaf = found.leaves.data() + pair * found.n_rows;
        Stored *const to = leaves_.data() + (first_place_[view] + pair) * n_rows_ + begin;
        for (std::size_t i = 0; i < found.n_rows; ++i) to[i] = static_cast<Stored>(leaf[i].first);
    }
}

void LeafMemory::find_second_means(const std::uint8_t *values, double *means, std::size_t n_threads) const {
    const Tick nothing = [](std::size_t) {};
    // [place of the pair][where a leaf begins]
    std::vector<std::vector<Stored>> of_leaves(n_places());
    const auto for_each = [&](std::size_t n, const std::function<void(std::size_t)> &work) {
        for_each_item(n, n_threads, [&](const std::atomic<bool> &) { return work; }, nothing);
    };
    for (std::size_t view = 0; view < forests_.size(); ++view) {
        const TableForest &forest = *forests_[view];
        for_each(forest.n_pairs(), [&](std::size_t pair) {
            of_leaves[first_place_[view] + pair] = means_of_leaves(forest, pair, values);
        });
    }
    const auto n_steps = static_cast<double>(n_places() * LeafFinder::second_steps);
    for_each((n_rows_ + rows_at_a_time - 1) / rows_at_a_time, [&](std::size_t lot) {
        const std::size_t begin = lot * rows_at_a_time, n = std::min(rows_at_a_time, n_rows_ - begin);
        std::vector<std::uint64_t> sums(n);
        for (std::size_t place = 0; place < n_places(); ++place) {
            const Stored *const leaf = leaves_.data() + place * n_rows_ + begin, *const mean = of_leaves[place].data();
            for (std::size_t i = 0; i < n; ++i) sums[i] += mean[leaf[i]];
        }
        for (std::size_t i = 0; i < n; ++i) means[begin + i] = static_cast<double>(sums[i]) / n_steps;
    });
}

}  // namespace paribus
