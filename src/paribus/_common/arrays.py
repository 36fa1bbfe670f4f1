"""Array types that the packages exchange, and the range of numbers that arrays may hold."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Positions: TypeAlias = npt.NDArray[np.int64]
"""Positions of rows in the fitted table."""

SMALLEST_RANGE = 1e-250
"""Values that differ by less are treated as equal: dividing by the difference would overflow."""
LARGEST_NUMBER = 1e250
"""The largest absolute value in a table: sums over larger ones would overflow."""
