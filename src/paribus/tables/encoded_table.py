"""A table with its roles, as the caller gave it and as the arrays that methods compute with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paribus._common.arrays import SMALLEST_RANGE, Floats, Positions
from paribus.tables.encoding import ContextEncoding, encode_behavior
from paribus.tables.roles import Roles, assign_roles
from paribus.tables.row_store import ColumnSummary, Rows
from paribus.tables.table import Columns, Table


@dataclass(frozen=True)
class EncodedTable:
    """A table in memory with its roles, in its original and in its encoded form. It is a `RowStore`."""

    original: Table
    roles: Roles
    encoding: ContextEncoding
    all_context: Floats
    """[row][contextual feature]"""
    all_behavior: Floats
    """[row][behavioral feature]"""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.original.n_rows

    def context(self, rows: Rows) -> Floats:
        """Contextual features of some rows: [row][feature], categories as codes."""
        return self.all_context[rows]

    def behavior(self, rows: Rows) -> Floats:
        """Behavioral features of some rows: [row][feature]."""
        return self.all_behavior[rows]

    def without_behavior(self, rows: Positions) -> EncodedTable:
        """The same table, in which some rows have no behavior."""
        if len(rows) == 0:
            return self
        behavior = self.all_behavior.copy()
        behavior[rows] = np.nan
        return replace(self, all_behavior=behavior)

    def context_summary(self, feature: int) -> ColumnSummary:
        """A summary of one contextual feature."""
        codes = self.encoding.codes[feature]
        return ColumnSummary.of(self.all_context[:, feature], None if codes is None else len(codes))

    def behavior_summary(self, feature: int) -> ColumnSummary:
        """A summary of one behavioral feature."""
        return ColumnSummary.of(self.all_behavior[:, feature])


def encode_table(
    table: Any, contextual: Columns, behavioral: Columns | None, categorical: Columns | None
) -> EncodedTable:
    """Validates and encodes a table that is to be fitted. It is copied, so that the caller may change it afterwards."""
    table = Table(table)
    roles = assign_roles(table, contextual, behavioral, categorical)
    encoding = ContextEncoding.fit(table, roles.contextual, roles.categorical)
    context = encoding.encode(table, roles.contextual)
    behavior = encode_behavior(table, roles.behavioral)
    _warn_about_empty_context(table, context, roles.contextual)
    _check_behavior(behavior, [table.name(position) for position in roles.behavioral])
    return EncodedTable(table.copy(), roles, encoding, context, behavior)


def _warn_about_empty_context(table: Table, context: Floats, positions: list[int]) -> None:
    """Warns about contextual columns that have no values."""
    for column, position in enumerate(positions):
        if table.n_rows and np.isnan(context[:, column]).all():
            warnings.warn(
                f"contextual column {table.label(position)} has no values at all, so no row is compared by it",
                UserWarning,
                stacklevel=4,
            )


def _check_behavior(behavior: Floats, names: list[str]) -> None:
    """Raises an error if behavioral columns cannot be used, and warns about those that are constant."""
    present = ~np.isnan(behavior)
    n_usable = int(present.any(axis=1).sum())
    if n_usable < 2:
        raise ValueError(
            f"a row needs others to be compared with: the table has n_samples = {len(behavior)}, "
            f"and {n_usable} of them with a behavioral value"
        )
    for column, name in enumerate(names):
        values = behavior[present[:, column], column]
        if values.size == 0:
            raise ValueError(f"behavioral column '{name}' has no values at all: leave it out")
        if values.max() - values.min() <= SMALLEST_RANGE:
            warnings.warn(
                f"behavioral column '{name}' is {values[0]:g} in every row, so it scores 0", UserWarning, stacklevel=4
            )
