"""From a fitted table and what the engine says of some rows to their explanations."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paribus.explanation import BehaviorFeature, Explanation, Thinness
from paribus.fitted_view import FittedView
from paribus.judge import RowFindings
from paribus.profile import ContextColumn
from paribus.table import Table
from paribus.values import Floats

Number = TypeVar("Number", np.float64, np.int64)

# Reference rows count as comparable within the reach that the groups of so many fitted rows have.
USUAL_REACH = 0.95
# Reference rows count as long as they are needed for so much of the weight.
NEARLY_ALL = 0.95


def explain(
    view: FittedView,
    asked: Table,
    columns: list[int],
    positions: Sequence[int | None],
    labels: Sequence[Hashable],
    values: Floats,
    scores: Floats,
    findings: Sequence[RowFindings],
    top: int,
) -> list[Explanation]:
    """The explanations of rows.

    `columns` are their contextual ones, `positions` their places if they are fitted, `labels` what they are called,
    `values` their behaviour.
    """
    own = [(column, _own_values(asked, p, column)) for p, column in zip(columns, view.context, strict=True)]
    usual_nearest, usual_farthest = (float(value) for value in np.median(view.reach, axis=0))
    limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
    explanations = []
    for row, position in enumerate(positions):
        neighbors, distances = findings[row].neighbors, findings[row].distances
        group = np.column_stack([column.values[neighbors] for column in view.context])
        behavior = _features(view, values[row], findings[row])
        weights = behavior[0].weights
        context = [c.describe(values[row], group[:, i], weights) for i, (c, values) in enumerate(own)]
        score = float(scores[row])
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


def _features(view: FittedView, values: Floats, findings: RowFindings) -> tuple[BehaviorFeature, ...]:
    partial = findings.partial_scores
    whole = float(np.nansum(partial))
    features = []
    for i, name in enumerate(view.behavior_names):
        lower, median, upper = findings.central[i].tolist()
        features.append(
            BehaviorFeature(
                name=name,
                value=float(values[i]),
                partial_score=float(partial[i]),
                share=float(partial[i] / whole) if whole > 0 else 0.0,
                lower=lower,
                median=median,
                upper=upper,
                percentiles=_frozen(findings.percentiles[i]),
                weights=_frozen(findings.weights[i]),
                format=view.behavior_formats[i],
                surprise=None if findings.surprises is None else findings.surprises[i],
            )
        )
    # Those without a score come last.
    return tuple(sorted(features, key=lambda feature: -np.nan_to_num(feature.partial_score, nan=-1.0)))


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
