"""The smoothing of a column's distributions: the scale and the width with the best out-of-sample likelihood.

Both depend on the values that a column can have, which are found here, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats
from paribus._core import Smoothing
from paribus.methods.density import ColumnShape, ColumnSupport, student

# Kernel widths as shares of the mean absolute deviation of a row's distribution.
WIDTHS = (0.12, 0.25, 0.45, 0.7)
# Contexts in which a column hardly varies are smoothed as if it varied by this share of the usual deviation.
MIN_DEVIATION_SHARE = 0.3
# Values that repeat are smoothed by at least this share of the distance between them.
RESOLUTION_SHARE = 0.3
# A column with fewer distinct values than this share of its rows has values that repeat.
MAX_DISTINCT_SHARE = 0.5
# Kernel width of the surprise: half a standard deviation of a normal distribution, by its mean absolute deviation.
SURPRISE_WIDTH = 0.5 * float(np.sqrt(np.pi / 2.0))
# Evidence follows the ranks of densities down to this probability, and the densities themselves beyond it.
TAIL_PROBABILITY = 0.1
# The minimum log likelihood relative to the usual one: a few gross values must not decide for all others.
MIN_LIKELIHOOD = 1e-4
N_ROUNDS = 20
# The unit of the inverse hyperbolic sine, in deviations: about where the tails of a distribution begin.
ASINH_UNIT = 1.0 / 1.5
# The unit of the logarithm, as a share of a usual positive value: below it, the scale is a straight line.
LOG_UNIT = 0.05
# A column with a larger share of negative values is not on a logarithmic scale; fewer of them may all be wrong.
MAX_NEGATIVE = 0.005
# The maximum number of distinct values that are listed.
MAX_LISTED_VALUES = 2_000
MAX_DECIMALS = 6


@dataclass(frozen=True)
class ColumnSmoothing:
    """The scale and the widths of the kernels of one column given others."""

    shape: ColumnShape
    width: float
    """Kernel width, as a share of the mean absolute deviation."""
    resolution: float
    """The distance between values that repeat; 0 for a column whose values hardly repeat."""
    shares: tuple[float, ...]
    """The weight of each view; they sum to 1."""
    min_widths: tuple[float, ...]
    """By view: the least kernel width, on the scale of the shape."""

    def widths(self, atoms: list[Floats], at: Floats) -> list[Floats]:
        """The kernel width of each view for some rows, from their atoms on the scale of the shape."""
        finest = RESOLUTION_SHARE * self.resolution * self.shape.slopes(at)
        return [
            np.maximum(
                np.maximum(self.width * np.abs(each - each.mean(axis=1, keepdims=True)).mean(axis=1), low), finest
            )
            for each, low in zip(atoms, self.min_widths, strict=True)
        ]

    @property
    def core(self) -> Smoothing:
        """The same for the compiled part."""
        return Smoothing(
            self.shape.kind,
            self.shape.center,
            self.shape.unit,
            self.width,
            SURPRISE_WIDTH,
            RESOLUTION_SHARE * self.resolution,
            TAIL_PROBABILITY,
        )


def choose_smoothing(values: Floats, atoms: list[Floats], column: Floats) -> ColumnSmoothing:
    """The smoothing with the maximum likelihood of values that the views have not seen.

    Parameters
    ----------
    values : array
        Some values of the column.
    atoms : list of arrays
        By view: values that represent the distribution for each of these, [row][atom].
    column : array
        All values of the column that are not missing.
    """
    resolution = find_resolution(column)
    best: tuple[float, ColumnSmoothing] | None = None
    for shape in _shapes(column, resolution):
        at, slopes = shape.transformed(values), shape.slopes(values)
        transformed = [shape.transformed(each) for each in atoms]
        deviations = [np.abs(each - each.mean(axis=1, keepdims=True)).mean(axis=1) for each in transformed]
        usual = [float(np.median(each)) or float(each.mean()) or 1e-12 for each in deviations]
        finest = RESOLUTION_SHARE * resolution * slopes
        for width in WIDTHS:
            least = [width * MIN_DEVIATION_SHARE * each for each in usual]
            likelihoods = np.array(
                [
                    student(at[:, None], each, np.maximum(np.maximum(width * d, low), finest)[:, None]).mean(axis=1)
                    for each, d, low in zip(transformed, deviations, least, strict=True)
                ]
            )
            likelihoods *= slopes
            likelihoods += MIN_LIKELIHOOD * float(np.median(likelihoods.max(axis=0)))
            shares = _shares(likelihoods)
            quality = float(np.log(shares @ likelihoods).mean())
            if best is None or quality > best[0]:
                best = quality, ColumnSmoothing(shape, width, resolution, tuple(shares.tolist()), tuple(least))
    assert best is not None
    return best[1]


def find_resolution(column: Floats) -> float:
    """The typical distance between neighboring values of a column, if its values repeat; else 0.

    >>> find_resolution(np.repeat(np.arange(10.0), 20)), find_resolution(np.linspace(0, 1, 100))
    (1.0, 0.0)
    """
    distinct = np.unique(column)
    if len(distinct) < 2 or len(distinct) > MAX_DISTINCT_SHARE * len(column):
        return 0.0
    gaps = np.diff(distinct)
    return float(np.median(gaps) if len(distinct) < 30 else np.quantile(gaps, 0.1))


def find_support(values: Floats) -> ColumnSupport:
    """The values that a column can have: those that it has, if they repeat and are few; else its range and decimals."""
    resolution = find_resolution(values)
    lowest, highest = float(values.min()), float(values.max())
    if resolution == 0.0:
        return ColumnSupport(lowest, highest)
    distinct = np.unique(values)
    if len(distinct) <= MAX_LISTED_VALUES:
        return ColumnSupport(lowest, highest, resolution, distinct)
    decimals = next((d for d in range(MAX_DECIMALS) if np.array_equal(np.round(distinct, d), distinct)), None)
    return ColumnSupport(lowest, highest, resolution, None, decimals)


def _shapes(column: Floats, resolution: float) -> list[ColumnShape]:
    """The scales to try: unchanged, and two that pull far values in."""
    lower, upper = np.percentile(column, [25.0, 75.0])
    deviation = float(upper - lower) / 1.35 or float(np.std(column)) or 1.0
    shapes = [ColumnShape(), ColumnShape("asinh", float(np.median(column)), ASINH_UNIT * deviation)]
    positive = column[column > 0]
    if len(positive) > 0.5 * len(column) and np.quantile(column, MAX_NEGATIVE) >= 0:
        # Of counts, the logarithm of one more: with a smaller unit, 0 would be farther from 1 than 1 is from 100.
        shapes.append(ColumnShape("log", 0.0, max(LOG_UNIT * float(np.median(positive)), resolution)))
    return shapes


def _shares(likelihoods: Floats) -> Floats:
    """The shares of views with the maximum likelihood: [view][row] -> [view]."""
    shares = np.full(len(likelihoods), 1.0 / len(likelihoods))
    for _ in range(N_ROUNDS):
        beliefs = shares[:, None] * likelihoods
        shares = (beliefs / beliefs.sum(axis=0)).mean(axis=1)
    return shares
