"""From what a method says about some rows to their explanations."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.explain.explanation import RowExplanation
from paribus.explain.facts import BehaviorFeature, Thinness
from paribus.explain.view import FittedView
from paribus.methods.interface import RowFindings

Made = TypeVar("Made", bound=RowExplanation)
Number = TypeVar("Number", np.float64, np.int64)

# Reference rows count as comparable within the reach that the groups of so many fitted rows have.
USUAL_REACH = 0.95
# Reference rows count as long as they are needed for so much of the weight.
NEARLY_ALL = 0.95


def explain_rows(
    view: FittedView,
    own: Sequence[Any],
    positions: Sequence[int | None],
    labels: Sequence[Hashable],
    values: Floats,
    scores: Floats,
    findings: Sequence[RowFindings],
    n_features: int,
    make: type[Made],
) -> list[Made]:
    """The explanations of rows.

    Parameters
    ----------
    view : FittedView
        What the rows are compared with.
    own : sequence of sequences
        The rows' own values, [contextual feature][row], as a person knows them.
    positions : sequence of int or None
        The position of each row in the fitted table; None for a new row.
    labels : sequence
        What the rows are called.
    values : array
        Their behavior, [row][feature].
    scores : array
        Their scores.
    findings : sequence of RowFindings
        What the method says about each of them.
    n_features : int
        How many behavioral features the sentence and the pictures show at most.
    make : type
        The class of the explanations.
    """
    usual_nearest, usual_farthest = (float(value) for value in np.median(view.reach, axis=0))
    limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
    explanations = []
    for row, position in enumerate(positions):
        neighbors, distances = findings[row].neighbors, findings[row].distances
        group = view.store.context(neighbors)
        behavior = _features(view, values[row], findings[row])
        weights = behavior[0].weights
        context = [
            column.describe(_plain(own[place][row]), group[:, place], weights)
            for place, column in enumerate(view.context)
        ]
        score = float(scores[row])
        explanations.append(
            make(
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
                n_features=n_features,
                reference_positions=_frozen(neighbors),
                reference_distances=_frozen(distances),
                _store=view.store,
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
                verdict=None if findings.verdicts is None else findings.verdicts[i],
            )
        )
    # Those without a score come last.
    return tuple(sorted(features, key=lambda feature: -np.nan_to_num(feature.partial_score, nan=-1.0)))


def _n_counting(weights: Floats) -> int:
    """The fewest rows that have nearly all of the weight."""
    heaviest_first = np.sort(weights)[::-1]
    # Shares that differ by rounding alone are equal.
    return int(np.searchsorted(np.cumsum(heaviest_first), NEARLY_ALL - 1e-9)) + 1


def _plain(value: Any) -> Any:
    """None for a missing number, and Python's own numbers for those of numpy."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
