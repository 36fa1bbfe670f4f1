"""Metrics of how high the anomalies rank among all rows.

Each metric is its mean over all orders of tied rows, in closed form, so that it depends neither on the order of the
table nor on a seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import counted
from paribus._common.validation import check_whole_number


def average_precision(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The area under the precision-recall curve (PRC AUC): the mean of the precision at each anomaly's rank.

    Without ties it equals scikit-learn's `average_precision_score`. With ties it is the mean over all orders, whereas
    scikit-learn assigns all tied rows the last of their ranks.

    Parameters
    ----------
    labels : array of shape (rows,)
        1 (or True) for an anomaly, 0 for a normal row.
    scores : array of shape (rows,)
        Higher is more anomalous. Scores may be infinite, but not NaN, since a row without a score has no rank.

    Returns
    -------
    float
        From 0 to 1.

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
    # Given an anomaly at this rank, the other anomalies of its group are uniform over the group's other ranks.
    before = ties.hits_before[group] + (place - 1) * (hits - 1) / np.maximum(size - 1, 1)
    return float(np.sum(hits / size * (before + 1) / rank) / ties.hits.sum())


def roc_auc(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The area under the ROC curve: the probability that an anomaly scores higher than a normal row.

    A tie counts one half.

    Parameters
    ----------
    labels : array of shape (rows,)
        1 (or True) for an anomaly, 0 for a normal row.
    scores : array of shape (rows,)
        Higher is more anomalous; not NaN.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> roc_auc([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.6])
    0.625
    """
    ties = _Ties.of(labels, scores)
    misses = ties.size - ties.hits
    if not misses.any():
        raise ValueError("labels contains no 0: the ROC AUC needs normal rows to compare anomalies with")
    hits_up_to_half = ties.hits_before + ties.hits / 2
    return float(np.sum(misses * hits_up_to_half) / (misses.sum() * ties.hits.sum()))


def precision_at_n(labels: npt.ArrayLike, scores: npt.ArrayLike, n: int | None = None) -> float:
    """The share of anomalies among the n rows with the highest scores.

    Parameters
    ----------
    labels : array of shape (rows,)
        1 (or True) for an anomaly, 0 for a normal row.
    scores : array of shape (rows,)
        Higher is more anomalous; not NaN.
    n : int, optional
        By default the number of anomalies.

    Returns
    -------
    float
        From 0 to 1.

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
    """The number of rows in each group."""
    hits: npt.NDArray[np.int64]
    """The number of anomalies in each group."""

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
            raise ValueError(f"{name} must be an array of numbers, one per row")
    if len(hit) != len(score):
        raise ValueError(f"there are {len(hit)} labels and {len(score)} scores: give one of each per row")
    odd = np.flatnonzero((hit != 0) & (hit != 1))
    if odd.size:
        raise ValueError(f"labels is {hit[odd[0]]} in row {odd[0]}: use 1 for an anomaly and 0 for a normal row")
    unscored = np.flatnonzero(np.isnan(score))
    if unscored.size:
        raise ValueError(
            f"scores is NaN in {counted(unscored.size, 'row')}, the first of which is row {unscored[0]}: "
            "leave out rows without a score, or give them one"
        )
    if not hit.any():
        raise ValueError("labels contains no 1: the metrics need at least one anomaly")
    return hit == 1, score.astype(np.float64)
