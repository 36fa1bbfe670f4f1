"""From partial scores to a total, and from totals to thresholds and probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from paribus._common.arrays import Floats
from paribus.methods.null import ScoreNull

# The largest partial score that a capped feature can have.
FULL_SCORE = 100.0


def mean_score(partial: Floats) -> Floats:
    """The mean of the partial scores that are not missing; NaN for a row that has none.

    >>> mean_score(np.array([[10.0, 30.0], [10.0, np.nan], [np.nan, np.nan]]))
    array([20., 10., nan])
    """
    count = (~np.isnan(partial)).sum(axis=1)
    return np.where(count > 0, _sums(partial) / np.maximum(count, 1), np.nan)


def sum_score(partial: Floats) -> Floats:
    """The sum of the partial scores that are not missing; NaN for a row that has none.

    >>> sum_score(np.array([[1.0, 3.0], [1.0, np.nan], [np.nan, np.nan]]))
    array([ 4.,  1., nan])
    """
    return np.where(np.isnan(partial).all(axis=1), np.nan, _sums(partial))


def _sums(partial: Floats) -> Floats:
    # Feature by feature, so that a row's total does not depend on the rows around it.
    sums = np.zeros(len(partial))
    for feature in range(partial.shape[1]):
        sums += np.nan_to_num(partial[:, feature], nan=0.0)
    return sums


def tukey_threshold(scores: Floats, contamination: float | str, false_alarms: float) -> float:
    """The score above which a row is an anomaly.

    With a share, this share of the fitted rows lies above it. With "auto", it is Tukey's outer fence, three
    interquartile ranges above the third quartile, which depends only on the scores themselves.
    """
    if not isinstance(contamination, str):
        return share_threshold(scores, contamination)
    lower, upper = np.percentile(scores[~np.isnan(scores)], [25.0, 75.0])
    return float(upper + 3.0 * (upper - lower))


def share_threshold(scores: Floats, share: float) -> float:
    """The score that this share of the scores exceeds."""
    return float(-np.percentile(-scores[~np.isnan(scores)], 100.0 * share))


def ranked_p_values(scores: Floats, get_fitted: Callable[[], Floats]) -> Floats:
    """The probability that an ordinary row scores as high, by the scores of the fitted rows."""
    return np.asarray(np.exp(-ScoreNull.fit(get_fitted())(scores)))
