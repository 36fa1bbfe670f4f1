"""Small statistics that several packages use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# Values beyond the central 90 % by more than this many of its widths are far out.
MAX_REACH = 1.5

Number = TypeVar("Number", np.float64, np.int64)


def column_ranges(columns: Floats) -> Floats:
    """The range (maximum minus minimum) of each column of [row][column]; 0 for a column without values."""
    missing = np.isnan(columns)
    highest = np.where(missing, -np.inf, columns).max(axis=0, initial=-np.inf)
    lowest = np.where(missing, np.inf, columns).min(axis=0, initial=np.inf)
    return np.where(missing.all(axis=0), 0.0, highest - lowest)


def weighted_quantiles(values: Floats, weights: Floats, shares: Sequence[float]) -> list[float]:
    """For each share the smallest value such that it and all smaller values have at least this share of the weight.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([0.1, 0.6, 0.3]), (0.5, 0.9))
    [1.0, 2.0]
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    # The tolerance absorbs rounding errors of the sums.
    places = np.searchsorted(reached, np.asarray(shares) * reached[-1] - 1e-9)
    found: list[float] = values[order[np.minimum(places, len(order) - 1)]].tolist()
    return found


def average_ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share the mean of theirs. No value may be missing.

    >>> average_ranks(np.array([0.5, 7.0, 0.5, -1.0]))
    array([2.5, 4. , 2.5, 1. ])
    """
    ordered = np.sort(values)
    below, at_most = np.searchsorted(ordered, values), np.searchsorted(ordered, values, side="right")
    return np.asarray((below + at_most + 1) / 2.0)


def evenly(values: npt.NDArray[Number], max_count: int) -> npt.NDArray[Number]:
    """Evenly spaced elements of an array: at most `max_count` of them.

    >>> evenly(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return values[:: -(-len(values) // max_count) or 1]


def mean_deviation(values: Floats) -> float:
    """The mean absolute deviation from the mean."""
    return float(np.abs(values - values.mean()).mean())


def reach(values: Floats) -> tuple[float, float]:
    """The bounds beyond which values are far out; no value may be missing.

    >>> np.round(reach(np.append(np.arange(1001.0), 1e9)), 1)
    array([-1301.3,  2302.3])
    >>> reach(np.append(np.zeros(99), 3.0))
    (-12.0, 12.0)
    """
    low, high = np.percentile(values, [5.0, 95.0])
    if low == high and (others := values[values != low]).size:
        # Nearly all values are the same: the others determine the bounds, except for the farthest of them.
        usual = float(np.percentile(np.abs(others - low), 90.0, method="lower"))
        low, high = low - usual, high + usual
    width = high - low
    return float(low - MAX_REACH * width), float(high + MAX_REACH * width)


def density(percentiles: Floats, at: Floats) -> Floats:
    """A Gaussian kernel density estimate from percentiles, scaled to a maximum of 1."""
    low, reach = percentiles[0], percentiles[-1] - percentiles[0]
    if reach <= 0:
        return np.zeros(len(at))
    # In units of the range, because squares of huge numbers would overflow.
    points, places = (percentiles - low) / reach, (at - low) / reach
    quartiles = np.percentile(points, [25, 75])
    spread = float(quartiles[1] - quartiles[0]) / 1.34
    # Where half of the distribution is a single value, the quartiles coincide.
    scale = min(float(points.std()), spread) if spread > 0 else float(points.std()) / 3
    bandwidth = 0.9 * scale * len(points) ** -0.2
    kernels = np.exp(-0.5 * ((places[:, None] - points[None, :]) / bandwidth) ** 2)
    heights = kernels.sum(axis=1)
    heights[(at < percentiles[0]) | (at > percentiles[-1])] = 0.0
    return np.asarray(heights / heights.max() if heights.max() > 0 else heights)
