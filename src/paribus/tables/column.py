"""Kinds of values, missing values, and the conversion of columns to floats."""

from __future__ import annotations

import numbers
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats


class Kind(Enum):
    """The kind of values that a column holds."""

    NUMERIC = "numbers"
    TIME = "timestamps"
    CATEGORICAL = "categories"
    UNUSABLE = "unsupported"

    @property
    def is_number(self) -> bool:
        """Whether values of this kind have an order and a distance."""
        return self in (Kind.NUMERIC, Kind.TIME)


def array_kind(values: npt.NDArray[Any]) -> Kind:
    """The kind of an array: by its data type, or by its values if they are Python objects."""
    if values.dtype.kind in "mM":
        return Kind.TIME
    if values.dtype.kind in "fiu":
        return Kind.NUMERIC
    if values.dtype.kind in "bUS":
        return Kind.CATEGORICAL
    return object_kind(values)


def object_kind(values: npt.NDArray[Any]) -> Kind:
    """The common kind of Python objects; numbers if all are missing."""
    types = set(map(type, values))
    if types <= {str, bool, type(None)}:
        # Without testing each value, which is slow.
        return Kind.NUMERIC if types <= {type(None)} else Kind.CATEGORICAL
    kinds = {value_kind(value) for value in values if not is_missing(value)}
    return Kind.UNUSABLE if len(kinds) > 1 else next(iter(kinds), Kind.NUMERIC)


def value_kind(value: Any) -> Kind:
    """The kind of one value."""
    if isinstance(value, bool | np.bool_ | str):
        return Kind.CATEGORICAL
    # Decimal is not part of Python's numeric tower.
    if isinstance(value, numbers.Real | Decimal):
        return Kind.NUMERIC
    if isinstance(value, date | timedelta | np.datetime64 | np.timedelta64):
        return Kind.TIME
    return Kind.UNUSABLE


def what_is(value: Any) -> str:
    """The word for values like this one in messages.

    >>> what_is(1.5), what_is(True), what_is(date(2026, 1, 31))
    ('numbers', 'booleans', 'timestamps')
    """
    if isinstance(value, bool | np.bool_):
        return "booleans"
    if isinstance(value, timedelta | np.timedelta64):
        return "durations"
    return "text" if isinstance(value, str) else value_kind(value).value


def is_missing(value: Any) -> bool:
    """Whether a value is one of the ways in which libraries represent a missing value."""
    if type(value) is float:
        return value != value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(value != value)
    return isinstance(value, Decimal) and value.is_nan()


def to_floats(values: npt.NDArray[Any], label: str) -> Floats:
    """An array as floats, NaN where a value is missing. Timestamps and durations are microseconds."""
    if values.dtype.kind in "mM":
        counts = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64).astype(np.float64)
        return np.where(np.isnat(values), np.nan, counts)
    if values.dtype.kind != "O":
        return np.asarray(values, dtype=np.float64)
    floats = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if is_missing(value):
            continue
        try:
            floats[row] = _microseconds(value) if value_kind(value) is Kind.TIME else float(value)
        except (ArithmeticError, TypeError, ValueError):
            raise ValueError(
                f"column {label} has {str(value)[:40]!r} in row {row}, which is not a usable number"
            ) from None
    return floats


def _microseconds(value: Any) -> float:
    if isinstance(value, timedelta | np.timedelta64):
        return float(np.timedelta64(value, "us").astype(np.int64))
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return float(np.datetime64(value, "us").astype(np.int64))


def series_to_floats(series: nw.Series[Any]) -> Floats:
    """A dataframe's column as floats, NaN where a value is missing. Timestamps and durations are microseconds."""
    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if dtype == nw.Date:
        series = series.cast(nw.Datetime("us"))
    if dtype == nw.Datetime or dtype == nw.Date:
        series = series.dt.timestamp("us")
    elif dtype == nw.Duration:
        series = series.dt.total_microseconds()
    if missing.any():
        values = np.full(len(series), np.nan)
        values[~missing] = series.filter(~series.is_null()).cast(nw.Float64).to_numpy()
        return values
    return np.ascontiguousarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
