"""The fitted ConditionalSurprise: forests over the whole table, their evidence, and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import column_ranges
from paribus._common.workers import Workers
from paribus._core import FeatureTable, RowIndex
from paribus.methods.cell_codes import encode
from paribus.methods.interface import CellVerdict, Findings, Judged, RowBatch
from paribus.methods.null import ScoreNull
from paribus.methods.surprise.calibration import USUAL_EVIDENCE
from paribus.methods.surprise.categories import CategoricalColumn, Categories, FoundShares
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.familiarity import Familiarity
from paribus.methods.surprise.forests import SampleDraws, StoredForests, time_blocks
from paribus.methods.surprise.mixture import FoundDistributions
from paribus.methods.surprise.preparing import choose_for_features, in_parts, summarize
from paribus.methods.surprise.reference_groups import AnyColumn, ReferenceGroups
from paribus.methods.surprise.renewal import CombinedSamples, check_bins
from paribus.methods.surprise.state import MAX_REFERENCES, Summary, SurpriseSettings, SurpriseState
from paribus.methods.surprise.tasks import ColumnTask, FitData, fit_elsewhere, make_column
from paribus.methods.surprise.verdict import Verdict
from paribus.methods.surprise.views import Addition, Asked, ForestSettings, Growth, find_originals
from paribus.tables.encoded_table import EncodedTable, RowNumbers
from paribus.tables.row_hash import row_keys

N_QUANTILES = 100
# For a value this improbable given all others, the range that they imply is reported.
MAX_P_GIVEN_ALL = 0.02


FitResult: TypeAlias = tuple[Floats, Floats, tuple[Floats, Floats] | None]
"""Evidence, surprises, and both to learn from if they differ."""


class SurpriseModel:
    """Holds the distribution of each behavioral feature given the context, and given all other features.

    Sums depend on the order of their terms. Rows are therefore held in an order that depends on their values alone, and
    is random otherwise: the first of them are a sample. Positions that go in and out are those of the caller's table.

    Parameters
    ----------
    table : EncodedTable
        The table to fit, its rows by content.
    settings : SurpriseSettings
        How forests are grown.
    """

    def __init__(self, table: EncodedTable, settings: SurpriseSettings) -> None:
        summaries = summarize(table, np.full(table.n_rows, True))
        context = table.encoding.expand(table.rows[:, : table.n_contextual])
        ranges = [float(column_ranges(context[:, [feature]])[0]) for feature in range(context.shape[1])]
        others = choose_for_features(table, context, summaries)
        self._take_over(table, settings, RowIndex(table.rows), np.array(ranges), summaries, others)

    def _take_over(
        self,
        table: EncodedTable,
        settings: SurpriseSettings,
        index: RowIndex,
        ranges: Floats,
        summaries: list[Summary],
        others: list[list[int]],
    ) -> None:
        self._settings = settings
        self._table, self._rows = table, in_parts(table)
        self._index = index
        self._ranges, self._summaries = ranges, summaries
        self._n_contextual, self._n_behavioral = len(ranges), len(summaries)
        self._context = self._rows[:, : self._n_contextual]
        self._categorical = table.feature_kinds
        self._others = others
        """By behavioral feature: the others that it is judged by."""
        contexts = table.feature_contexts
        is_category = self._categorical[: self._n_contextual].astype(bool)
        self._familiarity = Familiarity(self._context, is_category, contexts)
        self._given_context: list[AnyColumn] = []
        self._given_all: list[AnyColumn] = []
        """Empty if there is one behavioral column."""
        self._n_values = len(table.behavior_encoding.codes)
        """Features that are values come first, then those that say that one is missing."""
        for feature in range(self._n_behavioral):
            # Of values that are missing together, the first is informative: the others are judged given it.
            known = np.arange(min(self._n_contextual + self._n_values, 65_535), self._n_contextual + feature)
            given = np.append(contexts[feature], known.astype(np.uint16))
            self._given_context.append(self._column(feature, given))
            if others[feature]:
                chosen = np.array([self._n_contextual + other for other in others[feature]], dtype=np.uint16)
                self._given_all.append(self._column(feature, np.append(given, chosen)))
        size = min(len(self._rows) - 1, MAX_REFERENCES)
        self._groups = ReferenceGroups(self._rows, ranges, self._categorical, size, self._given_context)
        self._verdict: Verdict | None = None

    def _column(self, feature: int, features: npt.NDArray[np.uint16]) -> AnyColumn:
        return make_column(self._rows, self._n_contextual + feature, self._summaries[feature], features)

    def fit(
        self, n_threads: int, tick: Callable[[int], object] | None = None, workers: Workers | None = None
    ) -> tuple[SurpriseState, Judged]:
        """Fits the table. Returns the state, and the results for its rows.

        `tick` is called with the number of rows that would be done. With workers, columns are fitted there, with the
        same result.
        """
        n_rows, n_columns = len(self._rows), len(self._columns)
        asked = Asked(self._rows, self._index.find_all(), n_threads)
        keys = row_keys(self._table.row_hashes())
        draws = SampleDraws(find_originals(asked.fitted), keys, self._settings.seed, n_threads, self._blocks())
        table = FeatureTable(self._rows, self._categorical)
        evidence, surprises = np.empty((n_rows, n_columns)), np.empty((n_rows, n_columns))
        spread: dict[int, tuple[Floats, Floats]] = {}
        all_settings = [self._settings.of_forest(len(column.features)) for column in self._columns]
        sample_of = [
            draws.of(self._rows[:, self._n_contextual + place % self._n_behavioral], settings)
            for place, settings in enumerate(all_settings)
        ]

        def report(place: int, share: float) -> None:
            if tick is not None:
                tick(int(n_rows * (place + share) / n_columns))

        fitted = (
            self._fit_here(table, draws, sample_of, asked, all_settings, report)
            if workers is None
            else self._fit_elsewhere(workers, table, draws, sample_of, asked, all_settings, report)
        )
        for place, (its_evidence, its_surprises, to_learn) in enumerate(fitted):
            evidence[:, place], surprises[:, place] = its_evidence, its_surprises
            if to_learn is not None:
                spread[place] = to_learn
        if tick is not None:
            tick(n_rows)
        # The verdict needs memory that the table took.
        bins = table.kinds().bins()
        del fitted, table
        gross = self._gross(self._rows[:, self._n_contextual :])
        unfamiliar = self._familiarity.unfamiliar(self._context, asked.fitted)
        spread_cells = self._spread_cells(evidence, surprises, gross, unfamiliar, spread)
        cells = self._cells(evidence, surprises, gross, unfamiliar)
        self._verdict = Verdict.fit(cells, spread_cells)
        del spread_cells
        forests = StoredForests(
            self._index.order(),
            bins,
            [samples.arrays() for samples in draws.drawn],
            sample_of,
            [column.packed for column in self._columns],
        )
        learned = [column.learned for column in self._columns]
        state = SurpriseState(
            self._settings, n_rows, self._others, learned, self._verdict, self._ranges, self._summaries, forests
        )
        return state, self._judged(cells, self._table.places)

    @classmethod
    def renew(
        cls,
        table: EncodedTable,
        state: SurpriseState,
        moved: Positions,
        recent: Positions,
        n_pairs: int,
        seed: int,
        n_threads: int,
    ) -> SurpriseState:
        """Replaces the oldest pairs of trees by pairs that grow on recent rows, and calibrates everything by these.

        Raises a ValueError if that is not possible, because recent rows have other categories or constant columns.

        Parameters
        ----------
        table : EncodedTable
            The rows of the trees that stay, in the same order as so far, and the recent ones.
        state : SurpriseState
            What was learned so far.
        moved : array
            By row of the table so far, as it is held: its number in the new one; -1 if it is not there.
        recent : array
            The recent rows, as the new table holds them, ascending.
        n_pairs : int
            The number of pairs that are replaced.
        seed : int
            The seed of the random numbers.
        n_threads : int
            The number of threads.
        """
        model = cls.__new__(cls)
        some = np.full(table.n_rows, False)
        some[recent] = True
        summaries = summarize(table, some)
        index = RowIndex(table.rows)
        model._take_over(table, state.settings, index, state.ranges, summaries, state.others)
        features = FeatureTable(model._rows, model._categorical)
        check_bins(state.forests.bins, features.kinds().bins())
        asked = Asked(model._rows, index.find_all(), n_threads)
        originals, keys = find_originals(asked.fitted), row_keys(table.row_hashes())
        draws = SampleDraws(originals, keys, seed, n_threads, model._blocks())
        combined = CombinedSamples(state.forests.samples, moved, n_pairs, table.n_rows)
        evidence, surprises = (np.empty((len(recent), len(model._columns))) for _ in range(2))
        spread: dict[int, tuple[Floats, Floats]] = {}
        for place, column in enumerate(model._columns):
            settings = replace(state.settings.of_forest(len(column.features)), n_pairs=n_pairs)
            target = np.where(some, model._rows[:, model._n_contextual + place % model._n_behavioral], np.nan)
            drawn = draws.drawn[draws.of(target, settings)]
            samples = combined.of(state.forests.sample_of[place], drawn)
            addition = Addition(state.settings.n_pairs, 2 * n_pairs, drawn, samples, features.kinds(), recent, moved)
            packed = state.forests.packed[place]
            # Both follow from the kind of the feature.
            evidence[:, place], surprises[:, place], to_learn = column.renew(
                state.learned[place], packed, addition, features, asked, settings, seed + place  # type: ignore[arg-type]
            )  # fmt: skip
            if to_learn is not None:
                spread[place] = to_learn
        gross = model._gross(model._rows[recent, model._n_contextual :])
        unfamiliar = model._familiarity.unfamiliar(model._context[recent], asked.fitted[recent])
        cells = model._cells(evidence, surprises, gross, unfamiliar)
        verdict = Verdict.fit(cells, model._spread_cells(evidence, surprises, gross, unfamiliar, spread))
        forests = StoredForests(
            index.order(),
            features.kinds().bins(),
            [samples.arrays() for samples in combined.made],
            combined.sample_of,
            [column.packed for column in model._columns],
        )
        learned = [column.learned for column in model._columns]
        return SurpriseState(
            state.settings, table.n_rows, state.others, learned, verdict, state.ranges, summaries, forests
        )

    def _fit_here(
        self,
        table: FeatureTable,
        draws: SampleDraws,
        sample_of: list[int],
        asked: Asked,
        all_settings: list[ForestSettings],
        report: Callable[[int, float], None],
    ) -> Iterator[FitResult]:
        """Fits one column after the other."""
        for place, (column, which, settings) in enumerate(zip(self._columns, sample_of, all_settings, strict=True)):
            growth = Growth(draws.drawn[which], asked, self._categorical, settings, self._seed(place))
            yield column.fit(table, growth, partial(report, place))

    def _fit_elsewhere(
        self,
        workers: Workers,
        table: FeatureTable,
        draws: SampleDraws,
        sample_of: list[int],
        asked: Asked,
        all_settings: list[ForestSettings],
        report: Callable[[int, float], None],
    ) -> Iterator[FitResult]:
        """Has workers fit the columns, and takes over what they learned."""
        kinds = table.kinds()
        stored = [samples.arrays() for samples in draws.drawn]
        data = FitData(self._rows, asked.fitted, self._categorical, kinds.bins(), stored)
        tasks = []
        for place, column in enumerate(self._columns):
            feature = place % self._n_behavioral
            number, summary = self._n_contextual + feature, self._summaries[feature]
            tasks.append(
                ColumnTask(number, summary, column.features, sample_of[place], all_settings[place], self._seed(place))
            )
        results = fit_elsewhere(workers, data, tasks, [column.n_views for column in self._columns])
        for place, (column, (fitted, packed)) in enumerate(zip(self._columns, results, strict=True)):
            # Both follow from the kind of the feature.
            column.recall(fitted.learned, kinds, draws.drawn[sample_of[place]], packed)  # type: ignore[arg-type]
            report(place, 1.0)
            yield fitted.evidence, fitted.surprises, fitted.to_learn

    def _blocks(self) -> Positions | None:
        """Blocks of time, of which a tree has all rows or none; None if there are no timestamps."""
        for place, times in enumerate(self._table.encoding.times):
            if times is not None:
                return time_blocks(self._table.rows[:, place])
        return None

    @classmethod
    def recall(cls, table: EncodedTable, state: SurpriseState) -> SurpriseModel:
        """A model that was fitted before."""
        model, forests = cls.__new__(cls), state.forests
        index = RowIndex(table.rows, forests.index)
        model._take_over(table, state.settings, index, state.ranges, state.summaries, state.others)
        kinds, samples = forests.kinds(model._categorical), forests.open_samples(state.n_rows)
        for column, learned, which, packed in zip(
            model._columns, state.learned, forests.sample_of, forests.packed, strict=True
        ):
            # Both follow from the kind of the feature.
            column.recall(learned, kinds, samples[which], packed)  # type: ignore[arg-type]
        model._verdict = state.verdict
        return model

    @property
    def _columns(self) -> list[AnyColumn]:
        return [*self._given_context, *self._given_all]

    def _seed(self, place: int) -> int:
        return self._settings.seed * len(self._columns) + place

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""
        return self._table.given(self._index.find(np.ascontiguousarray(np.hstack([context, behavior]))))

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, kinds, and the p-value of each cell."""
        return self._judged(self._evidence(rows))

    @property
    def null(self) -> ScoreNull:
        """What the log odds of a row are worth: its score, in nats."""
        assert self._verdict is not None
        return self._verdict.null

    def _evidence(self, rows: RowBatch) -> CellEvidence:
        asked = self._asked(rows)
        n_rows = len(rows.context)
        shape = (n_rows, len(self._columns))
        evidence, surprises = np.empty(shape), np.empty(shape)
        for place, column in enumerate(self._columns):
            values = np.ascontiguousarray(rows.behavior[:, place % self._n_behavioral])
            evidence[:, place], surprises[:, place] = column.judge(asked, values)
            if rows.tick is not None:
                rows.tick(n_rows * (place + 1) // len(self._columns))
        return self._new_cells(asked, rows.behavior, evidence, surprises)

    def _new_cells(self, asked: Asked, behavior: Floats, evidence: Floats, surprises: Floats) -> CellEvidence:
        unfamiliar = self._familiarity.unfamiliar(asked.rows[:, : self._n_contextual], asked.fitted)
        return self._cells(evidence, surprises, self._gross(behavior), unfamiliar)

    def _gross(self, behavior: Floats) -> Floats:
        """The evidence of values that are beyond anything that their columns have: [row][behavioral feature]."""
        found = np.zeros(behavior.shape)
        for feature, summary in enumerate(self._summaries):
            if not isinstance(summary, Categories) and not summary[0].is_constant:
                found[:, feature] = summary[0].tails.evidence(behavior[:, feature])
        return found

    def _cells(
        self, evidence: Floats, surprises: Floats, gross: Floats, unfamiliar: npt.NDArray[np.bool_] | None
    ) -> CellEvidence:
        """The evidence of all cells, from that of each column given the context, and then given all: [row][column].

        The arrays become part of the result, without a copy: that of gross values is at least `gross`. In an unfamiliar
        context, the density is thin everywhere, and surprises are no more than what the evidence says.
        """
        n = self._n_behavioral
        parts = [(evidence[:, :n], surprises[:, :n])]
        if self._given_all:
            parts.append((evidence[:, n:], surprises[:, n:]))
        for its_evidence, its_surprises in parts:
            np.maximum(its_evidence, gross, out=its_evidence)
            if unfamiliar is not None:
                np.minimum(its_surprises, its_evidence - USUAL_EVIDENCE, out=its_surprises, where=unfamiliar)
        (alone, alone_surprises), (together, together_surprises) = parts[0], parts[-1]
        return CellEvidence(alone, together, alone_surprises, together_surprises, gross)

    def _spread_cells(
        self,
        evidence: Floats,
        surprises: Floats,
        gross: Floats,
        unfamiliar: npt.NDArray[np.bool_] | None,
        spread: dict[int, tuple[Floats, Floats]],
    ) -> CellEvidence | None:
        """The cells with those of categories spread evenly; None if there are none."""
        if not spread:
            return None
        evidence, surprises = evidence.copy(), surprises.copy()
        for place, each in spread.items():
            evidence[:, place], surprises[:, place] = each
        return self._cells(evidence, surprises, gross, unfamiliar)

    def _judged(self, cells: CellEvidence, rows: RowNumbers | slice = slice(None)) -> Judged:
        """The results for cells, in the order of `rows`."""
        assert self._verdict is not None
        said = self._verdict.judge(cells)
        given_context, given_all = (
            np.concatenate([encode(getattr(block, name)) for block in cells.blocks()])[rows]
            for name in ("given_context", "given_all")
        )
        return Judged(said.parts[rows], said.kinds[rows], given_context, given_all if self._given_all else None)

    def _asked(self, rows: RowBatch) -> Asked:
        context = self._table.encoding.expand(rows.context)
        values = np.ascontiguousarray(np.hstack([context, rows.behavior]))
        return Asked(values, self._table.held(rows.fitted), rows.n_threads)

    def levels(self, rows: RowBatch, share: Floats) -> Floats:
        """[row][behavioral feature]: the share of its distribution given the context below each value.

        It is not calibrated. Where values repeat, `share` ([row][feature], between 0 and 1) says where in the interval
        of levels of a value; NaN where a value is missing.
        """
        asked = self._asked(rows)
        found = np.empty(rows.behavior.shape)
        for feature, column in enumerate(self._given_context):
            values = np.ascontiguousarray(rows.behavior[:, feature])
            found[:, feature] = column.levels(asked, values, share[:, feature])
        return found

    def hold(self, n_threads: int) -> None:
        """Keeps forests in the form that is fast for few rows, which takes more memory."""
        for column in self._columns:
            for forest in column.forests:
                forest.hold(n_threads)

    def keeping(self) -> AbstractContextManager[None]:
        """Keeps what calls with many rows have to unpack, for further calls until the end."""
        return self._keeping(self._columns)

    @contextmanager
    def _keeping(self, columns: list[AnyColumn]) -> Iterator[None]:
        forests = [forest for column in columns for forest in column.forests]
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
        own, context = self._context[asked.fitted], asked.rows[:, : self._n_contextual]
        is_same = ((context == own) | (np.isnan(context) & np.isnan(own))).all(axis=1)
        asked = replace(asked, is_elsewhere=(asked.fitted >= 0) & ~is_same)
        found = np.empty((len(rows.context), self._n_behavioral, N_QUANTILES + 1))
        for feature, column in enumerate(self._given_context):
            found[:, feature] = column.percentiles(asked, N_QUANTILES)
        return found

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The rows that share most leaves with each row, nearest first, and their distances.

        If too few rows share any, the nearest of the others are added.
        """
        positions, distances = self._groups.find_full(self._asked(rows))
        return self._table.given(positions), distances

    def reach(self) -> Floats:
        """The distances of the nearest and the farthest reference row, for some of the fitted rows."""
        return self._groups.reach()

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        """All results for rows."""
        # The forests of distributions have the reference rows, too.
        with self._keeping(self._given_context):
            return self._find(rows, judged)

    def _find(self, rows: RowBatch, judged: Judged | None) -> Findings:
        asked = self._asked(rows)
        columns: list[FoundDistributions | FoundShares] = []
        if judged is None:
            judged = self._judge_and_find(asked, rows, columns)
        else:
            columns.extend(column.find(asked, N_QUANTILES) for column in self._given_context)
        central = np.stack([each.central for each in columns], axis=1)
        has_one_value = np.stack([each.has_one_value for each in columns], axis=1)
        alone, together = judged.cell_p_values, judged.cell_p_values_given_all
        assert alone is not None
        of_cells = alone.ravel().tolist()
        of_cells_together = [None] * len(of_cells) if together is None else together.ravel().tolist()
        usual_given_all = self._usual_given_all(asked, together)
        positions, distances, weights = self._groups.find(asked)

        def verdict(row: int, feature: int) -> CellVerdict:
            found, cell = columns[feature], row * self._n_behavioral + feature
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
        shape = (len(asked.rows), len(self._columns))
        evidence, surprises = np.empty(shape), np.empty(shape)
        for place, column in enumerate(self._columns):
            values = np.ascontiguousarray(rows.behavior[:, place % self._n_behavioral])
            if place < self._n_behavioral:
                judged, found = column.judge_and_find(asked, values, N_QUANTILES)
                columns.append(found)
            else:
                judged = column.judge(asked, values)
            evidence[:, place], surprises[:, place] = judged
            if rows.tick is not None:
                rows.tick(len(asked.rows) * (place + 1) // len(self._columns))
        return self._judged(self._new_cells(asked, rows.behavior, evidence, surprises))

    def _usual_given_all(self, asked: Asked, p_values: Floats | None) -> dict[tuple[int, int], tuple[float, float]]:
        """By row and feature: the 90 % range given all others, of values that are odd given these."""
        if p_values is None:
            return {}
        found = {}
        for feature, column in enumerate(self._given_all):
            if isinstance(column, CategoricalColumn):
                continue
            odd = np.flatnonzero(p_values[:, feature] <= MAX_P_GIVEN_ALL)
            if odd.size == 0:
                continue
            central = column.find(asked.take(odd), N_QUANTILES).central
            for row, (low, _, high) in zip(odd.tolist(), central.tolist(), strict=True):
                found[row, feature] = low, high
        return found
