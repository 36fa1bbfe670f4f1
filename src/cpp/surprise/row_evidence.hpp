#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/kernel.hpp"
#include "kernels/smooth_density.hpp"
#include "surprise/evidence.hpp"

namespace paribus {

/// The value that stands for a leaf: the order statistic at a level of its own for each tree.
std::size_t order_statistic(std::size_t n, std::size_t pair, std::size_t n_pairs);

/// What one thread knows of the row in question: atoms of all views, on the scale of the shape.
class RowEvidence {
public:
    RowEvidence(const std::vector<SmoothView> &views, const EvidenceParameters &parameters);

    /// @param found by view; `place` is that of the row in the block
    double evidence(std::size_t row, double value, const std::vector<LeafFinder::Scratch> &found, std::size_t place);

    /// The quantiles of the row at some levels.
    void quantiles(std::size_t row, const std::vector<LeafFinder::Scratch> &found, std::size_t place_in_block,
                   const std::vector<double> &levels, double *quantiles);

    /// The same of values that stand for the row's leaves: [view] of [row][pair].
    void quantiles(std::size_t row, const std::vector<const double *> &atoms, const std::vector<double> &levels,
                   double *quantiles);

private:
    /// Who knows the atoms does without.
    void find_order_statistics();

    /// The targets that stand for the row's leaves.
    void take_steps(const std::vector<LeafFinder::Scratch> &found, std::size_t place);

    /// Fills in atoms, on the scale of the shape. Returns their median in units of the column if it is of use.
    double find_atoms(std::size_t row);

    /// Puts atoms on the scale of the shape. Returns what `find_atoms` does.
    double to_scale();

    /// @param middle the median of the atoms, as `find_atoms` returns it
    void find_quantiles(double middle, const std::vector<double> &levels, double *quantiles);

    /// A point, the next one, and the shares of the distribution below them.
    struct Step {
        float low, high, share_low, share_high;
        /// Whether there is a next one.
        bool has_high;
    };

    float share_below(float at) const;

    float share_below_pivot(std::size_t pivot);

    /// The point before the first one, in ascending order and apart from the lowest, below which the share exceeds the
    /// level; the last one if there is none. Shares ascend except for rounding, which is less than half of `apart`: if
    /// the share below a point is that much lower than the level, those below lower points do not exceed it, and vice
    /// versa.
    Step search(double level);

    double median_atom();

    /// @param finest no kernel is narrower
    void find_widths(double finest);

    /// Distances from one of the atoms, in kernel widths, are neither too large nor too small for single precision.
    void scale_atoms(double origin, double unit);

    /// Minus the logarithm of the share of the distribution that is at most as dense as the value.
    double tail(double at_value);

    /// The logarithm of the lowest density at which the share of places that are at most as dense reaches the tail
    /// probability, and this share.
    std::pair<double, double> find_edge();

    const std::vector<SmoothView> &views_;
    const EvidenceParameters &parameters_;
    const Kernel &kernel_;
    std::size_t n_atoms_ = 0;
    /// By view: where its atoms begin, where the places begin at which densities are compared, and the share of each.
    std::vector<std::size_t> first_, first_place_;
    std::vector<double> place_share_;
    /// [view]: by pair and size of the leaf, which of its rows stands for it.
    std::vector<std::vector<std::uint16_t>> order_statistics_;
    /// By view: on the scale of the shape.
    std::vector<double> widths_;
    std::vector<AtomGroup> groups_;
    std::vector<std::int32_t> steps_;
    std::vector<double> exact_, middle_;
    std::vector<float> atoms_, inverse_widths_, weights_, places_, densities_;
    std::vector<float> points_, reached_, between_;
    /// The points that are atoms, in ascending order, and the shares below them, or `unknown`.
    std::vector<float> pivots_, pivot_shares_;
    std::vector<std::uint32_t> by_place_;
};

}  // namespace paribus
