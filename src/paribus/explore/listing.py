"""The list of rows: filtered, sorted, and sent in pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.text import one_in
from paribus.explore.requests import choice, number, optional_number, text
from paribus.explore.result import Result, Taught

MAX_WINDOW = 200
STATUSES = ("open", "decided", "all")
CHANGES = ("", "appeared", "went")
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Filter:
    """Which rows are listed, and in which order."""

    threshold: float
    status: str = "open"
    kind: str = ""
    column: str = ""
    group: int = 0
    change: str = ""
    search: str = ""
    ranges: tuple[tuple[str, float | None, float | None, str | None], ...] = ()
    """Column, lowest, highest, and category; None where there is no condition."""
    sort: str = ""
    """Empty for the score with what was learned, "score" for that without, or a column."""
    descending: bool = True

    @classmethod
    def of(cls, fields: Mapping[str, Any], result: Result) -> Filter:
        """Reads a filter from a request."""
        ranges = []
        for each in fields.get("ranges") or []:
            if not isinstance(each, Mapping):
                raise ValueError("a range is an object with column, low, high or category")
            column = text(each, "column")
            result.columns.table.find_column(column)
            category = text(each, "category") if each.get("category") is not None else None
            ranges.append((column, optional_number(each, "low"), optional_number(each, "high"), category))
        threshold = optional_number(fields, "threshold")
        sort = text(fields, "sort", "")
        if sort not in ("", "score"):
            result.columns.table.find_column(sort)
        return cls(
            result.threshold if threshold is None else threshold,
            choice(fields, "status", STATUSES),
            text(fields, "kind", ""),
            text(fields, "column", ""),
            int(number(fields, "group", 0)),
            choice(fields, "change", CHANGES, ""),
            text(fields, "search", ""),
            tuple(ranges),
            sort,
            bool(fields.get("descending", True)),
        )


@dataclass(frozen=True)
class Listing:
    """The rows that pass a filter, in order."""

    taught: Taught = field(repr=False)
    filter: Filter
    rows: Positions = field(repr=False)
    n_flagged: int
    """Open rows above the threshold, regardless of the filter."""

    @classmethod
    def of(cls, taught: Taught, wanted: Filter, other: Taught | None) -> Listing:
        """Filters and sorts the rows; `other` is the result to compare with."""
        result, scores = taught.result, taught.teaching.scores
        # The detector decides what is flagged, since its false alarm rate is known; answers only change the order.
        with np.errstate(invalid="ignore"):
            above = result.scores > wanted.threshold
        is_open = taught.teaching.is_open
        if wanted.status == "open":
            keep = above & is_open
        elif wanted.status == "decided":
            keep = taught.marks.is_known
        else:
            keep = np.ones(len(scores), dtype=bool)
        if wanted.change and other is not None:
            keep = changed(result, other.result, wanted.change)
        keep = keep & _matches(result, wanted)
        return cls(taught, wanted, _ordered(result, scores, wanted, np.flatnonzero(keep)), int((above & is_open).sum()))

    def window(self, begin: int, n: int) -> dict[str, Any]:
        """Some of the rows, for the page."""
        result, teaching, marks = self.taught.result, self.taught.teaching, self.taught.marks
        chosen = self.rows[begin : begin + min(n, MAX_WINDOW)]
        sentences = result.sentences(chosen)
        shown, names = result.shown_names, result.behavior_names
        rows = []
        for row in chosen.tolist():
            score = result.scores[row]
            rows.append(
                {
                    "row": row,
                    "name": result.row_name(row)[:60],
                    "score": None if np.isnan(score) else round(float(score), 4),
                    "taught": None if np.isnan(score) else round(float(teaching.scores[row]), 4),
                    "rarity": "" if np.isnan(score) else one_in(float(result.p_values[row])),
                    "kind": "" if result.kinds is None else result.kinds[row],
                    "column": names[result.leading[row]],
                    "group": int(result.group_of[row]),
                    "status": marks.status[row] or "",
                    "note": marks.note[row] or "",
                    "sentence": sentences.get(row, ""),
                    "cells": [result.columns.text(name, row, 40) for name in shown],
                }
            )
        return {
            "columns": shown,
            "rows": rows,
            "begin": begin,
            "n": len(self.rows),
            "n_flagged": self.n_flagged,
            "expected_false": result.expected_false(self.filter.threshold),
        }


def changed(result: Result, other: Result, change: str) -> Flags:
    """Rows that are flagged in one result and not in another one of the same table."""
    now, before = result.is_above, other.is_above
    if len(now) != len(before):
        raise ValueError("these two results are about different tables")
    return np.asarray(now & ~before if change == "appeared" else before & ~now)


def _matches(result: Result, wanted: Filter) -> Flags:
    keep = np.ones(result.n_rows, dtype=bool)
    if wanted.kind and result.kinds is not None:
        keep &= result.kinds == wanted.kind
    if wanted.column:
        keep &= result.leading == result.behavior_place(wanted.column)
    if wanted.group:
        keep &= result.group_of == wanted.group
    for column, low, high, category in wanted.ranges:
        keep &= _in_range(result, column, low, high, category)
    if wanted.search:
        keep &= _found_by(result, wanted.search.casefold(), keep)
    return keep


def _in_range(result: Result, column: str, low: float | None, high: float | None, category: str | None) -> Flags:
    if category is not None:
        return np.array([str(value) == category for value in result.columns.columns[column].tolist()], dtype=bool)
    numbers = result.columns.numbers(column)
    if numbers is None:
        raise ValueError(f"column '{column}' holds no numbers: choose a category of it")
    with np.errstate(invalid="ignore"):
        keep = ~np.isnan(numbers)
        keep &= True if low is None else numbers >= low
        keep &= True if high is None else numbers <= high
    return np.asarray(keep)


def _found_by(result: Result, words: str, keep: Flags) -> Flags:
    """Whether the name of a row, or one of its texts, contains some words."""
    found = np.zeros(len(keep), dtype=bool)
    texts = [values for values in result.columns.columns.values() if values.dtype == object]
    for row in np.flatnonzero(keep).tolist():
        found[row] = words in result.row_names[row].casefold() or any(
            words in str(values[row]).casefold() for values in texts
        )
    return found


def _ordered(result: Result, scores: Floats, wanted: Filter, rows: Positions) -> Positions:
    if wanted.sort in ("", "score"):
        values = scores if wanted.sort == "" else result.scores
        values = values[rows]
    else:
        numbers = result.columns.numbers(wanted.sort)
        if numbers is None:
            cells = [str(value) for value in result.columns.columns[wanted.sort][rows].tolist()]
            _, codes = np.unique(np.array(cells), return_inverse=True)
            values = codes.astype(np.float64)
        else:
            values = numbers[rows]
    # Missing values come last, whatever the order.
    values = np.where(np.isnan(values), -np.inf if wanted.descending else np.inf, values)
    return rows[np.argsort(-values if wanted.descending else values, kind="stable")]
