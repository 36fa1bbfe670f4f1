"""Fits the columns of a table: forests, calibration, and what scores are worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.workers import Workers
from paribus._core import FeatureTable, RowIndex
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.columns import TableColumns
from paribus.methods.surprise.far_groups import FarGroups
from paribus.methods.surprise.forests import SampleDraws, StoredForests
from paribus.methods.surprise.preparing import summarize
from paribus.methods.surprise.renewal import CombinedSamples, check_bins
from paribus.methods.surprise.state import SurpriseState
from paribus.methods.surprise.tasks import ColumnTask, FitData, fit_elsewhere
from paribus.methods.surprise.verdict import Verdict
from paribus.methods.surprise.views import Addition, Asked, Bytes, Growth, find_originals
from paribus.tables.encoded_table import EncodedTable, RowNumbers
from paribus.tables.row_hash import row_keys

FitResult: TypeAlias = tuple[Floats, Floats, tuple[Floats, Floats] | None]
"""Evidence, surprises, and both to learn from if they differ."""


class Fit:
    """A fit of all columns of a table.

    Parameters
    ----------
    columns : TableColumns
        The columns, which are fitted in place.
    n_threads : int
        The number of threads.
    """

    def __init__(self, columns: TableColumns, n_threads: int) -> None:
        self._columns = columns
        self._asked = columns.asked(columns.rows, columns.index.find_all(), n_threads)
        self._draws = _draw(columns, self._asked, columns.settings.seed)
        table = FeatureTable(columns.rows, columns.categorical)
        _widen_limits(columns, table, self._draws, self._asked)
        self._table: FeatureTable | None = table
        self._settings = [columns.settings.of_forest(len(column.features)) for column in columns.all]
        self._sample_of = [
            self._draws.of(column.target, settings)
            for column, settings in zip(columns.all, self._settings, strict=True)
        ]

    def run(self, tick: Callable[[int], object] | None, workers: Workers | None) -> tuple[SurpriseState, CellEvidence]:
        """Fits, once. Returns the state, and the evidence of all cells of the table.

        `tick` is called with the number of rows that would be done. With workers, columns are fitted there, with the
        same result.
        """
        columns, table = self._columns, self._table
        assert table is not None
        n_rows, n_columns = len(columns.rows), len(columns.all)
        evidence, surprises = np.empty((n_rows, n_columns)), np.empty((n_rows, n_columns))
        spread: dict[int, tuple[Floats, Floats]] = {}

        def report(place: int, share: float) -> None:
            if tick is not None:
                tick(int(n_rows * (place + share) / n_columns))

        fitted = self._fit_here(table, report) if workers is None else self._fit_elsewhere(workers, table, report)
        for place, (its_evidence, its_surprises, to_learn) in enumerate(fitted):
            evidence[:, place], surprises[:, place] = its_evidence, its_surprises
            if to_learn is not None:
                spread[place] = to_learn
        if tick is not None:
            tick(n_rows)
        # The verdict needs memory that the table took.
        bins = table.kinds().bins()
        del fitted, table
        self._table = None
        behavior = columns.rows[:, columns.n_contextual :]
        cells, spread_cells = columns.cells(self._asked, behavior, evidence, surprises, spread)
        verdict = _fit_verdict(columns, behavior, cells, spread_cells, self._asked.n_threads)
        samples = [each.arrays() for each in self._draws.drawn]
        return _state(columns, verdict, bins, samples, self._sample_of), cells

    def _fit_here(self, table: FeatureTable, report: Callable[[int, float], None]) -> Iterator[FitResult]:
        """Fits one column after the other."""
        columns = self._columns
        for place, (column, which, settings) in enumerate(
            zip(columns.all, self._sample_of, self._settings, strict=True)
        ):
            samples = self._draws.drawn[which]
            growth = Growth(samples, self._asked, columns.categorical, settings, columns.seed(place))
            yield column.fit(table, growth, partial(report, place))

    def _fit_elsewhere(
        self, workers: Workers, table: FeatureTable, report: Callable[[int, float], None]
    ) -> Iterator[FitResult]:
        """Has workers fit the columns, and takes over what they learned."""
        columns, drawn = self._columns, self._draws.drawn
        kinds = table.kinds()
        stored = [samples.arrays() for samples in drawn]
        asked = self._asked
        data = FitData(asked.rows, asked.fitted, asked.unfamiliar, columns.categorical, kinds.bins(), stored)
        tasks = [
            ColumnTask(
                columns.number(place),
                columns.summaries[place % columns.n_behavioral],
                column.features,
                self._sample_of[place],
                self._settings[place],
                columns.seed(place),
            )
            for place, column in enumerate(columns.all)
        ]
        results = fit_elsewhere(workers, data, tasks, [column.n_views for column in columns.all])
        for place, (column, (fitted, packed)) in enumerate(zip(columns.all, results, strict=True)):
            # Both follow from the kind of the feature.
            column.recall(fitted.learned, kinds, drawn[self._sample_of[place]], packed)  # type: ignore[arg-type]
            report(place, 1.0)
            yield fitted.evidence, fitted.surprises, fitted.to_learn


def renew(
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
    some = np.full(table.n_rows, False)
    some[recent] = True
    summaries = summarize(table, some)
    columns = TableColumns(table, state.settings, RowIndex(table.rows), state.ranges, summaries, state.others)
    features = FeatureTable(columns.rows, columns.categorical)
    check_bins(state.forests.bins, features.kinds().bins())
    asked = columns.asked(columns.rows, columns.index.find_all(), n_threads)
    draws = _draw(columns, asked, seed)
    _widen_limits(columns, features, draws, asked, some)
    combined = CombinedSamples(state.forests.samples, moved, n_pairs, table.n_rows)
    evidence, surprises = (np.empty((len(recent), len(columns.all))) for _ in range(2))
    spread: dict[int, tuple[Floats, Floats]] = {}
    for place, column in enumerate(columns.all):
        settings = replace(state.settings.of_forest(len(column.features)), n_pairs=n_pairs)
        target = np.where(some, column.target, np.nan)
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
    behavior = columns.rows[recent, columns.n_contextual :]
    cells, spread_cells = columns.cells(asked.take(recent), behavior, evidence, surprises, spread)
    verdict = _fit_verdict(columns, behavior, cells, spread_cells, n_threads)
    made = [samples.arrays() for samples in combined.made]
    return _state(columns, verdict, features.kinds().bins(), made, combined.sample_of)


def _fit_verdict(
    columns: TableColumns, behavior: Floats, cells: CellEvidence, spread: CellEvidence | None, n_threads: int
) -> Verdict:
    """Learns what scores are worth, from rows without placeholders, which are wrong for certain."""
    learned = np.flatnonzero(~columns.have_placeholders(behavior))
    if len(learned) < len(behavior):
        cells, spread = cells.take(learned), None if spread is None else spread.take(learned)
    return Verdict.fit(cells, spread, n_threads)


def _draw(columns: TableColumns, asked: Asked, seed: int) -> SampleDraws:
    """Draws the samples of trees."""
    keys = row_keys(columns.table.row_hashes())
    return SampleDraws(find_originals(asked.fitted), keys, seed, asked.n_threads, columns.blocks())


def _widen_limits(
    columns: TableColumns,
    table: FeatureTable,
    draws: SampleDraws,
    asked: Asked,
    some: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Moves the limits beyond which values are pulled in as far as contexts of rows (all, or some) explain."""
    groups = FarGroups(table, draws.others(), asked, columns.settings)
    summaries = []
    for feature, (summary, column) in enumerate(zip(columns.summaries, columns.given_context, strict=True)):
        target = columns.rows[:, columns.number(feature)]
        values = target if some is None else np.where(some, target, np.nan)
        summaries.append(groups.widened(summary, values, column.features))
    if any(now is not before for now, before in zip(summaries, columns.summaries, strict=True)):
        columns.summarize(summaries)


def _state(
    columns: TableColumns,
    verdict: Verdict,
    bins: list[Bytes],
    samples: list[tuple[RowNumbers, RowNumbers]],
    sample_of: list[int],
) -> SurpriseState:
    packed, learned = [column.packed for column in columns.all], [column.learned for column in columns.all]
    forests = StoredForests(columns.index.order(), bins, samples, sample_of, packed)
    return SurpriseState(
        columns.settings,
        len(columns.rows),
        columns.others,
        learned,
        verdict,
        columns.ranges,
        columns.summaries,
        forests,
    )
