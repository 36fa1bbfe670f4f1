"""What the rows of a table are called."""

from __future__ import annotations

from paribus.formatting import plain
from paribus.table import ColumnKey, Table
from paribus.values import is_missing

LONGEST_ROW_NAME = 40


class RowNames:
    """Names of rows: by a column of the table, by its index, or by position.

    >>> names = RowNames(Table({"who": ["Ada", None], "age": [36, 41]}), "who")
    >>> names(0), names(1), names.heading
    ('Ada', 'row 1', 'who')
    """

    def __init__(self, table: Table, column: ColumnKey | None = None) -> None:
        self._table = table
        self.column = None if column is None else table.find_column(column)
        self.heading = "row" if self.column is None else plain(table.name(self.column), LONGEST_ROW_NAME)

    def __call__(self, row: int) -> str:
        """The name of a row, on one line."""
        value = self._table.row_label(row) if self.column is None else self._table.cell(self.column, row)
        name = "" if is_missing(value) else plain(value, LONGEST_ROW_NAME)
        if isinstance(value, float) and value.is_integer():
            # A column of whole numbers that has gaps.
            name = str(int(value))
        return name if name and self.column is not None else f"row {name or row}"
