#include "surprise/feature_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "surprise/threshold.hpp"

namespace paribus {

namespace {

constexpr std::size_t usable_bins = FeatureTable::missing_bin;

void rank_numbers(FeatureTable::Column &column, std::size_t n_rows) {
    struct Entry {
        double value;
        std::uint32_t row;
    };
    std::vector<Entry> order;
    order.reserve(n_rows);
    for (std::uint32_t row = 0; row < n_rows; ++row) {
        if (!std::isnan(column.values[row])) order.push_back({column.values[row], row});
    }
    std::sort(order.begin(), order.end(), [](const Entry &a, const Entry &b) { return a.value < b.value; });
    column.ranks.assign(n_rows, 0);
    column.bins.assign(n_rows, FeatureTable::missing_bin);
    std::size_t n_distinct = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        n_distinct += place == 0 || order[place].value != order[place - 1].value;
    }
    column.n_distinct = n_distinct;
    // A bin for each value, or bins of about as many rows each.
    std::size_t bin = 0, begun = 0, rank = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const auto [value, row] = order[place];
        if (place > 0 && value != order[place - 1].value) {
            ++rank;
            // A bin waits for a threshold of 32 bits, but not for long.
            const std::size_t reached = place * usable_bins, full = (bin + 1) * order.size();
            const bool is_full = n_distinct <= usable_bins || reached >= full + order.size() / 8 ||
                                 (reached >= full && is_single(threshold_between(order[place - 1].value, value)));
            if (rank > begun && is_full && bin + 1 < usable_bins) {
                ++bin;
                begun = rank;
            }
        }
        if (bin == column.lowest.size()) {
            column.lowest.push_back(value);
            column.highest.push_back(value);
        }
        column.highest[bin] = value;
        column.ranks[row] = static_cast<std::uint32_t>(rank);
        column.bins[row] = static_cast<std::uint8_t>(bin);
    }
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
