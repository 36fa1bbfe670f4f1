"""A result as the page lists it: that of a detector, or the one that a report holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.detectors.teaching import Teaching
from paribus.explain.known import CONFIRMED, FALSE_ALARM, KnownEntry, Marks
from paribus.explore.columns import TableColumns

if TYPE_CHECKING:
    from paribus.explore.analysis import Analysis

N_BINS = 80


class Result(ABC):
    """Rows with scores and findings. Rows are numbered as in the result."""

    number: int
    """Later results have higher numbers."""
    roles: dict[str, str]
    parameters: dict[str, Any]
    columns: TableColumns

    @property
    @abstractmethod
    def scores(self) -> Floats:
        """The scores, without what was learned from answers."""

    @property
    @abstractmethod
    def p_values(self) -> Floats:
        """By row: the probability that an ordinary row scores as high."""

    @property
    @abstractmethod
    def threshold(self) -> float:
        """The score above which rows are flagged."""

    @property
    @abstractmethod
    def n_scored(self) -> int:
        """The number of rows of the whole table that have a score."""

    @property
    @abstractmethod
    def row_names(self) -> Sequence[str]:
        """The names of all rows, as `known` files have them."""

    @property
    @abstractmethod
    def context_names(self) -> list[str]:
        """The columns that are context."""

    @property
    @abstractmethod
    def behavior_names(self) -> list[str]:
        """The behavioral features."""

    @property
    @abstractmethod
    def leading(self) -> npt.NDArray[np.int64]:
        """By row: the position of the behavioral feature that contributes most."""

    @property
    @abstractmethod
    def kinds(self) -> npt.NDArray[np.object_] | None:
        """What is strange about each row; None if the method does not tell kinds apart."""

    @property
    @abstractmethod
    def group_of(self) -> npt.NDArray[np.int64]:
        """The number of the group of each row; 0 for none."""

    @property
    @abstractmethod
    def groups(self) -> list[dict[str, Any]] | None:
        """The groups of rows with the same cause; None until they have been searched for."""

    @abstractmethod
    def sentences(self, rows: Positions) -> dict[int, str]:
        """The sentences of some rows, at most a screen of them."""

    @abstractmethod
    def mark(self, entries: Sequence[KnownEntry]) -> Marks:
        """The status of each row: known or not."""

    @abstractmethod
    def lesson(self, marks: Marks, entries: Sequence[KnownEntry]) -> Teaching:
        """What answers teach."""

    @abstractmethod
    def expected_false(self, threshold: float) -> float:
        """The expected number of ordinary rows with a score above a threshold."""

    @abstractmethod
    def fitted(self) -> Analysis:
        """The detector and its results. Raises an error if there is no detector."""

    @property
    def n_rows(self) -> int:
        """The number of rows that can be listed."""
        return len(self.scores)

    @property
    def shown_names(self) -> list[str]:
        """The columns that a line of the list may show: the context, and then the behavior."""
        return [name for name in (*self.context_names, *self.behavior_names) if name in self.columns.columns]

    def row_name(self, row: int) -> str:
        """The name of a row, for people."""
        return self.row_names[row]

    def behavior_place(self, name: str) -> int:
        """The place of a behavioral feature. Raises an error if there is none."""
        if name not in self.behavior_names:
            raise ValueError(f"'{name}' is not a behavioral column")
        return self.behavior_names.index(name)

    @property
    def is_above(self) -> npt.NDArray[np.bool_]:
        """Whether each row is flagged, whatever is known about it."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.scores > self.threshold)

    @property
    def lowest_threshold(self) -> float:
        """The lowest threshold that all rows above it are here for."""
        return 0.0

    @cached_property
    def score_histogram(self) -> dict[str, Any]:
        """The distribution of the scores, behind the slider of the threshold."""
        known = self.scores[~np.isnan(self.scores)]
        low = self.lowest_threshold
        high = max(float(known.max()) if known.size else low, low + 1.0)
        counts, _ = np.histogram(known, N_BINS, (low, high))
        return {"counts": counts.tolist(), "low": low, "high": high}

    def to_dict(self) -> dict[str, Any]:
        """The result, for the page."""
        return {
            "number": self.number,
            "roles": self.roles,
            "parameters": self.parameters,
            "context": self.context_names,
            "behavior": self.behavior_names,
            "threshold": self.threshold,
            "n_rows": self.n_rows,
            "n_scored": self.n_scored,
            "n_above": int(self.is_above.sum()),
            "expected_false": self.expected_false(self.threshold),
            "scores": self.score_histogram,
            "has_kinds": self.kinds is not None,
            "groups": self.groups,
        }


@dataclass(frozen=True)
class Taught:
    """A result with the current answers."""

    result: Result
    entries: tuple[KnownEntry, ...]
    marks: Marks = field(repr=False)
    teaching: Teaching = field(repr=False)

    @classmethod
    def of(cls, result: Result, entries: tuple[KnownEntry, ...]) -> Taught:
        """Marks the rows, and learns from the answers."""
        marks = result.mark(entries)
        return cls(result, entries, marks, result.lesson(marks, entries))

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for the page."""
        return {
            "n_answers": len(self.entries),
            "n_real": sum(entry.status == CONFIRMED for entry in self.entries),
            "n_false": sum(entry.status == FALSE_ALARM for entry in self.entries),
            "weights": [
                {"behavior": behavior, "condition": condition, "weight": weight}
                for (behavior, condition), weight in self.teaching.weights.items()
            ],
            "kinds": [{"kind": kind, "weight": weight} for kind, weight in self.teaching.kind_weights.items()],
        }
