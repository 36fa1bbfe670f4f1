"""The null distribution of a table in which many rows are anomalies.

A tenth of anomalies reaches into the body of the scores, from which the tail of the ordinary ones is extrapolated. But
the tail need not be extrapolated where the values of an ordinary row are independent of each other, given the context:
rows put together from cells of different rows then score as ordinary rows do, and anomalous rows stand out from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats
from paribus.methods.null import END, ScoreNull, excess_beyond, levels_down_to, quantiles, slope_of_tail
from paribus.methods.surprise.cells import CellEvidence

# Rows that are put together, and the knots at which their scores are read off.
N_RECOMBINED = 8_000
MIN_ROWS = 20
# The search for the number of anomalies starts with too many of them: this share of the rows.
MAX_SHARE = 0.3
N_ROUNDS = 8
# Anomalies are strange in several columns: their scores are at most this many times as common among rows that are
# recombined from all rows, anomalies included. Without that, rows left out would only be the upper end of all others.
MAX_RECOMBINED = 0.4
# Where the tail of the ordinary rows is longer than that of recombined ones by more than this factor, cells depend on
# each other, and recombined rows are not informative.
MAX_DEPENDENCE = 1.2
# A smaller share of anomalies does not reach the body, by which it is better distinguished from a long tail of ordinary
# rows.
MIN_SHARE = 0.03


def fit_contaminated(score: Callable[[CellEvidence], Floats], cells: CellEvidence, scores: Floats) -> ScoreNull | None:
    """The null distribution of scores, if many rows are anomalies and the cells of all others are independent.

    Parameters
    ----------
    score : callable
        The scores of rows, from the evidence of their cells.
    cells : CellEvidence
        The fitted rows, judged out of sample.
    scores : array
        Their scores.

    Returns
    -------
    ScoreNull or None
        None if anomalies are few, or if the cells of ordinary rows depend on each other.
    """
    order = np.argsort(scores, kind="stable")
    random = np.random.default_rng(0)
    n_anomalies = int(MAX_SHARE * len(order))
    for _ in range(N_ROUNDS):
        recombined = _Recombined.of(score(_recombine(cells, order[: len(order) - n_anomalies], random)))
        # On this scale the tail of independent cells is a straight line.
        descending = recombined(scores[order[::-1]])
        found = excess_beyond(descending, n_anomalies)
        if found == n_anomalies:
            break
        n_anomalies = found
    if n_anomalies < MIN_SHARE * len(order):
        return None
    middle = scores[order[len(order) - n_anomalies // 2 - 1]]
    share = (score(_recombine(cells, order, random)) >= middle).mean()
    if share > MAX_RECOMBINED * (scores >= middle).mean():
        return None
    ordinary = scores[order[::-1]][n_anomalies:]
    levels = levels_down_to(max(MIN_ROWS / len(ordinary), END))
    knots, evidence = quantiles(ordinary, levels), -np.log(levels)
    dependence = slope_of_tail(recombined(knots), evidence)
    if dependence > MAX_DEPENDENCE:
        return None
    beyond = recombined.knots > knots[-1]
    rest = evidence[-1] + (recombined.evidence[beyond] - recombined(knots[-1:])) / dependence
    knots, first = np.unique(np.append(knots, recombined.knots[beyond]), return_index=True)
    return ScoreNull(knots, np.append(evidence, rest)[first], recombined.scale * dependence)


def _recombine(cells: CellEvidence, rows: np.ndarray, random: np.random.Generator) -> CellEvidence:
    """Rows whose cells are drawn from different rows, each from its own column."""
    shape = N_RECOMBINED, cells.given_context.shape[1]
    return cells.take((rows[random.integers(0, len(rows), size=shape)], np.arange(shape[1])))


@dataclass(frozen=True)
class _Recombined:
    """Minus the logarithm of the share of recombined rows that score as high; beyond the last knot a straight line."""

    knots: Floats
    evidence: Floats
    scale: float

    @classmethod
    def of(cls, scores: Floats) -> _Recombined:
        levels = levels_down_to(MIN_ROWS / len(scores))
        at, evidence = quantiles(-np.sort(-scores), levels), -np.log(levels)
        knots, first = np.unique(at, return_index=True)
        return cls(knots, evidence[first], slope_of_tail(at, evidence))

    def __call__(self, scores: Floats) -> Floats:
        beyond = self.evidence[-1] + (scores - self.knots[-1]) / self.scale
        return np.where(scores > self.knots[-1], beyond, np.interp(scores, self.knots, self.evidence))
