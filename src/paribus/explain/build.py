"""Builds explanations from a method's findings about rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
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
# Rows whose reference groups are described at a time.
ROWS_AT_A_TIME = 250


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
    p_values = view.p_values(scores).tolist()
    n_ranked = len(view.sorted_scores)
    ranks = (n_ranked - np.searchsorted(view.sorted_scores, scores, "right") + 1).tolist()
    percentiles = (100 * np.searchsorted(view.sorted_scores, scores) / n_ranked).tolist()
    behaviors = _behaviors_of(view, values, findings)
    contexts, group_sizes = _groups_of(view, own, behaviors, findings)
    columns = tuple(view.context)
    explanations = []
    for row, (position, score) in enumerate(zip(positions, scores.tolist(), strict=True)):
        neighbors, distances = findings[row].neighbors, findings[row].distances
        n_comparable, n_counting, n_effective = group_sizes[row]
        explanations.append(
            make(
                row=labels[row],
                position=position,
                score=score,
                rank=ranks[row],
                n_ranked=n_ranked + (position is None),
                percentile=percentiles[row],
                p_value=p_values[row],
                kind=findings[row].kind,
                threshold=view.threshold,
                behavior=behaviors[row],
                context=contexts[row],
                thinness=Thinness(
                    nearest=float(distances[0]),
                    farthest=float(distances[-1]),
                    usual_nearest=usual_nearest,
                    usual_farthest=usual_farthest,
                    n_rows=len(distances),
                    n_comparable=n_comparable,
                    n_counting=n_counting,
                    n_effective=n_effective,
                ),
                n_features=n_features,
                reference_positions=_frozen(neighbors),
                reference_distances=_frozen(distances),
                _store=view.store,
                _columns=columns,
            )
        )
    return explanations


def _behaviors_of(
    view: FittedView, values: Floats, findings: Sequence[RowFindings]
) -> list[tuple[BehaviorFeature, ...]]:
    """The behavioral features of each row; the one that is off the most comes first."""
    partial = np.array([each.partial_scores for each in findings])
    whole = np.nansum(partial, axis=1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(whole > 0, partial / whole, 0.0)
    makes: list[Callable[..., BehaviorFeature]] = [
        BehaviorFeature if codes is None else functools.partial(CategoryFeature, is_flag=place >= view.n_values)
        for place, codes in enumerate(view.behavior_codes)
    ]
    facts = zip(values.tolist(), partial.tolist(), shares.tolist(), findings, strict=True)
    return [_features_of(view, makes, *each) for each in facts]


def _features_of(
    view: FittedView,
    makes: Sequence[Callable[..., BehaviorFeature]],
    values: Sequence[float],
    partial: Sequence[float],
    shares: Sequence[float],
    findings: RowFindings,
) -> tuple[BehaviorFeature, ...]:
    percentiles, weights = _frozen(findings.percentiles), _frozen(findings.weights)
    central = findings.central.tolist()
    features = []
    for i, (name, make) in enumerate(zip(view.behavior_names, makes, strict=True)):
        lower, median, upper = central[i]
        verdict = None if findings.verdicts is None else findings.verdicts[i]
        # By position: this is done for each value.
        features.append(
            make(
                name,
                values[i],
                partial[i],
                shares[i],
                lower,
                median,
                upper,
                percentiles[i],
                weights[i],
                view.behavior_formats[i],
                verdict,
            )
        )
    features.sort(key=_importance)
    return tuple(features)


def _importance(feature: BehaviorFeature) -> tuple[bool, bool, float, float]:
    """Features without a score come last; those that contribute nothing to it never lead a sentence."""
    partial = feature.partial_score
    if math.isnan(partial):
        return True, not feature.share > 0.0, -feature.oddness, 0.0
    return False, not feature.share > 0.0, -feature.oddness, -partial


def _groups_of(
    view: FittedView,
    own: Sequence[Any],
    behaviors: Sequence[tuple[BehaviorFeature, ...]],
    findings: Sequence[RowFindings],
) -> tuple[list[tuple[ContextFeature, ...]], list[tuple[int, int, float]]]:
    """Describes the reference group of each row, with one call for all rows whose groups are equally large.

    Returns the context; and how many reference rows are comparable, hold nearly all of the weight for the leading
    feature, and how many of equal weight would count as much.
    """
    limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
    sizes = np.array([len(each.neighbors) for each in findings], dtype=np.int64)
    contexts: list[tuple[ContextFeature, ...]] = [()] * len(findings)
    numbers: list[tuple[int, int, float]] = [(0, 0, 0.0)] * len(findings)
    for size, rows in _alike(sizes):
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
                view.n_threads,
            )
            for place, column in enumerate(view.context)
        ]
        n_comparable = (np.stack([findings[row].distances for row in rows]) <= limit).sum(axis=1).tolist()
        counted = zip(n_comparable, _n_counting(weights), (1.0 / np.sum(weights**2, axis=1)).tolist(), strict=True)
        for row, features, each in zip(rows, zip(*described, strict=True), counted, strict=True):
            contexts[row], numbers[row] = features, each
    return contexts, numbers


def _alike(sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, list[int]]]:
    """Rows whose groups are equally large, so few at a time that their groups fit into the cache."""
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        for begin in range(0, len(rows), ROWS_AT_A_TIME):
            yield size, rows[begin : begin + ROWS_AT_A_TIME].tolist()


def _n_counting(weights: Floats) -> list[int]:
    """By row of weights: the minimum number of them that hold nearly all of the weight."""
    heaviest_first = np.sort(weights, axis=1)[:, ::-1]
    # The tolerance absorbs rounding errors of the sum.
    found: list[int] = ((np.cumsum(heaviest_first, axis=1) < NEARLY_ALL - 1e-9).sum(axis=1) + 1).tolist()
    return found


def plain_value(value: Any) -> Any:
    """The value as a plain Python object; None for a missing number."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
