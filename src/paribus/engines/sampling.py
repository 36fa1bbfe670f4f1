"""A sample of the rows of a frame: each partition draws its own, and they are merged here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Positions
from paribus._common.validation import check_whole_number
from paribus._common.workers import Workers
from paribus.engines.interface import Engine
from paribus.tables.drawing import (
    ALL_HASHES,
    MAX_SAMPLE,
    N_BUCKETS,
    DistinctRows,
    Sample,
    buckets_of,
    common_count,
    finish_sample,
)
from paribus.tables.row_hash import Hashes
from paribus.tables.row_reading import RowReader, Tallies, merge_tallies
from paribus.tables.table import ColumnKey, Columns, Contexts, Table

# The minimum number of rows of a partition, about, if that leaves enough partitions for all workers.
PARTITION_SIZE = 2**20
PARTITIONS_PER_SLOT = 4
# Buckets with this many rows in a partition may hold very frequent rows. Few others do by chance, as long as
# partitions are few: all rows of these buckets are counted.
MIN_CANDIDATE = 4
# By how many standard deviations the expected number of rows below the first bound exceeds the number wanted.
DEVIATIONS = 6.0


@dataclass(frozen=True)
class DrawnFrame:
    """Rows that were drawn from a frame, and the workers that can help to fit to them."""

    sample: Sample
    workers: Workers
    module: str
    """The public module for such frames."""


@dataclass(frozen=True)
class DrawnPart:
    """The results of a partition."""

    rows: DistinctRows | None
    """The rows below the bound; None for a partition without rows."""
    tallies: Tallies
    buckets: Positions
    """Buckets that may hold very frequent rows."""


@dataclass(frozen=True)
class DrawPart:
    """Draws the rows of a partition."""

    reader: RowReader
    bound: np.uint64
    min_common: int
    """Buckets with at least this many rows are candidates."""

    def __call__(self, batches: Iterator[Any]) -> DrawnPart:
        """Reads the batches of a partition."""
        parts: list[DistinctRows] = []
        tallies: list[Tallies] = []
        seen: list[Hashes] = []
        for batch in batches:
            table = Table(batch)
            hashes, found = self.reader.read(table)
            tallies.append(found)
            seen.append(hashes)
            parts.append(DistinctRows.of(table, hashes, np.flatnonzero(hashes <= self.bound)))
        if not parts:
            return DrawnPart(None, {}, np.zeros(0, dtype=np.int64))
        buckets, counts = np.unique(buckets_of(np.concatenate(seen)), return_counts=True)
        candidates = buckets[counts >= self.min_common]
        return DrawnPart(DistinctRows.merged(parts), merge_tallies(tallies), candidates)


@dataclass(frozen=True)
class CountPart:
    """Counts the rows of a partition in some buckets."""

    reader: RowReader
    buckets: Positions

    def __call__(self, batches: Iterator[Any]) -> DistinctRows | None:
        """Reads the batches of a partition."""
        parts: list[DistinctRows] = []
        for batch in batches:
            table = Table(batch)
            hashes = self.reader.hashes(table)
            parts.append(DistinctRows.of(table, hashes, np.flatnonzero(np.isin(buckets_of(hashes), self.buckets))))
        return DistinctRows.merged(parts) if parts else None


def sample_frame(
    engine: Engine,
    frame: Any,
    contextual: Contexts,
    behavioral: Columns | None = None,
    *,
    categorical: Columns | None = None,
    key: ColumnKey | None = None,
    n_rows: int = MAX_SAMPLE,
    columns: Sequence[str] | None = None,
) -> Sample:
    """Draws a sample of a frame: the same rows that `sample_rows` draws from the same table.

    They are in the order of their hashes, even if all rows are drawn, since rows of a frame have no order.

    Parameters
    ----------
    engine : Engine
        The engine of the frame.
    frame : Spark or Dask DataFrame
        The table.
    contextual, behavioral, categorical, key, n_rows
        As for `sample_rows`.
    columns : list of str, optional
        The columns of the sample; by default those that rows are drawn by, if these are named.

    Returns
    -------
    Sample
    """
    check_whole_number("n_rows", n_rows, 2)
    first = Table(engine.empty(frame))
    reader = RowReader.of(first, contextual, behavioral, categorical, key)
    if columns is None:
        columns = [first.name(position) for position in sorted(set(reader.positions))]
    frame = engine.select(frame, columns)
    reader = _moved(reader, first, columns)
    n_all = engine.n_rows(frame)
    if n_all == 0:
        raise ValueError("the table has no rows")
    most = max(PARTITIONS_PER_SLOT * engine.n_slots, n_all // PARTITION_SIZE)
    often = common_count(n_all, n_rows)
    if n_all > n_rows:
        most = min(most, max(1, often // MIN_CANDIDATE))
    frame, n_parts = engine.in_parts(frame, most)
    if n_all <= n_rows:
        held, _, tallies = _draw(engine, frame, reader, ALL_HASHES, n_all + 1)
        every = np.repeat(np.arange(len(held)), held.counts)
        return Sample(Table(held.table).take(every), n_all, True, tallies)
    bound = _first_bound(n_all, n_rows)
    while True:
        # A bucket with more rows than this in total has at least the mean number of them in some partition.
        held, buckets, tallies = _draw(engine, frame, reader, bound, max(1, often // n_parts))
        if len(held) > n_rows or bound == ALL_HASHES:
            break
        # Many rows are equal, so fewer are distinct than expected.
        factor = 1.25 * (n_rows + 1) / max(len(held), 1)
        bound = ALL_HASHES if factor * float(bound) >= 2.0**63 else np.uint64(factor * float(bound))
    is_common = np.zeros(N_BUCKETS, dtype=bool)
    common: DistinctRows | None = None
    if len(buckets):
        parts = [each for each in engine.gather(frame, CountPart(reader, buckets)) if each is not None]
        common = DistinctRows.merged(parts)
        totals = np.bincount(buckets_of(common.hashes), common.counts, minlength=N_BUCKETS)
        is_common = totals > often
        common = _some(common, np.flatnonzero(is_common[buckets_of(common.hashes)]))
    found = common
    bound = ALL_HASHES
    if len(held) > n_rows:
        bound = held.hashes[n_rows - 1]
        held = _some(held, np.arange(n_rows))

    def count() -> DistinctRows:
        assert found is not None
        return found

    return finish_sample(held, bound, is_common, count, n_all, n_rows, tallies)


def _draw(
    engine: Engine, frame: Any, reader: RowReader, bound: np.uint64, min_common: int
) -> tuple[DistinctRows, Positions, Tallies]:
    parts = [each for each in engine.gather(frame, DrawPart(reader, bound, min_common)) if each.rows is not None]
    buckets = np.unique(np.concatenate([each.buckets for each in parts]))
    tallies = merge_tallies(each.tallies for each in parts)
    return DistinctRows.merged([each.rows for each in parts if each.rows is not None]), buckets, tallies


def _first_bound(n_all: int, n_rows: int) -> np.uint64:
    """A bound below which there are a few more rows than wanted, if all are distinct."""
    wanted = n_rows + 1 + DEVIATIONS * math.sqrt(n_rows + 1) + DEVIATIONS
    return ALL_HASHES if wanted >= n_all / 2 else np.uint64(int(2.0**64 * (wanted / n_all)))


def _some(rows: DistinctRows, places: Positions) -> DistinctRows:
    return DistinctRows(Table(rows.table).take(places), rows.hashes[places], rows.counts[places])


def _moved(reader: RowReader, first: Table, columns: Sequence[str]) -> RowReader:
    """The same reader for a table that has only some of the columns."""
    place = {name: number for number, name in enumerate(columns)}
    positions = tuple(place[first.name(position)] for position in reader.positions)
    named = frozenset(place[first.name(p)] for p in reader.named if first.name(p) in place)
    return RowReader(positions, named)
