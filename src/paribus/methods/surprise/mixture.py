"""The distribution of a column given other columns: several views, mixed as they predict rows they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import SMALLEST_RANGE, Floats
from paribus._common.statistics import evenly
from paribus._core import FeatureTable
from paribus.methods.density import Density
from paribus.methods.surprise.trend import LinearTrend, fit_trend
from paribus.methods.surprise.views import (
    N_ATOMS,
    NEGLIGIBLE,
    Asked,
    Features,
    ForestSettings,
    ForestView,
    Tick,
    WholeColumn,
)

# Rows that say as much about the quality of a view as all rows would.
MAX_ROWS_FOR_SHARES = 50_000
MAX_ROWS_FOR_A_MEDIAN = 2_000
N_ROUNDS = 50


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
        report: Callable[[float], object],
    ) -> Floats:
        """Learns the views and their shares from all rows of a table. Returns how surprising each value is.

        `report` is called with the share of the work that is done.
        """
        if self._whole.is_constant:
            return self.surprises(asked, self._target)
        known = np.flatnonzero(~np.isnan(self._target))
        trend, residuals = fit_trend(asked.rows[:, self.features], categorical[self.features], self._target)
        follows_it = np.ptp(residuals[known]) <= max(NEGLIGIBLE * np.ptp(self._target[known]), SMALLEST_RANGE)
        self._make_views(None if follows_it else trend, residuals)
        some = evenly(known, MAX_ROWS_FOR_A_MEDIAN)
        n_steps = 2 * len(self._views)

        def teller(step: int, in_all: int) -> Tick:
            return lambda done: report((step + done / in_all) / n_steps)

        found = [self._whole.surprises(asked, self._target)]
        for place, view in enumerate(self._views):
            view.grow(table, settings, seed, asked.n_threads, teller(2 * place, settings.n_pairs))
            view.measure(Asked(asked.rows[some], asked.fitted[some], asked.n_threads))
            told = replace(asked, tick=teller(2 * place + 1, len(asked.rows)))
            found.append(view.surprises(told, self._target))
        surprises = np.array(found)
        self._shares = fit_shares(surprises[:, evenly(known, MAX_ROWS_FOR_SHARES)])
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
