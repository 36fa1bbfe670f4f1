"""The paper's method as a judge: nearest neighbours, a forest for each row, and the width of percentile intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus import scoring
from paribus._core import Engine
from paribus.fitted import Encoded
from paribus.forests import ForestPlan
from paribus.judge import AskedRows, Positions, RowFindings
from paribus.profile import weighted_quantile
from paribus.values import Floats


@dataclass(frozen=True)
class QuantileMemory:
    """What was drawn at random, and what was set."""

    tie_order: npt.NDArray[np.uint32]
    plan: ForestPlan
    clip: float | None

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""
        return len(self.plan.multiplicities)


class QuantileJudge:
    """Asks the engine."""

    def __init__(self, encoded: Encoded, memory: QuantileMemory) -> None:
        self._clip = memory.clip
        self._behavior = encoded.behavior
        self._engine = make_engine(
            encoded.context, encoded.encoding.categorical, encoded.behavior, memory.tie_order, memory.plan
        )

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""
        return self._engine.match(context, behavior)

    def score(self, rows: AskedRows) -> Floats:
        """Partial scores."""
        return self.score_and_reach(rows)[0]

    def score_and_reach(self, rows: AskedRows) -> tuple[Floats, Floats]:
        """Partial scores, and the distances of the nearest and the farthest neighbour."""
        raw, reach, _ = self._engine.score(rows.context, rows.behavior, rows.fitted, False, rows.n_threads, rows.tick)
        return scoring.rescale(raw, self._clip), reach

    def percentiles(self, rows: AskedRows) -> npt.NDArray[np.float64]:
        """Distributions: [row][behavioural feature][quantile]."""
        *_, percentiles = self._engine.score(rows.context, rows.behavior, rows.fitted, True, rows.n_threads, rows.tick)
        assert percentiles is not None
        return percentiles

    def neighbors(self, rows: AskedRows) -> tuple[Positions, Floats]:
        """Fitted rows, nearest first, and their distances."""
        return self._engine.neighbors(rows.context, rows.fitted, rows.n_threads, rows.tick)

    def find(self, rows: AskedRows) -> list[RowFindings]:
        """All that is to be said of each row."""
        raw, percentiles, weights, neighbors, distances = self._engine.explain(
            rows.context, rows.behavior, rows.fitted, rows.n_threads, rows.tick
        )
        partial = scoring.rescale(raw, self._clip)
        # Without a reference there is no forest, and all rows count alike.
        weights = np.where(np.isnan(weights), 1.0 / weights.shape[2], weights)
        return [
            RowFindings(
                partial[row],
                percentiles[row],
                np.array(
                    [
                        _central(self._behavior[neighbors[row], feature], weights[row, feature])
                        for feature in range(partial.shape[1])
                    ]
                ),
                neighbors[row],
                distances[row],
                weights[row],
            )
            for row in range(len(partial))
        ]


def make_engine(
    context: Floats,
    categorical: npt.NDArray[np.uint8],
    behavior: Floats,
    tie_order: npt.NDArray[np.uint32],
    plan: ForestPlan,
) -> Engine:
    """The engine for a fitted table; `categorical` says which contextual features are."""
    return Engine(
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
    """The 5 % percentile, the median and the 95 % percentile, whatever number of percentiles the detector has."""
    used = (weights > 0) & ~np.isnan(values)
    if not used.any():
        return [np.nan, np.nan, np.nan]
    return [weighted_quantile(values[used], weights[used], share) for share in (0.05, 0.5, 0.95)]
