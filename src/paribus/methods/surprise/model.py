"""The fitted ConditionalSurprise: what it answers about rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.memory import room
from paribus._common.workers import Workers
from paribus.methods.cell_codes import encode
from paribus.methods.interface import CellVerdict, Findings, Judged, RowBatch
from paribus.methods.null import ScoreNull
from paribus.methods.surprise.categories import CategoricalColumn, FoundShares
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.columns import TableColumns
from paribus.methods.surprise.fitting import Fit
from paribus.methods.surprise.mixture import FoundDistributions
from paribus.methods.surprise.reference_groups import AnyColumn
from paribus.methods.surprise.state import SurpriseSettings, SurpriseState
from paribus.methods.surprise.verdict import Verdict
from paribus.methods.surprise.views import Asked
from paribus.tables.encoded_table import EncodedTable, RowNumbers

N_QUANTILES = 100
# Forests that rows go down take this many times as many bytes as stored ones. They may have this share of the memory
# that the user allowed and that is left: the rows themselves need some, too.
UNPACKED_BY_PACKED, SHARE_FOR_FORESTS = 2.2, 0.25
# For a value this improbable given all others, the range that they imply is reported.
MAX_P_GIVEN_ALL = 0.02


class SurpriseModel:
    """Judges rows by the distribution of each behavioral feature given the context, and given all other features.

    Positions that go in and out are those of the caller's table.

    Parameters
    ----------
    columns : TableColumns
        The columns of a table, fitted.
    verdict : Verdict
        What their evidence is worth.
    """

    def __init__(self, columns: TableColumns, verdict: Verdict) -> None:
        self._table, self._columns, self._verdict = columns.table, columns, verdict

    @classmethod
    def fit(
        cls,
        table: EncodedTable,
        settings: SurpriseSettings,
        n_threads: int,
        tick: Callable[[int], object] | None = None,
        workers: Workers | None = None,
    ) -> tuple[SurpriseModel, SurpriseState, Judged]:
        """Fits a table. Returns the model, its state, and the results for the rows.

        Parameters
        ----------
        table : EncodedTable
            The table, its rows by content.
        settings : SurpriseSettings
            How forests are grown.
        n_threads : int
            The number of threads.
        tick : callable
            Called with the number of rows that would be done.
        workers : Workers
            Where columns are fitted, with the same result; by default here.
        """
        columns = TableColumns.of(table, settings)
        state, cells = Fit(columns, n_threads).run(tick, workers)
        model = cls(columns, state.verdict)
        return model, state, model._judged(cells, n_threads, table.places)

    @classmethod
    def recall(cls, table: EncodedTable, state: SurpriseState) -> SurpriseModel:
        """A model that was fitted before."""
        return cls(TableColumns.recall(table, state), state.verdict)

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""
        return self._table.given(self._columns.index.find(np.ascontiguousarray(np.hstack([context, behavior]))))

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, kinds, and the p-value of each cell."""
        return self._judged(self._evidence(rows), rows.n_threads)

    @property
    def null(self) -> ScoreNull:
        """What the log odds of a row are worth: its score, in nats."""
        return self._verdict.null

    def _evidence(self, rows: RowBatch) -> CellEvidence:
        asked = self._asked(rows)
        n_rows = len(rows.context)
        shape = (n_rows, len(self._columns.all))
        evidence, surprises = np.empty(shape), np.empty(shape)
        for place, column in enumerate(self._columns.all):
            values = np.ascontiguousarray(rows.behavior[:, place % self._columns.n_behavioral])
            evidence[:, place], surprises[:, place] = column.judge(asked, values)
            if rows.tick is not None:
                rows.tick(n_rows * (place + 1) // len(self._columns.all))
        return self._columns.cells(asked, rows.behavior, evidence, surprises)[0]

    def _judged(self, cells: CellEvidence, n_threads: int, rows: RowNumbers | slice = slice(None)) -> Judged:
        """The results for cells, in the order of `rows`."""
        said = self._verdict.judge(cells, n_threads)
        given_context, given_all = (
            np.concatenate([encode(getattr(block, name)) for block in cells.blocks()])[rows]
            for name in ("given_context", "given_all")
        )
        return Judged(said.parts[rows], said.kinds[rows], given_context, given_all if self._columns.given_all else None)

    def _asked(self, rows: RowBatch) -> Asked:
        context = self._table.encoding.expand(rows.context)
        values = np.ascontiguousarray(np.hstack([context, rows.behavior]))
        return self._columns.asked(values, self._table.held(rows.fitted), rows.n_threads)

    def levels(self, rows: RowBatch, share: Floats) -> Floats:
        """[row][behavioral feature]: the share of its distribution given the context below each value.

        It is not calibrated. Where values repeat, `share` ([row][feature], between 0 and 1) says where in the interval
        of levels of a value; NaN where a value is missing.
        """
        asked = self._asked(rows)
        found = np.empty(rows.behavior.shape)
        for feature, column in enumerate(self._columns.given_context):
            values = np.ascontiguousarray(rows.behavior[:, feature])
            found[:, feature] = column.levels(asked, values, share[:, feature])
        return found

    def hold(self, n_threads: int) -> None:
        """Keeps forests in the form that is fast for few rows, which takes more memory."""
        for column in self._columns.all:
            for forest in column.forests:
                forest.hold(n_threads)

    def keeping(self) -> AbstractContextManager[None]:
        """Keeps what calls with many rows have to unpack, for further calls until the end."""
        return self._keeping(self._columns.all)

    @contextmanager
    def _keeping(self, columns: list[AnyColumn]) -> Iterator[None]:
        # As many as fit into the memory that is left: the others are unpacked each time.
        left = SHARE_FOR_FORESTS * room()
        forests = []
        for column in columns:
            left -= UNPACKED_BY_PACKED * sum(each.nbytes for each in column.packed)
            if left > 0:
                forests += column.forests
        for forest in forests:
            forest.keep(True)
        try:
            yield
        finally:
            for forest in forests:
                forest.keep(False)

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """Distributions: [row][behavioral feature][quantile]."""
        asked = self._asked(rows)
        own, context = self._columns.context[asked.fitted], asked.rows[:, : self._columns.n_contextual]
        is_same = ((context == own) | (np.isnan(context) & np.isnan(own))).all(axis=1)
        asked = replace(asked, is_elsewhere=(asked.fitted >= 0) & ~is_same)
        found = np.empty((len(rows.context), self._columns.n_behavioral, N_QUANTILES + 1))
        for feature, column in enumerate(self._columns.given_context):
            found[:, feature] = column.percentiles(asked, N_QUANTILES)
        return found

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The rows that share most leaves with each row, nearest first, and their distances.

        If too few rows share any, the nearest of the others are added.
        """
        positions, distances = self._columns.groups.find_full(self._asked(rows))
        return self._table.given(positions), distances

    def reach(self) -> Floats:
        """The distances of the nearest and the farthest reference row, for some of the fitted rows."""
        return self._columns.groups.reach()

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        """All results for rows."""
        # The forests of distributions have the reference rows, too.
        with self._keeping(self._columns.given_context):
            return self._find(rows, judged)

    def _find(self, rows: RowBatch, judged: Judged | None) -> Findings:
        asked = self._asked(rows)
        columns: list[FoundDistributions | FoundShares] = []
        if judged is None:
            judged = self._judge_and_find(asked, rows, columns)
        else:
            columns.extend(column.find(asked, N_QUANTILES) for column in self._columns.given_context)
        central = np.stack([each.central for each in columns], axis=1)
        has_one_value = np.stack([each.has_one_value for each in columns], axis=1)
        alone, together = judged.cell_p_values, judged.cell_p_values_given_all
        assert alone is not None
        of_cells = alone.ravel().tolist()
        of_cells_together = [None] * len(of_cells) if together is None else together.ravel().tolist()
        usual_given_all = self._usual_given_all(asked, together)
        positions, distances, weights = self._columns.groups.find(asked)

        def verdict(row: int, feature: int) -> CellVerdict:
            found, cell = columns[feature], row * self._columns.n_behavioral + feature
            return CellVerdict(
                of_cells[cell],
                of_cells_together[cell],
                None if isinstance(found, FoundShares) else partial(found.density, row),
                usual_given_all.get((row, feature)),
                found.shares[row] if isinstance(found, FoundShares) else None,
            )

        return Findings(
            judged.partial,
            central,
            self._table.given(positions),
            distances,
            weights,
            lambda row, feature: columns[feature].percentiles(row),
            has_one_value,
            judged.kinds,
            alone,
            together,
            verdict,
        )

    def _judge_and_find(self, asked: Asked, rows: RowBatch, columns: list[FoundDistributions | FoundShares]) -> Judged:
        """What `judge` returns; the distributions given the context are appended to `columns`."""
        shape = (len(asked.rows), len(self._columns.all))
        evidence, surprises = np.empty(shape), np.empty(shape)
        for place, column in enumerate(self._columns.all):
            values = np.ascontiguousarray(rows.behavior[:, place % self._columns.n_behavioral])
            if place < self._columns.n_behavioral:
                judged, found = column.judge_and_find(asked, values, N_QUANTILES)
                columns.append(found)
            else:
                judged = column.judge(asked, values)
            evidence[:, place], surprises[:, place] = judged
            if rows.tick is not None:
                rows.tick(len(asked.rows) * (place + 1) // len(self._columns.all))
        return self._judged(self._columns.cells(asked, rows.behavior, evidence, surprises)[0], rows.n_threads)

    def _usual_given_all(self, asked: Asked, p_values: Floats | None) -> dict[tuple[int, int], tuple[float, float]]:
        """By row and feature: the 90 % range given all others, of values that are odd given these."""
        if p_values is None:
            return {}
        found = {}
        for feature, column in enumerate(self._columns.given_all):
            if isinstance(column, CategoricalColumn):
                continue
            odd = np.flatnonzero(p_values[:, feature] <= MAX_P_GIVEN_ALL)
            if odd.size == 0:
                continue
            central = column.find(asked.take(odd), N_QUANTILES).central
            for row, (low, _, high) in zip(odd.tolist(), central.tolist(), strict=True):
                found[row, feature] = low, high
        return found
