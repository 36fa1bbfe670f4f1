#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/context.hpp"
#include "common/row_index.hpp"

namespace paribus {

/// What trees have to know about the features of rows that go down them.
struct FeatureKinds {
    std::vector<FeatureKind> kinds;
    /// By feature, and by code of categories: the bin. Empty for numbers.
    std::vector<std::vector<std::uint8_t>> bin_of_code;

    std::size_t n_features() const { return kinds.size(); }
    bool is_categorical(std::size_t feature) const { return kinds[feature] == FeatureKind::categorical; }
};

/// A table as trees over all of its rows see it: each value as its rank, and as one of at most 256 bins.
class FeatureTable {
public:
    static constexpr std::size_t n_bins = 256;
    /// The bin of values that are missing.
    static constexpr std::uint8_t missing_bin = 255;

    struct Column {
        FeatureKind kind;
        /// By row: the value; a category is its code, 0, 1, ...; NaN where there is none.
        Strided values;
        /// By row: the place of the value among the distinct ones. Unspecified where it is missing; none for
        /// categories.
        std::vector<std::uint32_t> ranks;
        /// Of numbers; 0 for categories.
        std::size_t n_distinct = 0;
        /// By row. Those of numbers ascend with the value. The rarest categories share one if there are too many.
        std::vector<std::uint8_t> bins;
        /// By bin of numbers: its lowest and its highest value.
        std::vector<double> lowest, highest;

        /// Bins of numbers, without the one of missing values.
        std::size_t n_bins() const { return lowest.size(); }
    };

    /// @param rows [row][feature]; must outlive the table
    FeatureTable(std::size_t n_rows, const std::vector<FeatureKind> &kinds, const double *rows);

    std::size_t n_rows() const { return n_rows_; }
    /// Forests keep it for longer than the table.
    const std::shared_ptr<const FeatureKinds> &kinds() const { return kinds_; }
    const Column &column(std::size_t feature) const { return columns_[feature]; }

private:
    std::size_t n_rows_;
    std::shared_ptr<const FeatureKinds> kinds_;
    std::vector<Column> columns_;
};

}  // namespace paribus
