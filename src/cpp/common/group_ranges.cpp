#include "common/group_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "common/parallel.hpp"

namespace paribus {

namespace {

constexpr double low_share = 0.05, high_share = 0.95, nearly_all = 0.95;
// Absorbs rounding errors of sums.
constexpr double tolerance = 1e-9;
// Sums of shares in any order differ by less.
constexpr double rounding = 1e-12;
constexpr std::size_t rows_per_item = 64;
constexpr std::size_t n_bins = 64, last_bin = n_bins - 1;

/// What one thread needs for a group.
class Describer {
public:
    explicit Describer(const WeightedGroups &groups)
        : groups_(groups), values_(groups.n_members), shares_(groups.n_members), bins_(groups.n_members) {}

    void start(std::size_t row) {
        n_ = static_cast<std::size_t>(groups_.sizes[row]);
        weights_ = groups_.weights + row * groups_.n_members;
        const double total = pairwise_sum(weights_, n_);
        for (std::size_t i = 0; i < n_; ++i) shares_[i] = weights_[i] / total;
        total_ = pairwise_sum(shares_.data(), n_);
    }

    std::int64_t n_counting() {
        if (n_ == 0) return 1;
        const double wanted = nearly_all - tolerance;
        const double heaviest = *std::max_element(weights_, weights_ + n_);
        std::fill_n(bin_sums_, n_bins, 0.0);
        std::fill_n(bin_sizes_, n_bins, 0);
        const double scale = n_bins / heaviest;
        for (std::size_t i = 0; i < n_; ++i) {
            // From the heaviest to the lightest.
            const std::size_t bin = bins_[i] = last_bin - bin_of(weights_[i] * scale);
            bin_sums_[bin] += weights_[i];
            ++bin_sizes_[bin];
        }
        double reached = 0.0;
        std::int64_t n = 1;
        for (std::size_t bin = 0; bin < n_bins; ++bin) {
            if (reached + bin_sums_[bin] < wanted - rounding) {
                reached += bin_sums_[bin];
                n += bin_sizes_[bin];
                continue;
            }
            terms_.clear();
            for (std::size_t i = 0; i < n_; ++i) {
                if (bins_[i] == bin) terms_.push_back(weights_[i]);
            }
            std::sort(terms_.begin(), terms_.end(), std::greater<>());
            for (const double weight : terms_) {
                reached += weight;
                if (std::fabs(reached - wanted) <= rounding) return n_counting_in_order();
                if (reached > wanted) return n;
                ++n;
            }
        }
        return n_counting_in_order();
    }

    double squares() {
        terms_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) terms_[i] = weights_[i] * weights_[i];
        return pairwise_sum(terms_.data(), n_);
    }

    GroupRange range(std::size_t row, std::size_t feature) {
        const double *const from = groups_.values + row * groups_.n_members * groups_.n_features + feature;
        double least = std::numeric_limits<double>::infinity(), most = -least;
        bool is_complete = true;
        for (std::size_t i = 0; i < n_; ++i) {
            const double value = values_[i] = from[i * groups_.n_features];
            is_complete &= value == value;
            least = std::min(least, value);
            most = std::max(most, value);
        }
        if (!is_complete || n_ == 0) {
            const double nothing = std::numeric_limits<double>::quiet_NaN();
            return {nothing, nothing, nothing, nothing, nothing};
        }
        GroupRange found = {0.0, 0.0, 0.0, least, most};
        if (!find_ends(found)) sort_ends(found);
        terms_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) {
            terms_[i] = (values_[i] >= found.low) & (values_[i] <= found.high) ? shares_[i] : 0.0;
        }
        found.share = pairwise_sum(terms_.data(), n_);
        return found;
    }

private:
    struct Placed {
        double value;
        std::uint32_t place;
    };
    /// Equal values in their order: the order of a sum matters to its last bit.
    static bool is_before(const Placed &a, const Placed &b) {
        return a.value < b.value || (a.value == b.value && a.place < b.place);
    }

    static std::size_t bin_of(double place) { return std::min(static_cast<std::size_t>(place), last_bin); }

    /// What `n_counting` returns, by the definition.
    std::int64_t n_counting_in_order() {
        terms_.assign(weights_, weights_ + n_);
        std::sort(terms_.begin(), terms_.end(), std::greater<>());
        double reached = 0.0;
        std::int64_t n = 1;
        for (const double weight : terms_) {
            reached += weight;
            n += reached < nearly_all - tolerance;
        }
        return n;
    }

    /// Finds the ends of the range without sorting all values: only those of the bins that they are in. Returns false
    /// if the order of a sum could decide.
    bool find_ends(GroupRange &found) {
        if (found.least == found.most) {
            found.low = found.high = found.least;
            // Not the same if one of them is -0.
            return found.least != 0.0;
        }
        const double scale = n_bins / (found.most - found.least);
        if (!(scale > 0.0 && scale < std::numeric_limits<double>::max())) return false;
        std::fill_n(bin_sums_, n_bins, 0.0);
        for (std::size_t i = 0; i < n_; ++i) {
            bins_[i] = bin_of((values_[i] - found.least) * scale);
            bin_sums_[bins_[i]] += shares_[i];
        }
        return find_quantile(low_share, found.low) && find_quantile(high_share, found.high);
    }

    bool find_quantile(double share, double &found) {
        const double wanted = share * total_ - tolerance;
        double reached = 0.0;
        std::size_t bin = 0;
        while (bin < last_bin && reached + bin_sums_[bin] < wanted - rounding) reached += bin_sums_[bin++];
        order_.clear();
        for (std::size_t i = 0; i < n_; ++i) {
            if (bins_[i] == bin) order_.push_back({values_[i], static_cast<std::uint32_t>(i)});
        }
        std::sort(order_.begin(), order_.end(), is_before);
        for (const Placed &each : order_) {
            reached += shares_[each.place];
            if (std::fabs(reached - wanted) <= rounding) return false;
            found = each.value;
            if (reached > wanted) return true;
        }
        return false;
    }

    void sort_ends(GroupRange &found) {
        order_.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) order_[i] = {values_[i], static_cast<std::uint32_t>(i)};
        std::sort(order_.begin(), order_.end(), is_before);
        terms_.resize(n_);
        double total = 0.0;
        for (std::size_t i = 0; i < n_; ++i) terms_[i] = total += shares_[order_[i].place];
        const auto quantile = [&](double share) {
            const double wanted = share * total - tolerance;
            std::size_t place = 0;
            while (place + 1 < n_ && terms_[place] < wanted) ++place;
            return order_[place].value;
        };
        found.low = quantile(low_share);
        found.high = quantile(high_share);
    }

    const WeightedGroups &groups_;
    /// The size of the group in question.
    std::size_t n_ = 0;
    const double *weights_ = nullptr;
    double total_ = 0.0;
    std::vector<double> values_, shares_, terms_;
    std::vector<Placed> order_;
    /// The bin of each member, and what all of each bin count.
    std::vector<std::size_t> bins_;
    double bin_sums_[n_bins];
    std::int64_t bin_sizes_[n_bins];
};

}  // namespace

double pairwise_sum(const double *values, std::size_t n) {
    if (n < 8) {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) sum += values[i];
        return sum;
    }
    if (n <= 128) {
        double parts[8];
        std::copy_n(values, 8, parts);
        std::size_t i = 8;
        for (; i + 8 <= n; i += 8) {
            for (std::size_t k = 0; k < 8; ++k) parts[k] += values[i + k];
        }
        double sum = ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
        for (; i < n; ++i) sum += values[i];
        return sum;
    }
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
}

void describe_groups(const WeightedGroups &groups, const std::vector<std::size_t> &features, GroupRange *ranges,
                     std::int64_t *n_counting, double *squares, std::size_t n_threads) {
    const auto describe = [&](std::size_t row, Describer &describer) {
        describer.start(row);
        n_counting[row] = describer.n_counting();
        squares[row] = describer.squares();
        for (std::size_t i = 0; i < features.size(); ++i) {
            ranges[i * groups.n_rows + row] = describer.range(row, features[i]);
        }
    };
    for_each_item((groups.n_rows + rows_per_item - 1) / rows_per_item, n_threads,
                  [&](const std::atomic<bool> &) -> std::function<void(std::size_t)> {
                      return [&, describer = std::make_shared<Describer>(groups)](std::size_t item) {
                          const std::size_t end = std::min((item + 1) * rows_per_item, groups.n_rows);
                          for (std::size_t row = item * rows_per_item; row < end; ++row) describe(row, *describer);
                      };
                  },
                  [](std::size_t) {});
}

}  // namespace paribus
