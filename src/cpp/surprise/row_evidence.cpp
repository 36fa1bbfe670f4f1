#include "surprise/row_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

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
// Up to this many levels, points are evaluated as they are needed.
constexpr std::size_t max_levels_to_search = 12;
// More than twice the rounding error of a share in single precision.
constexpr double apart = 1e-4;
constexpr float unknown = -1.0f, infinity = std::numeric_limits<float>::infinity();

/// In an order that does not depend on the compiler.
template <typename Term>
double sum(std::size_t n, const Term &term) {
    double parts[4] = {};
    std::size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (std::size_t k = 0; k < 4; ++k) parts[k] += term(i + k);
    }
    for (; i < n; ++i) parts[0] += term(i);
    return (parts[0] + parts[2]) + (parts[1] + parts[3]);
}

std::size_t in_lots(std::size_t n) { return (n + lot - 1) / lot * lot; }

}  // namespace

std::size_t order_statistic(std::size_t n, std::size_t pair, std::size_t n_pairs) {
    const double level = (static_cast<double>(pair) + 0.5) / static_cast<double>(n_pairs);
    return std::min(static_cast<std::size_t>(level * static_cast<double>(n)), n - 1);
}

RowEvidence::RowEvidence(const std::vector<SmoothView> &views, const EvidenceParameters &parameters)
    : views_(views), parameters_(parameters), kernel_(kernel()), widths_(views.size()), groups_(views.size()) {
    std::size_t n_places = 0;
    for (const SmoothView &view : views) {
        const std::size_t n_pairs = view.forest->n_pairs();
        first_.push_back(n_atoms_);
        first_place_.push_back(n_places);
        n_atoms_ += n_pairs;
        n_places += (n_pairs + atoms_per_place - 1) / atoms_per_place;
        place_share_.push_back(view.share / static_cast<double>(n_places - first_place_.back()));
    }
    first_.push_back(n_atoms_);
    first_place_.push_back(n_places);
    steps_.resize(n_atoms_);
    exact_.resize(n_atoms_);
    atoms_.resize(in_lots(n_atoms_));
    places_.resize(in_lots(n_places));
    densities_.resize(in_lots(n_places));
    by_place_.resize(n_atoms_);
}

double RowEvidence::evidence(std::size_t row, double value, const std::vector<LeafFinder::Scratch> &found,
                             std::size_t place) {
    const double at = parameters_.shape.transformed(value);
    const double finest = parameters_.resolution * parameters_.shape.slope(value);
    take_steps(found, place);
    find_atoms(row);
    find_widths(finest);
    const double unit = widths_[0], origin = exact_[0];
    scale_atoms(origin, unit);
    double density = 0.0;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const std::size_t n = first_[v + 1] - first_[v];
        const double weight = views_[v].share / static_cast<double>(n) * (unit / widths_[v]);
        groups_[v] = {atoms_.data() + first_[v], n, static_cast<float>(unit / (sqrt_of_degrees * widths_[v])),
                      static_cast<float>(weight)};
        density += weight * kernel_.student_sum_of_values(exact_.data() + first_[v], n, at, widths_[v]);
        for (std::size_t i = 0, to = first_place_[v]; i < n; i += atoms_per_place) {
            places_[to++] = atoms_[first_[v] + i];
        }
    }
    kernel_.student_sums(groups_.data(), groups_.size(), places_.data(), places_.size(), densities_.data());
    return tail(std::log(std::max(density, std::numeric_limits<double>::min())));
}

void RowEvidence::quantiles(std::size_t row, const std::vector<LeafFinder::Scratch> &found, std::size_t place_in_block,
                            const std::vector<double> &levels, double *quantiles) {
    take_steps(found, place_in_block);
    const double middle = find_atoms(row);
    find_quantiles(middle, levels, quantiles);
}

void RowEvidence::quantiles(std::size_t row, const std::vector<const double *> &atoms,
                            const std::vector<double> &levels, double *quantiles) {
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const std::size_t n = first_[v + 1] - first_[v];
        const double center = views_[v].centers == nullptr ? 0.0 : views_[v].centers[row];
        for (std::size_t i = 0; i < n; ++i) exact_[first_[v] + i] = center + atoms[v][row * n + i];
    }
    const double middle = to_scale();
    find_quantiles(middle, levels, quantiles);
}

void RowEvidence::find_order_statistics() {
    for (const SmoothView &view : views_) {
        const std::size_t n_pairs = view.forest->n_pairs();
        std::vector<std::uint16_t> &of_view = order_statistics_.emplace_back();
        of_view.reserve(n_pairs * (TableTree::max_leaf_rows + 1));
        for (std::size_t pair = 0; pair < n_pairs; ++pair) {
            of_view.push_back(0);
            for (std::size_t n = 1; n <= TableTree::max_leaf_rows; ++n) {
                of_view.push_back(static_cast<std::uint16_t>(order_statistic(n, pair, n_pairs)));
            }
        }
    }
}

void RowEvidence::take_steps(const std::vector<LeafFinder::Scratch> &found, std::size_t place) {
    if (order_statistics_.empty()) find_order_statistics();
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const std::int32_t *const *const targets = found[v].targets.data();
        const std::uint16_t *chosen = order_statistics_[v].data();
        std::int32_t *const to = steps_.data() + first_[v];
        for (std::size_t pair = 0; pair < found[v].targets.size(); ++pair) {
            const TableTree::Leaf &leaf = found[v].leaf(pair, place);
            to[pair] = targets[pair][leaf.first + chosen[leaf.n_rows]];
            chosen += TableTree::max_leaf_rows + 1;
        }
    }
}

double RowEvidence::find_atoms(std::size_t row) {
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const TargetGrid &grid = views_[v].forest->grid();
        const double center = views_[v].centers == nullptr ? 0.0 : views_[v].centers[row];
        for (std::size_t i = first_[v]; i < first_[v + 1]; ++i) exact_[i] = center + grid.value_at(steps_[i]);
    }
    return to_scale();
}

double RowEvidence::to_scale() {
    const double middle = parameters_.resolution > 0.0 ? median_atom() : 0.0;
    if (parameters_.shape.kind != ColumnShape::Kind::plain) {
        for (double &each : exact_) each = parameters_.shape.transformed(each);
    }
    return middle;
}

void RowEvidence::find_quantiles(double middle, const std::vector<double> &levels, double *quantiles) {
    find_widths(parameters_.resolution * parameters_.shape.slope(middle));
    const double unit = widths_[0], origin = exact_[0];
    scale_atoms(origin, unit);
    inverse_widths_.resize(atoms_.size());
    weights_.resize(atoms_.size());
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const auto inverse = static_cast<float>(unit / (sqrt_of_degrees * widths_[v]));
        const auto weight = static_cast<float>(views_[v].share / static_cast<double>(first_[v + 1] - first_[v]));
        std::fill(inverse_widths_.begin() + first_[v], inverse_widths_.begin() + first_[v + 1], inverse);
        std::fill(weights_.begin() + first_[v], weights_.begin() + first_[v + 1], weight);
    }
    for (std::size_t i = 0; i < n_atoms_; ++i) by_place_[i] = static_cast<std::uint32_t>(i);
    std::sort(by_place_.begin(), by_place_.end(), [&](std::uint32_t a, std::uint32_t b) {
        return atoms_[a] < atoms_[b] || (atoms_[a] == atoms_[b] && a < b);
    });
    const std::size_t every = (n_atoms_ + max_step_atoms - 1) / max_step_atoms;
    const std::size_t n_pivots = (n_atoms_ + every - 1) / every;
    pivots_.resize(n_pivots);
    points_.resize(n_pivots * std::size(steps));
    bool are_finite = true;
    for (std::size_t i = 0; i < n_pivots; ++i) {
        const std::uint32_t atom = by_place_[i * every];
        const float width = 1.0f / (static_cast<float>(sqrt_of_degrees) * inverse_widths_[atom]);
        float *const own = points_.data() + i * std::size(steps);
        for (std::size_t k = 0; k < std::size(steps); ++k) own[k] = atoms_[atom] + width * steps[k];
        pivots_[i] = atoms_[atom];
        are_finite &= std::isfinite(own[0]) && std::isfinite(own[std::size(steps) - 1]);
    }
    // Few levels are searched for: to evaluate all points takes longer.
    const bool are_few = are_finite && levels.size() <= max_levels_to_search;
    if (!are_few) {
        std::sort(points_.begin(), points_.end());
        reached_.resize(points_.size());
        kernel_.student_shares(atoms_.data(), inverse_widths_.data(), weights_.data(), atoms_.size(), points_.data(),
                               points_.size(), reached_.data());
    } else {
        pivot_shares_.assign(pivots_.size(), unknown);
    }
    std::size_t place = 0;
    for (std::size_t level = 0; level < levels.size(); ++level) {
        Step found;
        if (are_few) {
            found = search(levels[level]);
        } else {
            while (place + 1 < points_.size() && static_cast<double>(reached_[place + 1]) <= levels[level]) {
                ++place;
            }
            const std::size_t next = std::min(place + 1, points_.size() - 1);
            found = {points_[place], points_[next], reached_[place], reached_[next], next > place};
        }
        double at = found.low;
        const double low = found.share_low;
        if (found.has_high && levels[level] > low) {
            const double share = (levels[level] - low) / (static_cast<double>(found.share_high) - low);
            at += share * (static_cast<double>(found.high) - at);
        }
        quantiles[level] = parameters_.shape.inverse(origin + at * unit);
    }
}

float RowEvidence::share_below(float at) const {
    float share;
    kernel_.student_shares(atoms_.data(), inverse_widths_.data(), weights_.data(), atoms_.size(), &at, 1, &share);
    return share;
}

float RowEvidence::share_below_pivot(std::size_t pivot) {
    if (pivot_shares_[pivot] == unknown) pivot_shares_[pivot] = share_below(pivots_[pivot]);
    return pivot_shares_[pivot];
}

RowEvidence::Step RowEvidence::search(double level) {
    // Pivots are points, too: the last one that is surely below, and the first one that is surely above.
    std::size_t below = 0, above = pivots_.size();
    for (std::size_t end = above; below < end;) {
        const std::size_t middle = (below + end) / 2;
        if (static_cast<double>(share_below_pivot(middle)) <= level - apart) {
            below = middle + 1;
        } else {
            end = middle;
            if (static_cast<double>(share_below_pivot(middle)) > level + apart) above = middle;
        }
    }
    const float low = below > 0 ? pivots_[below - 1] : -infinity,
                high = above < pivots_.size() ? pivots_[above] : infinity;
    between_.clear();
    for (const float point : points_) {
        if (point >= low && point <= high) between_.push_back(point);
    }
    std::sort(between_.begin(), between_.end());
    std::size_t place = 0;
    for (std::size_t end = between_.size(); place < end;) {
        const std::size_t middle = (place + end) / 2;
        if (static_cast<double>(share_below(between_[middle])) <= level - apart) {
            place = middle + 1;
        } else {
            end = middle;
        }
    }
    if (place > 0) --place;
    Step found = {between_[place], 0.0f, share_below(between_[place]), 0.0f, false};
    while (place + 1 < between_.size()) {
        found.high = between_[++place];
        found.share_high = share_below(found.high);
        if (static_cast<double>(found.share_high) > level) {
            found.has_high = true;
            break;
        }
        found.low = found.high;
        found.share_low = found.share_high;
    }
    return found;
}

double RowEvidence::median_atom() {
    middle_ = exact_;
    const auto half = middle_.begin() + static_cast<std::ptrdiff_t>(middle_.size() / 2);
    std::nth_element(middle_.begin(), half, middle_.end());
    if (middle_.size() % 2 != 0) return *half;
    return 0.5 * (*std::max_element(middle_.begin(), half) + *half);
}

void RowEvidence::find_widths(double finest) {
    for (std::size_t v = 0; v < views_.size(); ++v) {
        const std::size_t n = first_[v + 1] - first_[v];
        const double *const own = exact_.data() + first_[v];
        const double mean = sum(n, [&](std::size_t i) { return own[i]; }) / static_cast<double>(n);
        const double deviation =
            sum(n, [&](std::size_t i) { return std::fabs(own[i] - mean); }) / static_cast<double>(n);
        widths_[v] = std::max({parameters_.width * deviation, views_[v].min_width, finest});
    }
}

void RowEvidence::scale_atoms(double origin, double unit) {
    for (std::size_t i = 0; i < n_atoms_; ++i) atoms_[i] = static_cast<float>((exact_[i] - origin) / unit);
}

double RowEvidence::tail(double at_value) {
    const double density = std::exp(at_value + rounding);
    double below = 0.0, largest_share = 0.0;
    for (std::size_t v = 0; v < views_.size(); ++v) {
        std::size_t n_below = 0;
        for (std::size_t i = first_place_[v]; i < first_place_[v + 1]; ++i) {
            n_below += static_cast<double>(densities_[i]) <= density;
        }
        below += static_cast<double>(n_below) * place_share_[v];
        largest_share = std::max(largest_share, place_share_[v]);
    }
    // Far from the tail, it does not matter where that begins.
    if (below > parameters_.tail_probability + 2.0 * largest_share) return -std::log(std::min(below, 1.0));
    const auto [edge, edge_share] = find_edge();
    if (at_value + rounding < edge) return -std::log(edge_share) + (edge - at_value);
    return -std::log(std::min(std::max(below, edge_share), 1.0));
}

std::pair<double, double> RowEvidence::find_edge() {
    double reached = 0.0;
    const std::size_t n_places = first_place_.back();
    for (std::size_t n_taken = 1;; ++n_taken) {
        std::size_t lowest = 0, view = 0;
        for (std::size_t i = 1; i < n_places; ++i) lowest = densities_[i] < densities_[lowest] ? i : lowest;
        while (lowest >= first_place_[view + 1]) ++view;
        reached += place_share_[view];
        if (reached >= parameters_.tail_probability || n_taken == n_places) {
            const auto density = static_cast<double>(densities_[lowest]);
            return {std::log(std::max(density, std::numeric_limits<double>::min())), reached};
        }
        densities_[lowest] = std::numeric_limits<float>::infinity();
    }
}

}  // namespace paribus
