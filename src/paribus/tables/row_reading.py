"""Reads what rows are drawn by: hashes of their values, and summaries of columns that can be merged."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus.tables.roles import assign_roles
from paribus.tables.row_hash import Hashes, hash_names, hash_rows
from paribus.tables.table import ColumnKey, Columns, Contexts, Table

MAX_TALLIED = 10_000
"""The maximum number of categories of a column that are counted."""


@dataclass(frozen=True)
class ColumnTally:
    """Exact facts about all values of a column, over any number of rows.

    Quantiles are not among them: these come from the sample.

    Examples
    --------
    >>> whole = ColumnTally.of(np.array([2.0, np.nan])).merged(ColumnTally.of(np.array([7.0])))
    >>> whole.n_rows, whole.n_missing, whole.lowest, whole.highest
    (3, 1, 2.0, 7.0)
    """

    n_rows: int
    n_missing: int
    lowest: float = np.inf
    """Of numbers; timestamps are microseconds."""
    highest: float = -np.inf
    counts: dict[Hashable, int] | None = field(default=None, repr=False)
    """How often each category occurs; None for numbers, and for more than 10,000 categories."""
    is_category: bool = False

    @classmethod
    def of(cls, values: Floats, names: Sequence[Hashable] | None = None) -> ColumnTally:
        """From numbers, or from codes if their categories are given."""
        known = values[~np.isnan(values)]
        n_missing = len(values) - len(known)
        if names is None:
            lowest, highest = (float(known.min()), float(known.max())) if len(known) else (np.inf, -np.inf)
            return cls(len(values), n_missing, lowest, highest)
        counts = None
        if len(names) <= MAX_TALLIED:
            counts = dict(zip(names, np.bincount(known.astype(np.int64), minlength=len(names)).tolist(), strict=True))
        return cls(len(values), n_missing, counts=counts, is_category=True)

    def merged(self, other: ColumnTally) -> ColumnTally:
        """The same for the values of both."""
        counts: dict[Hashable, int] | None = None
        # A part of a column without any value looks like numbers.
        parts = [each for each in (self, other) if each.is_category]
        if parts and all(each.counts is not None for each in parts):
            sums: dict[Hashable, int] = {}
            for each in parts:
                for name, count in (each.counts or {}).items():
                    sums[name] = sums.get(name, 0) + count
            counts = sums if len(sums) <= MAX_TALLIED else None
        return ColumnTally(
            self.n_rows + other.n_rows,
            self.n_missing + other.n_missing,
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            counts,
            bool(parts),
        )


Tallies = dict[str, ColumnTally]
"""By column."""


def merge_tallies(parts: Iterable[Tallies]) -> Tallies:
    """The tallies of a table, from those of its parts.

    >>> merge_tallies([{"a": ColumnTally(3, 1)}, {"a": ColumnTally(2, 0)}])["a"].n_rows
    5
    """
    merged: Tallies = {}
    for part in parts:
        for name, tally in part.items():
            merged[name] = tally if name not in merged else merged[name].merged(tally)
    return merged


@dataclass(frozen=True)
class RowReader:
    """Reads the columns of tables that rows are drawn by; all tables have the same columns."""

    positions: tuple[int, ...]
    named: frozenset[int]
    """Columns that hold categories, whatever their type."""

    @classmethod
    def of(
        cls,
        first: Table,
        contextual: Contexts,
        behavioral: Columns | None = None,
        categorical: Columns | None = None,
        key: ColumnKey | None = None,
    ) -> RowReader:
        """A reader of the contextual and behavioral columns and the key, from some rows of the table."""
        roles = assign_roles(first, contextual, behavioral, categorical, judges_categories=True)
        # Without names, behavior is what is numeric in the whole table, which is not known yet.
        others = [position for position in range(first.n_columns) if position not in roles.contextual]
        positions = [*roles.contextual, *(others if behavioral is None else roles.behavioral)]
        named = {first.find_column(each) for each in _as_list(categorical)}
        if key is not None:
            place = first.find_column(key)
            positions, named = [*positions, place], {*named, place}
        return cls(tuple(positions), frozenset(named))

    def read(self, table: Table) -> tuple[Hashes, Tallies]:
        """A hash of each row, and the tallies of the columns."""
        columns: list[Floats] = []
        names: list[list[Any] | None] = []
        for position in self.positions:
            if position not in self.named and table.kind(position).is_number:
                columns.append(table.numbers(position))
                names.append(None)
                continue
            codes: dict[Any, int] = {}
            found = [
                np.nan if each is None else codes.setdefault(each, len(codes)) for each in table.categories(position)
            ]
            columns.append(np.array(found, dtype=np.float64))
            names.append(list(codes))
        tallies = {
            table.name(position): ColumnTally.of(column, each)
            for position, column, each in zip(self.positions, columns, names, strict=True)
        }
        hashed = [None if each is None else hash_names(each) for each in names]
        return hash_rows(columns, hashed), tallies

    def hashes(self, table: Table) -> Hashes:
        """A hash of each row."""
        return self.read(table)[0]


def _as_list(columns: Columns | None) -> list[ColumnKey]:
    if columns is None:
        return []
    return [columns] if isinstance(columns, str | int | np.integer) else list(columns)
