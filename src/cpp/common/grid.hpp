#pragma once

#include <cstdint>

namespace paribus {

// Static instead of inline, because sources that include this are built for different processors (see kernel_only.hpp).

/// Steps per unit of behavior on the finest grid whose 2^bits steps cover `range`. It is a power of two, so that whole
/// numbers lie exactly on the grid. 0 if the range is 0 or too small for any grid.
static double grid_scale(double range, int bits) {
    if (!(range > 0x1p-960)) return 0.0;
    return __builtin_ldexp(1.0, bits - 1 - __builtin_ilogb(range));
}

/// The nearest step of the grid that starts at `low`, counted from the middle of the grid.
static std::int32_t grid_step(double behavior, double low, double scale, int bits) {
    return static_cast<std::int32_t>((behavior - low) * scale + 0.5) - (std::int32_t{1} << (bits - 1));
}

}  // namespace paribus
