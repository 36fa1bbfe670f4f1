#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "common/row_index.hpp"

namespace paribus {

/// A range that values are pulled into; missing ones stay missing.
struct Limits {
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();

    double pull_in(double value) const { return value < low ? low : value > high ? high : value; }
};

/// What to expect of a row: the sum of a constant and what each feature adds. A number adds its slope times its
/// distance from the center, a category its own amount, and what is missing nothing.
struct Trend {
    struct Part {
        std::uint16_t feature;
        bool is_categorical;
        Limits limits;
        double center, slope;
        /// By code; other categories add nothing.
        std::vector<double> amounts;
    };

    double constant;
    std::vector<Part> parts;
    /// Rows that the trend was fitted to, in ascending order, and by what share of itself their distance from it would
    /// be larger had it not seen them: the distance is divided by this.
    std::vector<std::uint32_t> seen;
    std::vector<double> divisors;
    /// Distances beyond count as if they were there.
    Limits limits;

    /// @param row [feature of the table]
    double expected(const double *row) const;
    double divisor(std::uint32_t row) const;
};

/// The target of a forest, by row of the table: a column, far values pulled in, or its distances from a trend. It is
/// computed on access, since a column of its own for each forest would take as much memory as the table.
class TargetColumn {
public:
    /// @param rows         [row][feature]; must outlive this
    /// @param limits       values beyond count as if they were there
    /// @param placeholders these values and those beyond are missing
    TargetColumn(const double *rows, std::size_t n_rows, std::size_t n_features, std::size_t column, Limits limits,
                 Limits placeholders, std::optional<Trend> trend);

    /// A column of categories: the target is the class of each, a whole number.
    ///
    /// @param class_of_code by code of the column
    TargetColumn(const double *rows, std::size_t n_rows, std::size_t n_features, std::size_t column,
                 std::vector<std::uint8_t> class_of_code);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_features() const { return n_features_; }
    /// 0 if the target is a number.
    std::size_t n_classes() const { return n_classes_; }
    /// NaN where it is missing.
    double operator[](std::uint32_t row) const;

    /// What the trend expects of a row, 0 without a trend.
    ///
    /// @param row    [feature of the table]
    /// @param fitted the fitted row that it is, or a negative number. What is expected of a fitted row is what would be
    ///               expected had it not been seen
    double center(const double *row, std::int64_t fitted) const;

private:
    /// Pulled in; NaN where it is missing.
    double value(std::uint32_t row) const;
    double distance(std::uint32_t row) const;

    const double *rows_;
    std::size_t n_rows_, n_features_, column_;
    Limits limits_, placeholders_;
    std::optional<Trend> trend_;
    std::vector<std::uint8_t> class_of_code_;
    std::size_t n_classes_ = 0;
};

}  // namespace paribus
