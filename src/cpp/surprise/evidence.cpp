#include "surprise/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/smooth_density.hpp"
#include "surprise/distributions.hpp"
#include "surprise/row_evidence.hpp"
#include "surprise/student.hpp"

namespace paribus {

namespace {

// Beyond, numbers end.
constexpr double max_exponent = 600.0;

/// The values that stand for the leaves of a row.
void take_atoms(const LeafFinder &forest, const LeafFinder::Scratch &found, std::size_t place, double *atoms) {
    const std::size_t n_pairs = forest.n_pairs();
    for (std::size_t pair = 0; pair < n_pairs; ++pair) {
        const TableTree::Leaf &leaf = found.leaf(pair, place);
        const std::size_t chosen = order_statistic(leaf.n_rows, pair, n_pairs);
        atoms[pair] = forest.grid().value_at(found.targets[pair][leaf.first + chosen]);
    }
}

/// The same of several views, into [row][pair] of each.
void take_atoms(const std::vector<SmoothView> &views, const std::vector<LeafFinder::Scratch> &found, std::size_t row,
                std::size_t place, const std::vector<double *> &atoms) {
    for (std::size_t v = 0; v < atoms.size(); ++v) {
        take_atoms(*views[v].forest, found[v], place, atoms[v] + row * views[v].forest->n_pairs());
    }
}

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
                           std::size_t n_threads, const Tick &on_tick, const std::vector<double *> &atoms) {
    struct Scratch {
        std::vector<LeafFinder::Scratch> finding;
        RowEvidence row_evidence;
    };
    const std::size_t n_views = views.size();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>(Scratch{{}, RowEvidence(views, parameters)});
        scratch->finding.resize(n_views);
        return [&, scratch](std::size_t begin, std::size_t end) {
            for (std::size_t v = 0; v < n_views; ++v) {
                views[v].forest->find_leaves(rows, begin, end, scratch->finding[v]);
            }
            for (std::size_t row = begin; row < end; ++row) {
                scratch->row_evidence.quantiles(row, scratch->finding, row - begin, levels,
                                                quantiles + row * levels.size());
                take_atoms(views, scratch->finding, row, row - begin, atoms);
            }
        };
    });
}

void find_quantiles_of_atoms(std::size_t n_rows, const std::vector<const double *> &atoms,
                             const std::vector<SmoothView> &views, const EvidenceParameters &parameters,
                             const std::vector<double> &levels, double *quantiles, std::size_t n_threads) {
    for_each_block(
        n_rows, n_threads, [](std::size_t) {},
        [&] {
            return
                [&, evidence = std::make_shared<RowEvidence>(views, parameters)](std::size_t begin, std::size_t end) {
                    for (std::size_t row = begin; row < end; ++row) {
                        evidence->quantiles(row, atoms, levels, quantiles + row * levels.size());
                    }
                };
        });
}

void find_evidence(const AskedRows &rows, const std::vector<SmoothView> &views, const EvidenceParameters &parameters,
                   const double *values, double *evidence, double *surprises, double *seconds, std::size_t n_threads,
                   const Tick &on_tick, const CloserLook *closer, FoundLeaves *leaves) {
    struct Scratch {
        std::vector<LeafFinder::Scratch> finding;
        Distribution distribution;
        RowEvidence row_evidence;
    };
    const std::size_t n_views = views.size();
    const Kernel &with = kernel();
    std::size_t n_leaves = 0;
    for (const SmoothView &view : views) n_leaves += view.forest->n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        auto scratch = std::make_shared<Scratch>(Scratch{{}, {}, RowEvidence(views, parameters)});
        scratch->finding.resize(n_views);
        return [&, scratch](std::size_t begin, std::size_t end) {
            for (std::size_t v = 0; v < n_views; ++v) {
                views[v].forest->find_leaves(rows, begin, end, scratch->finding[v]);
                if (leaves != nullptr) leaves->store(v, begin, scratch->finding[v]);
            }
            for (std::size_t row = begin; row < end; ++row) {
                const double value = values[row];
                if (closer != nullptr) {
                    scratch->row_evidence.quantiles(row, scratch->finding, row - begin, closer->levels,
                                                    closer->quantiles + row * closer->levels.size());
                    take_atoms(views, scratch->finding, row, row - begin, closer->atoms);
                }
                if (std::isnan(value)) {
                    evidence[row] = seconds[row] = value;
                    std::fill_n(surprises + row * n_views, n_views, value);
                    continue;
                }
                std::int64_t second = 0;
                for (std::size_t v = 0; v < n_views; ++v) {
                    const SmoothView &view = views[v];
                    const LeafFinder::Scratch &found = scratch->finding[v];
                    found.prefetch(row + rows_ahead - begin);
                    const WeightedSteps distribution = scratch->distribution.gather(found, row - begin);
                    second += found.sum_second(row - begin);
                    const double away = view.centers == nullptr ? value : value - view.centers[row];
                    const TargetGrid &grid = view.forest->grid();
                    const double scale = parameters.surprise_width * std::max(with.mean_deviation(distribution),
                                                                              view.min_deviation * grid.steps_per_unit);
                    surprises[row * n_views + v] = surprise(with.student_sum(distribution, grid.place_of(away), scale),
                                                            scale / grid.steps_per_unit);
                }
                evidence[row] = scratch->row_evidence.evidence(row, value, scratch->finding, row - begin);
                seconds[row] = static_cast<double>(second) / static_cast<double>(n_leaves * LeafFinder::second_steps);
            }
        };
    });
}

void find_second_means(const AskedRows &rows, const std::vector<const LeafFinder *> &forests, double *seconds,
                       std::size_t n_threads, const Tick &on_tick) {
    struct Scratch {
        LeafFinder::Scratch finding;
        std::vector<std::int64_t> sums;
    };
    std::size_t n_leaves = 0;
    for (const LeafFinder *forest : forests) n_leaves += forest->n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        return [&, scratch = std::make_shared<Scratch>()](std::size_t begin, std::size_t end) {
            scratch->sums.assign(end - begin, 0);
            for (const LeafFinder *forest : forests) {
                forest->find_leaves(rows, begin, end, scratch->finding);
                for (std::size_t place = 0; place < end - begin; ++place) {
                    scratch->finding.prefetch(place + rows_ahead);
                    scratch->sums[place] += scratch->finding.sum_second(place);
                }
            }
            for (std::size_t row = begin; row < end; ++row) {
                seconds[row] = static_cast<double>(scratch->sums[row - begin]) /
                               static_cast<double>(n_leaves * LeafFinder::second_steps);
            }
        };
    });
}

void find_atoms(const AskedRows &rows, const LeafFinder &forest, double *atoms, std::size_t n_threads,
                const Tick &on_tick) {
    const std::size_t n_pairs = forest.n_pairs();
    for_each_block(rows.n_rows, n_threads, on_tick, [&] {
        return [&, scratch = std::make_shared<LeafFinder::Scratch>()](std::size_t begin, std::size_t end) {
            forest.find_leaves(rows, begin, end, *scratch);
            for (std::size_t row = begin; row < end; ++row) {
                take_atoms(forest, *scratch, row - begin, atoms + row * n_pairs);
            }
        };
    });
}

}  // namespace paribus
