#include "qcad/fitted_table.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paribus {

namespace {

struct Range {
    double width, high;
    bool has_missing;
};

Range range_of(const double *values, std::size_t n) {
    double low = INFINITY, high = -INFINITY;
    bool has_missing = false;
    for (std::size_t i = 0; i < n; ++i) {
        has_missing |= std::isnan(values[i]);
        low = std::fmin(low, values[i]);
        high = std::fmax(high, values[i]);
    }
    return {high - low > smallest_range ? high - low : 0.0, high, has_missing};
}

}  // namespace

ColumnRanks ColumnRanks::of(const double *values, std::size_t n_rows) {
    std::vector<std::uint32_t> sorted(n_rows);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [values](std::uint32_t a, std::uint32_t b) {
        if (std::isnan(values[a]) || std::isnan(values[b])) return std::isnan(values[a]) && !std::isnan(values[b]);
        return values[a] < values[b];
    });
    ColumnRanks ranks;
    ranks.rank.resize(n_rows);
    ranks.sorted.resize(n_rows);
    for (std::size_t i = 0; i < n_rows; ++i) {
        ranks.rank[sorted[i]] = static_cast<std::uint32_t>(i);
        ranks.sorted[i] = values[sorted[i]];
    }
    return ranks;
}

FittedTable::FittedTable(std::size_t n_rows, const std::uint32_t *order, const std::vector<FeatureKind> &kinds,
                         const double *context, std::size_t n_behavior, const double *behavior)
    : n_rows_(n_rows),
      order_(order, order + n_rows),
      place_(n_rows),
      values_(kinds.size() * n_rows),
      behavior_(n_behavior * n_rows) {
    for (std::size_t i = 0; i < n_rows; ++i) place_[order_[i]] = static_cast<std::uint32_t>(i);
    const auto rearrange = [&](const double *from, double *to, std::size_t n_columns) {
        for (std::size_t column = 0; column < n_columns; ++column) {
            for (std::size_t i = 0; i < n_rows; ++i) to[column * n_rows + i] = from[column * n_rows + order_[i]];
        }
    };
    rearrange(context, values_.data(), kinds.size());
    rearrange(behavior, behavior_.data(), n_behavior);

    for (std::size_t f = 0; f < kinds.size(); ++f) {
        const double *values = values_.data() + f * n_rows;
        const Range range = range_of(values, n_rows);
        const double inverse = range.width > 0.0 ? 1.0 / range.width : 0.0;
        const bool numeric = kinds[f] == FeatureKind::numeric;
        const std::size_t n_codes = numeric || range.high < 0.0 ? 0 : static_cast<std::size_t>(range.high) + 1;
        features_.push_back({kinds[f], range.has_missing, inverse, n_codes, values});
        context_ranks_.push_back(numeric ? ColumnRanks::of(values, n_rows) : ColumnRanks{});
    }
    for (std::size_t f = 0; f < n_behavior; ++f) {
        const double *values = behavior_.data() + f * n_rows;
        behavior_ranges_.push_back(range_of(values, n_rows).width);
        behavior_ranks_.push_back(ColumnRanks::of(values, n_rows));
    }
    view_ = {n_rows, features_.size(), features_.data()};
}

}  // namespace paribus
