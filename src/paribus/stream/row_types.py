"""Conversion of rows from text or JSON to the types that a model was fitted to."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import suppress
from datetime import UTC
from typing import Any

import numpy as np

from paribus._common.text import clipped
from paribus.detectors.surprise import ConditionalSurprise
from paribus.io.reading.columns import number, timestamp
from paribus.tables.time_parts import find_zone

NUMBER, CATEGORY, TIMESTAMP = "number", "category", "timestamp"
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})


class RowTypes:
    """Converts rows to the types of a fitted detector's columns.

    Parameters
    ----------
    detector : ConditionalSurprise
        A fitted detector, whose columns have names.
    """

    def __init__(self, detector: ConditionalSurprise) -> None:
        view = detector.view()
        if not view.columns_have_names:
            raise ValueError("the model was fitted to a table without column names: fit it to one that has them")
        self._kinds: dict[str, str] = {}
        self._categories: dict[str, dict[str, Hashable]] = {}
        self._zones: dict[str, Any] = {}
        for column in view.context:
            self._add(column.name, column.codes, None if column.times is None else column.times.zone or "")
        codes = dict(zip(view.behavior_names, view.behavior_codes, strict=True))
        for name in view.behavior_columns:
            self._add(name, codes.get(name), None)

    def _add(self, name: str, codes: dict[Hashable, int] | None, zone: str | None) -> None:
        if codes is not None:
            self._kinds[name] = CATEGORY
            self._categories[name] = {_spelled(category): category for category in codes}
        elif zone is not None:
            self._kinds[name] = TIMESTAMP
            self._zones[name] = find_zone(zone) if zone else None
        else:
            self._kinds[name] = NUMBER

    @property
    def kinds(self) -> dict[str, str]:
        """By column that a row must have: "number", "category" or "timestamp"."""
        return dict(self._kinds)

    def convert(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with typed values; columns that the model does not know are left out.

        Raises a ValueError that names what is wrong.
        """
        return {name: self._value(name, kind, row) for name, kind in self._kinds.items()}

    def _value(self, name: str, kind: str, row: Mapping[str, Any]) -> Any:
        if name not in row:
            raise ValueError(f"there is no column '{clipped(name, 60)}'")
        value = row[name]
        if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
            return None
        if isinstance(value, list | dict):
            raise ValueError(f"column '{clipped(name, 60)}' holds a {type(value).__name__}")
        if kind == CATEGORY:
            return self._categories[name].get(_spelled(value), value)
        found: Any
        if kind == NUMBER:
            found = None if isinstance(value, bool) else number(value)
            if found is not None and np.isfinite(found):
                return float(found)
        else:
            found = timestamp(value)
            if found is not None:
                moment = found.astype("M8[us]").item()
                zone = self._zones[name]
                # Local time can be before the year 1 or after the year 9999.
                with suppress(OverflowError):
                    return moment if zone is None else moment.replace(tzinfo=UTC).astimezone(zone)
        what = "number" if kind == NUMBER else "timestamp"
        raise ValueError(f"column '{clipped(name, 60)}' holds {clipped(repr(value), 40)}, which is not a {what}")


def _spelled(value: Any) -> str:
    """How a category is written, whatever its type.

    >>> _spelled(True), _spelled("true"), _spelled(3.0), _spelled("3")
    ('true', 'true', '3', '3')
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
