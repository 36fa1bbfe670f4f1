#include "surprise/reference_rows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "surprise/distributions.hpp"

namespace paribus {

namespace {

// The memory for the leaves of some rows in all forests, and for the rows in some of these leaves.
constexpr std::size_t max_leaves = std::size_t{1} << 22, max_members = std::size_t{1} << 21;
// The number of rows whose leaves are opened first, before it is known how large they are.
constexpr std::size_t n_first = 16;

/// What one thread needs for a row.
class Finder {
public:
    Finder(const std::vector<std::vector<CountedForest>> &features, const ContextDistance &distance,
           std::size_t n_fitted)
        : distance_(distance), numbers_(n_fitted, none) {
        first_forest_.push_back(0);
        for (const auto &forests : features) {
            for (const CountedForest &each : forests) {
                Asked &asked = forests_.emplace_back(Asked{each, n_leaves_, {}, {0.0}});
                const std::size_t n_pairs = each.forest->n_pairs();
                for (std::size_t n = 1; n <= TableTree::max_leaf_rows; ++n) {
                    asked.count_of.push_back(each.share / static_cast<double>(n * n_pairs));
                }
                n_leaves_ += n_pairs;
            }
            first_forest_.push_back(forests_.size());
        }
    }

    /// Finds the reference rows of rows `begin` to `end`, as `find_reference_rows` has them.
    void find(const AskedRows &rows, std::size_t begin, std::size_t end, std::size_t n_reference,
              std::int64_t *positions, double *distances, double *weights) {
        for (std::size_t n; begin < end; begin += n) {
            n = std::min(end - begin, std::clamp<std::size_t>(max_leaves / (n_leaves_ + 1), 1, rows_per_block));
            for (Asked &each : forests_) {
                if (each.unpacked != nullptr) each.unpacked->find_leaves(rows, begin, begin + n, each.leaves);
            }
            find_in_lots(rows, begin, begin + n, n_reference, positions, distances, weights);
        }
    }

private:
    struct Asked : CountedForest {
        /// The number of leaves of a row in the forests before.
        std::size_t first_leaf;
        LeafFinder::Scratch leaves;
        /// What a row counts, by the size of its leaf.
        std::vector<double> count_of;
    };
    /// The rows of a leaf: a part of `members_`.
    struct Leaf {
        std::uint32_t begin, n;
    };
    struct Chosen {
        double distance, total;
        /// The fitted row, and its number among those that share a leaf.
        std::uint32_t row, number;
    };

    static constexpr double least = 1e-12;
    static constexpr std::uint32_t none = 0xffffffffu;

    void find_in_lots(const AskedRows &rows, std::size_t begin, std::size_t end, std::size_t n_reference,
                      std::int64_t *positions, double *distances, double *weights) {
        const std::size_t first = begin, n_features = first_forest_.size() - 1;
        for (std::size_t n; begin < end; begin += n) {
            const std::size_t members_per_row = n_open_ == 0 ? 0 : members_.size() / n_open_ + 1;
            n = n_open_ == 0 ? n_first : std::max<std::size_t>(max_members / members_per_row, 1);
            n_open_ = n = std::min(end - begin, n);
            open_leaves(rows, first, begin, n);
            for (std::size_t row = begin; row < begin + n; ++row) {
                collect(row - begin, rows.fitted[row]);
                choose(rows.features + row * distance_.n_features, n_reference);
                put(row - begin, n_reference, positions + row * n_reference, distances + row * n_reference,
                    weights + row * n_features * n_reference);
            }
        }
    }

    /// The rows in the leaves of some rows, which are far apart in memory: tree by tree, so that they are near for the
    /// next row.
    ///
    /// @param first the first row whose leaves have been found
    void open_leaves(const AskedRows &rows, std::size_t first, std::size_t begin, std::size_t n) {
        members_.clear();
        open_.resize(n_leaves_ * n);
        for (const Asked &each : forests_) {
            const std::size_t n_pairs = each.forest->n_pairs();
            Leaf *const open = open_.data() + each.first_leaf * n;
            if (each.unpacked != nullptr) {
                std::size_t n_members = members_.size();
                for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                    for (std::size_t i = 0; i < n; ++i) {
                        const std::uint32_t size = each.leaves.leaf(pair, begin + i - first).n_rows;
                        open[pair * n + i] = {static_cast<std::uint32_t>(n_members), size};
                        n_members += size;
                    }
                }
                members_.resize(n_members);
                for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                    for (std::size_t i = 0; i < n; ++i) {
                        const Leaf &leaf = open[pair * n + i];
                        each.forest->copy_rows(each.forest->samples().unseen_tree(pair, rows.fitted[begin + i]),
                                               each.leaves.members_begin(pair, begin + i - first), leaf.n,
                                               members_.data() + leaf.begin);
                    }
                }
                continue;
            }
            for (std::size_t i = 0; i < n; ++i) {
                auto from = static_cast<std::uint32_t>(members_.size());
                ends_.clear();
                each.forest->find_rows(rows, begin + i, members_, ends_);
                for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                    const auto to = static_cast<std::uint32_t>(ends_[pair]);
                    open[pair * n + i] = {from, to - from};
                    from = to;
                }
            }
        }
    }

    /// Numbers all rows that share a leaf with a row, and adds up what they count.
    void collect(std::size_t place, std::int64_t fitted) {
        std::size_t n_members = 0;
        for (std::size_t leaf = 0; leaf < n_leaves_; ++leaf) n_members += open_[leaf * n_open_ + place].n;
        totals_.assign(n_members, 0.0);
        touched_.resize(n_members);
        std::uint32_t n_touched = 0;
        for (const Asked &each : forests_) {
            for_each_leaf(each, place, [&](const Leaf &leaf, double count) {
                for (std::uint32_t *member = members_.data() + leaf.begin, *end = member + leaf.n; member < end;
                     ++member) {
                    // Without branches: they would be guessed wrong half of the time.
                    const std::uint32_t row = *member, known = numbers_[row];
                    const std::uint32_t number = known == none ? n_touched : known;
                    touched_[n_touched] = row;
                    n_touched += known == none;
                    numbers_[row] = number;
                    *member = number;
                    totals_[number] += count;
                }
            });
        }
        if (fitted >= 0 && numbers_[static_cast<std::size_t>(fitted)] != none) {
            totals_[numbers_[static_cast<std::size_t>(fitted)]] = 0.0;
        }
        touched_.resize(n_touched);
        for (const std::uint32_t row : touched_) numbers_[row] = none;
    }

    template <typename Work>
    void for_each_leaf(const Asked &forest, std::size_t place, const Work &work) const {
        const Leaf *leaf = open_.data() + forest.first_leaf * n_open_ + place;
        for (std::size_t pair = 0; pair < forest.forest->n_pairs(); ++pair, leaf += n_open_) {
            work(*leaf, forest.count_of[leaf->n]);
        }
    }

    void choose(const double *row, std::size_t n_reference) {
        chosen_.clear();
        for (std::uint32_t number = 0; number < touched_.size(); ++number) {
            if (totals_[number] > 0.0) chosen_.push_back({0.0, totals_[number], touched_[number], number});
        }
        const auto counts_more = [](const Chosen &a, const Chosen &b) {
            return a.total > b.total || (a.total == b.total && a.row < b.row);
        };
        if (chosen_.size() > n_reference) {
            const auto end = chosen_.begin() + static_cast<std::ptrdiff_t>(n_reference);
            std::nth_element(chosen_.begin(), end - 1, chosen_.end(), counts_more);
            chosen_.erase(end, chosen_.end());
        }
        for (const Chosen &each : chosen_) __builtin_prefetch(distance_.rows + each.row * distance_.n_features);
        for (Chosen &each : chosen_) each.distance = distance_(row, each.row);
        std::sort(chosen_.begin(), chosen_.end(), [&](const Chosen &a, const Chosen &b) {
            return a.distance < b.distance || (a.distance == b.distance && counts_more(a, b));
        });
    }

    void put(std::size_t place, std::size_t n_reference, std::int64_t *positions, double *distances, double *weights) {
        const std::size_t n = chosen_.size();
        for (std::size_t i = 0; i < n; ++i) {
            positions[i] = chosen_[i].row;
            distances[i] = chosen_[i].distance;
        }
        std::fill(positions + n, positions + n_reference, -1);
        std::fill(distances + n, distances + n_reference, 0.0);
        for (std::size_t feature = 0; feature + 1 < first_forest_.size(); ++feature) {
            double *const to = weights + feature * n_reference;
            std::fill(to + n, to + n_reference, 0.0);
            if (first_forest_[feature] == first_forest_[feature + 1]) {
                std::fill(to, to + n, 1.0 / static_cast<double>(n));
                continue;
            }
            totals_.assign(touched_.size(), 0.0);
            for (std::size_t i = first_forest_[feature]; i < first_forest_[feature + 1]; ++i) {
                for_each_leaf(forests_[i], place, [&](const Leaf &leaf, double count) {
                    const std::uint32_t *const numbers = members_.data() + leaf.begin;
                    for (std::uint32_t k = 0; k < leaf.n; ++k) totals_[numbers[k]] += count;
                });
            }
            double total = 0.0;
            for (std::size_t i = 0; i < n; ++i) total += to[i] = totals_[chosen_[i].number];
            for (std::size_t i = 0; i < n; ++i) to[i] /= std::max(total, least);
        }
    }

    const ContextDistance &distance_;
    /// By feature: where its forests begin.
    std::vector<std::size_t> first_forest_;
    std::vector<Asked> forests_;
    /// In all forests, of one row.
    std::size_t n_leaves_ = 0;
    /// The number of rows whose leaves are open, and these: [leaf][row].
    std::size_t n_open_ = 0;
    std::vector<Leaf> open_;
    /// The rows in these leaves; in those of a row that was collected: their numbers.
    std::vector<std::uint32_t> members_;
    std::vector<std::size_t> ends_;
    /// By fitted row: its number among those that share a leaf with the row in question; `none` between rows.
    std::vector<std::uint32_t> numbers_;
    /// By number: the fitted row, and what it counts.
    std::vector<std::uint32_t> touched_;
    std::vector<double> totals_;
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
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto finder = std::make_shared<Finder>(features, distance, n_fitted);
        return [&, finder](std::size_t begin, std::size_t end) {
            finder->find(rows, begin, end, n_reference, positions, distances, weights);
        };
    });
}

}  // namespace paribus
