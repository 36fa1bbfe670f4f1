#include "surprise/feature_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "surprise/threshold.hpp"

namespace paribus {

namespace {

constexpr std::size_t usable_bins = FeatureTable::missing_bin;

/// The rows of a column that have a value, in ascending order of values.
class ValueOrder {
public:
    explicit ValueOrder(const Strided &values, std::size_t n_rows) : values_(n_rows) {
        Counts counts[n_passes] = {};
        order_.reserve(n_rows);
        for (std::uint32_t row = 0; row < n_rows; ++row) {
            values_[row] = values[row];
            if (std::isnan(values_[row])) continue;
            const std::uint32_t digits = leading_digits(values_[row]);
            for (int pass = 0; pass < n_passes; ++pass) ++counts[pass][digits >> pass * pass_bits & mask];
            order_.push_back(std::uint64_t{digits} << 32 | row);
        }
        std::vector<std::uint64_t> other(order_.size());
        for (int pass = 0; pass < n_passes; ++pass) scatter(counts[pass], 32 + pass * pass_bits, other);
        sort_by_last_digits();
    }

    std::size_t size() const { return order_.size(); }
    std::uint32_t row(std::size_t place) const { return static_cast<std::uint32_t>(order_[place]); }
    double value(std::size_t place) const { return values_[row(place)]; }
    /// Whether the value is not that of the place before.
    bool is_new(std::size_t place) const {
        return place == 0 || order_[place] >> 32 != order_[place - 1] >> 32 || value(place) != value(place - 1);
    }

private:
    static constexpr int pass_bits = 11, n_passes = 3;
    static constexpr std::uint32_t mask = (1u << pass_bits) - 1;
    using Counts = std::array<std::uint32_t, mask + 1>;

    /// The upper half of a number's digits, as a whole number in the same order. Both zeros have the same.
    static std::uint32_t leading_digits(double value) {
        const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
        const auto upper = static_cast<std::uint32_t>(bits >> 32);
        return (upper & 0x80000000u) != 0 ? ~upper : upper | 0x80000000u;
    }

    void scatter(Counts &counts, int shift, std::vector<std::uint64_t> &other) {
        std::uint32_t total = 0;
        for (std::uint32_t &count : counts) total += std::exchange(count, total);
        for (const std::uint64_t each : order_) other[counts[each >> shift & mask]++] = each;
        order_.swap(other);
    }

    /// Brings values in order that differ in the lower half of their digits only.
    void sort_by_last_digits() {
        const auto is_lower = [&](std::uint64_t a, std::uint64_t b) {
            return values_[static_cast<std::uint32_t>(a)] < values_[static_cast<std::uint32_t>(b)];
        };
        for (auto begin = order_.begin(); begin != order_.end();) {
            auto end = begin + 1;
            while (end != order_.end() && *end >> 32 == *begin >> 32) ++end;
            if (!std::is_sorted(begin, end, is_lower)) std::sort(begin, end, is_lower);
            begin = end;
        }
    }

    std::vector<double> values_;
    /// The leading digits of the value, and the row.
    std::vector<std::uint64_t> order_;
};

void rank_numbers(FeatureTable::Column &column, std::size_t n_rows) {
    const ValueOrder order(column.values, n_rows);
    column.ranks.assign(n_rows, 0);
    column.bins.assign(n_rows, FeatureTable::missing_bin);
    std::size_t n_distinct = 0;
    for (std::size_t place = 0; place < order.size(); ++place) n_distinct += order.is_new(place);
    column.n_distinct = n_distinct;
    // A bin for each value, or bins of about as many rows each.
    std::size_t bin = 0, begun = 0, rank = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        if (place > 0 && order.is_new(place)) {
            ++rank;
            // A bin waits for a threshold of 32 bits, but not for long.
            const std::size_t reached = place * usable_bins, full = (bin + 1) * order.size();
            const bool is_full =
                n_distinct <= usable_bins || reached >= full + order.size() / 8 ||
                (reached >= full && is_single(threshold_between(order.value(place - 1), order.value(place))));
            if (rank > begun && is_full && bin + 1 < usable_bins) {
                column.highest.push_back(order.value(place - 1));
                column.lowest.push_back(order.value(place));
                ++bin;
                begun = rank;
            }
        }
        column.ranks[order.row(place)] = static_cast<std::uint32_t>(rank);
        column.bins[order.row(place)] = static_cast<std::uint8_t>(bin);
    }
    if (order.size() == 0) return;
    column.lowest.insert(column.lowest.begin(), order.value(0));
    column.highest.push_back(order.value(order.size() - 1));
}

std::vector<std::uint8_t> bin_categories(FeatureTable::Column &column, std::size_t n_rows) {
    std::vector<std::size_t> counts;
    for (std::size_t row = 0; row < n_rows; ++row) {
        const double value = column.values[row];
        if (std::isnan(value)) continue;
        const auto code = static_cast<std::size_t>(value);
        if (code >= counts.size()) counts.resize(code + 1);
        ++counts[code];
    }
    std::vector<std::size_t> commonest(counts.size());
    std::iota(commonest.begin(), commonest.end(), 0);
    if (counts.size() > usable_bins) {
        std::stable_sort(commonest.begin(), commonest.end(),
                         [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    }
    std::vector<std::uint8_t> bin_of_code(counts.size());
    for (std::size_t place = 0; place < commonest.size(); ++place) {
        bin_of_code[commonest[place]] = static_cast<std::uint8_t>(std::min(place, usable_bins - 1));
    }
    column.bins.resize(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) {
        const double value = column.values[row];
        column.bins[row] = std::isnan(value) ? FeatureTable::missing_bin : bin_of_code[static_cast<std::size_t>(value)];
    }
    return bin_of_code;
}

}  // namespace

FeatureTable::FeatureTable(std::size_t n_rows, const std::vector<FeatureKind> &kinds, const double *rows)
    : n_rows_(n_rows), columns_(kinds.size()) {
    auto known = std::make_shared<FeatureKinds>();
    known->kinds = kinds;
    known->bin_of_code.resize(kinds.size());
    for (std::size_t feature = 0; feature < kinds.size(); ++feature) {
        Column &column = columns_[feature];
        column.kind = kinds[feature];
        column.values = {rows + feature, kinds.size()};
        if (column.kind == FeatureKind::categorical) {
            known->bin_of_code[feature] = bin_categories(column, n_rows);
        } else {
            rank_numbers(column, n_rows);
        }
    }
    kinds_ = known;
}

}  // namespace paribus
