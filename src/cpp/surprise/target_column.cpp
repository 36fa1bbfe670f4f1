#include "surprise/target_column.hpp"

#include <algorithm>
#include <cmath>

namespace paribus {

double Trend::expected(const double *row) const {
    double sum = constant;
    for (const Part &part : parts) {
        const double value = row[part.feature];
        if (std::isnan(value)) continue;
        if (!part.is_categorical) {
            sum += (part.limits.pull_in(value) - part.center) * part.slope;
        } else if (value >= 0.0 && value < static_cast<double>(part.amounts.size())) {
            sum += part.amounts[static_cast<std::size_t>(value)];
        }
    }
    return sum;
}

double Trend::divisor(std::uint32_t row) const {
    // Nearly always so in tables that are small enough to be seen as a whole.
    if (row < seen.size() && seen[row] == row) return divisors[row];
    const auto found = std::lower_bound(seen.begin(), seen.end(), row);
    return found != seen.end() && *found == row ? divisors[static_cast<std::size_t>(found - seen.begin())] : 1.0;
}

TargetColumn::TargetColumn(const double *rows, std::size_t n_rows, std::size_t n_features, std::size_t column,
                           Limits limits, Limits placeholders, std::optional<Trend> trend)
    : rows_(rows),
      n_rows_(n_rows),
      n_features_(n_features),
      column_(column),
      limits_(limits),
      placeholders_(placeholders),
      trend_(std::move(trend)) {}

TargetColumn::TargetColumn(const double *rows, std::size_t n_rows, std::size_t n_features, std::size_t column,
                           std::vector<std::uint8_t> class_of_code)
    : rows_(rows), n_rows_(n_rows), n_features_(n_features), column_(column), class_of_code_(std::move(class_of_code)) {
    for (const std::uint8_t each : class_of_code_) n_classes_ = std::max<std::size_t>(n_classes_, each + 1u);
}

double TargetColumn::operator[](std::uint32_t row) const {
    if (n_classes_ > 0) {
        const double code = rows_[row * n_features_ + column_];
        const bool is_known = code >= 0.0 && code < static_cast<double>(class_of_code_.size());
        return is_known ? class_of_code_[static_cast<std::size_t>(code)] : std::numeric_limits<double>::quiet_NaN();
    }
    if (trend_) return trend_->limits.pull_in(distance(row));
    return value(row);
}

double TargetColumn::value(std::uint32_t row) const {
    const double found = rows_[row * n_features_ + column_];
    if (found <= placeholders_.low || found >= placeholders_.high) return std::numeric_limits<double>::quiet_NaN();
    return limits_.pull_in(found);
}

double TargetColumn::distance(std::uint32_t row) const {
    return (value(row) - trend_->expected(rows_ + row * n_features_)) / trend_->divisor(row);
}

double TargetColumn::center(const double *row, std::int64_t fitted) const {
    if (!trend_) return 0.0;
    if (fitted >= 0) {
        const auto seen = static_cast<std::uint32_t>(fitted);
        const double near = value(seen);
        if (!std::isnan(near)) return near - distance(seen);
    }
    return trend_->expected(row);
}

}  // namespace paribus
