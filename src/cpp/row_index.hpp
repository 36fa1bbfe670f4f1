#pragma once

#include <utility>
#include <vector>

#include "fitted_table.hpp"

namespace paribus {

/// Finds fitted rows by their values.
class RowIndex {
public:
    explicit RowIndex(const FittedTable &table);

    /// Of the fitted rows that equal this one in all features (missing equals missing), the caller's number of the one
    /// that comes first when ties are broken; -1 if there is none.
    std::int64_t find(const double *context, const double *behavior) const;

private:
    const FittedTable &table_;
    /// Hash and place of each row, sorted.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries_;
};

}  // namespace paribus
