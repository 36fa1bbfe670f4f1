#include "stream/change_tests.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace paribus {

namespace {

constexpr std::size_t n_statistics = 2;
// The first rows of a block are left out, so that successive blocks have less in common.
constexpr std::int64_t gap = 3;
// A group says nothing about a block of which it has fewer than this share of the rows.
constexpr double min_share = 1.0 / 16.0;

/// A level of the mean of n ranks: of its distance from what is expected, in standard errors of independent ranks.
/// Those of dependent ones are many times as long, so it is logarithmic.
double level_of_mean(double errors, double n) {
    const double most = std::sqrt(3.0 * n);
    return 0.5 + std::copysign(0.5 * std::log1p(std::abs(errors)) / std::log1p(most), errors);
}

// Another number that is as good as uniform, for the second statistic of a block.
double other_random(double random) {
    const double moved = random * 1048576.0;
    return moved - std::floor(moved);
}

}  // namespace

double ChangeTests::not_begun(double n_rows) const { return 1.0 / (1.0 + std::log1p(n_rows / patience)); }

double ChangeTests::rank(std::int32_t *bins, double level, double random) const {
    const auto place = static_cast<std::int64_t>(level * static_cast<double>(n_bins));
    const auto bin =
        static_cast<std::size_t>(std::clamp<std::int64_t>(place, 0, static_cast<std::int64_t>(n_bins) - 1));
    std::int64_t below = 0, all = 0;
    for (std::size_t i = 0; i < bin; ++i) below += bins[i];
    for (std::size_t i = bin; i < n_bins; ++i) all += bins[i];
    all += below;
    const double ties = static_cast<double>(++bins[bin]);
    return (static_cast<double>(below) + random * ties) / static_cast<double>(all + 1);
}

const double *ChangeTests::payoff(std::size_t what, double rank) const {
    const auto place = std::min(static_cast<std::size_t>(rank * static_cast<double>(n_places)), n_places - 1);
    return payoffs + (what * n_places + place) * n_bets;
}

void ChangeTests::gains_of_dependent(std::size_t column, double rank, double *gains) const {
    // The variance of a uniform number is 1/12; that of its distance from the middle, around 1/4, is 1/48.
    const double away = rank - 0.5;
    const double y[n_statistics] = {std::sqrt(12.0) * away, std::sqrt(48.0) * (std::abs(away) - 0.25)};
    for (std::size_t i = 0; i < n_bets; ++i) {
        const double k = sizes[i] / variances[column];
        gains[i] = statistics[i] < 0 ? 1.0 : std::exp(k * y[statistics[i]] - sizes[i] * k / 2.0);
    }
}

void ChangeTests::bet(std::size_t column, std::size_t group, std::int64_t statistic, const double *gains, double n_rows,
                      std::int64_t number) {
    // Some of the wealth that was kept is bet on a change that begins here.
    const double seen = n_in_group[column * n_groups + group];
    const double fresh = not_begun(seen) - not_begun(seen + n_rows), log_fresh = std::log(fresh);
    const std::size_t first = (column * n_groups + group) * n_bets;
    for (std::size_t i = 0; i < n_bets; ++i) {
        if (statistic >= 0 && statistics[i] != statistic) continue;
        wealth[first + i] = (wealth[first + i] + fresh) * gains[i];
        if (log_fresh > best[first + i]) {
            best[first + i] = log_fresh;
            begun[first + i] = number;
        }
        best[first + i] += std::log(gains[i]);
    }
}

double ChangeTests::evidence(std::size_t column) const {
    const bool is_row_by_row = lengths[column] == 1;
    const std::size_t n_accounts = is_row_by_row ? 1 : n_statistics;
    double most = 0.0;
    for (std::size_t group = 0; group < n_groups; ++group) {
        const double *held = wealth + (column * n_groups + group) * n_bets;
        const double kept = not_begun(n_in_group[column * n_groups + group]);
        for (std::size_t account = 0; account < n_accounts; ++account) {
            double sum = 0.0, n = 0.0;
            for (std::size_t i = 0; i < n_bets; ++i) {
                if (!is_row_by_row && statistics[i] != static_cast<std::int64_t>(account)) continue;
                sum += held[i];
                n += 1.0;
            }
            most = std::max(most, shares[group] / static_cast<double>(n_accounts) * (sum / n + kept));
        }
    }
    return most;
}

void ChangeTests::close_block(std::size_t column, double random, std::int64_t first, bool is_known) {
    const auto length = static_cast<double>(lengths[column]);
    for (std::size_t group = 0; group < n_groups; ++group) {
        double *const sum = sums + (column * n_groups + group) * 3;
        const double n = sum[0];
        if (n >= std::max(1.0, min_share * length)) {
            const double levels[n_statistics] = {level_of_mean((sum[1] / n - 0.5) * std::sqrt(12.0 * n), n),
                                                 level_of_mean((sum[2] / n - 0.25) * std::sqrt(48.0 * n), n)};
            for (std::size_t statistic = 0; statistic < n_statistics; ++statistic) {
                std::int32_t *const bins =
                    block_counts + ((column * n_groups + group) * n_statistics + statistic) * n_bins;
                const double drawn = statistic == 0 ? random : other_random(random);
                const double *gains = payoff(1 + statistic, rank(bins, levels[statistic], drawn));
                if (!is_known) bet(column, group, static_cast<std::int64_t>(statistic), gains, length, first);
            }
            if (!is_known) n_in_group[column * n_groups + group] += length;
        }
        std::fill(sum, sum + 3, 0.0);
    }
    in_block[column] = 0;
}

void ChangeTests::update(std::size_t n_rows, const double *levels, const std::int64_t *cells,
                         const std::int64_t *groups, std::size_t n_active, const double *random, std::int64_t number,
                         bool is_known, std::int64_t *found) {
    std::fill(found, found + n_columns, -1);
    std::vector<double> of_dependent(n_bets);
    for (std::size_t row = 0; row < n_rows; ++row) {
        const std::int64_t reported = number + static_cast<std::int64_t>(row);
        const auto cell = static_cast<std::size_t>(cells[row]);
        for (std::size_t column = 0; column < n_columns; ++column) {
            const double level = levels[row * n_columns + column], drawn = random[row * n_columns + column];
            const std::int64_t length = lengths[column];
            if (length == 0 || is_over[column] != 0) continue;
            std::int32_t *const bins = counts + (column * n_cells + cell) * n_groups * n_bins;
            const std::int64_t *own = groups + row * n_active;
            if (length == 1) {
                if (std::isnan(level)) continue;
                for (std::size_t i = 0; i < n_active; ++i) {
                    if (own[i] < 0) continue;
                    const auto group = static_cast<std::size_t>(own[i]);
                    const double rank_in_group = rank(bins + group * n_bins, level, drawn);
                    if (is_known) continue;
                    const double *gains = of_dependent.data();
                    if (variances[column] <= 1.0) {
                        gains = payoff(0, rank_in_group);
                    } else {
                        gains_of_dependent(column, rank_in_group, of_dependent.data());
                    }
                    bet(column, group, -1, gains, 1.0, reported);
                    n_in_group[column * n_groups + group] += 1.0;
                }
            } else {
                if (++in_block[column] > length / gap && !std::isnan(level)) {
                    const double rank_in_cell = rank(bins, level, drawn);
                    for (std::size_t i = 0; i < n_active; ++i) {
                        if (own[i] < 0) continue;
                        double *const sum = sums + (column * n_groups + static_cast<std::size_t>(own[i])) * 3;
                        sum[0] += 1.0;
                        sum[1] += rank_in_cell;
                        sum[2] += std::abs(rank_in_cell - 0.5);
                    }
                }
                if (in_block[column] < length) continue;
                close_block(column, other_random(drawn), reported - length + 1, is_known);
            }
            if (!is_known && evidence(column) >= limit) {
                is_over[column] = 1;
                found[column] = static_cast<std::int64_t>(row);
            }
        }
    }
}

}  // namespace paribus
