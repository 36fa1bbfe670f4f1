"""The score of a row from its partial scores, and the threshold from the scores."""

from __future__ import annotations

import numpy as np

from paribus._common.arrays import Floats

# The partial score of a feature at the cap.
FULL_SCORE = 100.0


def total(partial: Floats) -> Floats:
    """The mean of the partial scores that are not missing; NaN for a row that has none.

    >>> total(np.array([[10.0, 30.0], [10.0, np.nan], [np.nan, np.nan]]))
    array([20., 10., nan])
    """
    present = ~np.isnan(partial)
    count = present.sum(axis=1)
    # Summed feature by feature, so that the rounding of a row's total does not depend on other rows.
    sums = np.zeros(len(partial))
    for feature in range(partial.shape[1]):
        sums += np.where(present[:, feature], partial[:, feature], 0.0)
    return np.where(count > 0, sums / np.maximum(count, 1), np.nan)


def threshold(scores: Floats, contamination: float | str) -> float:
    """The score above which a row is an anomaly.

    With a share, that share of the fitted rows is above the threshold. With "auto", the threshold is Tukey's outer
    fence: three interquartile ranges above the third quartile of the scores.
    """
    known = scores[~np.isnan(scores)]
    if isinstance(contamination, str):
        lower, upper = np.percentile(known, [25.0, 75.0])
        return float(upper + 3.0 * (upper - lower))
    return float(-np.percentile(-known, 100.0 * contamination))
