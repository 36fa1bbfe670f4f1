"""A detector that was fitted with some roles, and its results."""

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
from paribus.explain.known import KnownEntry, Marks, mark
from paribus.explore.columns import TableColumns
from paribus.explore.result import Result
from paribus.output.report.data import group_texts
from paribus.output.results import Results, time_column

# The number of rows whose sentences are made at a time: about a screen.
MAX_SENTENCES = 80


@dataclass
class Analysis(Result):
    """A fitted detector and its results, for the page."""

    number: int
    roles: dict[str, str]
    parameters: dict[str, Any]
    detector: ContextualDetector = field(repr=False)
    results: Results = field(repr=False)
    columns: TableColumns = field(repr=False)
    known: tuple[KnownEntry, ...] = ()
    """The answers that the detector was fitted with."""
    _has_groups: bool = field(default=False, repr=False)
    _said: dict[int, str] = field(default_factory=dict, repr=False)

    def fitted(self) -> Analysis:
        """The analysis itself."""
        return self

    @property
    def scores(self) -> Floats:
        """The scores, without what was learned from answers."""
        return self.results.rows.scores

    @property
    def p_values(self) -> Floats:
        """By row: the probability that an ordinary row scores as high."""
        return self.results.rows.p_values

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
        return [self.results.name(row) for row in range(self.n_rows)]

    def row_name(self, row: int) -> str:
        """The name of a row, without making the names of all."""
        return self.results.name(row)

    @property
    def shown_names(self) -> list[str]:
        """The columns that a verdict depends on: the context, and then the behavior."""
        return [*self.context_names, *self.results.view.behavior_columns]

    @property
    def context_names(self) -> list[str]:
        """The columns that are context."""
        return [column.name for column in self.results.view.context]

    @property
    def behavior_names(self) -> list[str]:
        """The behavioral features."""
        return list(self.results.view.behavior_names)

    @cached_property
    def leading(self) -> npt.NDArray[np.int64]:
        """By row: the position of the behavioral feature that contributes most."""
        return np.asarray(np.nan_to_num(self.results.rows.partial, nan=-1.0).argmax(axis=1))

    @property
    def kinds(self) -> npt.NDArray[np.object_] | None:
        """The kind of anomaly of each row, if any."""
        return self.results.rows.kinds

    @property
    def groups(self) -> list[dict[str, Any]] | None:
        """The groups of rows with the same cause; None until they have been searched for."""
        return [group_texts(group) for group in self.results.groups] if self._has_groups else None

    @property
    def group_of(self) -> npt.NDArray[np.int64]:
        """The number of the group of each row; 0 for none."""
        return self._group_of if self._has_groups else np.zeros(self.n_rows, dtype=np.int64)

    @cached_property
    def _group_of(self) -> npt.NDArray[np.int64]:
        return np.nan_to_num(self.results.group_of).astype(np.int64)

    @cached_property
    def time_order(self) -> tuple[str, Positions] | None:
        """The column with the time of each row, and the rows in that order; None if there is none."""
        place = time_column(self.columns.table, self.context_names)
        if place is None:
            return None
        moments = self.columns.table.numbers(place)
        order = np.argsort(moments, kind="stable")
        return self.columns.table.name(place), order[: int((~np.isnan(moments)).sum())]

    def prepare(self) -> None:
        """Computes what the first answer would have to wait for."""
        self.lesson(self.mark(()), ())
        _ = self.row_names

    def with_answers(self, entries: Sequence[KnownEntry]) -> Results:
        """The results with these answers, and without those that have been taken back since the fit."""
        return Results(self.results.view, self.results.rows, self.results.explain, entries)

    def find_groups(self) -> None:
        """Searches for groups, which takes seconds."""
        self._said |= {each.position: each.sentence for each in self.results.findings}
        _ = self.results.groups
        self._has_groups = True

    def sentences(self, rows: Positions) -> dict[int, str]:
        """The sentences of some rows, at most a screen of them."""
        missing = [row for row in rows.tolist() if row not in self._said and not np.isnan(self.scores[row])]
        if missing:
            chosen = np.array(missing[:MAX_SENTENCES], dtype=np.int64)
            explained = zip(chosen.tolist(), self.results.explain(chosen), strict=True)
            self._said |= {row: str(each) for row, each in explained}
        return {row: self._said[row] for row in rows.tolist() if row in self._said}

    def mark(self, entries: Sequence[KnownEntry]) -> Marks:
        """The status of each row: known or not."""
        is_about_rows = any(entry.row is not None for entry in entries)
        is_about_usual = any(entry.rule is not None and entry.rule.on_usual for entry in entries)
        findings = self.results.findings if is_about_usual else ()
        return mark(entries, self.columns.table, self.row_names if is_about_rows else (), findings)

    def lesson(self, marks: Marks, entries: Sequence[KnownEntry]) -> Teaching:
        """What answers teach."""
        return self.detector.lesson(marks, entries)

    def expected_false(self, threshold: float) -> float:
        """The expected number of ordinary rows with a score above a threshold."""
        return float(self.results.view.p_values(np.array([threshold]))[0]) * self.n_scored
