#pragma once

#include <cstddef>
#include <cstdint>

namespace paribus {

/// The distribution of one row: grid steps, below 2^29 in absolute value, with weights that sum to 1.
struct WeightedSteps {
    /// The number of steps is a multiple of this. Steps that fill up the last lot have a weight of 0.
    static constexpr std::size_t lot = 16;

    const std::int32_t *steps;
    const float *weights;
    std::size_t n;
};

/// Atoms of one width that count the same.
struct AtomGroup {
    const float *atoms;
    std::size_t n;
    /// 1 / (sqrt(3) * width)
    float inverse_width;
    float weight;
};

}  // namespace paribus

// One declaration per instruction set. Other sources use them through kernel.hpp.
namespace paribus::PARIBUS_KERNEL {

/// The mean absolute deviation from the mean, to about six digits.
double mean_deviation(const WeightedSteps &distribution);

/// The weighted sum of the densities of Student's t with 3 degrees of freedom around each step, at any place. It is in
/// units of the peak, so at most 1, and precise to about six digits, however small it is.
double student_sum(const WeightedSteps &distribution, double at, double scale);

/// At several places, the sum of Student's t with 3 degrees of freedom around atoms: each atom counts the weight of its
/// group times the density in units of the peak. In single precision.
///
/// @param n_at a multiple of `WeightedSteps::lot`
void student_sums(const AtomGroup *groups, std::size_t n_groups, const float *at, std::size_t n_at, float *sums);

/// At several places, the share of a distribution that lies below: that of Student's t with 3 degrees of freedom around
/// atoms of different widths, times their weights. In single precision.
///
/// @param inverse_widths by atom: 1 / (sqrt(3) * width)
/// @param n              a multiple of `WeightedSteps::lot`
void student_shares(const float *atoms, const float *inverse_widths, const float *weights, std::size_t n,
                    const float *at, std::size_t n_at, float *shares);

/// The sum of the densities of Student's t around values with a weight of 1 each, to full precision.
double student_sum(const double *values, std::size_t n, double at, double scale);

}  // namespace paribus::PARIBUS_KERNEL
