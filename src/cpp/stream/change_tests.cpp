#include "stream/change_tests.hpp"

#include <algorithm>
#include <cmath>

namespace paribus {

double ChangeTests::not_begun(double n_rows) const { return 1.0 / (1.0 + std::log1p(n_rows / patience)); }

double ChangeTests::rank(const std::int64_t *bins, double level, double random, std::size_t &bin) const {
    const auto place = static_cast<std::int64_t>(level * static_cast<double>(n_bins));
    bin = static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, static_cast<std::int64_t>(n_bins) - 1));
    std::int64_t below = 0, all = 0;
    for (std::size_t i = 0; i < n_bins; ++i) {
        if (i == bin) below = all;
        all += bins[i];
    }
    const double ties = static_cast<double>(bins[bin] + 1);
    return (static_cast<double>(below) + random * ties) / static_cast<double>(all + 1);
}

void ChangeTests::bet(std::size_t column, std::size_t group, const double *gains, std::int64_t number) {
    double &n_rows = n_in_group[column * n_groups + group];
    // Some of the wealth that was kept is bet on a change that begins here.
    const double fresh = not_begun(n_rows) - not_begun(n_rows + 1.0), log_fresh = std::log(fresh);
    n_rows += 1.0;
    const std::size_t first = (column * n_groups + group) * n_bets;
    for (std::size_t i = 0; i < n_bets; ++i) {
        wealth[first + i] = (wealth[first + i] + fresh) * gains[i];
        if (log_fresh > best[first + i]) {
            best[first + i] = log_fresh;
            begun[first + i] = number;
        }
        best[first + i] += std::log(gains[i]);
    }
}

double ChangeTests::evidence(std::size_t column) const {
    double sum = 0.0;
    for (std::size_t group = 0; group < n_groups; ++group) {
        const double *held = wealth + (column * n_groups + group) * n_bets;
        double bets = 0.0;
        for (std::size_t i = 0; i < n_bets; ++i) bets += held[i];
        sum += shares[group] * (bets / static_cast<double>(n_bets) + not_begun(n_in_group[column * n_groups + group]));
    }
    return sum;
}

void ChangeTests::update(std::size_t n_rows, std::int64_t n_before, const double *levels, const std::int64_t *cells,
                         const std::int64_t *groups, std::size_t n_active, const double *random, std::int64_t number,
                         std::int64_t *found) {
    std::fill(found, found + n_columns, -1);
    for (std::size_t row = 0; row < n_rows; ++row) {
        const std::int64_t n_seen = n_before + static_cast<std::int64_t>(row) + 1;
        for (std::size_t column = 0; column < n_columns; ++column) {
            const double level = levels[row * n_columns + column];
            const std::int64_t stride = strides[column];
            if (stride == 0 || n_seen % stride != 0 || is_over[column] != 0 || std::isnan(level)) continue;
            std::int64_t *const bins = counts + (column * n_cells + static_cast<std::size_t>(cells[row])) * n_bins;
            std::size_t bin;
            const double p_value = rank(bins, level, random[row * n_columns + column], bin);
            ++bins[bin];
            recent[column * n_recent + static_cast<std::size_t>(n_seen / stride) % n_recent] = p_value;
            const auto place = static_cast<std::size_t>(p_value * static_cast<double>(n_places));
            const double *gains = payoffs + std::min(place, n_places - 1) * n_bets;
            const std::int64_t reported = number + static_cast<std::int64_t>(row);
            for (std::size_t i = 0; i < n_active; ++i) {
                const std::int64_t group = groups[row * n_active + i];
                if (group >= 0) bet(column, static_cast<std::size_t>(group), gains, reported);
            }
            if (evidence(column) >= limit) {
                is_over[column] = 1;
                found[column] = static_cast<std::int64_t>(row);
            }
        }
    }
}

}  // namespace paribus
