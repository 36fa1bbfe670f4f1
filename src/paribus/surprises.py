"""Surprise as a judge: forests over the whole table, smooth densities, and minus their logarithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._core import Engine, FeatureTable
from paribus.conditional import Asked, ConditionalColumn, ForestSettings, Learned, WholeColumn, evenly
from paribus.fitted import Encoded
from paribus.forests import resolve_max_features
from paribus.judge import AskedRows, Positions, RowFindings, Surprise
from paribus.scoring import FULL_SCORE
from paribus.values import Floats, column_ranges

# Reference rows that an explanation shows at most: those that count most.
MOST_REFERENCES = 200
N_QUANTILES = 100
# The scale of scores when nothing is clipped: that of the default clip.
DEFAULT_CLIP = 3.0
# How much all that lies beyond the cap counts, as a share of it: enough for rows at the cap to keep an order.
BEYOND = 0.05
# Rows whose reference groups say how far away such rows usually are.
ENOUGH_FOR_REACH = 200
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class SurpriseSettings:
    """What was set, and the seed of what is drawn at random."""

    n_trees: int
    max_features: int | float | str | None
    min_samples_leaf: int
    max_samples: int
    clip: float | None
    seed: int

    def of_forest(self, n_features: int) -> ForestSettings:
        """How a forest over so many features is grown."""
        return ForestSettings(
            -(-self.n_trees // 2),
            resolve_max_features(self.max_features, n_features),
            self.min_samples_leaf,
            self.max_samples,
        )


@dataclass(frozen=True)
class SurpriseMemory:
    """What a fit leaves behind, besides the table."""

    settings: SurpriseSettings
    n_rows: int
    learned: list[Learned]
    """Of each behavioural feature: given the context, and, if there are several, given all other features."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""
        return min(self.n_rows - 1, MOST_REFERENCES)


class SurpriseJudge:
    """Holds the distribution of each behavioural feature given the context, and given all other features.

    Parameters
    ----------
    encoded : Encoded
        The fitted table.
    settings : SurpriseSettings
        How forests are grown, and what a partial score is at most.
    """

    def __init__(self, encoded: Encoded, settings: SurpriseSettings) -> None:
        self._settings = settings
        self._n_reference = min(len(encoded.context) - 1, MOST_REFERENCES)
        self._encoding = encoded.encoding
        self._context, self._behavior = encoded.context, encoded.behavior
        n_rows, self._n_contextual = encoded.context.shape
        self._n_behavioral = encoded.behavior.shape[1]
        self._rows = np.ascontiguousarray(np.hstack([encoded.context, encoded.behavior]))
        self._categorical = np.append(encoded.encoding.categorical, np.zeros(self._n_behavioral, dtype=np.uint8))
        self._table = FeatureTable(np.ascontiguousarray(self._rows.T), self._categorical)
        self._ranges = column_ranges(encoded.context)
        # It finds equal rows.
        self._engine = Engine(
            np.ascontiguousarray(encoded.context.T),
            encoded.encoding.categorical,
            np.ascontiguousarray(encoded.behavior.T),
            np.arange(n_rows, dtype=np.uint32),
            np.ones((1, 1), dtype=np.uint8),
        )
        context = np.arange(self._n_contextual, dtype=np.uint16)
        self._given_context: list[ConditionalColumn] = []
        self._given_all: list[ConditionalColumn] = []
        """Empty if there is one behavioural feature."""
        for feature in range(self._n_behavioral):
            target = np.ascontiguousarray(encoded.behavior[:, feature])
            whole = WholeColumn(target)
            self._given_context.append(ConditionalColumn(target, whole, context))
            others = [self._n_contextual + other for other in range(self._n_behavioral) if other != feature]
            if others:
                features = np.append(context, np.array(others, dtype=np.uint16))
                self._given_all.append(ConditionalColumn(target, whole, features))

    def fit(self, n_threads: int, tick: Callable[[int], object] | None = None) -> Floats:
        """Learns from the table. Returns the partial scores of its rows; `tick` is told how many would be done."""
        n_rows = len(self._rows)
        fitted = self.match(self._context, self._behavior)
        found = []
        for place, column in enumerate(self._columns):

            def tell(share: float, place: int = place) -> None:
                if tick is not None:
                    tick(int(n_rows * (place + share) / len(self._columns)))

            asked = Asked(self._rows, fitted, n_threads)
            settings = self._settings.of_forest(len(column.features))
            found.append(column.fit(self._table, asked, self._categorical, settings, self._seed(place), tell))
        if tick is not None:
            tick(n_rows)
        surprises = np.column_stack(found)
        return self._partial_scores(surprises[:, : self._n_behavioral], surprises[:, self._n_behavioral :])

    def recall(self, learned: list[Learned], n_threads: int) -> None:
        """Takes over what was learned before."""
        for place, (column, each) in enumerate(zip(self._columns, learned, strict=True)):
            settings = self._settings.of_forest(len(column.features))
            column.recall(each, self._table, settings, self._seed(place), n_threads)

    @property
    def learned(self) -> list[Learned]:
        """What was learned."""
        return [column.learned for column in self._columns]

    @property
    def _columns(self) -> list[ConditionalColumn]:
        return [*self._given_context, *self._given_all]

    def _seed(self, place: int) -> int:
        return self._settings.seed * len(self._columns) + place

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""
        return self._engine.match(context, behavior)

    def score(self, rows: AskedRows) -> Floats:
        """Partial scores."""
        context, everything = self._surprises(rows)
        return self._partial_scores(context, everything)

    def _surprises(self, rows: AskedRows) -> tuple[Floats, Floats]:
        """Of each value: given the context, and given all; without columns if there is one behavioural feature."""
        asked = self._asked(rows)
        n_rows = len(rows.context)
        found = np.empty((n_rows, len(self._columns)))
        for place, column in enumerate(self._columns):
            values = np.ascontiguousarray(rows.behavior[:, place % self._n_behavioral])
            found[:, place] = column.surprises(asked, values)
            if rows.tick is not None:
                rows.tick(n_rows * (place + 1) // len(self._columns))
        return found[:, : self._n_behavioral], found[:, self._n_behavioral :]

    def _asked(self, rows: AskedRows) -> Asked:
        values = np.ascontiguousarray(np.hstack([rows.context, rows.behavior]))
        return Asked(values, rows.fitted, rows.n_threads)

    def _partial_scores(self, context: Floats, everything: Floats) -> Floats:
        """Surprises beyond the usual, capped, on a scale where they end at 100."""
        clip = self._settings.clip
        if everything.shape[1] == 0:
            # There is nobody to dictate to.
            return np.asarray(np.maximum(context, 0.0) * (FULL_SCORE / (clip or DEFAULT_CLIP)))
        both = capped(context, clip) + capped(everything, clip)
        return np.asarray(both * (FULL_SCORE / (2.0 * (1.0 + BEYOND) * (clip or DEFAULT_CLIP))))

    def percentiles(self, rows: AskedRows) -> npt.NDArray[np.float64]:
        """Distributions: [row][behavioural feature][quantile]."""
        asked = self._asked(rows)
        found = np.empty((len(rows.context), self._n_behavioral, N_QUANTILES + 1))
        for feature, column in enumerate(self._given_context):
            for row, density in enumerate(column.densities(asked, rows.behavior[:, feature])):
                found[row, feature] = density.percentiles(N_QUANTILES)
        return found

    def neighbors(self, rows: AskedRows) -> tuple[Positions, Floats]:
        """The rows that share most leaves with each row, nearest first, and their distances.

        Where fewer rows share any, the nearest of the others make up the number.
        """
        shape = (len(rows.context), self._n_reference)
        positions, distances = np.empty(shape, dtype=np.int64), np.empty(shape)
        everybody = np.arange(len(self._context))
        for row, (context, fitted) in enumerate(zip(rows.context, rows.fitted, strict=True)):
            found, near, _ = self._group(context, int(fitted))
            if len(found) < self._n_reference:
                others = np.setdiff1d(everybody, np.append(found, fitted))
                apart = self._distances(context, others)
                more = np.argsort(apart, kind="stable")[: self._n_reference - len(found)]
                found, near = np.append(found, others[more]), np.append(near, apart[more])
                order = np.argsort(near, kind="stable")
                found, near = found[order], near[order]
            positions[row], distances[row] = found, near
        return positions, distances

    def _group(self, context: Floats, fitted: int) -> tuple[Positions, Floats, Floats]:
        """The rows that count most for a row, of those that do: their positions, distances, and weights by feature."""
        row = np.append(context, np.full(self._n_behavioral, np.nan))
        weights = np.array([column.weights(row, fitted) for column in self._given_context])
        total = weights.sum(axis=0)
        if fitted >= 0:
            total[fitted] = -1.0
        chosen = np.argpartition(-total, self._n_reference - 1)[: self._n_reference]
        chosen = chosen[total[chosen] > 0.0]
        distances = self._distances(context, chosen)
        order = np.lexsort((chosen, -total[chosen], distances))
        kept = weights[:, chosen[order]]
        return chosen[order], distances[order], kept / np.maximum(kept.sum(axis=1, keepdims=True), NEGLIGIBLE)

    def _distances(self, context: Floats, chosen: Positions) -> Floats:
        """Gower's, as in QCAD: the mean over the features that both rows have."""
        others = self._context[chosen]
        is_category = self._encoding.categorical.astype(bool)
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(others - context) / np.where(self._ranges > 0, self._ranges, 1.0)
        different = is_category | ~(self._ranges > 0)
        apart[:, different] = others[:, different] != context[different]
        known = ~(np.isnan(others) | np.isnan(context))
        counted = known.sum(axis=1)
        return np.where(counted > 0, np.where(known, apart, 0.0).sum(axis=1) / np.maximum(counted, 1), 1.0)

    def reach(self) -> Floats:
        """The distances of the nearest and the farthest reference row, for some of the fitted rows."""
        some = evenly(np.arange(len(self._context)), ENOUGH_FOR_REACH)
        groups = [self._group(self._context[row], int(row)) for row in some]
        return np.array([[distances[0], distances[-1]] for _, distances, _ in groups])

    def find(self, rows: AskedRows) -> list[RowFindings]:
        """All that is to be said of each row."""
        context, everything = self._surprises(rows)
        partial = self._partial_scores(context, everything)
        asked = self._asked(rows)
        densities = [
            column.densities(asked, rows.behavior[:, feature]) for feature, column in enumerate(self._given_context)
        ]
        findings = []
        for row in range(len(partial)):
            percentiles = np.array([each[row].percentiles(N_QUANTILES) for each in densities])
            neighbors, distances, weights = self._group(rows.context[row], int(rows.fitted[row]))
            surprises = tuple(
                Surprise(
                    float(np.maximum(context[row, feature], 0.0)),
                    float(np.maximum(everything[row, feature], 0.0)) if self._given_all else None,
                    densities[feature][row],
                )
                for feature in range(self._n_behavioral)
            )
            central = percentiles[:, [5, 50, 95]]
            findings.append(
                RowFindings(
                    partial[row],
                    percentiles,
                    central,
                    neighbors,
                    distances,
                    weights,
                    surprises,
                )
            )
        return findings


def capped(surprises: Floats, clip: float | None) -> Floats:
    """Surprises of at least 0. Up to the cap they count in full; beyond it ever less, and a twentieth of it in all.

    >>> capped(np.array([-1.0, 2.0, 3.0, 6.0, 600.0]), 3.0).round(3)
    array([0.   , 2.   , 3.   , 3.095, 3.15 ])
    """
    above = np.maximum(surprises, 0.0)
    if clip is None:
        return above
    beyond = np.maximum(above - clip, 0.0)
    return np.asarray(np.minimum(above, clip) - BEYOND * clip * np.expm1(-beyond / clip))
