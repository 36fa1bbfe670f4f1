#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/context.hpp"

namespace paribus {

/// A table as trees over all of its rows see it: each value as it is, as its rank, and as one of at most 256 bins.
class FeatureTable {
public:
    static constexpr std::size_t n_bins = 256;
    /// The bin of values that are missing.
    static constexpr std::uint8_t missing_bin = 255;

    struct Column {
        FeatureKind kind;
        /// By row; a category is its code, 0, 1, ...; NaN where there is none.
        std::vector<double> values;
        /// By row: the place of the value among the distinct ones. Unspecified where it is missing, and for categories.
        std::vector<std::uint32_t> ranks;
        /// By row. Those of numbers ascend with the value. The rarest categories share one if there are too many.
        std::vector<std::uint8_t> bins;
        /// By rank.
        std::vector<double> distinct;
        /// By bin of numbers: the rank of its last value.
        std::vector<std::uint32_t> last_rank;
        /// By code of categories: the bin.
        std::vector<std::uint8_t> bin_of_code;
        bool has_missing;
    };

    /// @param columns [feature][row]
    FeatureTable(std::size_t n_rows, const std::vector<FeatureKind> &kinds, const double *columns);

    std::size_t n_rows() const { return n_rows_; }
    std::size_t n_features() const { return columns_.size(); }
    const Column &column(std::size_t feature) const { return columns_[feature]; }

private:
    std::size_t n_rows_;
    std::vector<Column> columns_;
};

}  // namespace paribus
