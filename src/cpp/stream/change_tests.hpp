#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// Tests of columns of levels for changes: see `stream/change.py`, which owns the arrays. All are updated in place.
struct ChangeTests {
    std::size_t n_columns, n_cells, n_groups, n_bets, n_bins, n_places, n_recent;
    /// By column: the step between rows that are tested; 0 if it is not tested.
    const std::int64_t *strides;
    /// By group: its share of the wealth.
    const double *shares;
    /// [place of a p-value][bet]: what a wealth is multiplied by.
    const double *payoffs;
    /// Rows after which a change is half as likely to begin.
    double patience;
    /// The wealth at which a column has changed.
    double limit;
    /// [column][cell][bin]
    std::int64_t *counts;
    /// [column][group][bet]: the wealth, the logarithm of its best part, and the row with which this began.
    double *wealth, *best;
    std::int64_t *begun;
    /// [column][group]
    double *n_in_group;
    /// [column][place in a ring]
    double *recent;
    /// By column.
    std::uint8_t *is_over;

    /// Tests rows, one after the other.
    ///
    /// @param n_before  rows that were tested before
    /// @param levels    [row][column], between 0 and 1; NaN for none
    /// @param cells     [row]
    /// @param groups    [row][n_active]: the groups of the row; a negative number for none
    /// @param random    [row][column]: uniform numbers, which break ties
    /// @param number    of the first row, as it is reported
    /// @param found     by column: the row that settled a change, or -1
    void update(std::size_t n_rows, std::int64_t n_before, const double *levels, const std::int64_t *cells,
                const std::int64_t *groups, std::size_t n_active, const double *random, std::int64_t number,
                std::int64_t *found);

private:
    double not_begun(double n_rows) const;
    double rank(const std::int64_t *bins, double level, double random, std::size_t &bin) const;
    void bet(std::size_t column, std::size_t group, const double *gains, std::int64_t number);
    double evidence(std::size_t column) const;
};

}  // namespace paribus
