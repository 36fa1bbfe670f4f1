#include "surprise/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/smooth_density.hpp"
#include "surprise/distributions.hpp"
#include "surprise/packed_forest.hpp"
#include "surprise/student.hpp"

namespace paribus {

namespace {

// Densities are compared at the atoms of every other tree.
constexpr std::size_t atoms_per_place = 2;
constexpr std::size_t lot = WeightedSteps::lot;
// Densities whose logarithms differ by less are the same: that of a value which many rows share, and that of theirs.
constexpr double rounding = 1e-5;
const double sqrt_of_degrees = std::sqrt(3.0);
// Where a cumulative distribution is evaluated, in kernel widths around no more atoms than that.
constexpr float steps[] = {-16.0f, -8.0f, -4.0f, -2.0f, -1.0f, -0.5f, 0.0f, 0.5f, 1.0f, 2.0f, 4.0f, 8.0f, 16.0f};
constexpr std::size_t max_step_atoms = 32;
// Beyond, numbers end.
constexpr double max_exponent = 600.0;

/// The value that stands for a leaf: the order statistic at a level of its own for each tree.
std::int32_t order_statistic(const std::int32_t *members, std::size_t n, std::size_t pair, std::size_t n_pairs) {
    const double level = (static_cast<double>(pair) + 0.5) / static_cast<double>(n_pairs);
    return members[std::min(static_cast<std::size_t>(level * static_cast<double>(n)), n - 1)];
}

/// Sums up the second target over the leaves of a row: [pair], `stride` apart.
std::int64_t sum_second(const LeafFinder &forest, std::int64_t fitted, const TableTree::Leaf *leaves,
                        std::size_t stride, const LeafFinder::Scratch &scratch) {
    std::int64_t sum = 0;
    for (std::size_t pair = 0; pair < forest.n_pairs(); ++pair) {
        sum += forest.second_mean(pair, fitted, leaves[pair * stride], scratch);
    }
    return sum;
}

/// What one thread knows of the row in question: atoms of all views, on the scale of the shape.
class RowEvidence {
public:
    RowEvidence(const std::vector<SmoothView> &views, const EvidenceParameters &parameters)
        : views_(views), parameters_(parameters), kernel_(kernel()) {
        for (const SmoothView &view : views) n_atoms_ += view.forest->n_pairs();
        const std::size_t padded = (n_atoms_ + lot - 1) / lot * lot;
        exact_.resize(n_atoms_);
        atoms_.resize(padded);
        inverse_widths_.resize(padded);
        weights_.resize(padded);
        places_.resize(n_atoms_ + 1);
        densities_.resize(n_atoms_ + 1);
        order_.resize(n_atoms_);
        by_place_.resize(n_atoms_);
    }

    /// @param leaves [view] of [pair], `stride` apart
    double evidence(std::size_t row, std::int64_t fitted, double value, const TableTree::Leaf *const *leaves,
                    std::size_t stride, const std::vector<LeafFinder::Scratch> &found) {
        const double at = parameters_.shape.transformed(value);
        const double finest = parameters_.resolution * parameters_.shape.slope(value);
        const double unit = collect(row, fitted, leaves, stride, found, finest);
        // Distances from one of the atoms, in kernel widths, are neither too large nor too small for single precision.
        const double origin = exact_[0];
        for (std::size_t i = 0; i < n_atoms_; ++i) atoms_[i] = static_cast<float>((exact_[i] - origin) / unit);
        std::size_t n_places = 0, first = 0;
        for (const SmoothView &view : views_) {
            const std::size_t n_pairs = view.forest->n_pairs();
            const double share = view.share / static_cast<double>((n_pairs + atoms_per_place - 1) / atoms_per_place);
            for (std::size_t i = 0; i < n_pairs; i += atoms_per_place) {
                order_[n_places].second = share;
                places_[n_places++] = atoms_[first + i];
            }
            first += n_pairs;
        }
        places_[n_places] = static_cast<float>((at - origin) / unit);
        kernel_.student_sums(atoms_.data(), inverse_widths_.data(), weights_.data(), atoms_.size(), places_.data(),
                             n_places + 1, densities_.data());
        return tail(n_places, log_density(at, unit, densities_[n_places]));
    }

    /// The quantiles of the row at some levels.
    void quantiles(std::size_t row, std::int64_t fitted, const TableTree::Leaf *const *leaves, std::size_t stride,
                   const std::vector<LeafFinder::Scratch> &found, const std::vector<double> &levels,
                   double *quantiles) {
        const double unit = collect_around_middle(row, fitted, leaves, stride, found);
        const double origin = exact_[0];
        // Kernels are in units of the peak, which is higher for the narrow ones; here, each counts its share.
        for (std::size_t i = 0; i < n_atoms_; ++i) {
            atoms_[i] = static_cast<float>((exact_[i] - origin) / unit);
            weights_[i] /= static_cast<float>(sqrt_of_degrees) * inverse_widths_[i];
        }
        sorted_.assign(atoms_.begin(), atoms_.begin() + static_cast<std::ptrdiff_t>(n_atoms_));
        for (std::size_t i = 0; i < n_atoms_; ++i) by_place_[i] = static_cast<std::uint32_t>(i);
        std::sort(by_place_.begin(), by_place_.end(), [&](std::uint32_t a, std::uint32_t b) {
            return sorted_[a] < sorted_[b] || (sorted_[a] == sorted_[b] && a < b);
        });
        points_.clear();
        const std::size_t every = (n_atoms_ + max_step_atoms - 1) / max_step_atoms;
        for (std::size_t i = 0; i < n_atoms_; i += every) {
            const std::uint32_t atom = by_place_[i];
            const float width = 1.0f / (static_cast<float>(sqrt_of_degrees) * inverse_widths_[atom]);
            for (const float step : steps) points_.push_back(atoms_[atom] + width * step);
        }
        std::sort(points_.begin(), points_.end());
        reached_.resize(points_.size());
        kernel_.student_shares(atoms_.data(), inverse_widths_.data(), weights_.data(), atoms_.size(), points_.data(),
                               points_.size(), reached_.data());
        std::size_t place = 0;
        for (std::size_t level = 0; level < levels.size(); ++level) {
            while (place + 1 < points_.size() && static_cast<double>(reached_[place + 1]) <= levels[level]) ++place;
            double at = points_[place];
            const double low = reached_[place];
            if (place + 1 < points_.size() && levels[level] > low) {
                const double share = (levels[level] - low) / (static_cast<double>(reached_[place + 1]) - low);
                at += share * (static_cast<double>(points_[place + 1]) - at);
            }
            quantiles[level] = parameters_.shape.inverse(origin + at * unit);
        }
    }

private:
    /// As `collect`, where values lie as close as in the middle of the distribution.
    double collect_around_middle(std::size_t row, std::int64_t fitted, const TableTree::Leaf *const *leaves,
                                 std::size_t stride, const std::vector<LeafFinder::Scratch> &found) {
        middle_.clear();
        for (std::size_t v = 0; v < views_.size(); ++v) {
            const SmoothView &view = views_[v];
            const double center = view.centers == nullptr ? 0.0 : view.centers[row];
            for (std::size_t pair = 0; pair < view.forest->n_pairs(); ++pair) {
                const TableTree::Leaf &leaf = leaves[v][pair * stride];
                const std::int32_t *members = view.forest->members(pair, fitted, leaf, found[v]);
                const std::int32_t step = order_statistic(members, leaf.n_rows, pair, view.forest->n_pairs());
                middle_.push_back(center + view.forest->grid().value_at(step));
            }
        }
        std::sort(middle_.begin(), middle_.end());
        const std::size_t half = middle_.size() / 2;
        const double middle = middle_.size() % 2 != 0 ? middle_[half] : 0.5 * (middle_[half - 1] + middle_[half]);
        return collect(row, fitted, leaves, stride, found, parameters_.resolution * parameters_.shape.slope(middle));
    }

    /// Fills in atoms, and widths and weights in units of the first view's kernel width, which is returned.
    double collect(std::size_t row, std::int64_t fitted, const TableTree::Leaf *const *leaves, std::size_t stride,
                   const std::vector<LeafFinder::Scratch> &found, double finest) {
        std::size_t n = 0;
        double unit = 0.0;
        for (std::size_t v = 0; v < views_.size(); ++v) {
            const SmoothView &view = views_[v];
            const std::size_t n_pairs = view.forest->n_pairs(), first = n;
            const double center = view.centers == nullptr ? 0.0 : view.centers[row];
            double mean = 0.0;
            for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                const TableTree::Leaf &leaf = leaves[v][pair * stride];
                const std::int32_t *members = view.forest->members(pair, fitted, leaf, found[v]);
                const std::int32_t step = order_statistic(members, leaf.n_rows, pair, n_pairs);
                exact_[n] = parameters_.shape.transformed(center + view.forest->grid().value_at(step));
                mean += exact_[n++];
            }
            const double n_own = static_cast<double>(n - first);
            mean /= n_own;
            double deviation = 0.0;
            for (std::size_t i = first; i < n; ++i) deviation += std::fabs(exact_[i] - mean);
            const double width = std::max({parameters_.width * deviation / n_own, view.min_width, finest});
            if (v == 0) unit = width;
            std::fill(inverse_widths_.begin() + first, inverse_widths_.begin() + n,
                      static_cast<float>(unit / (sqrt_of_degrees * width)));
            std::fill(weights_.begin() + first, weights_.begin() + n,
                      static_cast<float>(view.share / n_own * (unit / width)));
        }
        return unit;
    }

    double log_density(double at, double unit, float rough) const {
        // What is that small may have lost digits, or all of them.
        if (rough > 1e-24f) return std::log(static_cast<double>(rough));
        double exact = 0.0;
        for (std::size_t i = 0; i < n_atoms_; ++i) {
            const double distance = (at - exact_[i]) / unit * static_cast<double>(inverse_widths_[i]);
            const double term = 1.0 + distance * distance;
            exact += static_cast<double>(weights_[i]) / (term * term);
        }
        return std::log(std::max(exact, std::numeric_limits<double>::min()));
    }

    /// Minus the logarithm of the share of the distribution that is at most as dense as the value.
    double tail(std::size_t n_places, double at_value) {
        for (std::size_t i = 0; i < n_places; ++i) order_[i].first = densities_[i];
        std::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n_places));
        double below = 0.0, reached = 0.0, edge = 0.0, edge_share = 0.0;
        const double density = std::exp(at_value + rounding);
        for (std::size_t i = 0; i < n_places; ++i) {
            if (edge_share == 0.0) {
                reached += order_[i].second;
                if (reached >= parameters_.tail_probability || i + 1 == n_places) {
                    edge = std::log(std::max(static_cast<double>(order_[i].first), std::numeric_limits<double>::min()));
                    edge_share = reached;
                }
            }
            if (static_cast<double>(order_[i].first) <= density) below += order_[i].second;
        }
        if (at_value + rounding < edge) return -std::log(edge_share) + (edge - at_value);
        return -std::log(std::min(std::max(below, edge_share), 1.0));
    }

    const std::vector<SmoothView> &views_;
    const EvidenceParameters &parameters_;
    const Kernel &kernel_;
    std::size_t n_atoms_ = 0;
    std::vector<double> exact_;
    std::vector<float> atoms_, inverse_widths_, weights_, places_, densities_;
    std::vector<std::pair<float, double>> order_;
    std::vector<float> sorted_, points_, reached_;
    std::vector<double> middle_;
    std::vector<std::uint32_t> by_place_;
};

}  // namespace

double ColumnShape::transformed(double value) const {
    switch (kind) {
        case Kind::inverse_sinh:
            return std::asinh((value - center) / unit);
        // Values below what the column has are as far from its lowest as they would be on a straight line.
        case Kind::logarithm:
            return value > -0.5 * unit ? std::log(value + unit) : std::log(0.5 * unit) + 2.0 * value / unit + 1.0;
        default:
            return value;
    }
}

double ColumnShape::slope(double value) const {
    switch (kind) {
        case Kind::inverse_sinh:
            return 1.0 / std::hypot(unit, value - center);
        case Kind::logarithm:
            return 1.0 / std::max(value + unit, 0.5 * unit);
        default:
            return 1.0;
    }
}

double ColumnShape::inverse(double transformed) const {
    switch (kind) {
        case Kind::inverse_sinh:
            return center + unit * std::sinh(std::clamp(transformed, -max_exponent, max_exponent));
        case Kind::logarithm: {
            const double start = std::log(0.5 * unit);
            const double below = unit * std::min(transformed - start, 0.0) / 2.0;
            return std::exp(std::clamp(transformed, start, max_exponent)) - unit + below;
        }
        default:
            return transformed;
    }
}

void find_smooth_quantiles(const AskedRows &rows, const std::vector<SmoothView> &views,
                           const EvidenceParameters &parameters, const std::vector<double> &levels, double *quantiles,
                           std::size_t n_threads, const Tick &on_tick) {
    struct Scratch {
        std::vector<LeafFinder::Scratch> finding;
        std::vector<std::vector<TableTree::Leaf>> leaves;
        RowEvidence row_evidence;
    };
    const std::size_t n_views = views.size();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>(Scratch{{}, {}, RowEvidence(views, parameters)});
        scratch->finding.resize(n_views);
        for (const SmoothView &view : views) {
            scratch->leaves.emplace_back(view.forest->n_pairs() * std::min(rows.n_rows, rows_per_block));
        }
        return [&, scratch](std::size_t begin, std::size_t end) {
            for (std::size_t v = 0; v < n_views; ++v) {
                views[v].forest->find_leaves(rows, begin, end, scratch->finding[v], scratch->leaves[v].data());
            }
            std::vector<const TableTree::Leaf *> leaves(n_views);
            for (std::size_t row = begin; row < end; ++row) {
                for (std::size_t v = 0; v < n_views; ++v) leaves[v] = scratch->leaves[v].data() + row - begin;
                scratch->row_evidence.quantiles(row, rows.fitted[row], leaves.data(), end - begin, scratch->finding,
                                                levels, quantiles + row * levels.size());
            }
        };
    });
}

void find_evidence(const AskedRows &rows, const std::vector<SmoothView> &views, const EvidenceParameters &parameters,
                   const double *values, double *evidence, double *surprises, double *seconds, std::size_t n_threads,
                   const Tick &on_tick) {
    struct Scratch {
        std::vector<LeafFinder::Scratch> finding;
        std::vector<std::vector<TableTree::Leaf>> leaves;
        Distribution distribution;
        RowEvidence row_evidence;
    };
    const std::size_t n_views = views.size();
    const Kernel &with = kernel();
    std::size_t n_leaves = 0;
    for (const SmoothView &view : views) n_leaves += view.forest->n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>(Scratch{{}, {}, {}, RowEvidence(views, parameters)});
        scratch->finding.resize(n_views);
        for (const SmoothView &view : views) {
            scratch->leaves.emplace_back(view.forest->n_pairs() * std::min(rows.n_rows, rows_per_block));
        }
        return [&, scratch](std::size_t begin, std::size_t end) {
            const std::size_t stride = end - begin;
            for (std::size_t v = 0; v < n_views; ++v) {
                views[v].forest->find_leaves(rows, begin, end, scratch->finding[v], scratch->leaves[v].data());
            }
            std::vector<const TableTree::Leaf *> leaves(n_views);
            for (std::size_t row = begin; row < end; ++row) {
                const double value = values[row];
                if (std::isnan(value)) {
                    evidence[row] = seconds[row] = value;
                    std::fill_n(surprises + row * n_views, n_views, value);
                    continue;
                }
                std::int64_t second = 0;
                for (std::size_t v = 0; v < n_views; ++v) {
                    const SmoothView &view = views[v];
                    prefetch_later(rows, *view.forest, scratch->leaves[v].data(), begin, end, row);
                    leaves[v] = scratch->leaves[v].data() + row - begin;
                    const WeightedSteps distribution = scratch->distribution.gather(
                        *view.forest, rows.fitted[row], leaves[v], stride, scratch->finding[v]);
                    second += sum_second(*view.forest, rows.fitted[row], leaves[v], stride, scratch->finding[v]);
                    const double away = view.centers == nullptr ? value : value - view.centers[row];
                    const double per_unit = view.forest->grid().steps_per_unit;
                    const double scale = parameters.surprise_width *
                                         std::max(with.mean_deviation(distribution), view.min_deviation * per_unit);
                    surprises[row * n_views + v] = surprise(
                        with.student_sum(distribution, view.forest->grid().place_of(away), scale), scale / per_unit);
                }
                evidence[row] = scratch->row_evidence.evidence(row, rows.fitted[row], value, leaves.data(), stride,
                                                               scratch->finding);
                seconds[row] =
                    static_cast<double>(second) / static_cast<double>(n_leaves * PackedForest::second_steps);
            }
        };
    });
}

void find_second_means(const AskedRows &rows, const std::vector<const LeafFinder *> &forests, double *seconds,
                       std::size_t n_threads, const Tick &on_tick) {
    struct Scratch {
        LeafFinder::Scratch finding;
        std::vector<TableTree::Leaf> leaves;
        std::vector<std::int64_t> sums;
    };
    std::size_t n_leaves = 0;
    for (const LeafFinder *forest : forests) n_leaves += forest->n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>();
        return [&, scratch](std::size_t begin, std::size_t end) {
            const std::size_t stride = end - begin;
            scratch->sums.assign(stride, 0);
            for (const LeafFinder *forest : forests) {
                scratch->leaves.resize(forest->n_pairs() * stride);
                forest->find_leaves(rows, begin, end, scratch->finding, scratch->leaves.data());
                for (std::size_t row = begin; row < end; ++row) {
                    prefetch_later(rows, *forest, scratch->leaves.data(), begin, end, row);
                    scratch->sums[row - begin] += sum_second(
                        *forest, rows.fitted[row], scratch->leaves.data() + row - begin, stride, scratch->finding);
                }
            }
            for (std::size_t row = begin; row < end; ++row) {
                seconds[row] = static_cast<double>(scratch->sums[row - begin]) /
                               static_cast<double>(n_leaves * PackedForest::second_steps);
            }
        };
    });
}

void find_atoms(const AskedRows &rows, const LeafFinder &forest, double *atoms, std::size_t n_threads,
                const Tick &on_tick) {
    struct Scratch {
        LeafFinder::Scratch finding;
        std::vector<TableTree::Leaf> leaves;
    };
    const std::size_t n_pairs = forest.n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>();
        scratch->leaves.resize(n_pairs * std::min(rows.n_rows, rows_per_block));
        return [&, scratch](std::size_t begin, std::size_t end) {
            const std::size_t stride = end - begin;
            forest.find_leaves(rows, begin, end, scratch->finding, scratch->leaves.data());
            for (std::size_t row = begin; row < end; ++row) {
                double *to = atoms + row * n_pairs;
                for (std::size_t pair = 0; pair < n_pairs; ++pair) {
                    const TableTree::Leaf &leaf = scratch->leaves[pair * stride + row - begin];
                    const std::int32_t *members = forest.members(pair, rows.fitted[row], leaf, scratch->finding);
                    *to++ = forest.grid().value_at(order_statistic(members, leaf.n_rows, pair, n_pairs));
                }
            }
        };
    });
}

}  // namespace paribus
