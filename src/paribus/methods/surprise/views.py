"""Views of a column: its distribution as the whole column, or as the leaves of a forest, give it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import SMALLEST_RANGE, Floats, Positions
from paribus._common.statistics import mean_deviation, reach
from paribus._core import FeatureKinds, FeatureTable, Forest, Samples, Target, column_surprises
from paribus.methods.surprise.tails import ColumnTails
from paribus.methods.surprise.trend_target import NEGLIGIBLE, TrendTarget

Features = npt.NDArray[np.uint16]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Tick = Callable[[int], object]

# Contexts in which the target hardly varies are smoothed as if it varied by this share of the usual deviation.
MIN_DEVIATION_SHARE = 0.5
# The kernel width for the whole column, which has many more values than a context.
WIDTH_OF_WHOLE_COLUMN = 0.3 * np.sqrt(np.pi / 2.0)
# The number of values that represent the whole column.
MAX_COLUMN_ATOMS = 400
# Equal rows are copies of each other if they are no more than this.
MAX_COPIES = 10


@dataclass(frozen=True)
class ForestSettings:
    """How forests are grown."""

    n_pairs: int
    max_features: int
    min_samples_leaf: int
    max_samples: int


@dataclass(frozen=True)
class Addition:
    """New pairs of trees, which replace the oldest ones."""

    n_pairs: int
    """The number of pairs of trees in all."""
    n_dropped: int
    """The number of trees that are dropped."""
    added: Samples
    """The samples of the new trees."""
    samples: Samples
    """The samples of all trees, the new ones last."""
    kinds: FeatureKinds
    recent: Positions
    """The rows to learn from, ascending."""
    moved: Positions
    """By row of the table so far: its number in the new one; -1 if it is not there."""


@dataclass(frozen=True)
class Asked:
    """Rows whose distributions are requested."""

    rows: Floats
    """[row][column of the table]; categories as codes."""
    fitted: Positions
    """The fitted row that each one is, or -1."""
    n_threads: int = 1
    tick: Tick | None = None
    is_elsewhere: npt.NDArray[np.bool_] | None = None
    """Whether each row is in another context than the fitted row, which is only left out; None if none is."""
    unfamiliar: Flags | None = None
    """[row][behavioral feature]: whether no other fitted row has a category of the context; None if none has any."""

    def take(self, places: Positions) -> Asked:
        """Some of the rows."""
        is_elsewhere = None if self.is_elsewhere is None else self.is_elsewhere[places]
        unfamiliar = None if self.unfamiliar is None else self.unfamiliar[places]
        return Asked(self.rows[places], self.fitted[places], self.n_threads, None, is_elsewhere, unfamiliar)


@dataclass(frozen=True)
class Growth:
    """What a column is fitted from, and how."""

    samples: Samples
    """The samples of its trees."""
    asked: Asked
    """All rows of the table."""
    categorical: npt.NDArray[np.uint8]
    """By column of the table: whether it holds categories."""
    settings: ForestSettings
    seed: int


def find_originals(first_equal: Positions) -> Positions:
    """The row that each fitted row is a copy of, itself if none, from the first row that equals it in all columns.

    Copies must not make each other look ordinary. Rows that equal many others are not copies but a common case, which
    would look strange without them. Where these outnumber the copies, as in a table of a few categories, rows are equal
    by chance, and none is a copy.

    >>> find_originals(np.array([0, 1, 0, 3]))
    array([0, 1, 0, 3])
    """
    counts = np.bincount(first_equal, minlength=len(first_equal))[first_equal]
    is_copy = (counts > 1) & (counts <= MAX_COPIES)
    if (counts > MAX_COPIES).sum() > is_copy.sum():
        return np.arange(len(first_equal))
    return np.where(is_copy, first_equal, np.arange(len(first_equal)))


def pull_in(values: Floats) -> Floats:
    """The same values, with far ones clipped.

    Gross values must not affect splits, or widen the kernels of their neighbors.

    >>> float(pull_in(np.append(np.arange(101.0), 1e9))[-1].round(1))
    232.3
    """
    return np.asarray(np.clip(values, *reach(values[~np.isnan(values)])))


@dataclass(frozen=True)
class WholeColumn:
    """The view without any condition: the distribution of the whole column."""

    range: tuple[float, float]
    atoms: Floats
    """Values that represent the column, far ones pulled in."""
    scale: float
    has_all: bool
    """Whether these are all that there are."""
    limits: tuple[float, float]
    """Values are clipped to this range, in all views."""
    tails: ColumnTails
    """The tails, which determine whether a value is gross."""

    @classmethod
    def of(cls, target: Floats) -> WholeColumn:
        """The view of a column."""
        values = np.sort(target[~np.isnan(target)])
        limits = reach(values)
        near = np.clip(values, *limits)
        n = min(len(near), MAX_COLUMN_ATOMS)
        atoms: Floats = near[((np.arange(n) + 0.5) / n * len(near)).astype(np.int64)]
        # Between equal values, any width is valid.
        scale = WIDTH_OF_WHOLE_COLUMN * (mean_deviation(atoms) or mean_deviation(near) or 1.0)
        ends = float(values[0]), float(values[-1])
        return cls(ends, atoms, float(scale), n == len(near), limits, ColumnTails.of(values))

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same."""
        return self.range[1] - self.range[0] <= SMALLEST_RANGE

    def surprises(self, asked: Asked, values: Floats) -> Floats:
        """Minus the logarithm of the smooth density at the values. A fitted row does not count itself."""
        is_own = (self.has_all & (asked.fitted >= 0)).astype(np.uint8)
        return column_surprises(self.atoms, self.scale, values, is_own, asked.n_threads)


@dataclass(frozen=True)
class GrownView:
    """The forest of a view, grown by a task, and what else the view has."""

    packed: Bytes
    """The forest, as it is stored."""
    min_deviation: float = 0.0
    trend: TrendTarget | None = None


class ForestView:
    """The view of a forest: the distribution of the rows that share the row's leaves.

    With a trend, it is that of their distances from the trend, put around the row's own place on it.

    Parameters
    ----------
    target : Target
        The column, far values pulled in; or the distances of its rows from a trend.
    features : array
        The columns of the table that splits may use.
    has_trend : bool
        Whether the target is distances.
    """

    def __init__(self, target: Target, features: Features, *, has_trend: bool = False) -> None:
        self.min_deviation = 0.0
        """Contexts in which the target varies less are smoothed as if it varied as much."""
        self._target = target
        self._features = features
        self._has_trend = has_trend

    def grow(
        self,
        table: FeatureTable,
        samples: Samples,
        settings: ForestSettings,
        seed: int,
        n_threads: int,
        tick: Tick | None,
        *,
        keeps_leaves: bool = False,
    ) -> None:
        """Grows the forest. `keeps_leaves` is for `FoundLeaves`, and takes memory until the forest is released."""
        self.forest = Forest(
            table,
            samples,
            self._target,
            self._features,
            settings.max_features,
            settings.min_samples_leaf,
            seed,
            n_threads,
            tick,
            keeps_leaves,
        )

    def open(self, kinds: FeatureKinds, samples: Samples, rows: Floats, packed: Bytes, min_deviation: float) -> None:
        """Restores a forest, over the rows of a table."""
        self.forest = Forest(kinds, samples, self._target, rows, packed)
        self.min_deviation = min_deviation

    def measure(self, asked: Asked) -> None:
        """Estimates the usual variation of the target in a context from some rows."""
        deviations = self.forest.deviations(asked.rows, asked.fitted, asked.n_threads)
        usual = float(np.median(deviations)) or float(deviations.mean())
        if not usual:
            values = self._target.values()
            usual = NEGLIGIBLE * mean_deviation(values[~np.isnan(values)])
        self.min_deviation = MIN_DEVIATION_SHARE * usual

    def centers(self, asked: Asked) -> Floats | None:
        """The prediction of the trend for each row, if there is one; out of sample for fitted rows."""
        if not self._has_trend:
            return None
        fitted = asked.fitted if asked.is_elsewhere is None else np.where(asked.is_elsewhere, -1, asked.fitted)
        return self._target.centers(asked.rows, fitted)

    def atoms(self, asked: Asked) -> Floats:
        """[row][atom]: values that represent each row's distribution, with equal weights."""
        found = self.forest.atoms(asked.rows, asked.fitted, asked.n_threads)
        centers = self.centers(asked)
        return found if centers is None else np.asarray(found + centers[:, None])
