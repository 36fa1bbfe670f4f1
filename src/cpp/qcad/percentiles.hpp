#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paribus {

/// The percentiles of a weighted sample: tau_i is the smallest value whose cumulative share reaches i / n_quantiles,
/// and tau_0 and tau_n are the smallest and the largest value with a positive weight. Shares that differ by less than a
/// billionth are treated as equal, because they are sums of fractions with rounding errors.
class Percentiles {
public:
    explicit Percentiles(std::size_t n_quantiles) : taus_(n_quantiles + 1) {}

    /// @param order   the members of the sample in ascending order of values
    /// @param values  the values in this order
    /// @param weights the weight of each member
    /// @returns false if no member has a positive weight
    bool estimate(const std::vector<std::uint16_t> &order, const std::vector<double> &values,
                  const std::uint64_t *weights);

    const std::vector<double> &taus() const { return taus_; }

    /// How improbable `value` is: the width of the narrowest interval between consecutive percentiles that contains it.
    /// Outside all percentiles, at distance d, it is (1 + d / IQR) x the widest interval, where half the range replaces
    /// an IQR of 0, or only the widest interval without `scale_tails`. If all percentiles are the same value, it is d.
    double partial_score(double value, bool scale_tails) const;

private:
    std::vector<double> taus_;
    double quartile_range_ = 0.0;
};

}  // namespace paribus
