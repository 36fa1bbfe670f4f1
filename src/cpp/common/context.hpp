#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// Values with a smaller range are treated as equal: dividing by the range would overflow.
inline constexpr double smallest_range = 1e-250;

/// The kind of a contextual feature, which determines how two values are compared.
enum class FeatureKind : std::uint8_t { numeric, categorical };

/// One contextual feature of the fitted table. A category is a whole number from 0, a missing value is NaN, and there
/// are no infinities.
struct ContextFeature {
    FeatureKind kind;
    /// Whether any fitted value is missing.
    bool has_missing;
    /// 1 / range of the fitted numbers; 0 if all of them are equal, or nearly so. Unused for categories.
    double inverse_range;
    /// The highest category code plus one; 0 for numbers.
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
