#include "surprise/tree_samples.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace paribus {

namespace {

/// Draws two samples of `n` rows each that have none in common, both in ascending order: those with the lowest numbers,
/// and those with the next; of equal numbers, the first rows.
class Drawing {
public:
    /// @param rows in ascending order, and at least 2 * `n`
    explicit Drawing(const std::vector<std::uint32_t> &rows) : rows_(rows), numbers_(rows.size()) {}

    /// @param number of a row: random, and with the same bits wherever the row is
    template <typename Number>
    void operator()(std::size_t n, const Number &number, std::vector<std::uint32_t> &first,
                    std::vector<std::uint32_t> &second) {
        std::array<std::uint32_t, n_buckets> counts = {};
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            numbers_[i] = number(rows_[i]);
            ++counts[numbers_[i] >> bucket_shift];
        }
        const Lot middle = lowest(n, counts), end = lowest(2 * n, counts);
        // Both have room for one more, which is written first and counted afterwards: half of all guesses would be
        // wrong.
        first.resize(n + 1);
        second.resize(n + 1);
        std::size_t n_first = 0, n_second = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const std::uint32_t row = rows_[i];
            const bool is_first = comes_before({numbers_[i], row}, middle);
            const bool is_either = comes_before({numbers_[i], row}, end);
            first[n_first] = row;
            second[n_second] = row;
            n_first += is_first;
            n_second += is_either & !is_first;
        }
        first.resize(n);
        second.resize(n);
    }

private:
    static constexpr int bucket_bits = 12, bucket_shift = 64 - bucket_bits;
    static constexpr std::size_t n_buckets = std::size_t{1} << bucket_bits;

    /// A row and its number.
    struct Lot {
        std::uint64_t number;
        std::uint32_t row;
    };
    static bool comes_before(const Lot &a, const Lot &b) {
        return (a.number < b.number) | ((a.number == b.number) & (a.row < b.row));
    }

    /// The first lot after the `n` lowest ones; if there is none, one that comes after all.
    Lot lowest(std::size_t n, const std::array<std::uint32_t, n_buckets> &counts) {
        std::size_t bucket = 0;
        for (; bucket < n_buckets && counts[bucket] <= n; ++bucket) n -= counts[bucket];
        if (bucket == n_buckets) return {~std::uint64_t{0}, ~std::uint32_t{0}};
        near_.clear();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (numbers_[i] >> bucket_shift == bucket) near_.push_back({numbers_[i], rows_[i]});
        }
        const auto found = near_.begin() + static_cast<std::ptrdiff_t>(n);
        std::nth_element(near_.begin(), found, near_.end(), comes_before);
        return *found;
    }

    const std::vector<std::uint32_t> &rows_;
    std::vector<std::uint64_t> numbers_;
    std::vector<Lot> near_;
};

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
            return [&, draw = Drawing(drawn_from)](std::size_t pair) mutable {
                const std::uint64_t of_pair = Random(Random(seed)() + pair)();
                const auto number = [&](std::uint32_t row) {
                    return Random(of_pair ^ (keys == nullptr ? row : keys[row]))();
                };
                draw(n_sample, number, samples_[2 * pair], samples_[2 * pair + 1]);
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
