#include "surprise/tree_samples.hpp"

#include <algorithm>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace paribus {

namespace {

/// A row, and a random number for it that has the same bits wherever the row is.
using Lot = std::pair<std::uint64_t, std::uint32_t>;

/// Draws two samples of `n` rows each that have none in common, both in ascending order: those with the lowest numbers,
/// and those with the next.
void draw(std::vector<Lot> &lots, std::size_t n, std::vector<std::uint32_t> &first,
          std::vector<std::uint32_t> &second) {
    const auto middle = lots.begin() + static_cast<std::ptrdiff_t>(n);
    const auto end = middle + static_cast<std::ptrdiff_t>(n);
    std::nth_element(lots.begin(), middle, lots.end());
    std::nth_element(middle, end, lots.end());
    for (auto it = lots.begin(); it != end; ++it) (it < middle ? first : second).push_back(it->second);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
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

TreeSamples::TreeSamples(std::size_t n_rows, const std::uint8_t *usable, const std::int64_t *originals,
                         const std::uint64_t *keys, std::size_t n_pairs, std::size_t n_sample, std::uint64_t seed,
                         std::size_t n_threads)
    : n_rows_(n_rows), n_words_((n_rows + 63) / 64), samples_(2 * n_pairs), seen_(n_pairs * n_words_) {
    std::vector<std::uint32_t> drawn_from;
    // Of originals, in the order of these.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> copies;
    for (std::uint32_t row = 0; row < n_rows; ++row) {
        if (usable[row] == 0) continue;
        if (originals == nullptr || originals[row] == static_cast<std::int64_t>(row)) {
            drawn_from.push_back(row);
        } else {
            copies.emplace_back(static_cast<std::uint32_t>(originals[row]), row);
        }
    }
    std::sort(copies.begin(), copies.end());
    n_sample = std::min(n_sample, drawn_from.size() / 2);
    for_each_item(
        n_pairs, n_threads,
        [&](const std::atomic<bool> &) {
            return [&, lots = std::vector<Lot>()](std::size_t pair) mutable {
                const std::uint64_t of_pair = Random(Random(seed)() + pair)();
                lots.clear();
                for (const std::uint32_t row : drawn_from) {
                    lots.emplace_back(Random(of_pair ^ (keys == nullptr ? row : keys[row]))(), row);
                }
                draw(lots, n_sample, samples_[2 * pair], samples_[2 * pair + 1]);
                for (std::size_t i = 0; i < 2; ++i) add_copies(samples_[2 * pair + i], copies);
                mark(pair);
            };
        },
        [](std::size_t) {});
}

TreeSamples::TreeSamples(std::size_t n_rows, const std::uint32_t *rows, const std::uint32_t *ends, std::size_t n_pairs)
    : n_rows_(n_rows), n_words_((n_rows + 63) / 64), samples_(2 * n_pairs), seen_(n_pairs * n_words_) {
    for (std::size_t tree = 0; tree < samples_.size(); ++tree) {
        samples_[tree].assign(rows + (tree == 0 ? 0 : ends[tree - 1]), rows + ends[tree]);
    }
    for (std::size_t pair = 0; pair < n_pairs; ++pair) mark(pair);
}

void TreeSamples::mark(std::size_t pair) {
    for (const std::uint32_t row : samples_[2 * pair]) {
        seen_[pair * n_words_ + row / 64] |= std::uint64_t{1} << (row % 64);
    }
}

}  // namespace paribus
