"""The rows that a report lists. Its detector and all other rows are not in it, so there is no what if."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.detectors.teaching import Teaching, find_answers
from paribus.explain.finding import Finding, FoundValue
from paribus.explain.known import KnownEntry, Marks, mark
from paribus.explore.columns import BEHAVIOR, CONTEXT, NONE, TableColumns
from paribus.explore.result import Result, Taught
from paribus.io.reading.columns import typed
from paribus.io.reading.raw import RawTable, Wanted
from paribus.io.reading.text import TextOptions
from paribus.methods.interface import Judged
from paribus.methods.teaching import EvidenceShares, Lesson
from paribus.output.report.reading import ReportedRow, ReportedTable, read_report

# As the report writes a missing value.
MISSING = frozenset(["missing"])


class Reported(Result):
    """What a report holds, for the page.

    Parameters
    ----------
    number : int
        The number of the result.
    path : Path
        The report.
    """

    def __init__(self, number: int, path: Path) -> None:
        held = read_report(path)
        if not held.rows:
            raise ValueError(f"{path.name} lists no rows: open the table")
        self.held: ReportedTable = held
        self.number, self.parameters = number, {}
        self.columns = TableColumns(_columns(path.name, held))
        self.roles = dict.fromkeys(self.columns.names, NONE)
        for role, names in ((CONTEXT, held.context), (BEHAVIOR, held.behavior)):
            self.roles |= {name: role for name in names if name in self.roles}
        self._path = path

    def fitted(self) -> NoReturn:
        """Raises an error: a report has no detector."""
        raise ValueError(
            f"{self._path.name} is a report, which holds no detector: open the table or the model for that"
        )

    def row(self, place: int) -> ReportedRow:
        """What the report holds of a row."""
        return self.held.rows[place]

    @cached_property
    def scores(self) -> Floats:
        """The scores, without what was taught."""
        return np.array([row.score for row in self.held.rows])

    @cached_property
    def p_values(self) -> Floats:
        """By row: the probability that an ordinary row scores as high."""
        return np.array([row.p_value for row in self.held.rows])

    @property
    def threshold(self) -> float:
        """The threshold of the detector that the report is about."""
        return self.held.threshold

    @property
    def lowest_threshold(self) -> float:
        """The threshold of the report: all rows above it are listed, and hardly any others."""
        return self.threshold

    @property
    def n_scored(self) -> int:
        """The number of rows of the whole table that have a score."""
        return self.held.n_scored

    @cached_property
    def row_names(self) -> list[str]:
        """The names of all rows, as `known` files have them."""
        return [row.known_name for row in self.held.rows]

    def row_name(self, row: int) -> str:
        """The name of a row, as the report shows it."""
        return self.held.rows[row].name

    @property
    def context_names(self) -> list[str]:
        """The columns that are context, of those that the report holds."""
        return [name for name in self.held.context if name in self.columns.columns]

    @property
    def behavior_names(self) -> list[str]:
        """The behavioral features."""
        return list(self.held.behavior)

    @cached_property
    def leading(self) -> npt.NDArray[np.int64]:
        """By row: the place of the behavioral feature that contributes most."""
        return np.array([row.leading for row in self.held.rows], dtype=np.int64)

    @cached_property
    def kinds(self) -> npt.NDArray[np.object_] | None:
        """What is strange about each row; None if the method does not tell kinds apart."""
        kinds = np.array([row.kind for row in self.held.rows], dtype=object)
        return None if all(kind is None for kind in kinds.tolist()) else kinds

    @cached_property
    def group_of(self) -> npt.NDArray[np.int64]:
        """The number of the group of each row; 0 for none."""
        return np.array([row.group for row in self.held.rows], dtype=np.int64)

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The groups of rows with the same cause."""
        return list(self.held.groups)

    def sentences(self, rows: Positions) -> dict[int, str]:
        """What the report says about some rows."""
        return {row: self.held.rows[row].sentence for row in rows.tolist()}

    def mark(self, entries: Sequence[KnownEntry]) -> Marks:
        """What is known about each row."""
        return mark(entries, self.columns.table, self.row_names, self._findings)

    @cached_property
    def _findings(self) -> list[Finding]:
        return [
            Finding(place, row.score, row.p_value, row.kind, row.sentence, _found(row, self.held.behavior))
            for place, row in enumerate(self.held.rows)
        ]

    @cached_property
    def _evidence(self) -> EvidenceShares:
        rows = [[np.nan if each is None else each.partial for each in row.values] for row in self.held.rows]
        return EvidenceShares.of(Judged(np.array(rows, dtype=np.float64), self.kinds), self.held.behavior)

    def lesson(self, marks: Marks, entries: Sequence[KnownEntry]) -> Teaching:
        """What answers teach, by column and kind: a report does not tell conditions apart."""
        answers = find_answers(marks, entries, self.scores, self.threshold)
        return Teaching(Lesson.learn(self.scores, self._evidence, answers), ~marks.is_known)

    def expected_false(self, threshold: float) -> float:
        """How many ordinary rows are expected to score above a threshold by chance, as between listed rows."""
        above = np.flatnonzero(self.is_above)[::-1]
        expected = np.append(self.held.expected, self.p_values[above] * self.n_scored)
        logs = np.log(np.maximum(expected, 1e-300))
        return float(np.exp(np.interp(threshold, np.append(self.threshold, self.scores[above]), logs)))


def _columns(source: str, held: ReportedTable) -> dict[str, npt.NDArray[Any]]:
    """The columns of the listed rows, typed as those of a file are."""
    texts: dict[str, Any] = {name: [row.cells[p] for row in held.rows] for p, name in enumerate(held.columns)}
    raw = RawTable(source, list(texts), texts, Wanted(), None)
    return {name: typed(raw, name, TextOptions(missing=MISSING), lambda _: None) for name in raw.names}


def _found(row: ReportedRow, behavior: Sequence[str]) -> tuple[FoundValue, ...]:
    nothing = float("nan")
    return tuple(
        FoundValue(
            name=name,
            value=nothing,
            text=each.text,
            lower=nothing,
            median=nothing,
            upper=nothing,
            range_text=each.usual,
            partial_score=nothing if each.partial is None else each.partial,
            direction=each.direction,
            p_value=None,
            is_off=each.is_off,
        )
        for name, each in zip(behavior, row.values, strict=True)
        if each is not None
    )


def one_reported_row(taught: Taught, result: Reported, place: int) -> dict[str, Any]:
    """Everything that the page shows about a row of a report."""
    row = result.row(place)
    values = [(name, each) for name, each in zip(result.held.behavior, row.values, strict=True) if each is not None]
    values.sort(key=lambda pair: -(pair[1].partial or 0.0))
    return {
        "row": place,
        "name": row.name,
        "score": row.score,
        "taught": float(taught.teaching.scores[place]),
        "rank": row.rank,
        "rarity": row.rarity,
        "kind": row.kind or "",
        "group": row.group,
        "status": taught.marks.status[place] or "",
        "note": taught.marks.note[place] or "",
        "sentence": row.sentence,
        "warnings": [],
        "rule": "",
        "behavior": [
            {
                "name": name,
                "value": each.text,
                "usual": each.usual,
                "direction": each.direction,
                "rarity": "",
                "partial": each.partial,
                "share": min(1.0, max(0.0, (each.partial or 0.0) / result.held.full_partial_score)),
                "is_off": each.is_off,
                "picture": "",
            }
            for name, each in values
        ],
        "context": [],
        "comparable": None,
        "around": None,
        "cells": [
            {"name": name, "value": cell, "role": result.roles[name]}
            for name, cell in zip(result.held.columns, row.cells, strict=True)
        ],
        "inputs": [],
    }
