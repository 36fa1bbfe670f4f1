"""The formats and summaries of the columns of large tables, which take longer to compute than to score a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.untrusted import DamagedError, Fields, floats_of, is_whole
from paribus.methods.interface import Arrays, StoredArrays
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from paribus.tables.encoded_table import EncodedTable
from paribus.tables.row_store import MAX_SORTED, ColumnSummary

MAX_DECIMALS = 20


def pack_described(table: EncodedTable) -> tuple[list[list[Any] | None], Arrays]:
    """A field of the header, and arrays. Both are empty for small tables, and for columns that hold no numbers."""
    described: list[list[Any] | None] = []
    arrays: Arrays = {}
    if table.n_rows <= MAX_SORTED:
        return described, arrays
    for feature in range(table.rows.shape[1]):
        form = table.column_format(feature)
        place = feature - table.n_contextual
        if form.kind is not Kind.NUMERIC:
            described.append(None)
            continue
        summary = table.context_summary(feature) if place < 0 else table.behavior_summary(place)
        described.append([summary.n_missing, form.decimals, form.grouped, form.scientific])
        arrays[f"summary_{feature}"] = summary.order_statistics
    return described, arrays


def unpack_described(
    header: Fields, arrays: StoredArrays, n_rows: int, is_number: npt.NDArray[np.bool_]
) -> dict[int, tuple[ColumnFormat, ColumnSummary]]:
    """By feature: its format and its summary; without those that are not stored."""
    stored = header.get("described", lambda value: isinstance(value, list) and len(value) in (0, len(is_number)))
    found = {}
    for feature, entry in enumerate(stored):
        if entry is None:
            continue
        if not is_number[feature] or not _is_entry(entry, n_rows):
            raise DamagedError("described is invalid")
        n_missing, decimals, grouped, scientific = entry
        name = f"summary_{feature}"
        n_values = len(arrays[name]) if name in arrays and arrays[name].ndim == 1 else 0
        values = floats_of(arrays, name, (n_values,))
        if (
            n_values > n_rows - n_missing
            or (n_values == 0) != (n_missing == n_rows)
            or not (np.diff(values) >= 0).all()
        ):
            raise DamagedError(f"{name} is invalid")
        form = ColumnFormat(Kind.NUMERIC, decimals, grouped=grouped, scientific=scientific)
        found[feature] = form, ColumnSummary(n_rows, n_missing, values)
    return found


def _is_entry(entry: Any, n_rows: int) -> bool:
    return (
        isinstance(entry, list)
        and len(entry) == 4
        and is_whole(entry[0])
        and 0 <= entry[0] <= n_rows
        and is_whole(entry[1])
        and 0 <= entry[1] <= MAX_DECIMALS
        and isinstance(entry[2], bool)
        and isinstance(entry[3], bool)
    )
