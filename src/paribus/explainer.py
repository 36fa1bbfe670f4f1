"""From a fitted table and what the engine says of some rows to their explanations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paribus.explanation import BehaviorFeature, Explanation, Thinness
from paribus.fitted_view import FittedView
from paribus.profile import ContextColumn, weighted_quantile
from paribus.table import Table
from paribus.values import Floats

Number = TypeVar("Number", np.float64, np.int64)

# Reference rows count as comparable within the reach that the groups of so many fitted rows have.
USUAL_REACH = 0.95
# Reference rows count as long as they are needed for so much of the weight.
NEARLY_ALL = 0.95


@dataclass(frozen=True)
class Findings:
    """What the engine says of some rows, one row of each array per row asked about."""

    behavior: Floats
    partial_scores: Floats
    scores: Floats
    percentiles: npt.NDArray[np.float64]
    """[row][behavioural feature][quantile]"""
    weights: npt.NDArray[np.float64]
    """[row][behavioural feature][k]"""
    neighbors: npt.NDArray[np.int64]
    distances: Floats


def explain(
    view: FittedView,
    asked: Table,
    columns: list[int],
    positions: Sequence[int | None],
    labels: Sequence[Hashable],
    findings: Findings,
    top: int,
) -> list[Explanation]:
    """The explanations of rows.

    `columns` are their contextual ones, `positions` their places if they are fitted, `labels` what they are called.
    """
    own = [(column, _own_values(asked, p, column)) for p, column in zip(columns, view.context, strict=True)]
    usual_nearest, usual_farthest = (float(value) for value in np.median(view.reach, axis=0))
    limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
    explanations = []
    for row, position in enumerate(positions):
        neighbors, distances = findings.neighbors[row], findings.distances[row]
        group = np.column_stack([column.values[neighbors] for column in view.context])
        behavior = _judge(view, findings, row)
        weights = behavior[0].weights
        context = [c.describe(values[row], group[:, i], weights) for i, (c, values) in enumerate(own)]
        score = float(findings.scores[row])
        explanations.append(
            Explanation(
                row=labels[row],
                position=position,
                score=score,
                rank=int(len(view.sorted_scores) - np.searchsorted(view.sorted_scores, score, "right")) + 1,
                n_ranked=len(view.sorted_scores) + (position is None),
                percentile=float(100 * np.searchsorted(view.sorted_scores, score) / len(view.sorted_scores)),
                threshold=view.threshold,
                behavior=behavior,
                context=tuple(context),
                thinness=Thinness(
                    nearest=float(distances[0]),
                    farthest=float(distances[-1]),
                    usual_nearest=usual_nearest,
                    usual_farthest=usual_farthest,
                    n_rows=len(distances),
                    n_comparable=int((distances <= limit).sum()),
                    n_counting=_n_counting(weights),
                    n_effective=behavior[0].n_effective,
                ),
                top=top,
                reference_positions=_frozen(neighbors),
                reference_distances=_frozen(distances),
                _table=view.table,
                _columns=tuple(view.context),
            )
        )
    return explanations


def _judge(view: FittedView, findings: Findings, row: int) -> tuple[BehaviorFeature, ...]:
    partial = findings.partial_scores[row]
    whole = float(np.nansum(partial))
    # Without a reference there is no forest, and all rows count alike.
    k = findings.weights.shape[2]
    weights = np.where(np.isnan(findings.weights[row]), 1.0 / k, findings.weights[row])
    features = []
    for i, name in enumerate(view.behavior_names):
        lower, median, upper = _central(view.behavior[findings.neighbors[row], i], weights[i])
        features.append(
            BehaviorFeature(
                name=name,
                value=float(findings.behavior[row, i]),
                partial_score=float(partial[i]),
                share=float(partial[i] / whole) if whole > 0 else 0.0,
                lower=lower,
                median=median,
                upper=upper,
                percentiles=_frozen(findings.percentiles[row, i]),
                weights=_frozen(weights[i]),
                format=view.behavior_formats[i],
            )
        )
    # Those without a score come last.
    return tuple(sorted(features, key=lambda feature: -np.nan_to_num(feature.partial_score, nan=-1.0)))


def _central(values: Floats, weights: Floats) -> tuple[float, float, float]:
    """The 5 % percentile, the median and the 95 % percentile, whatever number of percentiles the detector has."""
    used = (weights > 0) & ~np.isnan(values)
    if not used.any():
        return np.nan, np.nan, np.nan
    low, middle, high = (weighted_quantile(values[used], weights[used], share) for share in (0.05, 0.5, 0.95))
    return low, middle, high


def _n_counting(weights: Floats) -> int:
    """The fewest rows that have nearly all of the weight."""
    heaviest_first = np.sort(weights)[::-1]
    # Shares that differ by rounding alone are equal.
    return int(np.searchsorted(np.cumsum(heaviest_first), NEARLY_ALL - 1e-9)) + 1


def _own_values(asked: Table, position: int, column: ContextColumn) -> list[object]:
    if column.codes is not None:
        return list(asked.categories(position))
    numbers = asked.numbers(position) if asked.has_values(position) else np.full(asked.n_rows, np.nan)
    return [None if np.isnan(value) else float(value) for value in numbers]


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
