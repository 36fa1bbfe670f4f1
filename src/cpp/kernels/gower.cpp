#include "kernels/gower.hpp"

#include "kernels/kernel_only.hpp"

namespace paribus::PARIBUS_KERNEL {

namespace {

// Adds the part of one feature, a function of the row's value. Rows without a value are not counted.
template <typename Part>
void add_feature(const double *values, std::size_t n, bool has_missing, double *sums, double *counts, Part part) {
    if (has_missing) {
        for (std::size_t i = 0; i < n; ++i) {
            const bool present = values[i] == values[i];
            sums[i] += present ? part(values[i]) : 0.0;
            counts[i] += present ? 1.0 : 0.0;
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) sums[i] += part(values[i]);
    }
}

}  // namespace

void gower_distances(const ContextView &table, const double *query, std::size_t begin, std::size_t end,
                     double *distances, double *counts) {
    const std::size_t n = end - begin;
    bool missing = false;
    double n_complete = 0.0;
    for (std::size_t i = 0; i < n; ++i) distances[i] = counts[i] = 0.0;

    for (std::size_t f = 0; f < table.n_features; ++f) {
        const double own = query[f];
        if (own != own) continue;
        const ContextFeature &feature = table.features[f];
        const double *values = feature.values + begin;
        const double inverse_range = feature.inverse_range;
        if (feature.kind == FeatureKind::categorical || inverse_range == 0.0) {
            add_feature(values, n, feature.has_missing, distances, counts,
                        [own](double value) { return value == own ? 0.0 : 1.0; });
        } else {
            add_feature(values, n, feature.has_missing, distances, counts, [own, inverse_range](double value) {
                const double part = __builtin_fabs(value - own) * inverse_range;
                // The limit keeps sums finite, even for a point that is far outside a tiny range.
                return part < 1e300 ? part : 1e300;
            });
        }
        missing |= feature.has_missing;
        n_complete += feature.has_missing ? 0.0 : 1.0;
    }

    if (missing || n_complete == 0.0) {
        for (std::size_t i = 0; i < n; ++i) {
            const double count = counts[i] + n_complete;
            distances[i] = count > 0.0 ? distances[i] / count : 1.0;
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) distances[i] /= n_complete;
    }
}

}  // namespace paribus::PARIBUS_KERNEL
