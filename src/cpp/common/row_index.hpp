#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace paribus {

/// Finds a row of a table by its values. Missing values are equal to each other, and so are 0 and -0.
class RowIndex {
public:
    /// @param columns each has one value per row, and must outlive the index
    RowIndex(std::size_t n_rows, std::vector<const double *> columns);

    /// The first row that is equal to the given one in all columns, or -1 if there is none. The given row consists of
    /// two parts, one after the other in the order of the columns.
    std::int64_t find(const double *first, std::size_t n_first, const double *second, std::size_t n_second) const;

private:
    std::vector<const double *> columns_;
    /// Hash and position of each row, sorted.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries_;
};

}  // namespace paribus
