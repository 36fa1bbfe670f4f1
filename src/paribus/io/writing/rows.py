"""Conversion of columns to rows of Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy.typing as npt

Append: TypeAlias = Callable[[dict[str, npt.NDArray[Any]]], None]
"""Writes more rows to a file: columns by name, the same ones each time."""

WHOLE_NUMBERS = frozenset({"rank"})
"""Columns of floats that hold whole numbers or missing values."""


def plain_rows(columns: dict[str, npt.NDArray[Any]]) -> Iterator[tuple[Any, ...]]:
    """Rows of Python values: None for NaN, and ranks as whole numbers."""
    lists = []
    for name, column in columns.items():
        values = column.tolist()
        if column.dtype.kind == "f":
            is_whole = name in WHOLE_NUMBERS
            values = [None if value != value else int(value) if is_whole else value for value in values]
        lists.append(values)
    return zip(*lists, strict=True)
