#pragma once

#include <cmath>

namespace paribus {

/// Whether a number is the same in 32 bits.
inline bool is_single(double value) {
    return !(std::fabs(value) > 3e38 && std::isfinite(value)) &&
           static_cast<double>(static_cast<float>(value)) == value;
}

/// Halfway between two values, as a 32-bit number where one lies between them: never the higher one, which goes right.
inline double threshold_between(double low, double high) {
    const double middle = low + 0.5 * (high - low);
    const double rounded = std::fabs(middle) < 3e38 ? static_cast<double>(static_cast<float>(middle)) : middle;
    if (low <= rounded && rounded < high) return rounded;
    return middle < high ? middle : low;
}

}  // namespace paribus
