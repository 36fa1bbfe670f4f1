"""Replacement of some trees: which rows are kept for the others, and how samples of old and new trees are combined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._core import Samples
from paribus.methods.surprise.state import SurpriseState
from paribus.methods.surprise.views import Bytes
from paribus.tables.encoded_table import EncodedTable, RowNumbers
from paribus.tables.row_hash import row_keys
from paribus.tables.table import Table


@dataclass(frozen=True)
class Pool:
    """Recent rows, and older ones that trees still hold."""

    table: EncodedTable
    """With the rows of the table so far in the same order, the others between them at random."""
    numbers: Positions
    """By row, in order of arrival: its number in the stream."""
    moved: Positions
    """By row of the table so far, as it is held: its number as this one holds it; -1 if it is not there."""
    recent: Positions
    """The recent rows, as the table holds them, ascending."""


def pool_rows(
    old: EncodedTable,
    state: SurpriseState,
    numbers: Positions,
    recent: Mapping[str, list[Any]],
    recent_numbers: Positions,
    context: Floats,
    behavior: Floats,
    n_pairs: int,
) -> Pool:
    """The rows of the trees that are kept when the first `n_pairs` pairs are dropped, and recent ones.

    `numbers` are those of the rows of the table so far, in the caller's order; `context` and `behavior` are the
    recent rows, encoded. Raises a ValueError if a category is new, which trees have no code for.
    """
    all_codes = [*old.encoding.codes, *old.behavior_encoding.feature_codes]
    values = np.hstack([context, behavior])
    for feature, codes in enumerate(all_codes):
        if codes is not None and (values[:, feature] >= len(codes)).any():
            raise ValueError("a category is new")
    order = np.arange(old.n_rows) if old.order is None else old.order.astype(np.int64)
    held_numbers = numbers[order]
    is_needed = np.zeros(old.n_rows, dtype=bool)
    for rows, ends in state.forests.samples:
        is_needed[rows[ends[2 * n_pairs - 1] :]] = True
    is_needed &= ~np.isin(held_numbers, recent_numbers)
    kept = np.flatnonzero(is_needed)
    kept = kept[np.argsort(held_numbers[kept], kind="stable")]
    all_numbers = np.concatenate([held_numbers[kept], recent_numbers])
    sequence = np.argsort(all_numbers, kind="stable")
    # Minus zero becomes zero, which it equals.
    pooled = np.vstack([old.rows[kept], values])[sequence] + 0.0
    original = _join(old, order[kept], recent, sequence)
    columns = old.n_columns if old.names is None else old.names
    all_numbers = all_numbers[sequence]
    given = EncodedTable(original, old.roles, old.encoding, pooled, None, columns, old.behavior_encoding)
    new_order = _merged_order(all_numbers, held_numbers, given)
    table = EncodedTable(
        original, old.roles, old.encoding, pooled[new_order], new_order, columns, old.behavior_encoding
    )  # fmt: skip
    new_held = all_numbers[new_order]
    moved = _places_of(held_numbers, new_held)
    return Pool(table, all_numbers, moved, np.flatnonzero(np.isin(new_held, recent_numbers)))


def _merged_order(all_numbers: Positions, held_numbers: Positions, given: EncodedTable) -> RowNumbers:
    """An order of rows in which those of the table so far are in the same order as there, and others at random.

    Trees refer to their rows by the order of these. An order by content would not do: the hashes of categories depend
    on the other rows that have them.
    """
    places = _places_of(all_numbers, held_numbers)
    drawn = (row_keys(given.row_hashes()) >> np.uint64(11)).astype(np.float64) / 2.0**53
    keys = np.where(places >= 0, (places + 0.5) / len(held_numbers), drawn)
    return np.argsort(keys, kind="stable").astype(np.uint32)


def _places_of(numbers: Positions, among: Positions) -> Positions:
    """The position of each number among others, which are distinct; -1 if it is not there."""
    by_number = np.argsort(among, kind="stable")
    place = np.minimum(np.searchsorted(among[by_number], numbers), len(among) - 1)
    return np.where(among[by_number][place] == numbers, by_number[place], -1)


def _join(old: EncodedTable, positions: Positions, recent: Mapping[str, list[Any]], sequence: Positions) -> Table:
    """The original of both; columns that the recent rows do not have are missing there."""
    original = old.original
    n_recent = len(next(iter(recent.values())))
    joined = {}
    for column in range(original.n_columns):
        name = original.name(column)
        cells = original.cells(column)
        both = [cells[position] for position in positions] + list(recent.get(name, [None] * n_recent))
        joined[name] = [both[place] for place in sequence]
    return Table(joined)


class CombinedSamples:
    """The samples of old trees in a new table, and those of new trees after them."""

    def __init__(self, old: list[tuple[RowNumbers, RowNumbers]], moved: Positions, n_pairs: int, n_rows: int) -> None:
        self._old, self._moved, self._n_dropped, self._n_rows = old, moved, 2 * n_pairs, n_rows
        self._places: dict[tuple[int, int], int] = {}
        self.made: list[Samples] = []
        self.sample_of: list[int] = []
        """By column that was asked for: its place in `made`."""

    def of(self, which: int, drawn: Samples) -> Samples:
        """The samples of a column: those so far, by their place, and the ones that were drawn."""
        key = which, id(drawn)
        if key not in self._places:
            rows, ends = self._old[which]
            begin = int(ends[self._n_dropped - 1])
            kept = self._moved[rows[begin:]]
            new_rows, new_ends = drawn.arrays()
            # `pool_rows` keeps the order of rows, and thereby that within a sample.
            if (kept < 0).any():
                raise ValueError("a row of a tree is missing")
            combined = np.concatenate([kept.astype(np.uint32), new_rows])
            all_ends = np.concatenate([ends[self._n_dropped :] - np.uint32(begin), new_ends + np.uint32(len(kept))])
            self._places[key] = len(self.made)
            self.made.append(Samples.stored(self._n_rows, combined, all_ends.astype(np.uint32)))
        self.sample_of.append(self._places[key])
        return self.made[self._places[key]]


def check_bins(old: list[Bytes], new: list[Bytes]) -> None:
    """Raises a ValueError if categories are in other bins than those that old trees were grown with."""
    for before, after in zip(old, new, strict=True):
        n = min(len(before), len(after))
        if not np.array_equal(before[:n], after[:n]):
            raise ValueError("categories are in other bins")
