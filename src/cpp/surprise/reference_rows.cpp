#include "surprise/reference_rows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "surprise/distributions.hpp"

namespace paribus {

namespace {

// The memory for the leaves of some rows in all forests.
constexpr std::size_t max_leaves = std::size_t{1} << 22;

/// What one thread needs for a row.
class Finder {
public:
    Finder(const std::vector<std::vector<CountedForest>> &features, const ContextDistance &distance,
           std::size_t n_fitted)
        : features_(features), distance_(distance), totals_(n_fitted), places_(n_fitted), leaves_(features.size()) {
        for (std::size_t feature = 0; feature < features.size(); ++feature) {
            leaves_[feature].resize(features[feature].size());
        }
    }

    /// Prepares rows `begin` to `end`: finds their leaves in the forests that are unpacked.
    void start(const AskedRows &rows, std::size_t begin, std::size_t end) {
        begin_ = begin;
        for (std::size_t feature = 0; feature < features_.size(); ++feature) {
            for (std::size_t i = 0; i < features_[feature].size(); ++i) {
                const TableForest *const unpacked = features_[feature][i].unpacked;
                if (unpacked != nullptr) unpacked->find_leaves(rows, begin, end, leaves_[feature][i]);
            }
        }
    }

    /// One of the rows that were prepared.
    void find(const AskedRows &rows, std::size_t row, std::size_t n_reference, std::int64_t *positions,
              double *distances, double *weights) {
        collect(rows, row);
        choose(rows.features + row * distance_.n_features, n_reference);
        std::fill_n(positions, n_reference, -1);
        std::fill_n(distances, n_reference, 0.0);
        std::fill_n(weights, features_.size() * n_reference, 0.0);
        for (std::size_t i = 0; i < chosen_.size(); ++i) {
            positions[i] = chosen_[i].row;
            distances[i] = chosen_[i].distance;
            places_[chosen_[i].row] = static_cast<std::uint32_t>(i) + 1;
        }
        for (std::size_t feature = 0; feature < features_.size(); ++feature) {
            double *const to = weights + feature * n_reference;
            for (std::size_t i = begins_[feature]; i < begins_[feature + 1]; ++i) {
                if (places_[members_[i]] > 0) to[places_[members_[i]] - 1] += counts_[i];
            }
            double total = 0.0;
            for (std::size_t i = 0; i < chosen_.size(); ++i) total += to[i];
            for (std::size_t i = 0; i < chosen_.size(); ++i) {
                to[i] = features_[feature].empty() ? 1.0 / static_cast<double>(chosen_.size())
                                                   : to[i] / std::max(total, least);
            }
        }
        for (const Chosen &each : chosen_) places_[each.row] = 0;
        for (const std::uint32_t each : touched_) totals_[each] = 0.0;
    }

private:
    struct Chosen {
        double distance, total;
        std::uint32_t row;
    };

    static constexpr double least = 1e-12;

    /// All rows that share a leaf, feature by feature, and how much they count in it.
    void collect(const AskedRows &rows, std::size_t row) {
        members_.clear();
        counts_.clear();
        touched_.clear();
        begins_.assign(1, 0);
        for (std::size_t feature = 0; feature < features_.size(); ++feature) {
            for (std::size_t i = 0; i < features_[feature].size(); ++i) {
                const CountedForest &each = features_[feature][i];
                const std::size_t n_pairs = each.forest->n_pairs();
                ends_.clear();
                if (each.unpacked != nullptr) {
                    take_rows(*each.forest, leaves_[feature][i], rows.fitted[row], row - begin_);
                } else {
                    each.forest->find_rows(rows, row, members_, ends_);
                }
                for (const std::size_t end : ends_) {
                    const std::size_t n = end - counts_.size();
                    counts_.resize(end, each.share / static_cast<double>(n * n_pairs));
                }
            }
            begins_.push_back(members_.size());
        }
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (totals_[members_[i]] == 0.0) touched_.push_back(members_[i]);
            totals_[members_[i]] += counts_[i];
        }
        if (rows.fitted[row] >= 0) totals_[static_cast<std::size_t>(rows.fitted[row])] = 0.0;
    }

    /// What `PackedForest::find_rows` does, for a row whose leaves have been found.
    void take_rows(const PackedForest &forest, const LeafFinder::Scratch &leaves, std::int64_t fitted,
                   std::size_t place) {
        for (std::size_t pair = 0; pair < forest.n_pairs(); ++pair) {
            forest.append_rows(forest.samples().unseen_tree(pair, fitted), leaves.members_begin(pair, place),
                               leaves.leaf(pair, place).n_rows, members_);
            ends_.push_back(members_.size());
        }
    }

    void choose(const double *row, std::size_t n_reference) {
        chosen_.clear();
        for (const std::uint32_t each : touched_) {
            if (totals_[each] > 0.0) chosen_.push_back({0.0, totals_[each], each});
        }
        const auto counts_more = [](const Chosen &a, const Chosen &b) {
            return a.total > b.total || (a.total == b.total && a.row < b.row);
        };
        if (chosen_.size() > n_reference) {
            const auto end = chosen_.begin() + static_cast<std::ptrdiff_t>(n_reference);
            std::nth_element(chosen_.begin(), end - 1, chosen_.end(), counts_more);
            chosen_.erase(end, chosen_.end());
        }
        for (Chosen &each : chosen_) each.distance = distance_(row, each.row);
        std::sort(chosen_.begin(), chosen_.end(), [&](const Chosen &a, const Chosen &b) {
            return a.distance < b.distance || (a.distance == b.distance && counts_more(a, b));
        });
    }

    const std::vector<std::vector<CountedForest>> &features_;
    const ContextDistance &distance_;
    /// By fitted row; 0 between rows.
    std::vector<double> totals_;
    std::vector<std::uint32_t> places_;
    std::vector<std::uint32_t> members_, touched_;
    /// [feature][forest]: the leaves of the rows that were prepared, the first of which is `begin_`.
    std::vector<std::vector<LeafFinder::Scratch>> leaves_;
    std::size_t begin_ = 0;
    std::vector<double> counts_;
    std::vector<std::size_t> begins_, ends_;
    std::vector<Chosen> chosen_;
};

}  // namespace

double ContextDistance::operator()(const double *row, std::uint32_t other) const {
    const double *const others = rows + other * n_features;
    double sum = 0.0;
    std::size_t n_known = 0;
    for (std::size_t f = 0; f < ranges.size(); ++f) {
        if (std::isnan(row[f]) || std::isnan(others[f])) continue;
        ++n_known;
        sum += ranges[f] > 0.0 ? std::fabs(others[f] - row[f]) / ranges[f] : others[f] != row[f];
    }
    return n_known > 0 ? sum / static_cast<double>(n_known) : 1.0;
}

void find_reference_rows(const AskedRows &rows, const std::vector<std::vector<CountedForest>> &features,
                         const ContextDistance &distance, std::size_t n_fitted, std::size_t n_reference,
                         std::int64_t *positions, double *distances, double *weights, std::size_t n_threads,
                         const Tick &on_tick) {
    std::size_t n_leaves = 1;
    for (const auto &forests : features) {
        for (const CountedForest &each : forests) n_leaves += each.forest->n_pairs();
    }
    const std::size_t rows_at_a_time = std::clamp<std::size_t>(max_leaves / n_leaves, 1, rows_per_block);
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto finder = std::make_shared<Finder>(features, distance, n_fitted);
        return [&, finder](std::size_t begin, std::size_t end) {
            for (std::size_t row = begin; row < end; ++row) {
                if ((row - begin) % rows_at_a_time == 0) {
                    finder->start(rows, row, std::min(row + rows_at_a_time, end));
                }
                finder->find(rows, row, n_reference, positions + row * n_reference, distances + row * n_reference,
                             weights + row * features.size() * n_reference);
            }
        };
    });
}

}  // namespace paribus
