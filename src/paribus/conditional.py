"""The distribution of a column given other columns, learned from a whole table, and how surprising a value is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paribus._core import FeatureTable, Forest, column_surprises
from paribus.trend import LinearTrend, fit_trend
from paribus.values import SMALLEST_RANGE, Floats

Positions = npt.NDArray[np.int64]
Features = npt.NDArray[np.uint16]
Tick = Callable[[int], object]
Tell = Callable[[float], object]
Number = TypeVar("Number", np.float64, np.int64)

# Half a deviation of a normal distribution, as a share of its mean absolute deviation.
WIDTH = 0.5 * np.sqrt(np.pi / 2.0)
# Contexts in which the target hardly varies are smoothed as if it varied by this share of what is usual.
LEAST_SHARE = 0.5
# The smoothing of the whole column, which has many more values than a context has.
WIDTH_OF_ALL = 0.3 * np.sqrt(np.pi / 2.0)
# Values that stand for the whole column.
MOST_ATOMS = 400
# Values that stand for the distribution of one row.
N_ATOMS = 50
# Rows that tell as much of how a forest does as all of them would.
ENOUGH_ROWS = 50_000
ENOUGH_FOR_A_MEDIAN = 2_000
N_ROUNDS = 50
DEGREES_OF_FREEDOM = 3.0
# Of Student's t with 3 degrees of freedom, at its middle.
PEAK = 2.0 / (np.pi * np.sqrt(DEGREES_OF_FREEDOM))
# A range so much smaller than the target's is rounding.
NEGLIGIBLE = 1e-12
# Where a cumulative distribution is looked at, in widths of kernels around some of its atoms.
STEPS = np.array([-16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
MOST_STEPS = 30


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


@dataclass(frozen=True)
class Density:
    """A smooth distribution: kernels around values."""

    atoms: Floats
    scales: Floats
    weights: Floats
    """1 in all."""
    lowest: float = -np.inf
    """The values of the whole column lie between this one ..."""
    highest: float = np.inf
    """... and this one."""

    def __call__(self, at: Floats) -> Floats:
        """The density at some values."""
        return np.asarray(student(at[:, None], self.atoms, self.scales) @ self.weights)

    def cumulative(self, at: Floats) -> Floats:
        """The share below some values."""
        away = (at[:, None] - self.atoms) / (self.scales * np.sqrt(DEGREES_OF_FREEDOM))
        with np.errstate(over="ignore"):
            return np.asarray((0.5 + (away / (1.0 + away**2) + np.arctan(away)) / np.pi) @ self.weights)

    def percentiles(self, n: int) -> Floats:
        """From nearly the smallest value, in n equal shares, to nearly the largest; within the range of the column."""
        some = np.argsort(self.atoms, kind="stable")[:: max(1, len(self.atoms) // MOST_STEPS)]
        steps = np.unique(self.atoms[some, None] + self.scales[some, None] * STEPS)
        # Half an interval from the ends, where the tails begin.
        shares = np.clip(np.arange(n + 1) / n, 0.5 / n, 1.0 - 0.5 / n)
        return np.asarray(np.interp(shares, self.cumulative(steps), steps).clip(self.lowest, self.highest))


class WholeColumn:
    """The view that the other columns say nothing: the distribution is that of the whole column."""

    def __init__(self, target: Floats) -> None:
        values = np.sort(target[~np.isnan(target)])
        n = min(len(values), MOST_ATOMS)
        self._has_all = n == len(values)
        self.atoms: Floats = values[((np.arange(n) + 0.5) / n * len(values)).astype(np.int64)]
        self.range = float(values[0]), float(values[-1])
        self.is_constant = self.range[1] - self.range[0] <= SMALLEST_RANGE
        # Between equal values any width will do.
        self.scale = WIDTH_OF_ALL * (mean_deviation(self.atoms) or mean_deviation(values) or 1.0)

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
        self.least = LEAST_SHARE * (usual or NEGLIGIBLE * mean_deviation(self.target[~np.isnan(self.target)]))

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


@dataclass(frozen=True)
class Learned:
    """What a conditional column has learned, apart from its forests, which grow again from their seed."""

    shares: Floats
    usual: float
    least: list[float]
    """By view of a forest."""
    trend: LinearTrend | None
    residuals: Floats | None


class ConditionalColumn:
    """The distribution of a column given others: several views of it, mixed.

    Each view counts as much as it deserves by how well it foresees rows that it has not seen: the shares are those that
    make the fitted values most likely, each value judged without its own row.

    Parameters
    ----------
    target : array
        The column.
    whole : WholeColumn
        Its distribution when nothing else is known.
    features : array
        The columns of the table that it is conditioned on.
    """

    def __init__(self, target: Floats, whole: WholeColumn, features: Features) -> None:
        self.features = features
        self._target = target
        self._whole = whole
        self._views: list[ForestView] = []
        self._shares = np.ones(1)
        self._usual = 0.0

    def fit(
        self,
        table: FeatureTable,
        asked: Asked,
        categorical: npt.NDArray[np.uint8],
        settings: ForestSettings,
        seed: int,
        tell: Tell,
    ) -> Floats:
        """Learns the views and their shares from all rows of a table. Returns how surprising each value is.

        `tell` hears which share of the work is done.
        """
        if self._whole.is_constant:
            return self.surprises(asked, self._target)
        known = np.flatnonzero(~np.isnan(self._target))
        trend, residuals = fit_trend(asked.rows[:, self.features], categorical[self.features], self._target)
        follows_it = np.ptp(residuals[known]) <= max(NEGLIGIBLE * np.ptp(self._target[known]), SMALLEST_RANGE)
        self._make_views(None if follows_it else trend, residuals)
        some = evenly(known, ENOUGH_FOR_A_MEDIAN)
        n_steps = 2 * len(self._views)

        def teller(step: int, in_all: int) -> Tick:
            return lambda done: tell((step + done / in_all) / n_steps)

        found = [self._whole.surprises(asked, self._target)]
        for place, view in enumerate(self._views):
            view.grow(table, settings, seed, asked.n_threads, teller(2 * place, settings.n_pairs))
            view.measure(Asked(asked.rows[some], asked.fitted[some], asked.n_threads))
            told = replace(asked, tick=teller(2 * place + 1, len(asked.rows)))
            found.append(view.surprises(told, self._target))
        surprises = np.array(found)
        self._shares = fit_shares(surprises[:, evenly(known, ENOUGH_ROWS)])
        mixed = mix(surprises, self._shares)
        self._usual = float(np.median(mixed[known]))
        return mixed - self._usual

    def recall(
        self, learned: Learned, table: FeatureTable, settings: ForestSettings, seed: int, n_threads: int
    ) -> None:
        """Takes over what was learned before, and grows the same forests again."""
        self._shares, self._usual = learned.shares, learned.usual
        if self._whole.is_constant:
            return
        self._make_views(learned.trend, learned.residuals)
        for view, least in zip(self._views, learned.least, strict=True):
            view.grow(table, settings, seed, n_threads, None)
            view.least = least

    @property
    def learned(self) -> Learned:
        """What was learned."""
        around = next((view for view in self._views if view.trend is not None), None)
        return Learned(
            self._shares,
            self._usual,
            [view.least for view in self._views],
            None if around is None else around.trend,
            None if around is None else around.target,
        )

    def _make_views(self, trend: LinearTrend | None, residuals: Floats | None) -> None:
        self._views = [ForestView(self._target, None, self.features)]
        if trend is not None and residuals is not None:
            self._views.append(ForestView(residuals, trend, self.features))

    def surprises(self, asked: Asked, values: Floats) -> Floats:
        """How much more surprising each value is than a usual one, in nats; NaN for a value that is missing."""
        if self._whole.is_constant:
            # There is no scale to tell how far off another value would be.
            return np.where(np.isnan(values), np.nan, 0.0)
        return mix(self._surprises_of_views(asked, values), self._shares) - self._usual

    def densities(self, asked: Asked, values: Floats) -> list[Density]:
        """The smooth distribution of each row."""
        atoms = [view.atoms(asked, values) for view in self._views]
        scales = [view.scales(asked) for view in self._views]
        whole = evenly(self._whole.atoms, 2 * N_ATOMS)
        lowest, highest = self._whole.range
        counts = [len(whole), *([N_ATOMS] * len(self._views))]
        weights = np.repeat(self._shares / counts, counts)
        return [
            Density(
                np.concatenate([whole, *(each[row] for each in atoms)]),
                np.repeat([self._whole.scale, *(each[row] for each in scales)], counts),
                weights,
                lowest,
                highest,
            )
            for row in range(len(asked.rows))
        ]

    def weights(self, row: Floats, fitted: int) -> Floats:
        """How much each fitted row counts for a row, 1 in all: that is, how often it shares a leaf."""
        if not self._views:
            return np.full(len(self._target), 1.0 / len(self._target))
        shares = self._shares[1:] + NEGLIGIBLE
        found = [view.forest.weights(row, fitted) for view in self._views]
        return np.asarray(np.tensordot(shares / shares.sum(), found, 1))

    def _surprises_of_views(self, asked: Asked, values: Floats) -> Floats:
        whole = self._whole.surprises(asked, values)
        return np.array([whole, *(view.surprises(asked, values) for view in self._views)])


def fit_shares(surprises: Floats) -> Floats:
    """The shares of views, [view][row], that make the rows most likely together.

    >>> fit_shares(np.array([[1.0, 1.0, 1.0], [4.0, 4.0, -2.0]])).round(2)
    array([0.68, 0.32])
    """
    likelihoods = np.exp(surprises.min(axis=0) - surprises)
    shares = np.full(len(surprises), 1.0 / len(surprises))
    for _ in range(N_ROUNDS):
        belief = shares[:, None] * likelihoods
        shares = (belief / belief.sum(axis=0)).mean(axis=1)
    return shares


def mix(surprises: Floats, shares: Floats) -> Floats:
    """The surprise of a mixture of views: [view][row] -> [row].

    >>> mix(np.array([[1.0, 2.0], [1.0, 50.0]]), np.array([0.5, 0.5])).round(2)
    array([1.  , 2.69])
    """
    least = surprises.min(axis=0)
    # View by view, so that a row's mixture does not depend on the rows around it.
    likelihood = np.zeros(surprises.shape[1])
    for each, share in zip(surprises, shares, strict=True):
        likelihood += share * np.exp(least - each)
    return np.asarray(least - np.log(likelihood))


def evenly(values: npt.NDArray[Number], most: int) -> npt.NDArray[Number]:
    """Some of the values, evenly spread: no more than so many.

    >>> evenly(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return values[:: -(-len(values) // most)]


def student(values: Floats, centers: Floats, scale: float | Floats) -> Floats:
    """The density of Student's t with 3 degrees of freedom."""
    with np.errstate(over="ignore"):
        return np.asarray(PEAK / scale / (1.0 + ((values - centers) / scale) ** 2 / DEGREES_OF_FREEDOM) ** 2)


def mean_deviation(values: Floats) -> float:
    """The mean absolute deviation from the mean."""
    return float(np.abs(values - values.mean()).mean())
