"""Partial scores to a total, and a total to a verdict."""

from __future__ import annotations

import numpy as np

from paribus.table import Floats

# The scale of scores when nothing is clipped: that of the default clip.
DEFAULT_CLIP = 10.0
# What the cap of a partial score is called.
FULL_SCORE = 100.0


def rescale(raw: Floats, clip: float | None) -> Floats:
    """Partial scores on the scale where the cap is 100.

    The raw score is a width in units of the feature's range; the cap is clip / 100. With one feature nothing is cut:
    there is nobody to dictate to.

    >>> rescale(np.array([[0.01, 0.3]]), clip=10)
    array([[ 10., 100.]])
    >>> rescale(np.array([[0.3]]), clip=10)
    array([[300.]])
    """
    cap = (DEFAULT_CLIP if clip is None else clip) / 100.0
    cut = raw if clip is None or raw.shape[1] == 1 else np.minimum(raw, cap)
    return cut * (FULL_SCORE / cap)


def total(partial: Floats) -> Floats:
    """The mean of the partial scores that there are; NaN for a row that has none."""
    present = ~np.isnan(partial)
    count = present.sum(axis=1)
    # Feature by feature, so that a row's total does not depend on the rows around it.
    sums = np.zeros(len(partial))
    for feature in range(partial.shape[1]):
        sums += np.where(present[:, feature], partial[:, feature], 0.0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def threshold(scores: Floats, contamination: float | str) -> float:
    """The score above which a row is an anomaly.

    A share: so many of the fitted rows lie above it. "auto": Tukey's outer fence, three interquartile ranges above the
    third quartile, which asks nothing but the scores themselves.
    """
    known = scores[~np.isnan(scores)]
    if isinstance(contamination, str):
        lower, upper = np.percentile(known, [25.0, 75.0])
        return float(upper + 3.0 * (upper - lower))
    return float(-np.percentile(-known, 100.0 * contamination))
