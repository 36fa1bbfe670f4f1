"""Views of a column: its distribution as the whole column, or as the leaves of a forest, give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import SMALLEST_RANGE, Floats, Positions
from paribus._common.statistics import mean_deviation
from paribus._core import FeatureTable, Forest, column_surprises
from paribus.methods.surprise.trend import LinearTrend

Features = npt.NDArray[np.uint16]
Tick = Callable[[int], object]

# Kernel width as a share of the mean absolute deviation: half a standard deviation of a normal distribution.
WIDTH = 0.5 * np.sqrt(np.pi / 2.0)
# Contexts in which the target hardly varies are smoothed as if it varied by this share of the usual deviation.
MIN_DEVIATION_SHARE = 0.5
# The kernel width for the whole column, which has many more values than a context.
WIDTH_OF_WHOLE_COLUMN = 0.3 * np.sqrt(np.pi / 2.0)
# Values that represent the whole column.
MAX_COLUMN_ATOMS = 400
# Values that represent the distribution of one row.
N_ATOMS = 50
# A deviation this much smaller than the target's is rounding error.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class ForestSettings:
    """How forests are grown."""

    n_pairs: int
    max_features: int
    min_samples_leaf: int
    max_samples: int


@dataclass(frozen=True)
class Asked:
    """Rows that a distribution is wanted for."""

    rows: Floats
    """[row][column of the table]; categories as codes."""
    fitted: Positions
    """The fitted row that each one is, or -1."""
    n_threads: int = 1
    tick: Tick | None = None


class WholeColumn:
    """The view that the other columns say nothing: the distribution is that of the whole column."""

    def __init__(self, target: Floats) -> None:
        values = np.sort(target[~np.isnan(target)])
        n = min(len(values), MAX_COLUMN_ATOMS)
        self._has_all = n == len(values)
        self.atoms: Floats = values[((np.arange(n) + 0.5) / n * len(values)).astype(np.int64)]
        self.range = float(values[0]), float(values[-1])
        self.is_constant = self.range[1] - self.range[0] <= SMALLEST_RANGE
        # Between equal values any width will do.
        self.scale = WIDTH_OF_WHOLE_COLUMN * (mean_deviation(self.atoms) or mean_deviation(values) or 1.0)

    def surprises(self, asked: Asked, values: Floats) -> Floats:
        """Minus the logarithm of the smooth density at the values. A fitted row does not count itself."""
        is_own = (self._has_all & (asked.fitted >= 0)).astype(np.uint8)
        return column_surprises(self.atoms, self.scale, values, is_own, asked.n_threads)


class ForestView:
    """The view of a forest: the distribution is that of the rows that share the row's leaves.

    With a trend, it is that of their distances from the trend, put around the row's own place on it.
    """

    def __init__(self, target: Floats, trend: LinearTrend | None, features: Features) -> None:
        self.target = target
        """What the forest is grown for: the column itself, or the distances from the trend."""
        self.trend = trend
        self.least = 0.0
        """Contexts in which the target varies less are smoothed as if it varied as much."""
        self._features = features

    def grow(self, table: FeatureTable, settings: ForestSettings, seed: int, n_threads: int, tick: Tick | None) -> None:
        """Grows the forest."""
        n_usable = int((~np.isnan(self.target)).sum())
        self.forest = Forest(
            table,
            self.target,
            self._features,
            settings.max_features,
            settings.min_samples_leaf,
            settings.n_pairs,
            min(n_usable // 2, settings.max_samples),
            seed,
            n_threads,
            tick,
        )

    def measure(self, asked: Asked) -> None:
        """Learns from some rows how much the target usually varies in a context."""
        deviations = self.forest.deviations(asked.rows, asked.fitted, asked.n_threads)
        usual = float(np.median(deviations)) or float(deviations.mean())
        self.least = MIN_DEVIATION_SHARE * (usual or NEGLIGIBLE * mean_deviation(self.target[~np.isnan(self.target)]))

    def surprises(self, asked: Asked, values: Floats) -> Floats:
        """Minus the logarithm of the smooth density at the values."""
        away = values - self.centers(asked, values)
        return self.forest.surprises(asked.rows, asked.fitted, away, WIDTH, self.least, asked.n_threads, asked.tick)

    def centers(self, asked: Asked, values: Floats) -> Floats:
        """What the trend expects of each row. A fitted one is judged as if the trend had not seen it."""
        if self.trend is None:
            return np.zeros(len(values))
        expected = self.trend.predict(asked.rows[:, self._features])
        own = (asked.fitted >= 0) & ~np.isnan(values)
        expected[own] = (values - self.target[asked.fitted])[own]
        return expected

    def atoms(self, asked: Asked, values: Floats) -> Floats:
        """[row][atom]: values that stand for each row's distribution, each for as much of it."""
        found = self.forest.quantiles(asked.rows, asked.fitted, N_ATOMS, asked.n_threads)
        return np.asarray(found + self.centers(asked, values)[:, None])

    def scales(self, asked: Asked) -> Floats:
        """The width of the kernel for each row."""
        deviations = self.forest.deviations(asked.rows, asked.fitted, asked.n_threads)
        return np.asarray(WIDTH * np.maximum(deviations, self.least))
