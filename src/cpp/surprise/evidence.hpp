#pragma once

#include "surprise/found_leaves.hpp"
#include "surprise/leaf_finder.hpp"

namespace paribus {

/// The scale on which a column is smoothed: values far out are closer together there than they are by themselves.
struct ColumnShape {
    enum class Kind : std::uint8_t { plain, inverse_sinh, logarithm };

    Kind kind;
    /// Of `inverse_sinh`: asinh((value - center) / unit). Of `logarithm`: log(value + unit).
    double center, unit;

    double transformed(double value) const;
    /// The derivative of `transformed`.
    double slope(double value) const;
    /// The value again.
    double inverse(double transformed) const;
};

/// One view of a column given others: a forest, and how its distributions are smoothed.
struct SmoothView {
    const LeafFinder *forest;
    /// What to add to the targets of each row's distribution; null: nothing.
    const double *centers;
    /// How much the view counts; those of all views sum to 1.
    double share;
    /// Kernel widths below this, on the scale of the shape, are replaced by it.
    double min_width;
    /// The least deviation for the surprise, in units of the column.
    double min_deviation;
};

struct EvidenceParameters {
    ColumnShape shape;
    /// Kernel width as a share of the mean absolute deviation: for evidence, and for surprise.
    double width, surprise_width;
    /// The least kernel width in units of the column: repeated values are not told apart more finely than they differ.
    double resolution;
    /// The probability at which the tail begins: beyond it, evidence grows as the density falls.
    double tail_probability;
};

/// What else may be asked about rows, whose leaves are then found only once.
struct CloserLook {
    /// Ascending, between 0 and 1.
    std::vector<double> levels;
    /// [row][level]: as `find_smooth_quantiles` has them.
    double *quantiles;
    /// By view: [row][pair], as `find_atoms` has them.
    std::vector<double *> atoms;
};

/// How improbable values are given what the views know.
///
/// @param values    [row], NaN where missing
/// @param evidence  [row]: minus the logarithm of the probability of a value at most as dense, under the mixture of the
///                  views, not calibrated; NaN where the value is missing
/// @param surprises [row][view]: minus the logarithm of the density at the value
/// @param seconds   [row]: the mean of the second target over all leaves of a row; 0 if the forests have none
/// @param closer    null if it is not needed
/// @param leaves    where the leaves of the rows are stored, if anywhere
void find_evidence(const AskedRows &rows, const std::vector<SmoothView> &views, const EvidenceParameters &parameters,
                   const double *values, double *evidence, double *surprises, double *seconds, std::size_t n_threads,
                   const Tick &on_tick, const CloserLook *closer = nullptr, FoundLeaves *leaves = nullptr);

/// The mean of the second target over all leaves of each row, in all forests.
void find_second_means(const AskedRows &rows, const std::vector<const LeafFinder *> &forests, double *seconds,
                       std::size_t n_threads, const Tick &on_tick);

/// The quantiles of each row's smooth distribution, the mixture of the views: [row][level].
///
/// Few levels take much less time than many; the result is the same.
///
/// @param levels ascending, between 0 and 1
/// @param atoms  by view: [row][pair], as `find_atoms` has them; empty if they are not needed
void find_smooth_quantiles(const AskedRows &rows, const std::vector<SmoothView> &views,
                           const EvidenceParameters &parameters, const std::vector<double> &levels, double *quantiles,
                           std::size_t n_threads, const Tick &on_tick, const std::vector<double *> &atoms = {});

/// The same, given the values that represent the distributions of rows; forests are asked only how many trees they
/// have.
///
/// @param atoms by view: [row][pair]
void find_quantiles_of_atoms(std::size_t n_rows, const std::vector<const double *> &atoms,
                             const std::vector<SmoothView> &views, const EvidenceParameters &parameters,
                             const std::vector<double> &levels, double *quantiles, std::size_t n_threads);

/// Values that represent the distribution of each row, all alike: [row][n_pairs]. From each tree an order statistic of
/// the row's leaf, at levels that are evenly spaced over the trees.
void find_atoms(const AskedRows &rows, const LeafFinder &forest, double *atoms, std::size_t n_threads,
                const Tick &on_tick);

}  // namespace paribus
