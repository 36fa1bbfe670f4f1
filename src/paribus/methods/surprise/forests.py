"""The samples and forests of a fitted ConditionalSurprise, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._core import FeatureKinds, Samples
from paribus.methods.surprise.views import Bytes, ForestSettings
from paribus.tables.encoded_table import RowNumbers
from paribus.tables.row_hash import Hashes


@dataclass(frozen=True)
class StoredForests:
    """Forests as bytes, and the samples that their trees grew on."""

    index: RowNumbers = field(repr=False)
    """The fitted rows in the order in which they are looked up."""
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
        """What forests know about features."""
        return FeatureKinds(categorical, self.bins)


class SampleDraws:
    """Draws samples: once for all columns that have values in the same rows."""

    def __init__(self, originals: Positions, keys: Hashes, seed: int, n_threads: int) -> None:
        self._originals, self._keys, self._seed, self._n_threads = originals, keys, seed, n_threads
        self._places: dict[bytes, int] = {}
        self.drawn: list[Samples] = []

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
            )
        return self._places[key]
