"""Single rows: their labels, and their conversion to tables."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np

from paribus.tables.table import Table

# Types of labels that only pandas has, by name: pandas may not be installed.
PANDAS_LABELS = ("Interval", "Period", "Timedelta", "Timestamp")


def unnamed(row: int, names: Container[object]) -> str:
    """A name for a row without one: its position, in a form that no other row has as its name.

    >>> unnamed(16, {"row 16"}), unnamed(16, {"(row 16)"})
    ('(row 16)', '((row 16))')
    """
    name = f"(row {row})"
    while name in names:
        name = f"({name})"
    return name


def is_label(row: Any) -> bool:
    """Whether a value can only be the label of a row in an index: text or a timestamp, not a number and not a row."""
    own_kind = isinstance(row, str | date | timedelta | np.datetime64 | np.timedelta64)
    return own_kind or (type(row).__name__ in PANDAS_LABELS and type(row).__module__.startswith("pandas"))


def as_one_row(row: Any, fitted: Table) -> Any:
    """A single row as a table: each value of a dict, of a pandas row or of a list becomes a column."""
    if type(row).__name__ == "Series" and hasattr(row, "to_dict"):
        row = row.to_dict()
    if isinstance(row, Mapping):
        if fitted.names is None and list(row) == list(range(fitted.n_columns)):
            # The row is from a table whose columns have no names.
            return [list(row.values())]
        return {name: value if isinstance(value, list | np.ndarray) else [value] for name, value in row.items()}
    if isinstance(row, Sequence | np.ndarray) and np.ndim(np.array(row, dtype=object)) == 1:
        return [row]
    return row
