"""Rows judged by their past alone: a model for each period, fitted to all earlier rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import column_ranges
from paribus.methods.cell_codes import MISSING
from paribus.methods.interface import KIND_NAMES, Findings, Judged, RowBatch
from paribus.methods.surprise.model import N_QUANTILES, SurpriseModel
from paribus.methods.surprise.state import SurpriseSettings
from paribus.tables.encoded_table import EncodedTable

# The number of periods, with about the same number of rows each. The rows of the first have no past.
N_STRETCHES = 10
# The minimum number of values of a column in the past.
MIN_PAST_VALUES = 20


class PastModel:
    """Judges each row by a model of the rows before its period, and later ones by a model of all rows.

    The model of a period is fitted when it is first needed.

    Parameters
    ----------
    table : EncodedTable
        The fitted table, its rows by content.
    settings : SurpriseSettings
        How forests are grown.
    latest : SurpriseModel
        The model of all rows.
    n_threads : int
        The number of threads to fit with.
    """

    def __init__(self, table: EncodedTable, settings: SurpriseSettings, latest: SurpriseModel, n_threads: int) -> None:
        self._table, self._settings, self._latest, self._n_threads = table, settings, latest, n_threads
        self._place = find_moments(table)
        moments = table.rows[:, self._place]
        known = np.sort(moments[~np.isnan(moments)])
        starts = known[(np.arange(1, N_STRETCHES) * len(known)) // N_STRETCHES]
        self._starts = np.unique(starts[starts > known[0]])
        """The first timestamp of each period except the first."""
        self._last = float(known[-1])
        self._models: dict[int, tuple[SurpriseModel, Positions] | None] = {}

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""
        return self._latest.match(context, behavior)

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, kinds, and the p-value of each cell; NaN for rows without a past."""
        n_rows, n_features = rows.behavior.shape
        partial = np.full((n_rows, n_features), np.nan)
        cells = np.full((n_rows, n_features), MISSING, dtype=np.uint16)
        given_all = cells.copy() if n_features > 1 else None
        kinds = np.full(n_rows, KIND_NAMES[0], dtype=object)
        n_done = 0
        for some, model, _, batch in self._by_model(rows):
            judged = model.judge(batch)
            assert judged.kinds is not None
            assert judged.cell_codes is not None
            partial[some], kinds[some], cells[some] = judged.partial, judged.kinds, judged.cell_codes
            if given_all is not None and judged.cell_codes_given_all is not None:
                given_all[some] = judged.cell_codes_given_all
            n_done += len(some)
            if rows.tick is not None:
                rows.tick(n_done)
        return Judged(partial, kinds, cells, given_all)

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """Distributions: [row][behavioral feature][quantile]; NaN for rows without a past."""
        found = np.full((*rows.behavior.shape, N_QUANTILES + 1), np.nan)
        for some, model, _, batch in self._by_model(rows):
            found[some] = model.percentiles(batch)
        return found

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The rows that each row is compared with, nearest first, and their distances; -1 and NaN if there are none."""
        found = [(some, positions, model.neighbors(batch)) for some, model, positions, batch in self._by_model(rows)]
        width = max((near.shape[1] for _, _, (_, near) in found), default=0)
        places = np.full((len(rows.context), width), -1, dtype=np.int64)
        distances = np.full((len(rows.context), width), np.nan)
        for some, positions, (neighbors, near) in found:
            places[some, : near.shape[1]] = positions[neighbors]
            distances[some, : near.shape[1]] = near
        return places, distances

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        """All results for rows. Raises a ValueError if a row has no past."""
        parts = []
        for some, model, positions, batch in self._by_model(rows):
            found = model.find(batch, None if judged is None else judged.take(some))
            neighbors = np.where(found.neighbors >= 0, positions[found.neighbors], -1)
            parts.append((some, replace(found, neighbors=neighbors)))
        if sum(len(some) for some, _ in parts) < len(rows.context):
            raise ValueError(
                "a row has no past to be judged by: it is among the first in time, or its timestamp is missing"
            )
        return Findings.joined(parts)

    def _by_model(self, rows: RowBatch) -> Iterator[tuple[Positions, SurpriseModel, Positions, RowBatch]]:
        """Rows by the model that judges them, that model, the positions of its rows, and the rows as a batch for it."""
        moments = rows.context[:, self._place]
        stretch = np.searchsorted(self._starts, moments, "right")
        stretch[moments > self._last] = N_STRETCHES
        # Without a timestamp, no row is known to be in the past.
        stretch[np.isnan(moments)] = 0
        for number in np.unique(stretch[stretch > 0]).tolist():
            some = np.flatnonzero(stretch == number)
            if number == N_STRETCHES:
                everyone = np.arange(self._table.n_rows)
                yield some, self._latest, everyone, self._batch(rows, some, rows.fitted[some])
            elif (made := self._model(number)) is not None:
                model, positions = made
                yield some, model, positions, self._batch(rows, some, np.full(len(some), -1))

    def _batch(self, rows: RowBatch, some: Positions, fitted: Positions) -> RowBatch:
        return replace(rows, context=rows.context[some], behavior=rows.behavior[some], fitted=fitted, tick=None)

    def _model(self, number: int) -> tuple[SurpriseModel, Positions] | None:
        """The model of all rows before a period, and their positions; None if they are too few."""
        if number not in self._models:
            before = np.flatnonzero(self._table.rows[:, self._place] < self._starts[number - 1])
            self._models[number] = self._fit(before)
        return self._models[number]

    def _fit(self, before: Positions) -> tuple[SurpriseModel, Positions] | None:
        rows = np.ascontiguousarray(self._table.rows[before])
        behavior = rows[:, self._table.n_contextual :]
        if ((~np.isnan(behavior)).sum(axis=0) < MIN_PAST_VALUES).any():
            return None
        encoding = self._table.encoding
        times = tuple(
            None if each is None else replace(each, first=float(np.nanmin(column)), last=float(np.nanmax(column)))
            for each, column in zip(encoding.times, rows.T, strict=False)
        )
        columns = self._table.n_columns if self._table.names is None else self._table.names
        past = EncodedTable(
            lambda: self._table.original,
            self._table.roles,
            replace(encoding, times=times),
            rows,
            None,
            columns,
            self._table.behavior_encoding,
        )
        model, _, _ = SurpriseModel.fit(past, self._settings, self._n_threads)
        return model, self._table.given(before)


def find_moments(table: EncodedTable) -> int:
    """The contextual column that defines the past."""
    for place, times in enumerate(table.encoding.times):
        if times is not None and column_ranges(table.rows[:, [place]])[0] > 0:
            return place
    raise ValueError("reference='past' needs a contextual column of dates or timestamps, with more than one value")


def judge_by_past(
    table: EncodedTable,
    settings: SurpriseSettings,
    latest: SurpriseModel,
    n_threads: int,
    tick: Callable[[int], object] | None = None,
) -> tuple[PastModel, Judged]:
    """The model, and its results for the fitted rows, in the caller's order."""
    model = PastModel(table, settings, latest, n_threads)
    no_match = np.full(table.n_rows, -1, dtype=np.int64)
    return model, model.judge(RowBatch(table.all_context, table.all_behavior, no_match, n_threads, tick))
