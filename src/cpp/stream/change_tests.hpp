#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// Tests of columns of levels for changes: see `stream/change.py`, which owns the arrays. All are updated in place.
///
/// A column is looked at row by row, or in blocks of successive rows. Bets are made on ranks: those of rows, or those
/// of two statistics of each block, its level and its spread.
struct ChangeTests {
    std::size_t n_columns, n_cells, n_groups, n_bets, n_bins, n_places;
    /// By column: the rows of a block; 1 to look at each row, 0 for never.
    const std::int64_t *lengths;
    /// By column, if each row is looked at: how many times as much a sum of ranks varies as that of independent ones.
    const double *variances;
    /// By group: its share of the wealth.
    const double *shares;
    /// [rank of a row, of a block's level, of a block's spread][place of the rank][bet]: what a wealth is multiplied
    /// by.
    const double *payoffs;
    /// By bet: the statistic of blocks that it is about, 0 or 1; negative for none.
    const std::int64_t *statistics;
    /// By bet: how large a change of this statistic it is about, in standard deviations, if rows are dependent.
    const double *sizes;
    /// Rows after which a change is half as likely to begin.
    double patience;
    /// The wealth at which a column has changed.
    double limit;
    /// [column][cell][group][bin]: levels of rows. For blocks, only group 0 is used.
    std::int32_t *counts;
    /// [column][group][statistic][bin]: statistics of blocks.
    std::int32_t *block_counts;
    /// [column][group][3]: the rows of the current block, the sum of their ranks, and that of the ranks' distances.
    double *sums;
    /// By column: rows of the current block.
    std::int64_t *in_block;
    /// [column][group][bet]: the wealth, the logarithm of its best part, and the row with which this began.
    double *wealth, *best;
    std::int64_t *begun;
    /// [column][group]
    double *n_in_group;
    /// By column.
    std::uint8_t *is_over;

    /// Looks at rows, one after the other.
    ///
    /// @param levels    [row][column], between 0 and 1; NaN for none
    /// @param cells     [row]
    /// @param groups    [row][n_active]: the groups of the row, the first of which is 0; a negative number for none
    /// @param random    [row][column]: uniform numbers, which break ties
    /// @param number    of the first row, as it is reported
    /// @param is_known  whether the rows are known not to have changed: they are counted, and nothing is bet
    /// @param found     by column: the row that settled a change, or -1
    void update(std::size_t n_rows, const double *levels, const std::int64_t *cells, const std::int64_t *groups,
                std::size_t n_active, const double *random, std::int64_t number, bool is_known, std::int64_t *found);

    /// The largest share of the wealth of a column that is held by one group and, with blocks, one statistic.
    double evidence(std::size_t column) const;

private:
    double not_begun(double n_rows) const;
    double rank(std::int32_t *bins, double level, double random) const;
    const double *payoff(std::size_t what, double rank) const;
    /// By bet: exp(k y - variance k^2 / 2), so that sums of y that vary so much do not gain; 1 for other shapes.
    void gains_of_dependent(std::size_t column, double rank, double *gains) const;
    void bet(std::size_t column, std::size_t group, std::int64_t statistic, const double *gains, double n_rows,
             std::int64_t number);
    void close_block(std::size_t column, double random, std::int64_t first, bool is_known);
};

}  // namespace paribus
