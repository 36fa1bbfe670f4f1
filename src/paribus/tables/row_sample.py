"""A sample of the rows of a table of any size, in one pass, that depends on the rows alone and not on their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.validation import check_whole_number
from paribus.tables.joining import join_tables
from paribus.tables.roles import assign_roles
from paribus.tables.row_hash import Hashes, hash_names, hash_rows, mix
from paribus.tables.streams import TableBatches, find_batches
from paribus.tables.table import ColumnKey, Columns, Contexts, Table

MAX_SAMPLE = 2**21
"""Rows of a sample: more than trees use."""
# Rows are counted by the first bits of their hashes, to find those that occur very often.
N_BUCKETS = 2**22
_SHIFT = np.uint64(64 - 22)
# A row that the sample would hold more often than this counts as very common; one that makes up more than this share of
# the sample always does.
COMMON = 64
# So many more rows than wanted are held until the surplus is dropped.
SLACK = 0.25
_CHUNK_SIZE = 2**20
_ALL = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Sample:
    """Rows that stand for a table."""

    table: Any
    """The rows in the type of the table; in its order if they are all of its rows, else in the order of hashes."""
    n_rows: int
    """The number of rows of the table."""
    is_complete: bool
    """Whether these are all rows."""


class RowSampler:
    """Draws a sample of rows by a hash of what they hold.

    A table of no more rows than wanted is kept as it is. Of a larger one, distinct rows are drawn by their hashes, the
    smallest first, and each is there as often as in the table. Rows that make up a large share of the table would be in
    the sample with all their copies, or not at all: of these, each copy is drawn by a hash of its own.

    Parameters
    ----------
    hash_table : function
        Takes a table, and returns one hash per row.
    limit : int
        The maximum number of rows.
    """

    def __init__(self, hash_table: Callable[[Table], Hashes], limit: int = MAX_SAMPLE) -> None:
        self._hash_table = hash_table
        self._limit = limit
        self.n_rows = 0
        """The number of rows that were seen."""
        self._is_complete = True
        self._pieces: list[Any] = []
        self._hashes: list[Hashes] = []
        self._counts: list[Positions] = []
        self._buckets = np.zeros(0, dtype=np.int64)
        self._bound = _ALL

    def add(self, rows: Any) -> None:
        """Takes note of some rows of the table."""
        table = Table(rows)
        self.n_rows += table.n_rows
        if self._is_complete and self.n_rows > self._limit:
            self._is_complete = False
            self._buckets = np.zeros(N_BUCKETS, dtype=np.int64)
            earlier, self._pieces = self._pieces, []
            for piece in earlier:
                self._hold(Table(piece))
        if self._is_complete:
            self._pieces.append(table.take(np.arange(table.n_rows)))
        else:
            self._hold(table)

    def finish(self, again: Callable[[], Iterable[Any]]) -> Sample:
        """The sample. `again` reads the table once more, if some rows occur very often."""
        if self._is_complete:
            return Sample(join_tables(self._pieces), self.n_rows, True)
        self._drop_surplus()
        table, hashes, counts = Table(self._pieces[0]), self._hashes[0], self._counts[0]
        often = self.n_rows // max(self._limit // COMMON, COMMON)
        is_common = self._buckets > often + 2 * self.n_rows // N_BUCKETS + 8
        light = np.flatnonzero(~is_common[hashes >> _SHIFT])
        if not is_common.any():
            return Sample(table.take(np.repeat(light, _fill(hashes, counts, self._limit))), self.n_rows, False)
        if self._bound < _ALL:
            common_table, common, common_counts = self._count(is_common, again)
        else:
            # All rows are held, with their counts.
            heavy = np.flatnonzero(is_common[hashes >> _SHIFT])
            common_table, common, common_counts = Table(table.take(heavy)), hashes[heavy], counts[heavy]
        copies, keys = self._draw_copies(common, common_counts)
        every = Table(join_tables([table.take(light), common_table.take(np.arange(len(common)))]))
        places = np.concatenate([np.arange(len(light)), len(light) + copies])
        all_keys = np.concatenate([hashes[light], keys])
        times = np.concatenate([counts[light], np.ones(len(keys), dtype=np.int64)])
        order = np.argsort(all_keys, kind="stable")
        times[order] = _fill(all_keys[order], times[order], self._limit)
        chosen = np.repeat(places, times)
        by_hash = np.argsort(np.concatenate([hashes[light], common])[chosen], kind="stable")
        return Sample(every.take(chosen[by_hash]), self.n_rows, False)

    def _hold(self, table: Table) -> None:
        hashes = self._hash_table(table)
        self._buckets += np.bincount((hashes >> _SHIFT).astype(np.int64), minlength=N_BUCKETS)
        below = np.flatnonzero(hashes <= self._bound)
        distinct, first, counts = np.unique(hashes[below], return_index=True, return_counts=True)
        self._pieces.append(table.take(below[first]))
        self._hashes.append(distinct)
        self._counts.append(counts)
        if sum(map(len, self._hashes)) > (1.0 + SLACK) * self._limit:
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        hashes = np.concatenate(self._hashes)
        distinct, first, place = np.unique(hashes, return_index=True, return_inverse=True)
        counts = np.bincount(place, np.concatenate(self._counts)).astype(np.int64)
        if len(distinct) > self._limit:
            self._bound = distinct[self._limit - 1]
        kept = slice(self._limit)
        self._pieces = [join_tables(self._pieces, first[kept])]
        self._hashes, self._counts = [distinct[kept]], [counts[kept]]

    def _count(
        self, is_common: npt.NDArray[np.bool_], again: Callable[[], Iterable[Any]]
    ) -> tuple[Table, Hashes, Positions]:
        """The rows that occur very often, and those with similar hashes; and how often each is there."""
        pieces: list[Any] = []
        counts: list[tuple[Hashes, Positions]] = []
        seen = np.zeros(0, dtype=np.uint64)
        for rows in again():
            table = Table(rows)
            found = self._hash_table(table)
            some = np.flatnonzero(is_common[found >> _SHIFT])
            distinct, first, n = np.unique(found[some], return_index=True, return_counts=True)
            is_new = ~np.isin(distinct, seen)
            pieces.append(table.take(some[first[is_new]]))
            seen = np.concatenate([seen, distinct[is_new]])
            counts.append((distinct, n))
        order = np.argsort(seen)
        totals = np.zeros(len(seen), dtype=np.int64)
        for distinct, n in counts:
            totals[np.searchsorted(seen, distinct, sorter=order)] += n
        return Table(join_tables(pieces, order)), seen[order], totals

    def _draw_copies(self, hashes: Hashes, counts: Positions) -> tuple[Positions, Hashes]:
        """For each copy with a small hash, the row that it is one of, and its hash."""
        places, keys = [], []
        for place, number in _numbered(counts):
            own = mix(hashes[place] ^ mix(number.astype(np.uint64)))
            below = own <= self._bound
            places.append(place[below])
            keys.append(own[below])
        return np.concatenate(places), np.concatenate(keys)


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
    """Draws rows that stand for a table of any size, for a detector to be fitted to.

    The sample depends on the rows and on `n_rows` alone, not on their order or on how they are split into batches. A
    table of no more rows than wanted is returned as it is. Of a larger one, distinct rows are drawn by a hash of their
    contextual and behavioral values, and each is there as often as in the table; of rows that make up a large share of
    the table, each copy is drawn for itself.

    Parameters
    ----------
    table : table, or pyarrow Dataset or RecordBatchReader, DuckDB relation, polars LazyFrame
        The table. One that is not in memory is read in batches, a second time if some rows occur very often.
    contextual, behavioral, categorical : names or positions of columns
        As for the detectors.
    key : name or position of a column, optional
        A column that tells rows apart which are equal otherwise.
    n_rows : int
        The maximum number of rows.
    tick : function, optional
        Is called with the number of rows that were read.

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
            sampler = RowSampler(_hasher(Table(batch), contextual, behavioral, categorical, key), n_rows)
        sampler.add(batch)
        if tick is not None:
            tick(sampler.n_rows)
    if sampler is None or sampler.n_rows == 0:
        raise ValueError("the table has no rows")
    return sampler.finish(found.batches)


def _hasher(
    first: Table, contextual: Contexts, behavioral: Columns | None, categorical: Columns | None, key: ColumnKey | None
) -> Callable[[Table], Hashes]:
    """A function that hashes the rows of a table, from its first rows."""
    roles = assign_roles(first, contextual, behavioral, categorical, judges_categories=True)
    # Without names, behavior is what is numeric in the whole table, which is not known yet.
    others = [position for position in range(first.n_columns) if position not in roles.contextual]
    positions = [*roles.contextual, *(others if behavioral is None else roles.behavioral)]
    named = {first.find_column(each) for each in _as_list(categorical)}
    if key is not None:
        place = first.find_column(key)
        positions, named = [*positions, place], {*named, place}

    def hash_table(table: Table) -> Hashes:
        columns: list[Floats] = []
        names: list[Hashes | None] = []
        for position in positions:
            if position not in named and table.kind(position).is_number:
                columns.append(table.numbers(position))
                names.append(None)
                continue
            codes: dict[Any, int] = {}
            found = [
                np.nan if each is None else codes.setdefault(each, len(codes)) for each in table.categories(position)
            ]
            columns.append(np.array(found, dtype=np.float64))
            names.append(hash_names(list(codes)))
        return hash_rows(columns, names)

    return hash_table


def _as_list(columns: Columns | None) -> list[ColumnKey]:
    if columns is None:
        return []
    return [columns] if isinstance(columns, str | int | np.integer) else list(columns)


def _fill(keys: Hashes, counts: Positions, limit: int) -> Positions:
    """How often to take each row, ascending by key: as often as it is there, until there are as many as wanted."""
    reached = np.cumsum(counts)
    # Rows with the same key come together, or not at all.
    last = np.searchsorted(keys, keys, "right") - 1
    return np.where(reached[last] <= limit, counts, 0)


def _numbered(counts: Positions) -> Iterator[tuple[Positions, Positions]]:
    """The place of each row, as often as it is there, and numbers from 0 for each; some at a time."""
    for place, count in enumerate(counts.tolist()):
        for begin in range(0, count, _CHUNK_SIZE):
            n = min(_CHUNK_SIZE, count - begin)
            yield np.full(n, place), np.arange(begin, begin + n)
