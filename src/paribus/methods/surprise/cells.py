"""What is known of each cell of some rows, from which their verdict is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Floats

# The most rows that are judged at a time, unless they have so many values; but not fewer than this.
BLOCK_SIZE = 65_536
BLOCK_VALUES = 2**20
MIN_BLOCK_SIZE = 1_024


@dataclass(frozen=True)
class CellEvidence:
    """What is known of each cell of some rows: [row][behavioral feature], NaN where a value is missing."""

    given_context: Floats
    """Calibrated evidence: minus the logarithm of the probability of a value at most as dense."""
    given_all: Floats
    """The same given the context and the other behavioral features; the same array if there is one feature."""
    surprise_given_context: Floats
    """Minus the logarithm of the density, above the usual."""
    surprise_given_all: Floats
    gross: Floats
    """The evidence of a value beyond anything that its column has, whatever the context; 0 of all others."""

    @property
    def both(self) -> Floats:
        """The mean of the evidence given the context and given all."""
        return np.asarray((self.given_context + self.given_all) / 2.0)

    def blocks(self) -> Iterator[CellEvidence]:
        """The same, some rows at a time, so that what is computed from them takes little memory."""
        n_rows, n_features = self.given_context.shape
        size = min(BLOCK_SIZE, max(BLOCK_VALUES // n_features, MIN_BLOCK_SIZE))
        for begin in range(0, max(n_rows, 1), size):
            yield self.take(slice(begin, begin + size))

    def take(self, rows: Any) -> CellEvidence:
        """The same for some of the rows."""
        return CellEvidence(
            self.given_context[rows],
            self.given_all[rows],
            self.surprise_given_context[rows],
            self.surprise_given_all[rows],
            self.gross[rows],
        )
