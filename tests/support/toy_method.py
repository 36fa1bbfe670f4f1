"""A third method, as small as a method can be: how far a value is from the mean of its column."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.text import counted
from paribus._common.untrusted import Fields, floats_of
from paribus.detectors.base import ContextualDetector
from paribus.methods.fitted import Fitted
from paribus.methods.interface import Arrays, Findings, Judged, Method, RowBatch, StoredArrays
from paribus.methods.registry import Entry
from paribus.methods.scores import mean_score, ranked_p_values, tukey_threshold
from paribus.tables.encoded_table import EncodedTable, encode_table


@dataclass(frozen=True)
class ToyState:
    """The mean and the standard deviation of each behavioral feature."""

    means: Floats
    deviations: Floats

    @property
    def n_reference(self) -> int:
        return 10


class ToyModel:
    """The fitted method. It compares every row with the first ten others."""

    def __init__(self, table: EncodedTable, state: ToyState) -> None:
        self._table = table
        self._state = state

    def match(self, context: Floats, behavior: Floats) -> Positions:
        rows = np.hstack([context, behavior])
        fitted = np.hstack([self._table.all_context, self._table.all_behavior])
        same = [(np.isclose(fitted, row, equal_nan=True)).all(axis=1) for row in rows]
        return np.array([int(np.argmax(each)) if each.any() else -1 for each in same], dtype=np.int64)

    def judge(self, rows: RowBatch) -> Judged:
        return Judged(np.asarray(np.abs(rows.behavior - self._state.means) / self._state.deviations))

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        columns = np.nanpercentile(self._table.all_behavior, np.arange(101), axis=0).T
        return np.repeat(columns[None], len(rows.context), axis=0)

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        others = np.array([[i for i in range(11) if i != row][:10] for row in rows.fitted.tolist()], dtype=np.int64)
        return others, np.tile(np.linspace(0.0, 0.9, 10), (len(others), 1))

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        partial, percentiles = self.judge(rows).partial, self.percentiles(rows)
        return Findings(
            partial,
            percentiles[:, :, [5, 50, 95]],
            *self.neighbors(rows),
            np.full((*partial.shape, 10), 0.1),
            lambda row, feature: percentiles[row, feature],
            percentiles[:, :, 0] == percentiles[:, :, -1],
        )


def pack(state: ToyState) -> tuple[dict[str, Any], Arrays]:
    return {}, {"means": state.means, "deviations": state.deviations}


def unpack(header: Fields, arrays: StoredArrays, table: EncodedTable) -> ToyState:
    shape = (table.all_behavior.shape[1],)
    return ToyState(floats_of(arrays, "means", shape), floats_of(arrays, "deviations", shape))


METHOD = Method(
    name="Toy",
    restore=lambda table, state, n_threads: ToyModel(table, state),
    pack=pack,
    unpack=unpack,
    total=mean_score,
    threshold=tukey_threshold,
    p_values=ranked_p_values,
    compared_with=lambda noun, n_reference: f"the first {counted(n_reference, noun)}",
    full_partial_score=100.0,
    full_score=lambda state, n_behavioral: "100 is a hundred standard deviations",
    citation="The method is a toy.",
)


class Toy(ContextualDetector):
    """Scores rows by their distance from the mean, whatever their context."""

    method = METHOD

    def __init__(
        self,
        contextual: Any,
        behavioral: Any = None,
        *,
        categorical: Any = None,
        contamination: float | str = "auto",
        n_jobs: int | None = -1,
        progress: Any = False,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.contamination = contamination
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: None = None, *, known: Any = None) -> Toy:
        """Learns means and deviations."""
        start = time.perf_counter()
        table = encode_table(X, self.contextual, self.behavioral, self.categorical)
        state = ToyState(np.nanmean(table.all_behavior, axis=0), np.nanstd(table.all_behavior, axis=0))
        model = ToyModel(table, state)
        rows = RowBatch(table.all_context, table.all_behavior, np.arange(table.n_rows), 1)
        judged = model.judge(rows)
        threshold = METHOD.threshold(METHOD.total(judged.partial), self.contamination, 0.0)
        reach = np.tile([0.0, 0.9], (table.n_rows, 1))
        seconds = time.perf_counter() - start
        self._remember(Fitted(table, METHOD, state, judged, reach, threshold, seconds), model)
        return self


ENTRY = Entry("toy", "Toy", "tests.support.toy_method", "tests.support.toy_method", "distances from the mean")
"""The one line in the registry."""
