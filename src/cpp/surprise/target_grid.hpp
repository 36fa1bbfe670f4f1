#pragma once

#include <cstdint>

namespace paribus {

/// The target of a forest as whole numbers: value = low + (step + middle) / steps_per_unit.
struct TargetGrid {
    static constexpr int bits = 30;
    static constexpr double middle = 1 << (bits - 1);

    double low = 0.0, steps_per_unit = 0.0;

    /// The nearest step; of a number that is not on the grid, one of its ends.
    std::int32_t step(double value) const {
        const double place = (value - low) * steps_per_unit + 0.5;
        const double clamped = place > 0.0 ? (place < 2.0 * middle ? place : 2.0 * middle) : 0.0;
        return static_cast<std::int32_t>(clamped) - (1 << (bits - 1));
    }
    /// A value as a place on the grid, which steps are counted on; and back.
    double place_of(double value) const { return (value - low) * steps_per_unit - middle; }
    double value_at(double place) const { return low + (place + middle) / steps_per_unit; }
};

}  // namespace paribus
