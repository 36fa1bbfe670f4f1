"""Builds explanations from a method's findings about rows."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.text import plain
from paribus._core import describe_groups
from paribus.explain.categories import CategoryFeature, rows_with
from paribus.explain.context import ContextFeature
from paribus.explain.explanation import RowExplanation
from paribus.explain.facts import SMALLEST_P, BehaviorFeature, KnownDistribution, Thinness
from paribus.explain.ranges import N_FACTS, GroupRanges
from paribus.explain.view import FittedView
from paribus.methods.interface import Findings

Made = TypeVar("Made", bound=RowExplanation)
Number = TypeVar("Number", np.float64, np.int64)

# A reference row is comparable if it is no farther away than the farthest reference row of this share of fitted rows.
USUAL_REACH = 0.95
# Rows whose reference groups are described at a time, so few that their groups fit into the cache.
ROWS_AT_A_TIME = 250


def explain_rows(
    view: FittedView,
    own: Sequence[Any],
    positions: Sequence[int | None],
    labels: Sequence[Hashable],
    values: Floats,
    scores: Floats,
    findings: Findings,
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
    findings : Findings
        The results of the method for the rows.
    n_features : int
        The maximum number of behavioral features that the sentence and the pictures show.
    make : type
        The class of the explanations.

    Returns
    -------
    list
        One explanation per row.
    """
    p_values = view.p_values(scores).tolist()
    lower, higher, n_ranked = view.count_around(scores)
    ranks, percentiles = (higher + 1).tolist(), (100 * lower / n_ranked).tolist()
    kinds = [None] * len(scores) if findings.kinds is None else findings.kinds.tolist()
    facts, columns = FoundFacts(view, own, values, findings), tuple(view.context)
    # By position: this is done for each row.
    return [
        make(
            label,
            position,
            score,
            rank,
            n_ranked + (position is None),
            percentile,
            p_value,
            kind,
            view.threshold,
            n_features,
            facts,
            place,
            view.store,
            columns,
        )
        for place, (label, position, score, rank, percentile, p_value, kind) in enumerate(
            zip(labels, positions, scores.tolist(), ranks, percentiles, p_values, kinds, strict=True)
        )
    ]


class FoundFacts:
    """Facts about some rows, which are described together; the facts about each are made when they are asked for.

    Most explanations are read once, if at all: objects that nobody looks at take longer than the facts themselves.
    """

    def __init__(self, view: FittedView, own: Sequence[Any], values: Floats, findings: Findings) -> None:
        self._view, self._own, self._findings = view, [_plain_list(each) for each in own], findings
        partial = findings.partial_scores
        whole = np.nansum(partial, axis=1)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(whole > 0, partial / whole, 0.0)
        order = _order(partial, shares, findings)
        # One list of all numbers, and not one per row: each would be looked at by the garbage collector.
        self._n_features = partial.shape[1]
        self._order: list[int] = order.ravel().tolist()
        self._values, self._partial, self._shares = (each.ravel().tolist() for each in (values, partial, shares))
        self._central = findings.central.ravel().tolist()
        self._makes: list[Callable[..., BehaviorFeature]] = [
            BehaviorFeature if codes is None else functools.partial(CategoryFeature, is_flag=place >= view.n_values)
            for place, codes in enumerate(view.behavior_codes)
        ]
        own_contexts = [set(view.own_context(name)) for name in view.behavior_names]
        self._counts = [[place in each for place in range(len(view.context))] for each in own_contexts]
        """[behavioral feature][contextual feature]: whether the one is judged by the other."""
        sizes = (findings.neighbors >= 0).sum(axis=1)
        self._sizes = sizes.tolist()
        self._describe(np.take_along_axis(findings.weights, order[:, :1, None], axis=1)[:, 0], sizes)
        limit = float(np.quantile(view.reach[:, 1], USUAL_REACH, method="inverted_cdf"))
        is_comparable = (findings.distances <= limit) & (findings.neighbors >= 0)
        self._n_comparable = is_comparable.sum(axis=1).tolist()
        self._nearest = findings.distances[:, 0].tolist()
        self._farthest = np.take_along_axis(findings.distances, sizes[:, None] - 1, axis=1)[:, 0].tolist()
        self._usual_nearest, self._usual_farthest = (float(value) for value in np.median(view.reach, axis=0))

    def _describe(self, weights: Floats, sizes: Positions) -> None:
        """Describes the reference groups; `weights` are those for the leading features."""
        view, n_rows = self._view, len(sizes)
        numbers = np.array([place for place, column in enumerate(view.context) if column.is_number], dtype=np.int64)
        ranges = np.empty((len(numbers), n_rows, N_FACTS))
        n_counting, squares = np.empty(n_rows, dtype=np.int64), np.empty(n_rows)

        def describe(begin: int) -> None:
            some = slice(begin, min(begin + ROWS_AT_A_TIME, n_rows))
            # Where there is no neighbor, any row will do: it is not looked at.
            neighbors = np.maximum(self._findings.neighbors[some], 0)
            groups = view.store.context(neighbors.ravel()).reshape(*neighbors.shape, len(view.context))
            ranges[:, some], n_counting[some], squares[some] = describe_groups(
                groups, sizes[some], weights[some], numbers
            )

        begins = range(0, n_rows, ROWS_AT_A_TIME)
        n_threads = min(view.n_threads, len(begins))
        if n_threads > 1:
            # Few rows need no threads, and should not wait for their import.
            from concurrent.futures import ThreadPoolExecutor

            # To look up the groups takes longer than to describe them.
            with ThreadPoolExecutor(n_threads) as threads:
                deque(threads.map(describe, begins), maxlen=0)
        else:
            for begin in begins:
                describe(begin)
        self._n_counting, self._n_effective = n_counting.tolist(), (1.0 / squares).tolist()
        self._ranges = {
            place: GroupRanges(view.context[place], self._own[place], of_column)
            for place, of_column in zip(numbers.tolist(), ranges, strict=True)
        }

    def behavior(self, row: int, first: int = 0, end: int | None = None) -> tuple[BehaviorFeature, ...]:
        """The behavioral features of a row, or some of them; the one that is off the most comes first."""
        view, findings, size = self._view, self._findings, self._sizes[row]
        begin = row * self._n_features
        features = []
        for place in self._order[begin : begin + self._n_features][first:end]:
            cell = begin + place
            make = self._makes[place]
            if place > view.n_values:
                make = functools.partial(make, given=self._given(begin, place))
            # By position: this is done for each value.
            features.append(
                make(
                    view.behavior_names[place],
                    self._values[cell],
                    self._partial[cell],
                    self._shares[cell],
                    *self._central[3 * cell : 3 * cell + 3],
                    _Found(findings, row, place, size),
                    view.behavior_formats[place],
                    None if findings.verdict is None else findings.verdict(row, place),
                )
            )
        return tuple(features)

    def _given(self, begin: int, place: int) -> str:
        """What is given of a row where it is judged whether a value is missing: which values before it are."""
        view = self._view
        flags = range(view.n_values, place)
        titles = [view.behavior_formats[flag].title or plain(view.behavior_names[flag]) for flag in flags]
        is_missing = [self._values[begin + flag] != 0.0 for flag in flags]
        present = [title for title, missing in zip(titles, is_missing, strict=True) if not missing]
        return rows_with(present, [title for title, missing in zip(titles, is_missing, strict=True) if missing])

    def context(self, row: int) -> tuple[ContextFeature, ...]:
        """The contextual features of a row: its own values, and what its reference group has in common."""
        leading = self._order[row * self._n_features]
        group: Floats | None = None
        found = []
        for place, (column, counts) in enumerate(zip(self._view.context, self._counts[leading], strict=True)):
            ranges = self._ranges.get(place)
            if ranges is not None and (feature := ranges.describe(row, counts=counts)) is not None:
                found.append(feature)
                continue
            if group is None:
                group = self._view.store.context(self._findings.neighbors[row, : self._sizes[row]])
            weights = self._findings.weights[row, leading, : self._sizes[row]]
            found.append(column.describe(self._own[place][row], group[:, place], weights, counts=counts))
        return tuple(found)

    def thinness(self, row: int) -> Thinness:
        """How close the reference group of a row is."""
        return Thinness(
            self._nearest[row],
            self._farthest[row],
            self._usual_nearest,
            self._usual_farthest,
            self._sizes[row],
            self._n_comparable[row],
            self._n_counting[row],
            self._n_effective[row],
        )

    def neighbors(self, row: int) -> tuple[Positions, Floats]:
        """The positions and the distances of the reference group of a row, nearest first."""
        n = self._sizes[row]
        return _frozen(self._findings.neighbors[row, :n]), _frozen(self._findings.distances[row, :n])


class _Found(NamedTuple):
    """The distribution of a feature in a row's context, as a method found it."""

    findings: Findings
    row: int
    feature: int
    n_neighbors: int

    @property
    def percentiles(self) -> Floats:
        """The percentiles in ascending order."""
        return _frozen(self.findings.percentiles(self.row, self.feature))

    @property
    def weights(self) -> Floats:
        """The weight of each row of the reference group, nearest first."""
        return _frozen(self.findings.weights[self.row, self.feature, : self.n_neighbors])

    @property
    def has_one_value(self) -> bool:
        """Whether all percentiles are equal."""
        return bool(self.findings.has_one_value[self.row, self.feature])

    def __reduce__(self) -> tuple[Any, ...]:
        # What is known about the other rows is none of its business.
        return KnownDistribution, (self.percentiles, self.weights)


def _order(partial: Floats, shares: Floats, findings: Findings) -> npt.NDArray[np.int64]:
    """By row: its features, the one that is off the most first.

    Features without a score come last; those that contribute nothing to it never lead a sentence.
    """
    is_missing = np.isnan(partial)
    keys = (np.where(is_missing, 0.0, -partial), -_oddness(partial, findings), ~(shares > 0.0), is_missing)
    return np.lexsort(keys, axis=1)


def _oddness(partial: Floats, findings: Findings) -> Floats:
    """The oddness of all features, [row][feature], as `BehaviorFeature` defines it."""
    if findings.p_values is None:
        return np.where(np.isnan(partial), -1.0, partial)
    alone = _evidence(findings.p_values)
    odd = alone
    if findings.p_values_given_all is not None:
        more = np.maximum(0.0, _evidence(findings.p_values_given_all) - alone) / 2
        odd = alone + np.where(np.isnan(more), 0.0, more)
    return np.where(np.isnan(alone), -1.0, odd)


def _evidence(p_values: Floats) -> Floats:
    # The logarithm of Python's library: NumPy's depends on the processor in its last bit, on which an order may depend.
    log = math.log
    found = [-log(each) for each in np.maximum(p_values, SMALLEST_P).ravel().tolist()]
    return np.array(found).reshape(p_values.shape)


def _plain_list(values: Any) -> list[Any]:
    """Values as plain Python objects; None for missing numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return [each if each == each else None for each in values.tolist()]
    return [_plain_value(each) for each in values]


def _plain_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _frozen(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    copy = array.copy()
    copy.flags.writeable = False
    return copy
