"""Conversion of columns to arrays without Python objects, and back."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.untrusted import DamagedError, Fields, is_finite
from paribus.tables.column import Kind, is_missing, object_kind, to_floats
from paribus.tables.time_parts import HOLIDAY, PARTS, TimeParts, find_zone

# For each type of category: how it is written to JSON, and read back.
_CODECS: dict[str, tuple[type, Any, Any]] = {
    "decimal": (Decimal, str, Decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "duration": (timedelta, lambda value: value // timedelta(microseconds=1), lambda n: timedelta(microseconds=n)),
}


def pack(name: str, values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """The arrays that store a column: numbers and timestamps as they are, anything else as text."""
    if values.dtype.kind in "biu":
        return {name: values}
    if values.dtype.kind == "f":
        return {name: values if values.dtype.itemsize <= 8 else values.astype(np.float64)}
    if values.dtype.kind in "mM":
        return {name: values.astype(f"{values.dtype.kind}8[us]")}
    kind = object_kind(values)
    known = [value for value in values if not is_missing(value)]
    if kind is Kind.NUMERIC:
        if len(known) == len(values) and all(
            isinstance(value, int | np.integer) and abs(int(value)) < 2**63 for value in known
        ):
            return {name: values.astype(np.int64)}
        return {name: to_floats(values, name)}
    if kind is Kind.TIME:
        counts = to_floats(values, name)
        unit = "m8[us]" if isinstance(known[0], timedelta | np.timedelta64) else "M8[us]"
        return {name: timestamps(counts, unit)}
    texts = [b"" if is_missing(value) else str(value).encode("utf-8", "surrogatepass") for value in values]
    return {
        f"{name}.text": np.frombuffer(b"".join(texts), dtype=np.uint8),
        f"{name}.ends": np.cumsum([len(text) for text in texts], dtype=np.int64),
        f"{name}.missing": np.array([is_missing(value) for value in values], dtype=np.uint8),
    }


def check_parts(name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Raises an error if an array of a column is missing."""
    if name not in arrays and not all(f"{name}.{part}" in arrays for part in ("text", "ends", "missing")):
        raise DamagedError(f"{name} is missing")


def unpack(name: str, arrays: Mapping[str, npt.NDArray[Any]], n_rows: int) -> npt.NDArray[Any]:
    """Restores a column: text as objects, None where a value is missing."""
    if name in arrays:
        column = arrays[name]
        if column.shape != (n_rows,):
            raise DamagedError(f"{name} is not as long as the table")
        return column
    blob, ends, missing = (_part(arrays, f"{name}.{part}") for part in ("text", "ends", "missing"))
    if blob.dtype != np.uint8 or ends.dtype != np.int64 or ends.shape != (n_rows,) or missing.shape != (n_rows,):
        raise DamagedError(f"{name} is not as long as the table")
    starts = np.concatenate([[0], ends[:-1]])
    if n_rows and ((starts > ends).any() or ends[-1] != len(blob)):
        raise DamagedError(f"the texts of {name} are inconsistent")
    data = blob.tobytes()
    column = np.empty(n_rows, dtype=object)
    column[:] = [
        None if gone else data[start:end].decode("utf-8", "surrogatepass")
        for start, end, gone in zip(starts.tolist(), ends.tolist(), missing.tolist(), strict=True)
    ]
    return column


def timestamps(microseconds: npt.NDArray[np.float64], unit: str) -> npt.NDArray[Any]:
    """Timestamps or durations from microseconds, NaT for NaN."""
    missing = np.isnan(microseconds)
    column = np.where(missing, 0.0, microseconds).astype(np.int64).view(unit)
    column[missing] = np.array("NaT", dtype=unit)
    return column


def pack_category(value: Hashable) -> Any:
    """A category as a JSON value."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float | str):
        return value
    for tag, (type_, write, _) in _CODECS.items():
        if isinstance(value, type_):
            return {tag: write(value)}
    raise TypeError(f"a category of type {type(value).__name__} cannot be saved: convert the column to text")


def unpack_category(stored: Any) -> Hashable:
    """Restores a category from its JSON value."""
    if isinstance(stored, bool | int | float | str):
        return stored
    if isinstance(stored, dict) and len(stored) == 1:
        (tag, value), *_ = stored.items()
        if tag in _CODECS:
            try:
                category: Hashable = _CODECS[tag][2](value)
                return category
            except (TypeError, ValueError, OverflowError, InvalidOperation):
                pass
    raise DamagedError("a category has an unknown type")


def pack_times(times: TimeParts) -> dict[str, Any]:
    """The time parts of columns as JSON values."""
    return {
        "parts": list(times.parts),
        "first": times.first,
        "last": times.last,
        "zone": times.zone,
        "country": times.country,
    }


def unpack_times(stored: Any) -> TimeParts:
    """Restores the time parts of columns from their JSON values."""
    if not isinstance(stored, dict):
        raise DamagedError("times is invalid")
    part = Fields(stored)
    parts = part.get("parts", lambda value: isinstance(value, list) and value == [p for p in PARTS if p in value])
    first, last = float(part.get("first", is_finite)), float(part.get("last", is_finite))
    zone = part.get("zone", lambda value: value is None or isinstance(value, str))
    country = part.get("country", lambda value: value is None or isinstance(value, str))
    if not parts or first > last or (HOLIDAY in parts) != (country is not None):
        raise DamagedError("times is invalid")
    if zone is not None:
        try:
            find_zone(zone)
        except ValueError as error:
            raise DamagedError(str(error)) from None
    return TimeParts(tuple(parts), first, last, zone, country)


def _part(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[Any]:
    if name not in arrays:
        raise DamagedError(f"{name} is missing")
    return arrays[name]
