"""How many rows workers score at a time."""

from __future__ import annotations

MAX_ROWS = 2**18
"""Forests are unpacked once per batch, which takes as long as to score thousands of rows."""
MAX_VALUES = 2**22
"""Limits memory where there are many columns."""


def batch_size(n_columns: int) -> int:
    """The number of rows of a batch with this many columns.

    >>> batch_size(10), batch_size(100)
    (262144, 41943)
    """
    return min(MAX_ROWS, max(1, MAX_VALUES // max(n_columns, 1)))
