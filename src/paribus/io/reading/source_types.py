"""The types of columns in their source, where arrays do not show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


class SourceTypes:
    """The types of the columns of a table, found while it is read, as DuckDB calls them.

    >>> types = SourceTypes()
    >>> types.add({"a": np.array([1.0, 2.0]), "b": np.array([np.nan])}, None)
    >>> types.add({"a": np.array([2.0, np.nan]), "b": np.array([0.5])}, None)
    >>> types.found
    {'a': 'BIGINT'}
    """

    def __init__(self) -> None:
        self._types: dict[str, str] = {}

    @property
    def found(self) -> dict[str, str]:
        """The types of columns that have one, once all rows have been seen."""
        return {name: kind for name, kind in self._types.items() if kind}

    def add(self, columns: Mapping[str, npt.NDArray[Any]], given: Mapping[str, str] | None) -> None:
        """Takes note of some rows; `given` are the types that the source itself names, if it has any."""
        for name, values in columns.items():
            kind = given[name] if given is not None and name in given else _evident_type(values)
            # Types that differ between parts are none, and missing values say nothing.
            if kind is not None and self._types.setdefault(name, kind) != kind:
                self._types[name] = ""


def _evident_type(values: npt.NDArray[Any]) -> str | None:
    """The type of a column that was text in its source, if it is narrower than that of its array; else empty.

    None if there are only missing values.
    """
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        is_whole = bool((np.abs(known) < 2**53).all()) and bool((known == np.floor(known)).all())
        return None if known.size == 0 else "BIGINT" if is_whole else ""
    if values.dtype.kind == "M":
        known = values[~np.isnat(values)]
        return None if known.size == 0 else "DATE" if bool((known == known.astype("M8[D]")).all()) else ""
    return ""
