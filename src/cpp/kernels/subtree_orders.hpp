#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// The rows of a subtree in several orders, as numbers of 8 bits.
struct SubtreeOrders {
    static constexpr std::size_t max_rows = 192;
    /// Beyond the rows of an order there is room for as many, which may be written and come back as they were.
    static constexpr std::size_t padding = 16;
    static constexpr std::size_t stride = max_rows + padding;
};

}  // namespace paribus

// One declaration per instruction set. Other sources use them through kernel.hpp.
namespace paribus::PARIBUS_KERNEL {

/// Brings a part of each order into order again: rows that go left first, the others after them, otherwise as they
/// were.
///
/// @param orders    the first row of the part in the first order; the next orders are `SubtreeOrders::stride` apart
/// @param n         rows of the part, of which `n_left` go left
/// @param goes_left by row: 255 if it does, else 0; `SubtreeOrders::max_rows` of them, of which only those of rows of
///                  the part count
void part_orders(std::uint8_t *orders, std::size_t n_orders, std::size_t n, std::size_t n_left,
                 const std::uint8_t *goes_left);

}  // namespace paribus::PARIBUS_KERNEL
