#include "kernels/smooth_density.hpp"

#include "kernels/lanes.hpp"

namespace paribus::PARIBUS_KERNEL {

namespace {

constexpr double degrees_of_freedom = 3.0;
// Below this sum, terms in single precision may have underflowed.
constexpr double least_in_single = 1e-24;
constexpr double furthest_base = 1 << 30;

/// In double precision: halves are added to each other until one number is left.
template <typename T>
inline __attribute__((always_inline)) double sum(const Lanes<T> &lanes) {
    typedef double Quarter __attribute__((vector_size(4 * sizeof(double))));
    T values[n_lanes];
    __builtin_memcpy(values, &lanes.part, sizeof values);
    Quarter parts[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
        parts[i] = Quarter{static_cast<double>(values[4 * i]), static_cast<double>(values[4 * i + 1]),
                           static_cast<double>(values[4 * i + 2]), static_cast<double>(values[4 * i + 3])};
    }
    const Quarter total = (parts[0] + parts[2]) + (parts[1] + parts[3]);
    return (total[0] + total[2]) + (total[1] + total[3]);
}

/// @param distance in units of `short_scale`, which make the formula short
inline double student(double distance) {
    const double term = 1.0 + distance * distance;
    return 1.0 / (term * term);
}

/// The arc tangent of numbers that are not below 0, to about seven digits (Cephes, S. Moshier).
inline __attribute__((always_inline)) Floats arc_tangent(const Floats &x) {
    const Floats one = Floats::all(1.0f), zero;
    const Ints is_large = x > Floats::all(2.41421356f), is_middle = x > Floats::all(0.41421356f);
    const Floats above = select(is_large, zero - one, select(is_middle, x - one, x));
    const Floats below = select(is_large, x, select(is_middle, x + one, one));
    const Floats start = select(is_large, Floats::all(1.57079633f), select(is_middle, Floats::all(0.78539816f), zero));
    const Floats y = above / below, z = y * y;
    const Floats series =
        (((Floats::all(8.05374449538e-2f) * z - Floats::all(1.38776856032e-1f)) * z + Floats::all(1.99777106478e-1f)) *
             z -
         Floats::all(3.33329491539e-1f)) *
        z;
    return start + (series * y + y);
}

inline double short_scale(double scale) { return __builtin_sqrt(degrees_of_freedom) * scale; }

}  // namespace

static_assert(WeightedSteps::lot == n_lanes);

double mean_deviation(const WeightedSteps &distribution) {
    // Relative to the first step: distances are smaller then, and lose less in single precision.
    const Ints origin = Ints::all(distribution.steps[0]);
    Floats mean_part;
    for (std::size_t i = 0; i < distribution.n; i += n_lanes) {
        mean_part += load(distribution.weights + i) * to_floats(load(distribution.steps + i) - origin);
    }
    const Floats mean = Floats::all(static_cast<float>(sum(mean_part)));
    Floats deviation;
    for (std::size_t i = 0; i < distribution.n; i += n_lanes) {
        const Floats distance = to_floats(load(distribution.steps + i) - origin) - mean;
        deviation += load(distribution.weights + i) * larger(distance, Floats() - distance);
    }
    return sum(deviation);
}

double student_sum(const WeightedSteps &distribution, double at, double scale) {
    // Distances are computed exactly, as whole numbers, and the fractional rest is added.
    const double clamped = at < -furthest_base ? -furthest_base : at > furthest_base ? furthest_base : at;
    const auto base = static_cast<std::int32_t>(clamped);
    const Ints bases = Ints::all(base);
    const Floats rest = Floats::all(static_cast<float>(at - base));
    const Floats inverse = Floats::all(static_cast<float>(1.0 / short_scale(scale)));
    const Floats one = Floats::all(1.0f);
    Floats parts;
    for (std::size_t i = 0; i < distribution.n; i += n_lanes) {
        const Floats distance = (to_floats(bases - load(distribution.steps + i)) + rest) * inverse;
        const Floats term = one + distance * distance;
        parts += load(distribution.weights + i) / (term * term);
    }
    const double found = sum(parts);
    // Also false for NaN, the product of a zero distance and an infinite inverse.
    if (found > least_in_single) return found;
    double exact = 0.0;
    for (std::size_t i = 0; i < distribution.n; ++i) {
        const double distance = (at - distribution.steps[i]) / short_scale(scale);
        exact += static_cast<double>(distribution.weights[i]) * student(distance);
    }
    return exact;
}

namespace {

/// At sixteen places. Two atoms need one division if the product of their terms is a number.
template <bool in_pairs>
inline __attribute__((always_inline)) Floats student_sums_here(const AtomGroup *groups, std::size_t n_groups,
                                                               const Floats &at) {
    const Floats one = Floats::all(1.0f);
    Floats total;
    for (std::size_t group = 0; group < n_groups; ++group) {
        const AtomGroup &own = groups[group];
        const Floats here = at * Floats::all(own.inverse_width);
        const auto term = [&](std::size_t i) __attribute__((always_inline)) {
            const Floats distance = here - Floats::all(own.atoms[i] * own.inverse_width);
            const Floats root = one + distance * distance;
            return root * root;
        };
        Floats parts;
        std::size_t i = 0;
        if constexpr (in_pairs) {
            for (; i + 2 <= own.n; i += 2) {
                const Floats first = term(i), second = term(i + 1);
                parts += (first + second) / (first * second);
            }
        }
        for (; i < own.n; ++i) parts += one / term(i);
        total += parts * Floats::all(own.weight);
    }
    return total;
}

inline float size(float value) { return value < 0.0f ? -value : value; }

}  // namespace

void student_sums(const AtomGroup *groups, std::size_t n_groups, const float *at, std::size_t n_at, float *sums) {
    // The fourth power of this many widths can still be squared in single precision.
    constexpr float farthest_in_pairs = 1e4f;
    float farthest = 0.0f, narrowest = 0.0f;
    for (std::size_t i = 0; i < n_at; ++i) farthest = size(at[i]) > farthest ? size(at[i]) : farthest;
    for (std::size_t group = 0; group < n_groups; ++group) {
        const AtomGroup &own = groups[group];
        narrowest = own.inverse_width > narrowest ? own.inverse_width : narrowest;
        for (std::size_t i = 0; i < own.n; ++i)
            farthest = size(own.atoms[i]) > farthest ? size(own.atoms[i]) : farthest;
    }
    const bool in_pairs = 2.0f * farthest * narrowest <= farthest_in_pairs;
    for (std::size_t place = 0; place < n_at; place += n_lanes) {
        const Floats here = load(at + place);
        const Floats found = in_pairs ? student_sums_here<true>(groups, n_groups, here)
                                      : student_sums_here<false>(groups, n_groups, here);
        __builtin_memcpy(sums + place, &found.part, sizeof found.part);
    }
}

void student_shares(const float *atoms, const float *inverse_widths, const float *weights, std::size_t n,
                    const float *at, std::size_t n_at, float *shares) {
    const Floats one = Floats::all(1.0f), zero, half = Floats::all(0.5f), per_pi = Floats::all(0.318309886f);
    // Beyond, the share is 0 or 1 to all digits, and squares do not end.
    const Floats farthest = Floats::all(1e9f);
    for (std::size_t place = 0; place < n_at; ++place) {
        const Floats here = Floats::all(at[place]);
        Floats parts;
        for (std::size_t i = 0; i < n; i += n_lanes) {
            const Floats distance = (here - load(atoms + i)) * load(inverse_widths + i);
            const Floats size = smaller(larger(distance, zero - distance), farthest);
            const Floats beyond = (size / (one + size * size) + arc_tangent(size)) * per_pi;
            parts += load(weights + i) * (half + select(distance < zero, zero - beyond, beyond));
        }
        shares[place] = static_cast<float>(sum(parts));
    }
}

double student_sum(const double *values, std::size_t n, double at, double scale) {
    const Lanes<double> place = Lanes<double>::all(at);
    const Lanes<double> scales = Lanes<double>::all(short_scale(scale));
    const Lanes<double> one = Lanes<double>::all(1.0);
    Lanes<double> parts;
    std::size_t i = 0;
    for (; i + n_lanes <= n; i += n_lanes) {
        const Lanes<double> distance = (place - load(values + i)) / scales;
        const Lanes<double> term = one + distance * distance;
        parts += one / (term * term);
    }
    double total = sum(parts);
    for (; i < n; ++i) total += student((at - values[i]) / short_scale(scale));
    return total;
}

}  // namespace paribus::PARIBUS_KERNEL
