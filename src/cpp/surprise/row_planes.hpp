#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "surprise/feature_table.hpp"

namespace paribus {

/// Rows in the form in which many of them go down trees fast: some rows side by side, feature by feature, in 32 bits.
///
/// A number has two planes. In both it is the lowest 32-bit number that is not below it: that is up to a threshold of
/// 32 bits if and only if the number is. A missing one is above all numbers in the first, and below all in the second.
/// A category has a plane for each `bins_per_word` bins, in which a bit is set for its own bin; that of another word is
/// 0.
class RowPlanes {
public:
    /// Rows that go down together: while one waits for memory, the others go on.
    static constexpr std::size_t side_by_side = 16;
    static constexpr std::size_t bins_per_word = 30;
    /// Bits of the first word of a category: it is missing, or was never seen.
    static constexpr std::uint32_t missing_bit = 1u << 30, unknown_bit = 1u << 31;
    /// Any number that is present counts as if it were at most this. Thresholds that all numbers are below are this.
    static constexpr float highest = 3.4028234663852886e38f;

    /// @param kinds    must outlive this
    /// @param features those that trees ask for
    RowPlanes(const FeatureKinds &kinds, const std::vector<std::uint16_t> &features);

    /// [row / side_by_side][plane][row % side_by_side]. The last rows are joined by copies of one of them, and leaves
    /// may look at what lies beyond.
    ///
    /// @param rows [row][feature of the table]
    void arrange(const double *rows, std::size_t n_rows, std::vector<float> &arranged) const;

    const FeatureKinds &kinds() const { return kinds_; }
    /// Of one group of rows.
    std::size_t size() const { return size_; }
    /// Where the planes of a feature begin in a group.
    std::size_t begin(std::uint16_t feature) const { return begins_[feature]; }
    /// Those of a category.
    std::size_t n_words(std::uint16_t feature) const { return n_words_[feature]; }
    /// Planes of categories come first: those of numbers begin here.
    std::size_t numbers_begin() const { return numbers_begin_; }

private:
    const FeatureKinds &kinds_;
    std::vector<std::uint16_t> categories_, numbers_;
    /// By feature of the table.
    std::vector<std::size_t> begins_, n_words_;
    std::size_t numbers_begin_, size_;
};

}  // namespace paribus
