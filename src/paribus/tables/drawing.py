"""Rows that are drawn by their hashes: the same ones, however the table is split."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Positions
from paribus.tables.joining import join_tables
from paribus.tables.row_hash import Hashes, mix
from paribus.tables.row_reading import Tallies
from paribus.tables.table import Table

MAX_SAMPLE = 2**21
"""The default number of rows of a sample: more than trees use."""
# Rows are counted by the first bits of their hashes, to find those that occur very often.
N_BUCKETS = 2**22
_SHIFT = np.uint64(64 - 22)
# A row that the sample would hold more often than this counts as very common; one that makes up more than this share of
# the sample always does.
COMMON = 64
_CHUNK_SIZE = 2**20
ALL_HASHES = np.uint64(2**64 - 1)

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """A sample of the rows of a table."""

    table: Any
    """The rows in the type of the table; in its order if they are all of its rows, else in the order of hashes."""
    n_rows: int
    """The number of rows of the table."""
    is_complete: bool
    """Whether these are all rows."""
    tallies: Tallies = field(default_factory=dict, repr=False)
    """By column that rows are drawn by: exact facts about all rows of the table."""


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows, in ascending order of their hashes, and how often each occurs."""

    table: Any
    hashes: Hashes
    counts: Positions

    @classmethod
    def of(cls, table: Table, hashes: Hashes, chosen: Positions) -> DistinctRows:
        """The distinct ones of some rows of a table."""
        distinct, first, counts = np.unique(hashes[chosen], return_index=True, return_counts=True)
        return cls(table.take(chosen[first]), distinct, counts)

    @classmethod
    def merged(cls, parts: Sequence[DistinctRows], limit: int | None = None) -> DistinctRows:
        """The distinct rows of all parts, the smallest hashes if there are more than wanted. Uses up the parts."""
        distinct, first, place = np.unique(
            np.concatenate([each.hashes for each in parts]), return_index=True, return_inverse=True
        )
        counts = np.bincount(place, np.concatenate([each.counts for each in parts])).astype(np.int64)
        kept = slice(limit)
        return cls(join_tables([each.table for each in parts], first[kept]), distinct[kept], counts[kept])

    def __len__(self) -> int:
        return len(self.hashes)


def buckets_of(hashes: Hashes) -> Positions:
    """The bucket of each hash.

    >>> buckets_of(np.array([0, 2**64 - 1], dtype=np.uint64))
    array([      0, 4194303])
    """
    return (hashes >> _SHIFT).astype(np.int64)


def common_count(n_rows: int, limit: int) -> int:
    """The number of rows in a bucket above which rows occur very often."""
    often = n_rows // max(limit // COMMON, COMMON)
    return often + 2 * n_rows // N_BUCKETS + 8


def finish_sample(
    held: DistinctRows,
    bound: np.uint64,
    is_common: Flags,
    count: Callable[[], DistinctRows],
    n_rows: int,
    limit: int,
    tallies: Tallies,
) -> Sample:
    """The sample of a table that has more rows than wanted.

    Distinct rows are drawn by their hashes, the smallest first, each as often as it occurs in the table. Rows that make
    up a large share of the table would be in the sample with all their copies, or not at all: of these, each copy is
    drawn by a hash of its own.

    Parameters
    ----------
    held : DistinctRows
        Those with the smallest hashes, as many as wanted if there are as many.
    bound : uint64
        The largest of their hashes; the largest of all if there are no others.
    is_common : array
        By bucket: whether rows in it occur very often.
    count : function
        Finds all rows in these buckets.
    n_rows, limit : int
        The number of rows that there are, and that are wanted.
    tallies : dict
        The facts about all rows.
    """
    table, hashes, counts = Table(held.table), held.hashes, held.counts
    is_held_common = is_common[buckets_of(hashes)]
    light = np.flatnonzero(~is_held_common)
    if not is_common.any():
        return Sample(table.take(np.repeat(light, _fill(hashes, counts, limit))), n_rows, False, tallies)
    if bound < ALL_HASHES:
        common = count()
    else:
        # All rows are held, with their counts.
        heavy = np.flatnonzero(is_held_common)
        common = DistinctRows(table.take(heavy), hashes[heavy], counts[heavy])
    copies, keys = _draw_copies(common.hashes, common.counts, bound)
    every = Table(join_tables([table.take(light), Table(common.table).take(np.arange(len(common)))]))
    places = np.concatenate([np.arange(len(light)), len(light) + copies])
    all_keys = np.concatenate([hashes[light], keys])
    times = np.concatenate([counts[light], np.ones(len(keys), dtype=np.int64)])
    order = np.argsort(all_keys, kind="stable")
    times[order] = _fill(all_keys[order], times[order], limit)
    chosen = np.repeat(places, times)
    by_hash = np.argsort(np.concatenate([hashes[light], common.hashes])[chosen], kind="stable")
    return Sample(every.take(chosen[by_hash]), n_rows, False, tallies)


def _draw_copies(hashes: Hashes, counts: Positions, bound: np.uint64) -> tuple[Positions, Hashes]:
    """For each copy with a small hash, the row that it is one of, and its hash."""
    places, keys = [], []
    for place, number in _numbered(counts):
        own = mix(hashes[place] ^ mix(number.astype(np.uint64)))
        below = own <= bound
        places.append(place[below])
        keys.append(own[below])
    return np.concatenate(places), np.concatenate(keys)


def _fill(keys: Hashes, counts: Positions, limit: int) -> Positions:
    """How often to take each row, in ascending order of keys: as often as it occurs, until the limit is reached."""
    reached = np.cumsum(counts)
    # Rows with the same key are either all drawn or not at all.
    last = np.searchsorted(keys, keys, "right") - 1
    return np.where(reached[last] <= limit, counts, 0)


def _numbered(counts: Positions) -> Iterator[tuple[Positions, Positions]]:
    """The position of each row, as often as it occurs, and numbers from 0 for each; in batches."""
    for place, count in enumerate(counts.tolist()):
        for begin in range(0, count, _CHUNK_SIZE):
            n = min(_CHUNK_SIZE, count - begin)
            yield np.full(n, place), np.arange(begin, begin + n)
