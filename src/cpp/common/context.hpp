#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// Values whose range is smaller count as equal: dividing by it would overflow.
inline constexpr double smallest_range = 1e-250;

/// What a contextual feature measures, and so how two values of it are compared.
enum class FeatureKind : std::uint8_t { numeric, categorical };

/// One contextual feature of the fitted table. A category is a whole number from 0, a missing value is NaN, and
/// infinities do not occur.
struct ContextFeature {
    FeatureKind kind;
    /// Some fitted value is missing.
    bool has_missing;
    /// 1 / range of the fitted numbers; 0 when all of them are equal, or nearly. Unused for categories.
    double inverse_range;
    /// One more than the highest code of a category; 0 for numbers.
    std::size_t n_codes;
    /// One value per row.
    const double *values;
};

/// The contextual part of the fitted table. The order of its rows is the order in which ties are broken.
struct ContextView {
    std::size_t n_rows;
    std::size_t n_features;
    const ContextFeature *features;
};

}  // namespace paribus
