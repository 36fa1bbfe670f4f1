"""The information that a context has about behavior, in bits and out of sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import average_ranks, evenly
from paribus._core import FeatureTable, Target
from paribus.methods.surprise.forests import SampleDraws, time_blocks
from paribus.methods.surprise.smoothing import SURPRISE_WIDTH
from paribus.methods.surprise.view_shares import fit_shares, mix
from paribus.methods.surprise.views import Asked, ForestSettings, ForestView, WholeColumn
from paribus.tables.encoding import ContextEncoding
from paribus.tables.row_hash import Hashes, canonical_order, hash_contents, hash_rows
from paribus.tables.row_hash import mix as mix_bits
from paribus.tables.table import Table

# The rows that gains are measured on, and the trees of a forest.
MAX_ROWS = 5_000
# In a larger table, every k-th row is used.
MAX_HASHED = 40_000
N_PAIRS = 8
MIN_SAMPLES_LEAF = 5
# For an interval of 95 %.
NORMAL_QUANTILE = 1.96


@dataclass(frozen=True)
class Gain:
    """The mean information of a context about a value, in bits."""

    bits: float
    low: float
    """The lower end of the 95 % interval."""
    high: float
    """The upper end."""

    @classmethod
    def of(cls, by_row: Floats) -> Gain:
        """The mean over rows, with its interval."""
        mean = float(by_row.mean())
        half = NORMAL_QUANTILE * float(by_row.std()) / float(np.sqrt(len(by_row)))
        return cls(mean, mean - half, mean + half)

    @property
    def is_there(self) -> bool:
        """Whether the interval is above 0."""
        return self.low > 0


class GainMeter:
    """Measures how well sets of columns predict behavior.

    Behavior is replaced by its ranks, so that neither units nor outliers matter. Each row is predicted by trees that
    have not seen it, and, if there are timestamps, nothing from the same period.

    Parameters
    ----------
    table : Table
        The table.
    candidates : sequence of int
        The columns that may be context.
    categorical : frozenset of int
        Those of them that are categories.
    behavior : sequence of int
        The columns whose values are to be explained.
    """

    def __init__(
        self, table: Table, candidates: Sequence[int], categorical: frozenset[int], behavior: Sequence[int]
    ) -> None:
        positions = list(candidates)
        if table.n_rows > MAX_HASHED:
            table = Table(table.take(evenly(np.arange(table.n_rows), MAX_HASHED)))
        encoding, context, values, hashes = _encode(table, positions, categorical, behavior)
        chosen = canonical_order(hashes, context, values)[:MAX_ROWS]
        # Again, so that categories which are not in the sample have no codes.
        table, hashes = Table(table.take(chosen)), hashes[chosen]
        encoding, context, values, _ = _encode(table, positions, categorical, behavior)
        encoding = encoding.with_times(table, positions, context)
        self._blocks: Positions | None = None
        for place, times in enumerate(encoding.times):
            if times is not None and self._blocks is None:
                self._blocks = time_blocks(context[:, place])
        features = encoding.expand(context)
        scores = np.column_stack([_normal_scores(values[:, place]) for place in range(values.shape[1])])
        self._rows = np.ascontiguousarray(np.hstack([features, scores]))
        self._n_features = features.shape[1]
        kinds = np.append(encoding.feature_kinds, np.zeros(len(behavior), dtype=np.uint8))
        self._table = FeatureTable(self._rows, kinds)
        self._columns = encoding.feature_columns
        self._asked = Asked(self._rows, np.arange(len(self._rows)), 1)
        self._draws = SampleDraws(np.arange(len(self._rows)), mix_bits(hashes), 0, 1, self._blocks)
        self._errors: dict[tuple[int, frozenset[int]], float] = {}
        self._found: dict[tuple[int, frozenset[int]], Floats] = {}

    def by_row(self, behavior: int, context: Sequence[int]) -> Floats:
        """The information of some candidates together about each value of a behavioral column; both by position."""
        key = behavior, frozenset(context)
        if key not in self._found:
            self._found[key] = self._measure(behavior, context)
        return self._found[key]

    def gain(self, behavior: int, context: Sequence[int], beyond: Sequence[int] = ()) -> Gain:
        """The additional information of some candidates, given others."""
        found = self.by_row(behavior, [*context, *beyond])
        return Gain.of(found - self.by_row(behavior, beyond) if beyond else found)

    def error(self, behavior: int, context: Sequence[int]) -> float:
        """The error of the expected values, relative to that of the column's median."""
        self.by_row(behavior, context)
        return self._errors.get((behavior, frozenset(context)), np.inf)

    def correlation(self, first: int, second: int) -> float:
        """The correlation of the ranks of two behavioral columns; 0 if too few rows have both."""
        both = self._rows[:, [self._n_features + first, self._n_features + second]]
        both = both[~np.isnan(both).any(axis=1)]
        if len(both) < 3 or not np.ptp(both, axis=0).all():
            return 0.0
        return float(np.atleast_2d(np.corrcoef(both.T))[0, 1])

    def _measure(self, behavior: int, context: Sequence[int]) -> Floats:
        column = self._n_features + behavior
        target = np.ascontiguousarray(self._rows[:, column])
        known = np.flatnonzero(~np.isnan(target))
        whole = WholeColumn.of(target)
        features = np.flatnonzero(np.isin(self._columns, list(context))).astype(np.uint16)
        if whole.is_constant or not len(features):
            return np.zeros(len(known))
        settings = ForestSettings(N_PAIRS, max(1, round(0.7 * len(features))), MIN_SAMPLES_LEAF, MAX_ROWS)
        samples = self._draws.drawn[self._draws.of(target, settings)]
        view = ForestView(Target(self._rows, column, *whole.limits), features)
        view.grow(self._table, samples, settings, 0, 1, None)
        asked = self._asked.take(known)
        view.measure(asked.take(evenly(np.arange(len(known)), 500)))
        given = view.forest.surprises(asked.rows, asked.fitted, target[known], SURPRISE_WIDTH, view.min_deviation, 1)
        atoms = np.median(view.forest.atoms(asked.rows, asked.fitted, 1), axis=1)
        usual = np.abs(target[known] - np.median(target[known])).mean()
        self._errors[behavior, frozenset(context)] = float(np.abs(target[known] - atoms).mean() / usual)
        alone = whole.surprises(asked, target[known])
        both = np.vstack([alone, given])
        return np.asarray((alone - mix(both, fit_shares(both))) / np.log(2.0))


def _encode(
    table: Table, context: list[int], categorical: frozenset[int], behavior: Sequence[int]
) -> tuple[ContextEncoding, Floats, Floats, Hashes]:
    """The codes of categories, context and behavior as arrays, and a hash of each row."""
    encoding = ContextEncoding.fit(table, context, categorical)
    encoded = encoding.encode(table, context)
    values = np.column_stack([table.numbers(position) for position in behavior])
    names = [None if codes is None else list(codes) for codes in encoding.codes]
    columns = [*encoded.T, *values.T]
    hashes = hash_rows(columns, hash_contents(columns, [*names, *[None] * len(behavior)]))
    return encoding, encoded, values, hashes


def _normal_scores(values: Floats) -> Floats:
    """The values of a normal distribution that have the same ranks."""
    from scipy.special import ndtri

    found = np.full(len(values), np.nan)
    known = ~np.isnan(values)
    ranks = average_ranks(values[known])
    found[known] = ndtri((ranks - 0.5) / max(len(ranks), 1))
    return found
