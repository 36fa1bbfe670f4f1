"""One result: a detector that was fitted with some roles, and the known rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.detectors.base import ContextualDetector
from paribus.detectors.teaching import Teaching
from paribus.explain.finding import Finding
from paribus.explain.group import AnomalyGroup
from paribus.explain.known import CONFIRMED, FALSE_ALARM, KnownEntry, Marks, mark
from paribus.explore.columns import TableColumns
from paribus.output.results import Results, time_column

N_BINS = 80
# The number of rows whose sentences are made at a time: about a screen.
MAX_SENTENCES = 80


@dataclass
class Analysis:
    """A fitted detector and its results, for the page."""

    number: int
    """Later results have higher numbers."""
    roles: dict[str, str]
    parameters: dict[str, Any]
    detector: ContextualDetector = field(repr=False)
    results: Results = field(repr=False)
    columns: TableColumns = field(repr=False)
    groups: list[AnomalyGroup] | None = field(default=None, repr=False)
    """The groups; None until they have been searched for."""
    _found: dict[int, Finding] = field(default_factory=dict, repr=False)

    @property
    def scores(self) -> Floats:
        """The scores, without what was learned from answers."""
        return self.results.rows.scores

    @property
    def threshold(self) -> float:
        """The threshold of the detector."""
        return self.detector.threshold_

    @cached_property
    def n_scored(self) -> int:
        """The number of rows that have a score."""
        return int((~np.isnan(self.scores)).sum())

    @cached_property
    def row_names(self) -> list[str]:
        """The names of all rows, as `known` files have them."""
        return [self.results.name(row) for row in range(self.results.n_rows)]

    @cached_property
    def leading(self) -> npt.NDArray[np.int64]:
        """By row: the position of the behavioral feature that contributes most."""
        return np.asarray(np.nan_to_num(self.results.rows.partial, nan=-1.0).argmax(axis=1))

    @cached_property
    def kinds(self) -> npt.NDArray[np.object_] | None:
        """The kind of anomaly of each row, if any."""
        return self.results.rows.kinds

    @cached_property
    def group_of(self) -> npt.NDArray[np.int64]:
        """The number of the group of each row; 0 for none."""
        numbers = np.zeros(self.results.n_rows, dtype=np.int64)
        for group in self.groups or []:
            numbers[group.positions] = group.number
        return numbers

    @cached_property
    def time_order(self) -> tuple[str, Positions] | None:
        """The column with the time of each row, and the rows in that order; None if there is none."""
        context = [column.name for column in self.results.view.context]
        place = time_column(self.columns.table, context)
        if place is None:
            return None
        moments = self.columns.table.numbers(place)
        order = np.argsort(moments, kind="stable")
        return self.columns.table.name(place), order[: int((~np.isnan(moments)).sum())]

    def find_groups(self) -> None:
        """Searches for groups, which takes seconds."""
        groups = self.results.groups
        self._found |= {each.position: each for each in self.results.findings}
        self.__dict__.pop("group_of", None)
        self.groups = groups

    def findings(self, rows: Positions) -> dict[int, Finding]:
        """The sentences of some rows, at most a screen of them."""
        missing = [row for row in rows.tolist() if row not in self._found and not np.isnan(self.scores[row])]
        if missing:
            chosen = np.array(missing[:MAX_SENTENCES], dtype=np.int64)
            explained = zip(chosen.tolist(), self.results.explain(chosen), strict=True)
            self._found |= {row: Finding.of(each, row) for row, each in explained}
        return {row: self._found[row] for row in rows.tolist() if row in self._found}

    def mark(self, entries: Sequence[KnownEntry]) -> Marks:
        """The status of each row: known or not."""
        is_about_rows = any(entry.row is not None for entry in entries)
        is_about_usual = any(entry.rule is not None and entry.rule.on_usual for entry in entries)
        findings = self.results.findings if is_about_usual else ()
        return mark(entries, self.columns.table, self.row_names if is_about_rows else (), findings)

    def expected_false(self, threshold: float) -> float:
        """The expected number of ordinary rows with a score above a threshold."""
        return float(self.results.view.p_values(np.array([threshold]))[0]) * self.n_scored

    @cached_property
    def score_histogram(self) -> dict[str, Any]:
        """The distribution of the scores, behind the slider of the threshold."""
        known = self.scores[~np.isnan(self.scores)]
        high = float(known.max()) if known.size else 1.0
        counts, _ = np.histogram(known, N_BINS, (0.0, max(high, 1.0)))
        return {"counts": counts.tolist(), "high": max(high, 1.0)}

    def to_dict(self) -> dict[str, Any]:
        """A result, for the page."""
        view = self.results.view
        return {
            "number": self.number,
            "roles": self.roles,
            "parameters": self.parameters,
            "method": type(self.detector).__name__,
            "context": [column.name for column in view.context],
            "behavior": view.behavior_names,
            "threshold": self.threshold,
            "n_rows": self.results.n_rows,
            "n_scored": self.n_scored,
            "n_above": int(self.results.is_above.sum()),
            "expected_false": self.expected_false(self.threshold),
            "seconds": self.detector.fit_seconds_,
            "scores": self.score_histogram,
            "has_kinds": self.kinds is not None,
            "time": None if self.time_order is None else self.time_order[0],
            "groups": None if self.groups is None else [group_dict(group) for group in self.groups],
        }


def group_dict(group: AnomalyGroup) -> dict[str, Any]:
    """A group, for the page."""
    return {
        "number": group.number,
        "size": group.size,
        "rule": group.rule,
        "column": group.column,
        "fit": group.fit_text,
        "chance": group.chance_text,
        "when": group.when_text,
        "also": list(group.also),
        "known_rule": group.known_rule,
    }


@dataclass(frozen=True)
class Taught:
    """A result with the current answers."""

    analysis: Analysis
    entries: tuple[KnownEntry, ...]
    marks: Marks = field(repr=False)
    teaching: Teaching = field(repr=False)

    @classmethod
    def of(cls, analysis: Analysis, entries: tuple[KnownEntry, ...]) -> Taught:
        """Marks the rows, and learns from the answers."""
        marks = analysis.mark(entries)
        return cls(analysis, entries, marks, analysis.detector.lesson(marks, entries))

    def to_dict(self) -> dict[str, Any]:
        """What was learned, for the page."""
        answers = self.teaching.lesson.answers
        return {
            "n_answers": len(self.entries),
            "n_real": sum(entry.status == CONFIRMED for entry in self.entries),
            "n_false": sum(entry.status == FALSE_ALARM for entry in self.entries),
            "n_rows": len(answers.rows),
            "weights": [
                {"behavior": behavior, "condition": condition, "weight": weight}
                for (behavior, condition), weight in self.teaching.weights.items()
            ],
            "kinds": [{"kind": kind, "weight": weight} for kind, weight in self.teaching.kind_weights.items()],
        }
