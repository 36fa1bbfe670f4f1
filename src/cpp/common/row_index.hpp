#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// Numbers that are evenly spaced in memory, such as a column of a table of either layout.
struct Strided {
    const double *data;
    std::size_t stride;

    double operator[](std::size_t i) const { return data[i * stride]; }
};

/// Finds a row of a table by its values. Missing values are equal to each other, and so are 0 and -0.
class RowIndex {
public:
    /// @param columns each has one value per row, and must outlive the index
    RowIndex(std::size_t n_rows, std::vector<Strided> columns);

    /// The same from what `order()` gave, which must outlive the index. Its numbers must be below `n_rows`. If it is
    /// not the right one, rows may not be found.
    RowIndex(std::size_t n_rows, std::vector<Strided> columns, const std::uint32_t *order);

    RowIndex(const RowIndex &) = delete;
    RowIndex &operator=(const RowIndex &) = delete;

    /// The rows in the order of their hashes, those with the same hash in ascending order.
    const std::uint32_t *order() const { return order_; }

    /// The first row that is equal to the given one in all columns, or -1 if there is none. The given row consists of
    /// two parts, one after the other in the order of the columns.
    std::int64_t find(const double *first, std::size_t n_first, const double *second, std::size_t n_second) const;

    /// By row of the table: the first row that is equal to it.
    void find_all(std::int64_t *found) const;

private:
    std::uint64_t hash(std::uint32_t row) const;

    std::size_t n_rows_;
    std::vector<Strided> columns_;
    std::vector<std::uint32_t> own_order_;
    const std::uint32_t *order_;
};

}  // namespace paribus
