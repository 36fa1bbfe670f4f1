"""A sample of the rows of a table of any size, in one pass, that depends on the rows alone and not on their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from paribus._common.validation import check_whole_number
from paribus.tables.drawing import (
    ALL_HASHES,
    MAX_SAMPLE,
    N_BUCKETS,
    DistinctRows,
    Flags,
    Sample,
    buckets_of,
    common_count,
    finish_sample,
)
from paribus.tables.joining import join_tables
from paribus.tables.row_hash import Hashes
from paribus.tables.row_reading import RowReader, Tallies, merge_tallies
from paribus.tables.streams import TableBatches, find_batches
from paribus.tables.table import ColumnKey, Columns, Contexts, Table

# The factor by which the number of rows held may exceed the number wanted before the surplus is dropped.
SLACK = 0.25


class RowSampler:
    """Draws a sample of rows by a hash of their values, from a table that is read in batches.

    A table with at most the wanted number of rows is kept as it is.

    Parameters
    ----------
    reader : RowReader
        Reads the columns that rows are drawn by.
    limit : int
        The maximum number of rows.
    """

    def __init__(self, reader: RowReader, limit: int = MAX_SAMPLE) -> None:
        self._reader = reader
        self._limit = limit
        self.n_rows = 0
        """The number of rows that were seen."""
        self._tallies: Tallies = {}
        self._is_complete = True
        self._pieces: list[tuple[Any, Hashes]] = []
        self._held: list[DistinctRows] = []
        self._buckets = np.zeros(0, dtype=np.int64)
        self._bound = ALL_HASHES

    def add(self, rows: Any) -> None:
        """Adds some rows of the table."""
        table = Table(rows)
        hashes, tallies = self._reader.read(table)
        self._tallies = merge_tallies([self._tallies, tallies])
        self.n_rows += table.n_rows
        if self._is_complete and self.n_rows > self._limit:
            self._is_complete = False
            self._buckets = np.zeros(N_BUCKETS, dtype=np.int64)
            earlier, self._pieces = self._pieces, []
            for piece, known in earlier:
                self._hold(Table(piece), known)
        if self._is_complete:
            self._pieces.append((table.take(np.arange(table.n_rows)), hashes))
        else:
            self._hold(table, hashes)

    def finish(self, again: Callable[[], Iterable[Any]]) -> Sample:
        """The sample. `again` reads the table once more, if some rows are very frequent."""
        if self._is_complete:
            return Sample(join_tables([piece for piece, _ in self._pieces]), self.n_rows, True, self._tallies)
        self._drop_surplus()
        is_common = self._buckets > common_count(self.n_rows, self._limit)
        return finish_sample(
            self._held[0],
            self._bound,
            is_common,
            lambda: self._count(is_common, again),
            self.n_rows,
            self._limit,
            self._tallies,
        )

    def _hold(self, table: Table, hashes: Hashes) -> None:
        self._buckets += np.bincount(buckets_of(hashes), minlength=N_BUCKETS)
        self._held.append(DistinctRows.of(table, hashes, np.flatnonzero(hashes <= self._bound)))
        if sum(map(len, self._held)) > (1.0 + SLACK) * self._limit:
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        # One more than wanted shows whether there are others.
        kept = DistinctRows.merged(self._held, self._limit + 1)
        if len(kept) > self._limit:
            self._bound = kept.hashes[self._limit - 1]
            some = slice(self._limit)
            kept = DistinctRows(Table(kept.table).take(np.arange(self._limit)), kept.hashes[some], kept.counts[some])
        self._held = [kept]

    def _count(self, is_common: Flags, again: Callable[[], Iterable[Any]]) -> DistinctRows:
        """The very frequent rows, and those with similar hashes; and how often each occurs."""
        found: DistinctRows | None = None
        for rows in again():
            table = Table(rows)
            hashes = self._reader.hashes(table)
            part = DistinctRows.of(table, hashes, np.flatnonzero(is_common[buckets_of(hashes)]))
            found = part if found is None else DistinctRows.merged([found, part])
        assert found is not None
        return found


def sample_rows(
    table: Any,
    contextual: Contexts,
    behavioral: Columns | None = None,
    *,
    categorical: Columns | None = None,
    key: ColumnKey | None = None,
    n_rows: int = MAX_SAMPLE,
    tick: Callable[[int], object] | None = None,
) -> Sample:
    """Draws a sample of a table of any size, to fit a detector to.

    The sample depends on the rows and on `n_rows` alone, not on their order or on how they are split into batches. A
    table with at most `n_rows` rows is returned as it is. From a larger one, distinct rows are drawn by a hash of their
    contextual and behavioral values, each as often as it occurs in the table; of rows that make up a large share of
    the table, each copy is drawn separately.

    Parameters
    ----------
    table : table, or pyarrow Dataset or RecordBatchReader, DuckDB relation, polars LazyFrame
        The table. One that is not in memory is read in batches, a second time if some rows are very frequent.
    contextual, behavioral, categorical : names or positions of columns
        As for the detectors.
    key : name or position of a column, optional
        A column that distinguishes rows that are otherwise equal.
    n_rows : int
        The maximum number of rows.
    tick : function, optional
        Called with the number of rows that were read.

    Returns
    -------
    Sample
        With the rows as `table`, and the number of rows of the whole table as `n_rows`.

    Examples
    --------
    >>> from paribus import datasets, sample_rows
    >>> weather = datasets.load("weather")
    >>> sample = sample_rows(weather.table, weather.contextual, weather.behavioral, n_rows=500)
    >>> sample.n_rows, len(sample.table["month"]), sample.is_complete
    (2000, 500, False)
    """
    check_whole_number("n_rows", n_rows, 2)
    found = find_batches(table) or TableBatches(lambda: iter([table]))
    sampler: RowSampler | None = None
    for batch in found.batches():
        if sampler is None:
            sampler = RowSampler(RowReader.of(Table(batch), contextual, behavioral, categorical, key), n_rows)
        sampler.add(batch)
        if tick is not None:
            tick(sampler.n_rows)
    if sampler is None or sampler.n_rows == 0:
        raise ValueError("the table has no rows")
    return sampler.finish(found.batches)
