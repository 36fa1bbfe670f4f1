"""Builds explanations from a method's findings about rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.explain.categories import CategoryFeature
from paribus.explain.context import ContextFeature
from paribus.explain.explanation import RowExplanation
from paribus.explain.facts import BehaviorFeature, Thinness
from paribus.explain.view import FittedView
from paribus.methods.interface import RowFindings

Made = TypeVar("Made", bound=RowExplanation)
Number = TypeVar("Number", np.float64, np.int64)

# A reference row is comparable if it is no farther away than the farthest reference row of this share of fitted rows.
USUAL_REACH = 0.95
# The share of the weight that the rows counted in `n_counting` hold together.
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
    """Explains rows.

    Parameters
    ----------
    view : FittedView
        What the rows are compared with.
    own : sequence of sequences
        The rows' own values, [contextual feature][row], decoded.
    positions : sequence of int or None
        The position of each row in the fitted table; None for a new row.
    labels : sequence
        The labels of the rows.
    values : array
        The behavior of the rows, [row][feature].
    scores : array
        The scores of the rows.
    findings : sequence of RowFindings
        The results of the method for each row.
    n_features : int
        The maximum number of behavioral features that the sentence and the pictures show.
    make : type
        The class of the explanations.

    Returns
    -------
    list
        One explanation per row.
    """
    usual_nearest, usual_farthest = (float(value) for value in np.median(view.reach, axis=0))
    limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
    p_values = view.p_values(scores)
    behaviors = [features_of(view, values[row], each) for row, each in enumerate(findings)]
    contexts = _contexts_of(view, own, behaviors, findings)
    explanations = []
    for row, position in enumerate(positions):
        neighbors, distances = findings[row].neighbors, findings[row].distances
        behavior = behaviors[row]
        weights = behavior[0].weights
        score = float(scores[row])
        explanations.append(
            make(
                row=labels[row],
                position=position,
                score=score,
                rank=int(len(view.sorted_scores) - np.searchsorted(view.sorted_scores, score, "right")) + 1,
                n_ranked=len(view.sorted_scores) + (position is None),
                percentile=float(100 * np.searchsorted(view.sorted_scores, score) / len(view.sorted_scores)),
                p_value=float(p_values[row]),
                kind=findings[row].kind,
                threshold=view.threshold,
                behavior=behavior,
                context=contexts[row],
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


def features_of(view: FittedView, values: Floats, findings: RowFindings) -> tuple[BehaviorFeature, ...]:
    """The behavioral features of a row; the one that is off the most comes first."""
    partial = findings.partial_scores
    whole = float(np.nansum(partial))
    features = []
    for i, name in enumerate(view.behavior_names):
        lower, median, upper = findings.central[i].tolist()
        make: Callable[..., BehaviorFeature] = BehaviorFeature
        if view.behavior_codes[i] is not None:
            make = functools.partial(CategoryFeature, is_flag=i >= view.n_values)
        features.append(
            make(
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
    # Features without a score come last; those that contribute nothing to it never lead a sentence.
    return tuple(
        sorted(
            features,
            key=lambda feature: (
                math.isnan(feature.partial_score),
                not feature.share > 0.0,
                -feature.oddness,
                0.0 if math.isnan(feature.partial_score) else -feature.partial_score,
            ),
        )
    )


def _contexts_of(
    view: FittedView,
    own: Sequence[Any],
    behaviors: Sequence[tuple[BehaviorFeature, ...]],
    findings: Sequence[RowFindings],
) -> list[tuple[ContextFeature, ...]]:
    """Describes the context of each row, with one call for all rows that have equally many reference rows."""
    sizes = np.array([len(each.neighbors) for each in findings], dtype=np.int64)
    found: list[tuple[ContextFeature, ...]] = [()] * len(findings)
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size).tolist()
        groups = view.store.context(np.concatenate([findings[row].neighbors for row in rows]))
        groups = groups.reshape(len(rows), size, len(view.context))
        weights = np.stack([behaviors[row][0].weights for row in rows])
        own_contexts = [view.own_context(behaviors[row][0].name) for row in rows]
        described = [
            column.describe(
                [plain_value(own[place][row]) for row in rows],
                np.ascontiguousarray(groups[:, :, place]),
                weights,
                [place in each for each in own_contexts],
            )
            for place, column in enumerate(view.context)
        ]
        for row, features in zip(rows, zip(*described, strict=True), strict=True):
            found[row] = features
    return found


def _n_counting(weights: Floats) -> int:
    """The minimum number of rows that hold nearly all of the weight."""
    heaviest_first = np.sort(weights)[::-1]
    # The tolerance absorbs rounding errors of the sum.
    return int(np.searchsorted(np.cumsum(heaviest_first), NEARLY_ALL - 1e-9)) + 1


def plain_value(value: Any) -> Any:
    """The value as a plain Python object; None for a missing number."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
