"""How high the anomalies rank among all rows.

Equal scores do not say which row comes first. Each measure here is its mean over all orders of the tied rows, in closed
form: it depends neither on the order of the table nor on a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.validation import check_whole_number


def average_precision(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The area under the precision-recall curve (PRC AUC): the mean of the precision at each anomaly's rank.

    Without ties it is scikit-learn's `average_precision_score`. With ties it is the mean over all orders, where
    scikit-learn puts all tied rows at the last of their ranks.

    Parameters
    ----------
    labels : array of shape (rows,)
        1 (or True) for an anomaly, 0 for a normal row.
    scores : array of shape (rows,)
        Higher is more anomalous. Infinite scores are fine, NaN is refused: a row without a score has no rank.

    Examples
    --------
    >>> average_precision([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.1])
    0.8333333333333333
    >>> average_precision([1, 0], [0.5, 0.5])
    0.75
    """
    ties = _Ties.of(labels, scores)
    rank = np.arange(1, ties.n_rows + 1)
    group = np.repeat(np.arange(len(ties.size)), ties.size)
    size, hits = ties.size[group], ties.hits[group]
    place = rank - ties.rows_before[group]
    # Given that an anomaly is at this rank, the others of its group are spread evenly over the group's other places.
    before = ties.hits_before[group] + (place - 1) * (hits - 1) / np.maximum(size - 1, 1)
    return float(np.sum(hits / size * (before + 1) / rank) / ties.hits.sum())


def roc_auc(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The probability that an anomaly scores higher than a normal row; a tie counts one half.

    Examples
    --------
    >>> roc_auc([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.6])
    0.625
    """
    ties = _Ties.of(labels, scores)
    misses = ties.size - ties.hits
    if not misses.any():
        raise ValueError("labels has no 0: the ROC AUC compares anomalies with normal rows")
    hits_up_to_half = ties.hits_before + ties.hits / 2
    return float(np.sum(misses * hits_up_to_half) / (misses.sum() * ties.hits.sum()))


def precision_at_n(labels: npt.ArrayLike, scores: npt.ArrayLike, n: int | None = None) -> float:
    """The share of anomalies among the n rows that score highest; n is the number of anomalies if not given.

    Examples
    --------
    >>> precision_at_n([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.1])
    0.5
    >>> precision_at_n([1, 0, 0], [0.5, 0.5, 0.5])
    0.3333333333333333
    """
    ties = _Ties.of(labels, scores)
    if n is None:
        n = int(ties.hits.sum())
    check_whole_number("n", n, 1, ties.n_rows)
    taken = np.clip(n - ties.rows_before, 0, ties.size)
    return float(np.sum(ties.hits * taken / ties.size) / n)


@dataclass(frozen=True)
class _Ties:
    """The groups of rows with equal scores, from the highest score to the lowest."""

    size: npt.NDArray[np.int64]
    hits: npt.NDArray[np.int64]
    """The anomalies of each group."""

    @classmethod
    def of(cls, labels: npt.ArrayLike, scores: npt.ArrayLike) -> _Ties:
        hit, score = _check(labels, scores)
        _, group, size = np.unique(-score, return_inverse=True, return_counts=True)
        return cls(size, np.bincount(group[hit], minlength=len(size)))

    @property
    def n_rows(self) -> int:
        return int(self.size.sum())

    @property
    def rows_before(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.size) - self.size

    @property
    def hits_before(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.hits) - self.hits


def _check(labels: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], Floats]:
    hit, score = np.asarray(labels), np.asarray(scores)
    for name, array, kinds in (("labels", hit, "biuf"), ("scores", score, "iuf")):
        if array.ndim != 1 or array.dtype.kind not in kinds:
            raise ValueError(f"{name} must be a list of numbers, one per row")
    if len(hit) != len(score):
        raise ValueError(f"there are {len(hit)} labels and {len(score)} scores: there must be one of each per row")
    odd = np.flatnonzero((hit != 0) & (hit != 1))
    if odd.size:
        raise ValueError(f"labels has {hit[odd[0]]} in row {odd[0]}: 1 is an anomaly, 0 a normal row")
    unscored = np.flatnonzero(np.isnan(score))
    if unscored.size:
        raise ValueError(
            f"scores has {unscored.size} missing value(s), the first in row {unscored[0]}: "
            "leave these rows out, or give them the score that they deserve"
        )
    if not hit.any():
        raise ValueError("labels has no 1: without an anomaly there is nothing to measure")
    return hit == 1, score.astype(np.float64)
