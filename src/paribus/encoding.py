"""Typed columns as the arrays that the engine takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from paribus.table import Floats, Table


@dataclass(frozen=True)
class ContextEncoding:
    """The contextual features of the fitted table: which of them are categories, and the code of each category.

    Numbers stay as they are. A category becomes its place in the sorted list of fitted categories, so that codes do not
    depend on the order of the rows; one that was not there at fit gets a code that no fitted row has.
    """

    codes: list[dict[Hashable, int] | None]
    """One per feature: None for numbers."""

    @classmethod
    def fit(cls, table: Table, positions: list[int], categorical: frozenset[int]) -> ContextEncoding:
        """Learns the categories."""
        return cls([_number_categories(table, p) if p in categorical else None for p in positions])

    @property
    def categorical(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """1 for each feature of categories, 0 for each of numbers."""
        return np.array([codes is not None for codes in self.codes], dtype=np.uint8)

    def encode(self, table: Table, positions: list[int]) -> Floats:
        """Rows x features."""
        columns = [
            _numbers(table, position) if codes is None else _encode_categories(table, position, codes)
            for position, codes in zip(positions, self.codes, strict=True)
        ]
        return np.ascontiguousarray(np.column_stack(columns))


def encode_behavior(table: Table, positions: list[int]) -> Floats:
    """Rows x features, NaN where a value is missing."""
    return np.ascontiguousarray(np.column_stack([_numbers(table, position) for position in positions]))


def _numbers(table: Table, position: int) -> Floats:
    if table.kind(position).is_number:
        return table.numbers(position)
    if table.has_values(position):
        raise TypeError(f"column {table.label(position)} held numbers at fit and does not here: convert it")
    return np.full(table.n_rows, np.nan)


def _number_categories(table: Table, position: int) -> dict[Hashable, int]:
    distinct = {value for value in table.categories(position) if value is not None}
    return {value: code for code, value in enumerate(sorted(distinct, key=_sort_key))}


def _sort_key(value: Hashable) -> tuple[str, Hashable]:
    return ("", value) if not isinstance(value, str) else ("text", value)


def _encode_categories(table: Table, position: int, codes: dict[Hashable, int]) -> Floats:
    values = table.categories(position)
    known = {isinstance(value, str) for value in codes}
    found = {isinstance(value, str) for value in values if value is not None}
    if known and found and not known & found:
        kinds = ("text", "no text") if True in known else ("no text", "text")
        raise TypeError(
            f"column {table.label(position)} held {kinds[0]} at fit and holds {kinds[1]} here: "
            "no category could be recognised"
        )
    unseen = len(codes)
    return np.fromiter(
        (np.nan if value is None else codes.get(value, unseen) for value in values), dtype=np.float64, count=len(values)
    )
