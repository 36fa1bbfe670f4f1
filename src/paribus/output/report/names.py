"""The names of the rows of a table."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy.typing as npt

from paribus._common.text import plain
from paribus.tables.column import is_missing
from paribus.tables.rows import unnamed
from paribus.tables.table import ColumnKey, Table

# Characters.
MAX_ROW_NAME_LENGTH = 40


class RowNames:
    """Names rows by a column of the table, by its index, or by position.

    >>> names = RowNames(Table({"who": ["Ada", None], "age": [36, 41]}), "who")
    >>> names(0), names(1), names.heading
    ('Ada', '(row 1)', 'who')
    """

    def __init__(self, table: Table, column: ColumnKey | None = None, labels: npt.NDArray[Any] | None = None) -> None:
        self._table = table
        self._labels = labels
        self.column = None if column is None else table.find_column(column)
        self.heading = "row" if self.column is None else plain(table.name(self.column), MAX_ROW_NAME_LENGTH)

    def __call__(self, row: int) -> str:
        """The name of a row, on one line."""
        value = self._label(row) if self.column is None else self._table.cell(self.column, row)
        name = "" if is_missing(value) else plain(value, MAX_ROW_NAME_LENGTH)
        if isinstance(value, float) and value.is_integer():
            # An integer column with missing values is read as float.
            name = str(int(value))
        if self.column is None:
            return f"row {name or row}"
        return name or unnamed(row, self._all)

    def _label(self, row: int) -> Any:
        return self._table.row_label(row) if self._labels is None else self._labels[row]

    @cached_property
    def _all(self) -> set[object]:
        assert self.column is not None
        return {value for value in self._table.cells(self.column) if isinstance(value, str)}
