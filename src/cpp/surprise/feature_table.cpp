#include "surprise/feature_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paribus {

namespace {

constexpr std::size_t usable_bins = FeatureTable::missing_bin;

void rank_numbers(FeatureTable::Column &column) {
    const std::size_t n_rows = column.values.size();
    std::vector<std::uint32_t> order;
    order.reserve(n_rows);
    for (std::size_t row = 0; row < n_rows; ++row) {
        if (!std::isnan(column.values[row])) order.push_back(static_cast<std::uint32_t>(row));
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return column.values[a] < column.values[b] || (column.values[a] == column.values[b] && a < b);
    });
    column.has_missing = order.size() < n_rows;
    column.ranks.assign(n_rows, 0);
    column.bins.assign(n_rows, FeatureTable::missing_bin);
    std::vector<std::size_t> first_place;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const double value = column.values[order[place]];
        if (column.distinct.empty() || value != column.distinct.back()) {
            column.distinct.push_back(value);
            first_place.push_back(place);
        }
        column.ranks[order[place]] = static_cast<std::uint32_t>(column.distinct.size() - 1);
    }
    // A bin for each value, or bins of about as many rows each.
    const std::size_t n_distinct = column.distinct.size();
    std::vector<std::uint8_t> bin_of_rank(n_distinct);
    std::size_t bin = 0, begun = 0;
    for (std::size_t rank = 0; rank < n_distinct; ++rank) {
        const bool is_full = n_distinct <= usable_bins || first_place[rank] * usable_bins >= (bin + 1) * order.size();
        if (rank > begun && is_full && bin + 1 < usable_bins) {
            ++bin;
            begun = rank;
        }
        bin_of_rank[rank] = static_cast<std::uint8_t>(bin);
        column.last_rank.resize(bin + 1);
        column.last_rank[bin] = static_cast<std::uint32_t>(rank);
    }
    for (const std::uint32_t row : order) column.bins[row] = bin_of_rank[column.ranks[row]];
}

void bin_categories(FeatureTable::Column &column) {
    std::vector<std::size_t> counts;
    for (const double value : column.values) {
        if (std::isnan(value)) {
            column.has_missing = true;
            continue;
        }
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
    column.bin_of_code.resize(counts.size());
    for (std::size_t place = 0; place < commonest.size(); ++place) {
        column.bin_of_code[commonest[place]] = static_cast<std::uint8_t>(std::min(place, usable_bins - 1));
    }
    column.bins.resize(column.values.size());
    std::transform(column.values.begin(), column.values.end(), column.bins.begin(), [&](double value) {
        return std::isnan(value) ? FeatureTable::missing_bin : column.bin_of_code[static_cast<std::size_t>(value)];
    });
}

}  // namespace

FeatureTable::FeatureTable(std::size_t n_rows, const std::vector<FeatureKind> &kinds, const double *columns)
    : n_rows_(n_rows), columns_(kinds.size()) {
    for (std::size_t feature = 0; feature < kinds.size(); ++feature) {
        Column &column = columns_[feature];
        column.kind = kinds[feature];
        column.has_missing = false;
        column.values.assign(columns + feature * n_rows, columns + (feature + 1) * n_rows);
        if (column.kind == FeatureKind::categorical) {
            bin_categories(column);
        } else {
            rank_numbers(column);
        }
    }
}

}  // namespace paribus
