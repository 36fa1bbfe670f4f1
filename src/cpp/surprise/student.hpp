#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace paribus {

/// Minus the logarithm of a density, from its value in units of the peak of Student's t with 3 degrees of freedom and
/// so much scale. A value that is farther off than numbers can say is not more surprising.
inline double surprise(double in_peaks, double scale) {
    const double peak = 2.0 / (std::numbers::pi * std::sqrt(3.0));
    return -std::log(std::max(in_peaks * peak / scale, std::numeric_limits<double>::min()));
}

}  // namespace paribus
