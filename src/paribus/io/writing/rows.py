"""Conversion of columns to rows of Python values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus.tables.column import is_missing

Append: TypeAlias = Callable[[dict[str, npt.NDArray[Any]]], None]
"""Writes more rows to a file: columns by name, the same ones each time."""

WHOLE_NUMBERS = frozenset({"rank", "group"})
"""Results that are floats and hold whole numbers or missing values."""
_INTEGER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")


def is_whole(name: str, types: Mapping[str, str]) -> bool:
    """Whether a column holds whole numbers: by its type in the source, or as a result.

    >>> is_whole("rank", {}), is_whole("n", {"n": "UINTEGER"}), is_whole("x", {"x": "DOUBLE"})
    (True, True, False)
    """
    return name in WHOLE_NUMBERS if name not in types else _INTEGER.fullmatch(types[name]) is not None


def plain_rows(columns: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """Rows of Python values: None for missing ones, whole numbers and dates as such."""
    return zip(*(_plain_column(name, values, types) for name, values in columns.items()), strict=True)


def _plain_column(name: str, column: npt.NDArray[Any], types: Mapping[str, str]) -> list[Any]:
    if column.dtype.kind in "mM":
        values = column.astype(f"{column.dtype.kind}8[us]").tolist()
        is_date = types.get(name) == "DATE"
        return [value.date() if is_date and isinstance(value, datetime) else value for value in values]
    values = column.tolist()
    if column.dtype.kind == "f":
        whole = is_whole(name, types)
        return [None if value != value else int(value) if whole else value for value in values]
    if column.dtype.kind == "O":
        return [None if is_missing(value) else _plain(value) for value in values]
    return list(values)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str | date | timedelta) else str(value)


def as_text(value: Any) -> Any:
    """A value of a row as text formats write it: a time as ISO 8601, a duration in words; others as they are."""
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date | timedelta):
        return str(value)
    return value
