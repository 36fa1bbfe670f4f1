#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// The percentiles of a weighted sample: tau_i = the smallest value whose cumulative share reaches i / n_quantiles,
/// with tau_0 and tau_n the smallest and the largest value of any weight. Shares that differ by less than a billionth
/// are equal: they are sums of fractions, and rounding must not decide between neighbours.
class Percentiles {
public:
    explicit Percentiles(std::size_t n_quantiles) : taus_(n_quantiles + 1) {}

    /// @param order   the sample's members from the lowest to the highest value
    /// @param values  in that order
    /// @param weights by member
    /// @returns false if no member has any weight
    bool estimate(const std::vector<std::uint16_t> &order, const std::vector<double> &values,
                  const std::uint64_t *weights);

    const std::vector<double> &taus() const { return taus_; }

    /// How improbable `value` is: the width of the narrowest interval between neighbouring percentiles that holds it.
    /// Outside of all, at distance d: (1 + d / IQR) x the widest interval, where half the whole range stands in for an
    /// IQR of 0; or the widest interval alone, without `scale_tails`. If the percentiles are all one value: d.
    double partial_score(double value, bool scale_tails) const;

private:
    std::vector<double> taus_;
    double quartile_range_ = 0.0;
};

}  // namespace paribus
