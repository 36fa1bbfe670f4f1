#pragma once

#include <vector>

#include "common/context.hpp"

namespace paribus {

/// The ranks of the rows in one column.
struct ColumnRanks {
    /// [row]: its rank. Rows with the same value have consecutive ranks, and missing values come first.
    std::vector<std::uint32_t> rank;
    /// [rank]: the values in ascending order; NaN where missing.
    std::vector<double> sorted;

    static ColumnRanks of(const double *values, std::size_t n_rows);
};

/// The fitted rows in the layout of the engine: column by column, with rows in the order in which ties are broken.
class FittedTable {
public:
    /// @param order    the tie-breaking order: the caller's row at each position
    /// @param context  [feature][caller's row]
    /// @param behavior [feature][caller's row], NaN where missing
    FittedTable(std::size_t n_rows, const std::uint32_t *order, const std::vector<FeatureKind> &kinds,
                const double *context, std::size_t n_behavior, const double *behavior);

    FittedTable(const FittedTable &) = delete;
    FittedTable &operator=(const FittedTable &) = delete;

    std::size_t n_rows() const { return n_rows_; }
    const ContextView &context() const { return view_; }
    std::size_t n_behavior() const { return behavior_ranks_.size(); }
    const double *behavior(std::size_t feature) const { return behavior_.data() + feature * n_rows_; }
    /// The ranks of a numeric feature; empty for a categorical one.
    const ColumnRanks &context_ranks(std::size_t feature) const { return context_ranks_[feature]; }
    const ColumnRanks &behavior_ranks(std::size_t feature) const { return behavior_ranks_[feature]; }
    /// The range (maximum minus minimum) of a feature; 0 for a constant one.
    double behavior_range(std::size_t feature) const { return behavior_ranges_[feature]; }

    /// The caller's row at a position in the tie-breaking order.
    std::uint32_t callers_row(std::uint32_t place) const { return order_[place]; }
    /// The position of a caller's row in the tie-breaking order.
    std::uint32_t place_of(std::uint32_t callers_row) const { return place_[callers_row]; }

private:
    std::size_t n_rows_;
    std::vector<std::uint32_t> order_, place_;
    std::vector<double> values_, behavior_;
    std::vector<ContextFeature> features_;
    ContextView view_;
    std::vector<ColumnRanks> context_ranks_, behavior_ranks_;
    std::vector<double> behavior_ranges_;
};

}  // namespace paribus
