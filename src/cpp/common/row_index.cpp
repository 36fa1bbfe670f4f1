#include "common/row_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace paribus {

namespace {

class RowHash {
public:
    void add(double value) {
        std::uint64_t bits = 1;
        if (value == 0.0) {
            bits = 0;
        } else if (!std::isnan(value)) {
            bits = std::bit_cast<std::uint64_t>(value);
        }
        // The finalizer of splitmix64, chained.
        std::uint64_t z = (state_ ^ bits) + 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        state_ = z ^ (z >> 31);
    }

    std::uint64_t value() const { return state_; }

private:
    std::uint64_t state_ = 0;
};

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

RowIndex::RowIndex(std::size_t n_rows, std::vector<Strided> columns) : n_rows_(n_rows), columns_(std::move(columns)) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries(n_rows);
    for (std::uint32_t row = 0; row < n_rows; ++row) entries[row] = {hash(row), row};
    std::sort(entries.begin(), entries.end());
    own_order_.resize(n_rows);
    std::transform(entries.begin(), entries.end(), own_order_.begin(), [](const auto &entry) { return entry.second; });
    order_ = own_order_.data();
}

RowIndex::RowIndex(std::size_t n_rows, std::vector<Strided> columns, const std::uint32_t *order)
    : n_rows_(n_rows), columns_(std::move(columns)), order_(order) {}

std::uint64_t RowIndex::hash(std::uint32_t row) const {
    RowHash hash;
    for (const Strided &column : columns_) hash.add(column[row]);
    return hash.value();
}

std::int64_t RowIndex::find(const double *first, std::size_t n_first, const double *second,
                            std::size_t n_second) const {
    RowHash sought;
    for (std::size_t f = 0; f < n_first; ++f) sought.add(first[f]);
    for (std::size_t f = 0; f < n_second; ++f) sought.add(second[f]);
    const std::uint64_t value = sought.value();
    // The first place whose hash is not below, between `low` and `high`. Hashes are spread evenly, so that a guess is
    // never far off; where it fails to halve what is left, that is halved.
    std::size_t low = 0, high = n_rows_;
    std::uint64_t low_hash = 0, high_hash = ~std::uint64_t{0};
    for (bool guesses = true; low < high;) {
        std::size_t middle = low + (high - low) / 2;
        if (guesses && value >= low_hash && value <= high_hash && high_hash > low_hash) {
            const double share = static_cast<double>(value - low_hash) / static_cast<double>(high_hash - low_hash);
            middle = low + std::min(static_cast<std::size_t>(share * static_cast<double>(high - low)), high - low - 1);
        }
        const std::size_t left = high - low;
        const std::uint64_t here = hash(order_[middle]);
        if (here < value) {
            low = middle + 1;
            low_hash = here;
        } else {
            high = middle;
            high_hash = here;
        }
        guesses = 2 * (high - low) <= left;
    }
    for (; low < n_rows_ && hash(order_[low]) == value; ++low) {
        const std::uint32_t row = order_[low];
        bool equal = true;
        for (std::size_t f = 0; f < n_first && equal; ++f) equal = same(first[f], columns_[f][row]);
        for (std::size_t f = 0; f < n_second && equal; ++f) equal = same(second[f], columns_[n_first + f][row]);
        if (equal) return row;
    }
    return -1;
}

void RowIndex::find_all(std::int64_t *found) const {
    const auto equal = [&](std::uint32_t a, std::uint32_t b) {
        return std::all_of(columns_.begin(), columns_.end(),
                           [&](const Strided &each) { return same(each[a], each[b]); });
    };
    std::uint64_t last_hash = 0;
    std::size_t begin = 0;
    for (std::size_t place = 0; place < n_rows_; ++place) {
        const std::uint64_t here = hash(order_[place]);
        if (place == 0 || here != last_hash) begin = place;
        last_hash = here;
        // Rows with the same hash are nearly always equal, so that the first one is the one.
        std::size_t earlier = begin;
        while (earlier < place && !equal(order_[earlier], order_[place])) ++earlier;
        found[order_[place]] = order_[earlier];
    }
}

}  // namespace paribus
