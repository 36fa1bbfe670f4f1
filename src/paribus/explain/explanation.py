"""Why a row has its score: the facts, the sentence, and everything as plain values."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.text import ended, listed, plain, score_text
from paribus.explain import wording
from paribus.explain.context import NO_ROW_HAS, ContextColumn, ContextFeature
from paribus.explain.facts import BehaviorFeature, Thinness
from paribus.tables.column import Kind
from paribus.tables.row_store import RowStore


class Facts(Protocol):
    """Facts about some rows, which are given by their place among these."""

    def behavior(self, row: int, first: int = 0, end: int | None = None) -> tuple[BehaviorFeature, ...]:
        """The behavioral features of a row, or some of them; the one that is off the most comes first."""

    def context(self, row: int) -> tuple[ContextFeature, ...]:
        """The contextual features of a row: its own values, and what its reference group has in common."""

    def thinness(self, row: int) -> Thinness:
        """How close the reference group of a row is."""

    def neighbors(self, row: int) -> tuple[Positions, Floats]:
        """The positions and the distances of the reference group of a row, nearest first."""


@dataclass(frozen=True)
class KnownFacts:
    """The facts about one row."""

    of_behavior: tuple[BehaviorFeature, ...]
    of_context: tuple[ContextFeature, ...]
    of_group: Thinness
    of_neighbors: tuple[Positions, Floats]

    def behavior(self, row: int, first: int = 0, end: int | None = None) -> tuple[BehaviorFeature, ...]:
        """The behavioral features, or some of them."""
        return self.of_behavior[first:end]

    def context(self, row: int) -> tuple[ContextFeature, ...]:
        """The contextual features."""
        return self.of_context

    def thinness(self, row: int) -> Thinness:
        """How close the reference group is."""
        return self.of_group

    def neighbors(self, row: int) -> tuple[Positions, Floats]:
        """The positions and the distances of the reference group."""
        return self.of_neighbors


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation:
    """Why a row has its score: which features stand out, by how much, and compared with which rows.

    `str()` gives a sentence.
    """

    row: Hashable
    """The row's label in the index of its table, or its position if there is none; None for a single new row."""
    position: int | None
    """The row's position in the fitted table; None for a new row."""
    score: float
    """The anomaly score; higher is more anomalous."""
    rank: int
    """The rank of the score among those of the fitted rows; 1 is the highest."""
    n_ranked: int
    """The number of fitted rows that have a score, plus one for a new row."""
    percentile: float
    """The percentage of fitted rows with a lower score."""
    p_value: float
    """The probability that an ordinary row scores as high."""
    kind: str | None
    """What is strange if anything is: the "whole" row, a "combination" of values, or one "value"; None if unknown."""
    threshold: float
    """The score above which the detector calls a row an anomaly."""
    n_features: int
    """The maximum number of behavioral features that the sentence and the beanplots show."""
    _facts: Facts
    _place: int
    """The row's place among those that there are facts about."""
    _store: RowStore
    _columns: tuple[ContextColumn, ...]

    @cached_property
    def behavior(self) -> tuple[BehaviorFeature, ...]:
        """The behavioral features; the one that is off the most comes first."""
        return self._facts.behavior(self._place)

    @cached_property
    def context(self) -> tuple[ContextFeature, ...]:
        """The contextual features: the row's own values, and what the reference group has in common."""
        return self._facts.context(self._place)

    @cached_property
    def thinness(self) -> Thinness:
        """How close the reference group is, compared with what is usual in the fitted table."""
        return self._facts.thinness(self._place)

    @cached_property
    def _neighbors(self) -> tuple[Positions, Floats]:
        return self._facts.neighbors(self._place)

    @property
    def reference_positions(self) -> Positions:
        """The positions of the reference group in the fitted table, nearest first."""
        return self._neighbors[0]

    @property
    def reference_distances(self) -> Floats:
        """The distances of the reference group, nearest first."""
        return self._neighbors[1]

    @property
    def is_anomaly(self) -> bool:
        """Whether the score is above the detector's threshold."""
        return self.score > self.threshold

    @property
    def features(self) -> Any:
        """The behavioral features in the type of the fitted table; the one that is off the most comes first."""
        rows = [feature.as_row() for feature in self.behavior]
        return self._store.original.new({key: [row[key] for row in rows] for key in rows[0]})

    @property
    def reference(self) -> Any:
        """The rows of the reference group, nearest first, in the type of the fitted table.

        `distance` is the distance in context, `weight` how much the row counts for the leading feature.
        """
        extra = {"distance": self.reference_distances, "weight": self.leading.weights}
        return self._store.original.take(self.reference_positions, extra)

    @property
    def leading(self) -> BehaviorFeature:
        """The feature that the sentence names first: the one that is off the most."""
        return self.behavior[0]

    def reference_values(self, feature: ContextFeature) -> npt.NDArray[Any]:
        """The values of the reference group in a contextual feature: numbers, or categories as objects."""
        place = self.context.index(feature)
        return self._columns[place].decode(self._store.context(self.reference_positions)[:, place])

    @property
    def percentiles(self) -> dict[str, Floats]:
        """The distribution of each behavioral feature in the row's context, in original units."""
        return {feature.name: feature.percentiles for feature in self.behavior}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to keep in mind: few comparable rows, values that the reference group does not have."""
        return self._look().warnings

    @property
    def title(self) -> str:
        """The row in words: 'row 137', 'new row', or 'new row 3' of several."""
        kind = "new row" if self.position is None else "row"
        return kind if self.row is None else f"{kind} {plain(self.row)}"

    @property
    def group(self) -> str:
        """Which rows the row is compared with: how many count, and what sets them apart from the whole table."""
        return self._look(1).group

    @cached_property
    def sentence(self) -> str:
        """What stands out, what is usual, how rare it is, and compared with which rows; in the units of the table."""
        return self._look(self.n_features).sentence

    @property
    def statement(self) -> str:
        """The first part of the sentence: without the rows that the row is compared with."""
        return ended(wording.statement(self._look(self.n_features).found))

    def __str__(self) -> str:
        """The sentence and the warnings."""
        told = self._look()
        return " ".join([told.sentence, *(ended(f"Note that {warning}") for warning in told.warnings)])

    def _look(self, n: int | None = None) -> _Told:
        """The facts that texts are made of, with some of the behavioral features; they are not kept."""
        facts, place = self._facts, self._place
        return _Told(self, _Features(facts, place, n), facts.context(place), facts.thinness(place))

    def __getstate__(self) -> dict[str, Any]:
        """The explanation without the facts about other rows."""
        names = (each.name for each in fields(self))
        known = KnownFacts(self.behavior, self.context, self.thinness, self._neighbors)
        return {name: getattr(self, name) for name in names} | {"_facts": known, "_place": 0}

    def __repr__(self) -> str:
        standing = f"score {score_text(self.score)}, rank {self.rank:,} of {self.n_ranked:,}"
        return f"<Explanation of {self.title}, {standing}: {self}>"

    @property
    def _standing(self) -> dict[str, Any]:
        """The row, its score and the verdict as plain values: what the complete and the short form share."""
        return {
            "row": _plain_value(self.row),
            "position": self.position,
            "rank": self.rank,
            "score": self.score,
            "p_value": self.p_value,
            "kind": self.kind,
            "is_anomaly": self.is_anomaly,
        }

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values for JSON: None instead of NaN, timestamps as text.

        Returns
        -------
        dict

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.explain(0).to_dict()["position"]
        0
        """
        thin = self.thinness
        return self._standing | {
            "n_ranked": self.n_ranked,
            "percentile": self.percentile,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
            "features": [
                {key: _plain_value(value) for key, value in feature.as_row().items()} for feature in self.behavior
            ],
            "context": [_context_row(feature) for feature in self.context],
            "reference": {
                "nearest_distance": thin.nearest,
                "farthest_distance": thin.farthest,
                "usual_nearest_distance": thin.usual_nearest,
                "usual_farthest_distance": thin.usual_farthest,
                "n_comparable": thin.n_comparable,
                "n_counting": thin.n_counting,
                "n_effective": thin.n_effective,
                "positions": self.reference_positions.tolist(),
                "distances": self.reference_distances.tolist(),
                "weights": self.leading.weights.tolist(),
            },
            "percentiles": {
                feature.name: [_plain_value(tau) for tau in feature.percentiles.tolist()]
                for feature in self.behavior
                if not feature.is_category
            },
        }

    def to_short_dict(self) -> dict[str, Any]:
        """The gist of the explanation as plain values for JSON: a few hundred bytes.

        Returns
        -------
        dict

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.explain(0).to_short_dict()["leading"]
        'Rain'
        """
        first = self.leading
        return self._standing | {
            "leading": first.name,
            **{name: _plain_value(value) for name, value in first.gist().items()},
            "sentence": str(self),
        }

    def to_json(self) -> str:
        """The result of `to_dict` as JSON.

        Returns
        -------
        str

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.explain(0).to_json()[:10]
        '{"row": 0,'
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)


class _Features(Sequence[BehaviorFeature]):
    """The first behavioral features of a row. Many sentences name only one: the others are made if they are needed."""

    def __init__(self, facts: Facts, place: int, n: int | None) -> None:
        self._facts, self._place, self._n = facts, place, n
        self._made = facts.behavior(place, 0, 1)

    @overload
    def __getitem__(self, index: int) -> BehaviorFeature: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[BehaviorFeature]: ...
    def __getitem__(self, index: int | slice) -> BehaviorFeature | Sequence[BehaviorFeature]:
        return self._made[0] if index == 0 else self._all[index]

    def first(self, n: int) -> Sequence[BehaviorFeature]:
        """No more than n of them."""
        return self if n == self._n else self._all[:n]

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[BehaviorFeature]:
        return iter(self._all)

    @cached_property
    def _all(self) -> tuple[BehaviorFeature, ...]:
        return self._made + self._facts.behavior(self._place, 1, self._n)


@dataclass(slots=True)
class _Told:
    """What the texts about a row are made of."""

    explanation: RowExplanation
    behavior: _Features
    context: tuple[ContextFeature, ...]
    thinness: Thinness

    @property
    def found(self) -> wording.Found:
        """What the sentence says of the row."""
        told = self.explanation
        behavior = self.behavior.first(told.n_features)
        return wording.Found(behavior, self.context, told.kind, told.p_value, told.is_anomaly)

    @property
    def group(self) -> str:
        """Which rows the row is compared with."""
        by_leaves, is_new = self.behavior[0].verdict is not None, self.explanation.position is None
        return wording.group(self.context, self.thinness, by_leaves=by_leaves, is_new=is_new)

    @property
    def sentence(self) -> str:
        """What stands out, and compared with which rows."""
        return wording.sentence(self.found, self.group)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to keep in mind."""
        found = [self.thinness.warning, *_joined([feature.warning for feature in self.context])]
        # A missing value may itself be judged as a feature.
        judged = {each.title for each in self.behavior if each.is_off and getattr(each, "is_flag", False)}
        missing = [each.title for each in self.behavior if each.direction == "missing" and each.title not in judged]
        if missing:
            found.append(f"{listed(missing, 'and')} {'is' if len(missing) == 1 else 'are'} missing and not scored")
        return tuple(warning for warning in found if warning is not None)


def _joined(warnings: Sequence[str | None]) -> list[str]:
    """Warnings about features, with those about categories that no comparable row has as one.

    >>> _joined([None, NO_ROW_HAS + "model DC-7", "age is beyond", NO_ROW_HAS + "maker DOUGLAS"])
    ['none of the rows it is compared with has model DC-7 or maker DOUGLAS', 'age is beyond']
    """
    told = [warning for warning in warnings if warning is not None]
    alone = [warning.removeprefix(NO_ROW_HAS) for warning in told if warning.startswith(NO_ROW_HAS)]
    others = [warning for warning in told if not warning.startswith(NO_ROW_HAS)]
    return [NO_ROW_HAS + listed(alone, "or"), *others] if alone else others


def _context_row(feature: ContextFeature) -> dict[str, Any]:
    def plain_value(value: Any) -> Any:
        return feature.format(value) if feature.format.kind is Kind.TIME and value is not None else _plain_value(value)

    return {
        "feature": feature.name,
        "value": plain_value(feature.own),
        "low": plain_value(feature.lowest),
        "high": plain_value(feature.highest),
        "categories": [plain_value(category) for category in feature.categories],
        "share": feature.share,
        "table_share": feature.table_share,
        "sets_apart": feature.sets_apart,
    }


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_value(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
