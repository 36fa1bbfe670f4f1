"""The samples and forests of a fitted ConditionalSurprise, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._core import FeatureKinds, Samples
from paribus.methods.surprise.views import Bytes, ForestSettings
from paribus.tables.encoded_table import RowNumbers
from paribus.tables.row_hash import Hashes, mix

# If timestamps are context, rows are sampled in this many blocks of time.
N_BLOCKS = 64
MIN_BLOCKS = 16


@dataclass(frozen=True)
class StoredForests:
    """Forests as bytes, and the samples that their trees grew on."""

    index: RowNumbers = field(repr=False)
    """The fitted rows in the order of their index."""
    bins: list[Bytes]
    """By column of the table: the bin of each category."""
    samples: list[tuple[RowNumbers, RowNumbers]]
    """The rows of one sample after the other, and where each ends."""
    sample_of: list[int]
    """By conditional column: its samples."""
    packed: list[list[Bytes]] = field(repr=False)
    """By conditional column and view."""

    def open_samples(self, n_rows: int) -> list[Samples]:
        """The samples, ready to be used."""
        return [Samples.stored(n_rows, rows, ends) for rows, ends in self.samples]

    def kinds(self, categorical: npt.NDArray[np.uint8]) -> FeatureKinds:
        """The kinds of features, and the bins of categories."""
        return FeatureKinds(categorical, self.bins)


class SampleDraws:
    """Draws samples: once for all columns that have values in the same rows."""

    def __init__(
        self, originals: Positions, keys: Hashes, seed: int, n_threads: int, blocks: Positions | None = None
    ) -> None:
        self._originals, self._keys, self._seed, self._n_threads = originals, keys, seed, n_threads
        self._blocks = blocks
        """By row: rows of one block are in one sample of a pair, or in none; None if there are no blocks."""
        self._places: dict[bytes, int] = {}
        self.drawn: list[Samples] = []

    def others(self) -> SampleDraws:
        """The same draws, for forests of another size."""
        return SampleDraws(self._originals, self._keys, self._seed, self._n_threads, self._blocks)

    def of(self, target: Floats, settings: ForestSettings) -> int:
        """Which of the drawn samples are those of a column."""
        usable = ~np.isnan(target)
        key = np.packbits(usable).tobytes()
        if key not in self._places:
            n_sample = max(1, min(int(usable.sum()) // 2, settings.max_samples))
            flags = usable.astype(np.uint8)
            self._places[key] = len(self.drawn)
            self.drawn.append(
                Samples(flags, self._originals, settings.n_pairs, n_sample, self._seed, self._n_threads, self._keys)
                if self._blocks is None
                else draw_blocks(self._blocks, self._keys, usable, settings.n_pairs, n_sample, self._seed)
            )
        return self._places[key]


def time_blocks(moments: Floats) -> Positions | None:
    """Blocks of successive rows in time, about equal in size; None if there are too few distinct timestamps.

    Successive rows are correlated. A row that is judged by rows of the same hour would seem to be
    more predictable than a row of tomorrow is.

    >>> len(np.unique(time_blocks(np.arange(1000.0))))
    64
    >>> time_blocks(np.repeat(np.arange(5.0), 200)) is None
    True
    """
    known = np.flatnonzero(~np.isnan(moments))
    blocks = np.arange(len(moments)) + N_BLOCKS
    n_earlier = np.searchsorted(np.sort(moments[known]), moments[known])
    blocks[known] = n_earlier * N_BLOCKS // max(len(known), 1)
    return None if len(np.unique(blocks[known])) < MIN_BLOCKS else blocks


def draw_blocks(
    blocks: Positions, keys: Hashes, usable: npt.NDArray[np.bool_], n_pairs: int, n_sample: int, seed: int
) -> Samples:
    """Pairs of samples without a common block, each of at most this many rows."""
    rows = np.flatnonzero(usable)
    distinct, place, counts = np.unique(blocks[rows], return_inverse=True, return_counts=True)
    taken: list[RowNumbers] = []
    for pair in range(n_pairs):
        key = mix(np.array([seed * n_pairs + pair], dtype=np.uint64))
        order = np.argsort(mix(distinct.astype(np.uint64) ^ key), kind="stable")
        # One after the other, so that both samples have about half of the rows.
        half = np.empty(len(distinct), dtype=np.int64)
        half[order] = (np.cumsum(counts[order]) - counts[order] // 2) * 2 // len(rows)
        for side in range(2):
            own = rows[np.minimum(half, 1)[place] == side]
            if len(own) > n_sample:
                own = np.sort(own[np.argsort(mix(keys[own] ^ key), kind="stable")[:n_sample]])
            taken.append(own.astype(np.uint32))
    ends = np.cumsum([len(each) for each in taken]).astype(np.uint32)
    return Samples.stored(len(usable), np.concatenate(taken), ends)
