"""Columns as a relation of DuckDB, in the types of their source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus.io.writing.rows import is_whole
from paribus.tables.column import is_missing

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

# Types of a source that values of a column may be converted back to.
_SIMPLE = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|BOOLEAN|DATE|DECIMAL\(\d+,\d+\)|TIMESTAMP(_S|_MS|_NS)?|VARCHAR"
)


def as_relation(
    connection: DuckDBPyConnection, columns: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]
) -> DuckDBPyRelation:
    """Columns as a relation, in the types of their source where possible. NaN and None are missing values."""
    import duckdb

    numbered = {f"c{place}": _registrable(values) for place, values in enumerate(columns.values())}
    chosen = []
    for place, name in enumerate(columns):
        column = duckdb.ColumnExpression(f"c{place}")
        wanted = types.get(name, "BIGINT" if is_whole(name, {}) else "")
        if columns[name].dtype.kind == "O" and not wanted:
            # Columns without any value would have no type.
            wanted = "BOOLEAN" if is_boolean(columns[name]) else ""
        if wanted and _SIMPLE.fullmatch(wanted) and not _is_text(columns[name]):
            column = column.cast(wanted)
        elif columns[name].dtype.kind == "O":
            column = column.cast("VARCHAR")
        chosen.append(column.alias(name))
    connection.register("rows", numbered)
    return connection.table("rows").select(*chosen)


def _registrable(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column in a form that DuckDB converts correctly."""
    if values.dtype.kind != "O" or _types(values) <= {str, NoneType}:
        return values
    has_booleans = is_boolean(values)
    found = np.empty(len(values), dtype=object)
    found[:] = [
        None if is_missing(value) else bool(value) if has_booleans else value if isinstance(value, str) else str(value)
        for value in values
    ]
    return found


def is_boolean(values: npt.NDArray[Any]) -> bool:
    """Whether a column of objects holds booleans, and nothing else."""
    if _types(values) <= {str, NoneType}:
        return False
    known = [value for value in values if not is_missing(value)]
    return bool(known) and all(isinstance(value, bool | np.bool_) for value in known)


def _is_text(values: npt.NDArray[Any]) -> bool:
    return values.dtype.kind in "US" or any(issubclass(each, str) for each in _types(values))


def _types(values: npt.NDArray[Any]) -> set[type]:
    """The types of the values, which takes much less time than to look at each of them."""
    return set(map(type, values.tolist())) if values.dtype.kind == "O" else set()
