"""The time of rows, for windows of time and for sentences."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus.detectors.surprise import ConditionalSurprise
from paribus.tables.table import Table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# The years 1 to 9999. A clock that is further off says nothing.
FIRST, LAST = ((each.replace(tzinfo=UTC) - EPOCH) / MICROSECOND for each in (datetime.min, datetime.max))


class RowTimes:
    """Reads the times of rows from a column.

    Parameters
    ----------
    detector : ConditionalSurprise
        A fitted detector, whose first contextual column of timestamps is the default.
    column : str, optional
        The column.
    """

    def __init__(self, detector: ConditionalSurprise, column: str | None) -> None:
        moments = [each.name for each in detector.view().context if each.times is not None]
        self.names = [column] if column is not None else moments[:1]
        """The column, if there is one."""

    def is_in(self, table: Table) -> bool:
        """Whether a table has the column."""
        return all(name in (table.names or []) for name in self.names)

    def of(self, columns: dict[str, list[Any]]) -> Floats:
        """Microseconds since 1970, by row; NaN where there is no time."""
        if not self.names:
            return np.full(len(next(iter(columns.values()))), np.nan)
        return np.array([_microseconds(value) for value in columns[self.names[0]]])

    def texts(self, times: Floats) -> list[str | None]:
        """Times as text."""
        return [None if time != time else str(np.datetime64(int(time), "us").astype("M8[s]")) for time in times]


def _microseconds(value: Any) -> float:
    """The time of a value: a timestamp, a text in ISO 8601, or seconds since 1970.

    >>> _microseconds("1970-01-01T00:00:01Z"), _microseconds(2), _microseconds("soon"), _microseconds(10**400)
    (1000000.0, 2000000.0, nan, nan)
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return np.nan
    found: Any = np.nan
    if isinstance(value, np.datetime64):
        found = np.nan if np.isnat(value) else value.astype("M8[us]").astype(np.int64)
    elif isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        # A missing timestamp of pandas is a datetime that equals nothing.
        found = (moment - EPOCH) / MICROSECOND if value == value else np.nan
    elif isinstance(value, date):
        found = (datetime(value.year, value.month, value.day, tzinfo=UTC) - EPOCH) / MICROSECOND
    elif isinstance(value, int | float | np.number):
        found = value * 1_000_000
    return float(found) if FIRST <= found <= LAST else np.nan
