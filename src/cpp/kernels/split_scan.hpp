#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// The best of the splits that a feature offers, as far as a first look tells: gains are right to twelve digits.
struct Cut {
    /// How much the best split lowers the squared error, in units of the caller; negative if there is no split.
    double gain;
    /// The same of the second best.
    double next_gain;
    /// The last place on the left.
    std::size_t place;
    /// The sum of the targets on the left, and how many there are.
    std::int64_t left, n_left;
};

/// The rows of a small node in the orders of several features.
struct OrderScan {
    static constexpr std::size_t max_rows = 192;
    /// Features that are looked at side by side.
    static constexpr std::size_t width = 8;

    /// By row.
    const std::int32_t *targets;
    std::size_t n_rows, min_samples_leaf;
    /// Of the targets.
    double mean;
    std::size_t n_orders;
    /// Of each feature: its rows in ascending order.
    const std::uint8_t *orders[width];
    /// Of each feature: its rank by row, or null if no two rows have the same.
    const std::uint8_t *ranks[width];
    /// Scratch memory.
    alignas(64) std::int64_t sums[max_rows * width];
};

/// A feature of a large node: rows counted into bins.
struct BinScan {
    static constexpr std::size_t max_bins = 256;
    /// A row adds its target plus `1 << target_bits - 1` to the upper digits of its bin, and 1 to the lower ones: these
    /// have room for 2^17 - 1 rows.
    static constexpr int count_bits = 17, target_bits = 30;

    /// `max_bins` of them; those from `n_bins` on are 0.
    const std::uint64_t *cells;
    std::size_t n_bins;
    std::int64_t n_rows, min_samples_leaf;
    double mean;
    /// Splits that gain less do not count.
    double least_gain;
};

}  // namespace paribus

// One declaration per instruction set. Other sources use them through kernel.hpp.
namespace paribus::PARIBUS_KERNEL {

/// Finds the best place to cut each order. Gains are multiplied by the number of rows.
///
/// @param cuts by feature
void find_order_cuts(OrderScan &scan, Cut *cuts);

/// Finds the best bin to cut after. A bin without rows is none.
Cut find_bin_cut(const BinScan &scan);

}  // namespace paribus::PARIBUS_KERNEL
