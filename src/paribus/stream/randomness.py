"""Random numbers that follow from a seed and a place alone: the same whatever was asked before."""

from __future__ import annotations

import numpy as np

from paribus._common.arrays import Floats
from paribus.tables.row_hash import mix


def uniform_rows(seed: int, first: int, n_rows: int, n: int) -> Floats:
    """Numbers between 0 and 1 for successive rows: [row][n].

    >>> bool((uniform_rows(7, 0, 10, 3)[4:] == uniform_rows(7, 4, 6, 3)).all())
    True
    """
    base = mix(np.arange(first, first + n_rows, dtype=np.uint64) ^ mix(np.array([seed], dtype=np.uint64)))
    places = mix(np.asarray(base[:, None] + np.arange(1, n + 1, dtype=np.uint64), dtype=np.uint64))
    return np.asarray((places >> np.uint64(11)).astype(np.float64) / 2.0**53)
