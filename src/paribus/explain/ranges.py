"""What reference groups have in common in a contextual column of numbers, for many rows at a time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from paribus._common.arrays import Floats
from paribus.explain.context import ContextColumn, ContextFeature

# What `describe_groups` says of a column: the ends of a range, the share in it, the least and the largest value.
N_FACTS = 5
# Rows whose texts are written together: nearly all of them will be read, or only a few.
ROWS_AT_A_TIME = 100


class GroupRanges:
    """The ranges of reference groups in one column; texts are written when one of a lot is asked for.

    Parameters
    ----------
    column : ContextColumn
        The column, of numbers.
    own : sequence
        The rows' own values; None where one is missing.
    ranges : array
        [row][fact]: what `describe_groups` found; NaN if a group has gaps.
    """

    def __init__(self, column: ContextColumn, own: Sequence[float | Hashable], ranges: Floats) -> None:
        self._column, self._own, self._ranges = column, own, ranges
        self._numbers = np.array([np.nan if each is None else each for each in own], dtype=np.float64)
        # One list of all numbers, and not one per row: each would be looked at by the garbage collector.
        self._facts: list[float] = ranges.ravel().tolist()
        self._table_shares: list[float] = column.table_shares(ranges).tolist()
        self._are_beyond: list[bool] = column.are_beyond(self._numbers, ranges[:, 3], ranges[:, 4]).tolist()
        self._texts: dict[int, tuple[list[str], list[str]]] = {}
        """By lot of rows: their own values, and the ranges of their groups."""

    def describe(self, row: int, *, counts: bool) -> ContextFeature | None:
        """The row's own value and the range of its group; None if the group has gaps.

        `counts` is whether the leading behavioral feature is judged by the column.
        """
        begin = N_FACTS * row
        low, high, share, least, most = self._facts[begin : begin + N_FACTS]
        if low != low:
            return None
        column, value = self._column, self._own[row]
        lot, place = divmod(row, ROWS_AT_A_TIME)
        texts, ranges = self._texts.get(lot) or self._write(lot)
        warning = column.beyond(value, least, most) if self._are_beyond[row] else None
        # By position: this is done for each value.
        return ContextFeature(
            column.name,
            value,
            low,
            high,
            (),
            share,
            self._table_shares[row],
            warning,
            column.format,
            counts,
            ranges[place],
            texts[place],
        )

    def _write(self, lot: int) -> tuple[list[str], list[str]]:
        some, write = slice(lot * ROWS_AT_A_TIME, (lot + 1) * ROWS_AT_A_TIME), self._column.format
        found = write.texts(self._numbers[some]), write.range_texts(*self._ranges[some, :2].T)
        self._texts[lot] = found
        return found
