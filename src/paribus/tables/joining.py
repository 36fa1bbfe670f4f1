"""Tables of one kind, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from paribus._common.arrays import Positions


def join_tables(pieces: Sequence[Any], rows: Positions | None = None) -> Any:
    """Joins tables of the same kind with the same columns, and takes some of their rows.

    Dicts of columns, arrays and dataframes are joined. Dicts are emptied column by column, so that no more than one of
    their columns is in memory twice.

    >>> join_tables([{"a": np.array([1, 2])}, {"a": np.array([3])}], np.array([2, 0]))
    {'a': array([3, 1])}
    """
    first = pieces[0]
    if isinstance(first, dict):
        joined = {}
        for name in list(first):
            column = np.concatenate([piece.pop(name) for piece in pieces])
            joined[name] = column if rows is None else column[rows]
        return joined
    if isinstance(first, np.ndarray):
        array = np.concatenate(list(pieces))
        return array if rows is None else array[rows]
    frame = nw.concat([nw.from_native(piece, eager_only=True) for piece in pieces])
    return (frame if rows is None else frame[rows]).to_native()
