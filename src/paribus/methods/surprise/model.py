"""ConditionalSurprise fitted: forests over the whole table, smooth densities, and minus their logarithm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import column_ranges, evenly
from paribus._core import FeatureTable
from paribus.methods.interface import RowBatch, RowFindings, Surprise
from paribus.methods.scores import FULL_SCORE
from paribus.methods.surprise.mixture import ConditionalColumn, Learned
from paribus.methods.surprise.state import MAX_REFERENCES, SurpriseSettings
from paribus.methods.surprise.views import Asked, WholeColumn
from paribus.tables.encoded_table import EncodedTable

N_QUANTILES = 100
# The clip that sets the scale of scores when nothing is clipped: the default one.
DEFAULT_CLIP = 3.0
# How much everything beyond the cap counts, as a share of the cap: enough for rows at the cap to keep an order.
BEYOND = 0.05
# Fitted rows whose reference groups tell how far away comparable rows usually are.
REACH_SAMPLE_SIZE = 200
NEGLIGIBLE = 1e-12


class SurpriseModel:
    """Holds the distribution of each behavioural feature given the context, and given all other features.

    Parameters
    ----------
    table : EncodedTable
        The fitted table.
    settings : SurpriseSettings
        How forests are grown, and what a partial score is at most.
    """

    def __init__(self, table: EncodedTable, settings: SurpriseSettings) -> None:
        self._settings = settings
        self._n_reference = min(len(table.all_context) - 1, MAX_REFERENCES)
        self._encoding = table.encoding
        self._context, self._behavior = table.all_context, table.all_behavior
        self._n_contextual = table.all_context.shape[1]
        self._n_behavioral = table.all_behavior.shape[1]
        self._rows = np.ascontiguousarray(np.hstack([table.all_context, table.all_behavior]))
        self._categorical = np.append(table.encoding.categorical, np.zeros(self._n_behavioral, dtype=np.uint8))
        self._table = FeatureTable(np.ascontiguousarray(self._rows.T), self._categorical)
        self._ranges = column_ranges(table.all_context)
        context = np.arange(self._n_contextual, dtype=np.uint16)
        self._given_context: list[ConditionalColumn] = []
        self._given_all: list[ConditionalColumn] = []
        """Empty if there is one behavioural feature."""
        for feature in range(self._n_behavioral):
            target = np.ascontiguousarray(table.all_behavior[:, feature])
            whole = WholeColumn(target)
            self._given_context.append(ConditionalColumn(target, whole, context))
            others = [self._n_contextual + other for other in range(self._n_behavioral) if other != feature]
            if others:
                features = np.append(context, np.array(others, dtype=np.uint16))
                self._given_all.append(ConditionalColumn(target, whole, features))

    def fit(self, n_threads: int, tick: Callable[[int], object] | None = None) -> Floats:
        """Learns from the table. Returns the partial scores of its rows; `tick` is told how many would be done."""
        n_rows = len(self._rows)
        fitted = self._table.match(self._rows)
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
        return self._table.match(np.ascontiguousarray(np.hstack([context, behavior])))

    def score(self, rows: RowBatch) -> Floats:
        """Partial scores."""
        context, everything = self._surprises(rows)
        return self._partial_scores(context, everything)

    def _surprises(self, rows: RowBatch) -> tuple[Floats, Floats]:
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

    def _asked(self, rows: RowBatch) -> Asked:
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

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """Distributions: [row][behavioural feature][quantile]."""
        asked = self._asked(rows)
        found = np.empty((len(rows.context), self._n_behavioral, N_QUANTILES + 1))
        for feature, column in enumerate(self._given_context):
            for row, density in enumerate(column.densities(asked, rows.behavior[:, feature])):
                found[row, feature] = density.percentiles(N_QUANTILES)
        return found

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
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
        some = evenly(np.arange(len(self._context)), REACH_SAMPLE_SIZE)
        groups = [self._group(self._context[row], int(row)) for row in some]
        return np.array([[distances[0], distances[-1]] for _, distances, _ in groups])

    def find(self, rows: RowBatch) -> list[RowFindings]:
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
