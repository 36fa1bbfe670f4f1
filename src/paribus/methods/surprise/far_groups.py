"""Groups of rows that lie far out as a whole: whether the context explains values that would be pulled in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import evenly
from paribus._core import FeatureTable, Target
from paribus.methods.surprise.categories import Categories
from paribus.methods.surprise.forests import SampleDraws
from paribus.methods.surprise.state import Summary, SurpriseSettings
from paribus.methods.surprise.tails import UNLIMITED
from paribus.methods.surprise.views import Asked, Features, ForestSettings, ForestView, WholeColumn
from paribus.tables.placeholders import is_all_nines

# A forest that only tells far values from others needs few trees.
N_PAIRS = 16
# The number of far values that are asked about.
MAX_FAR = 2_000
# Fewer far rows are not a group of which a tree could have seen enough.
MIN_ROWS = 6
# The share of the rows in comparable contexts that must be far out, too.
MIN_SHARE = 0.5
# Values that repeat are a placeholder, unless nearly all rows in comparable contexts are as far out: the context then
# determines them, as a product its price. A sensor that was off for a year is no reason to believe 9999, though.
MIN_DISTINCT_SHARE, MIN_SHARE_OF_REPEATED = 0.5, 0.9
# Explained values beyond their quartiles by more than this many interquartile ranges are pulled in as before.
MAX_BEYOND = 3.0
# Groups may lie at several distances.
MAX_ROUNDS = 4


@dataclass(frozen=True)
class FarGroups:
    """Tells whether the context explains that values are far out.

    A value is explained if at least half of the rows in contexts like its own lie beyond the same limit, by trees that
    have not seen it. Gross errors have no such company.
    """

    table: FeatureTable
    draws: SampleDraws
    """Draws the samples of trees."""
    asked: Asked
    """All rows of the table."""
    settings: SurpriseSettings

    def widened(self, summary: Summary, target: Floats, features: Features) -> Summary:
        """The summary of a column with limits that are moved outwards as far as the context explains values there.

        A placeholder that the context explains is none.

        Parameters
        ----------
        summary : Summary
            The column; returned as it is if its limits stay, or if it has categories.
        target : array
            Its values, NaN where one is missing.
        features : array
            The columns that are its context.
        """
        if isinstance(summary, Categories) or summary[0].is_constant or len(features) == 0:
            return summary
        whole, support = summary
        low, high = whole.limits
        limits = -self._upper(-target, -low, features), self._upper(target, high, features)
        tails = replace(whole.tails, placeholders=UNLIMITED) if self._explains(whole, target, features) else whole.tails
        is_same = limits == whole.limits and tails is whole.tails
        return summary if is_same else (replace(whole, limits=limits, tails=tails), support)

    def _explains(self, whole: WholeColumn, target: Floats, features: Features) -> bool:
        """Whether the placeholders of a column are none: nearly all rows in contexts like those of most have one."""
        if not whole.tails.has_placeholders or any(is_all_nines(bound) for bound in whole.tails.placeholders):
            return False
        flags = whole.tails.are_placeholders(target)
        some = evenly(np.flatnonzero(flags), MAX_FAR)
        shares = self._shares(np.where(np.isnan(target), np.nan, flags), some, features)
        return bool((shares >= MIN_SHARE_OF_REPEATED).mean() >= MIN_SHARE)

    def _upper(self, target: Floats, limit: float, features: Features) -> float:
        """The upper limit."""
        for _ in range(MAX_ROUNDS):
            is_far = target > limit
            if is_far.sum() < MIN_ROWS:
                break
            far = evenly(np.flatnonzero(is_far), MAX_FAR)
            shares = self._shares(np.where(np.isnan(target), np.nan, is_far), far, features)
            wider = _fence(target[far], shares)
            if not wider > limit:
                break
            limit = wider
        return limit

    def _shares(self, flags: Floats, rows: Positions, features: Features) -> Floats:
        """The share of flagged rows in contexts like those of some rows, which are not counted themselves."""
        # All features, at each split: what sets a group apart may be a single category.
        settings = ForestSettings(N_PAIRS, len(features), self.settings.min_samples_leaf, self.settings.max_samples)
        samples = self.draws.drawn[self.draws.of(flags, settings)]
        view = ForestView(Target(np.ascontiguousarray(flags[:, None]), 0, 0.0, 1.0), features)
        view.grow(self.table, samples, settings, self.settings.seed, self.asked.n_threads, None)
        return np.asarray(view.atoms(self.asked.take(rows)).mean(axis=1))


def _fence(values: Floats, shares: Floats) -> float:
    """How far out explained values are believed; minus infinity if they are too few, or a placeholder.

    `shares` says how many rows in contexts like that of each value are far out.

    >>> likely, sure = np.full(20, 0.6), np.ones(20)
    >>> _fence(np.arange(20.0), likely), _fence(np.append(np.arange(19.0), 1e6), likely)
    (19.0, 42.75)
    >>> [_fence(np.full(20, price), its) for price, its in [(400.0, likely), (400.0, sure), (999.0, sure)]]
    [-inf, 400.0, -inf]
    """
    explained = values[shares >= MIN_SHARE]
    if len(np.unique(explained)) < MIN_DISTINCT_SHARE * len(explained):
        explained = values[shares >= MIN_SHARE_OF_REPEATED]
        explained = explained[[not is_all_nines(value) for value in explained.tolist()]]
    if len(explained) < MIN_ROWS:
        return -np.inf
    lower, upper = np.percentile(explained, [25.0, 75.0])
    return float(min(explained.max(), upper + MAX_BEYOND * (upper - lower)))
