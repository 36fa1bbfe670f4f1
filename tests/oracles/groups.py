"""What weighted groups have in common, in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._common.statistics import weighted_quantiles

Array = np.ndarray[Any, Any]


def describe(values: Array, weights: Array) -> list[float]:
    """The weighted quantiles at 5 % and 95 %, the share between them, and the ends; NaN if a value is missing."""
    if np.isnan(values).any():
        return [np.nan] * 5
    shares = weights / weights.sum()
    low, high = weighted_quantiles(values, shares, (0.05, 0.95))
    share = np.where((values >= low) & (values <= high), shares, 0.0).sum()
    return [low, high, float(share), float(values.min()), float(values.max())]


def n_counting(weights: Array) -> int:
    """The fewest members that hold 95 % of the weight."""
    return int((np.cumsum(np.sort(weights)[::-1]) < 0.95 - 1e-9).sum()) + 1
