#include "qcad/percentiles.hpp"

#include <algorithm>
#include <limits>

namespace paribus {

namespace {

constexpr double slack = 1e-9;

}  // namespace

bool Percentiles::estimate(const std::vector<std::uint16_t> &order, const std::vector<double> &values,
                           const std::uint64_t *weights) {
    std::uint64_t total = 0;
    for (const std::uint16_t member : order) total += weights[member];
    if (total == 0) return false;

    const std::size_t n = taus_.size() - 1;
    const auto share = [&](double part) { return (part - slack) * static_cast<double>(total); };
    // The next percentile to be reached, and the cumulative weight at which that happens.
    std::size_t tau = 0;
    double target = 0.0, lower_quartile = 0.0, upper_quartile = 0.0;
    bool below_lower = true, below_upper = true;
    std::uint64_t reached = 0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        const std::uint64_t weight = weights[order[place]];
        if (weight == 0) continue;
        reached += weight;
        const auto sum = static_cast<double>(reached);
        const double value = values[place];
        while (tau <= n && sum >= target) {
            taus_[tau++] = value;
            target = share(static_cast<double>(tau) / static_cast<double>(n));
        }
        if (below_lower && sum >= share(0.25)) {
            lower_quartile = value;
            below_lower = false;
        }
        if (below_upper && sum >= share(0.75)) {
            upper_quartile = value;
            below_upper = false;
        }
        taus_[n] = value;
    }
    quartile_range_ = upper_quartile - lower_quartile;
    return true;
}

double Percentiles::partial_score(double value, bool scale_tails) const {
    const double lowest = taus_.front(), highest = taus_.back();
    if (value < lowest || value > highest) {
        const double distance = value < lowest ? lowest - value : value - highest;
        if (lowest == highest) return distance;
        double widest = 0.0;
        for (std::size_t i = 0; i + 1 < taus_.size(); ++i) widest = std::max(widest, taus_[i + 1] - taus_[i]);
        if (!scale_tails) return widest;
        const double spread = quartile_range_ > 0.0 ? quartile_range_ : 0.5 * (highest - lowest);
        return (1.0 + distance / spread) * widest;
    }
    // The intervals that contain the value: from the last percentile below it to the first one above it.
    const auto from = std::lower_bound(taus_.begin(), taus_.end(), value);
    const auto to = std::upper_bound(from, taus_.end(), value);
    double narrowest = std::numeric_limits<double>::infinity();
    for (auto it = from == taus_.begin() ? from : from - 1; it + 1 != taus_.end() && it != to; ++it) {
        narrowest = std::min(narrowest, *(it + 1) - *it);
    }
    return narrowest;
}

}  // namespace paribus
