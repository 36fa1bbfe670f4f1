#include "common/row_index.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

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

RowIndex::RowIndex(std::size_t n_rows, std::vector<const double *> columns) : columns_(std::move(columns)) {
    entries_.reserve(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) {
        RowHash hash;
        for (const double *column : columns_) hash.add(column[row]);
        entries_.emplace_back(hash.value(), static_cast<std::uint32_t>(row));
    }
    std::sort(entries_.begin(), entries_.end());
}

std::int64_t RowIndex::find(const double *first, std::size_t n_first, const double *second,
                            std::size_t n_second) const {
    RowHash hash;
    for (std::size_t f = 0; f < n_first; ++f) hash.add(first[f]);
    for (std::size_t f = 0; f < n_second; ++f) hash.add(second[f]);
    auto entry = std::lower_bound(entries_.begin(), entries_.end(), std::pair(hash.value(), std::uint32_t{0}));
    for (; entry != entries_.end() && entry->first == hash.value(); ++entry) {
        const std::uint32_t row = entry->second;
        bool equal = true;
        for (std::size_t f = 0; f < n_first && equal; ++f) equal = same(first[f], columns_[f][row]);
        for (std::size_t f = 0; f < n_second && equal; ++f) equal = same(second[f], columns_[n_first + f][row]);
        if (equal) return row;
    }
    return -1;
}

}  // namespace paribus
