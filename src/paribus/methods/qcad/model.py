"""The fitted QCAD: nearest neighbors, a forest for each row, and the widths of percentile intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import weighted_quantiles
from paribus._core import QcadEngine
from paribus.methods.interface import Findings, Judged, RowBatch
from paribus.methods.qcad.forest_plan import ForestPlan
from paribus.methods.qcad.state import QcadState
from paribus.methods.scores import FULL_SCORE
from paribus.tables.encoded_table import EncodedTable

# The default of the clip, which also sets the scale of scores if there is no clip.
DEFAULT_CLIP = 10.0


class QcadModel:
    """The fitted method, on top of the C++ engine."""

    def __init__(self, table: EncodedTable, state: QcadState) -> None:
        self._clip = state.clip
        self._behavior = table.all_behavior
        self._engine = make_engine(
            table.all_context, table.encoding.categorical, table.all_behavior, state.tie_order, state.plan
        )

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the position of the fitted row that is identical to it, or -1; of several, always the same."""
        return self._engine.match(context, behavior)

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, [row][behavioral feature]; NaN where a value cannot be scored."""
        return Judged(self.score_and_reach(rows)[0])

    def score_and_reach(self, rows: RowBatch) -> tuple[Floats, Floats]:
        """Partial scores, and for each row the distances of the nearest and the farthest neighbor."""
        raw, reach, _ = self._engine.score(rows.context, rows.behavior, rows.fitted, False, rows.n_threads, rows.tick)
        return rescale(raw, self._clip), reach

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """The distributions in the contexts of rows, [row][behavioral feature][quantile]."""
        *_, percentiles = self._engine.score(rows.context, rows.behavior, rows.fitted, True, rows.n_threads, rows.tick)
        assert percentiles is not None
        return percentiles

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The fitted rows that each row is compared with, nearest first, and their distances."""
        return self._engine.neighbors(rows.context, rows.fitted, rows.n_threads, rows.tick)

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        """Everything that an explanation needs to know about rows; they are judged again, which takes no longer."""
        raw, percentiles, weights, neighbors, distances = self._engine.explain(
            rows.context, rows.behavior, rows.fitted, rows.n_threads, rows.tick
        )
        partial = rescale(raw, self._clip)
        # Without a value in the reference group there is no forest, and all rows get the same weight.
        weights = np.where(np.isnan(weights), 1.0 / weights.shape[2], weights)
        central = [
            [_central(self._behavior[near, feature], of_row[feature]) for feature in range(partial.shape[1])]
            for near, of_row in zip(neighbors, weights, strict=True)
        ]
        return Findings(
            partial,
            np.array(central),
            neighbors,
            distances,
            weights,
            lambda row, feature: percentiles[row, feature],
            percentiles[:, :, 0] == percentiles[:, :, -1],
        )


def make_engine(
    context: Floats,
    categorical: npt.NDArray[np.uint8],
    behavior: Floats,
    tie_order: npt.NDArray[np.uint32],
    plan: ForestPlan,
) -> QcadEngine:
    """The engine for a fitted table; `categorical` marks the categorical contextual features."""
    return QcadEngine(
        np.ascontiguousarray(context.T),
        categorical,
        np.ascontiguousarray(behavior.T),
        tie_order,
        plan.multiplicities,
        plan.feature_order,
        plan.max_features,
        plan.min_samples_split,
        plan.n_quantiles,
        plan.scale_tails,
    )


def _central(values: Floats, weights: Floats) -> list[float]:
    """The 5 % percentile, the median and the 95 % percentile, independent of `n_quantiles`."""
    used = (weights > 0) & ~np.isnan(values)
    if not used.any():
        return [np.nan, np.nan, np.nan]
    return weighted_quantiles(values[used], weights[used], (0.05, 0.5, 0.95))


def rescale(raw: Floats, clip: float | None) -> Floats:
    """Partial scores on the scale where the cap is 100.

    The raw score is a width in units of the feature's range; the cap is clip / 100. A single feature is not capped,
    since there are no others that it could dominate.

    >>> rescale(np.array([[0.01, 0.3]]), clip=10)
    array([[ 10., 100.]])
    >>> rescale(np.array([[0.3]]), clip=10)
    array([[300.]])
    """
    cap = (DEFAULT_CLIP if clip is None else clip) / 100.0
    capped = raw if clip is None or raw.shape[1] == 1 else np.minimum(raw, cap)
    return capped * (FULL_SCORE / cap)
