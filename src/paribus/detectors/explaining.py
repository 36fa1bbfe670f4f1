"""Explanations of scores."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Positions
from paribus._common.scratch import scratch_folder
from paribus._common.threads import in_two_steps
from paribus._common.validation import check_whole_number
from paribus.detectors.batches import each_batch
from paribus.detectors.estimator import require_fitted
from paribus.detectors.explanation import Explanation
from paribus.detectors.scoring import ScoringDetector
from paribus.explain.build import explain_rows
from paribus.explain.finding import N_FEATURES
from paribus.explain.group import AnomalyGroup, plain_label
from paribus.explain.known import KnownEntry, KnownLike, read_known, usable_rules
from paribus.explain.view import FittedView, highest
from paribus.methods.interface import Findings, Judged, RowBatch
from paribus.output.results import MAX_FINDINGS, Results, ScoredRows, WholeTable
from paribus.output.streamed import RowKeeper, ScoreRanks
from paribus.tables.joining import join_tables
from paribus.tables.rows import as_one_row
from paribus.tables.streams import TableBatches, find_batches
from paribus.tables.table import Table

# Rows that are explained at a time. While the next ones are compared, the sentences of these are written.
ROWS_AT_A_TIME = 4_096


class UnscoredRowError(ValueError):
    """A row that is to be explained has no score."""


class ExplainingDetector(ScoringDetector):
    """Explains the scores of rows."""

    def explain(self, row: Any = None, *, row_label: Hashable = None, n_features: int = 3) -> Explanation:
        """Explains the score of a row.

        Parameters
        ----------
        row : int, or a row
            An integer is the position of a fitted row, from 0, as in `anomaly_scores_`. Text or a timestamp is the
            label of a fitted row in a pandas index. A dict of values, a pandas row or a table of one row is a new row.
        row_label : optional
            The label of a fitted row in a pandas index, for labels that are integers.
        n_features : int
            The maximum number of behavioral features that the sentence and the pictures show.

        Returns
        -------
        Explanation
            Which features stand out, by how much, and compared with which rows.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> print(detector.explain(137, n_features=1))
        temperature 16.5 where month is January, elevation 1,900 and zone inland: comparable rows have -12.7 to -8.8
        (90 %).
        Compared with the 500 nearest rows, of which 23 count, mostly with month February or January and elevation 1,612
        to 2,070.
        """
        require_fitted(self)
        check_whole_number("n_features", n_features, 1)
        if row_label is not None and row is not None:
            raise ValueError(f"both row ({row!r}) and row_label ({row_label!r}) are given: give only one of them")
        original = self._fitted.table.original
        position = original.find_row(row_label) if row_label is not None else self.view().find_row(row)
        if position is not None:
            return self._explain_fitted(np.array([position]), n_features)[0]
        asked = self._read(as_one_row(row, original))
        if asked.n_rows != 1:
            raise ValueError(f"explain takes one row, but the table has {asked.n_rows}: use explain_all(rows=...)")
        return self._explain_new(asked, [None], n_features)[0]

    def explain_all(self, n_rows: int = 10, *, rows: Any = None, n_features: int = 3) -> list[Explanation]:
        """Explains the rows with the highest scores.

        Parameters
        ----------
        n_rows : int
            The maximum number of rows to explain. Rows without a score, and rows that are known, are left out.
        rows : table, optional
            New rows to score and explain, instead of the fitted ones. The `row` of an explanation is the row's label
            in a pandas index, or its position.
        n_features : int
            The maximum number of behavioral features that each sentence and picture shows.

        Returns
        -------
        list of Explanation
            The explanations, in descending order of score.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> [explanation.position for explanation in detector.explain_all(5)]
        [1204, 512, 171, 1541, 137]
        """
        require_fitted(self)
        check_whole_number("n_rows", n_rows, 1)
        check_whole_number("n_features", n_features, 1)
        if rows is None:
            chosen = self.results().highest(n_rows)
            return self._explain_fitted(chosen, n_features) if chosen.size else []
        batches = find_batches(rows, once=True)
        if batches is not None:
            return self._explain_highest(batches, n_rows, n_features)
        table = self._read(rows)
        if table.n_rows <= n_rows and (explained := self._explain_every(table, n_features)) is not None:
            return explained
        with self.view().keeping():
            scored = self._score(table, table.labels(), "row")
            chosen = self.results_of(scored, self.known_entries(scored)).highest(n_rows)
            return self._explain_some(scored, chosen, n_features) if chosen.size else []

    def groups(self, rows: Any = None) -> list[AnomalyGroup]:
        """Finds groups of flagged rows that have the same cause.

        Rows belong together if the same column is off in the same way, with the same value or on the same side
        of the usual range, and in the same circumstances. A group is shown if its size is not explained by chance. Rows
        without a group are unusual for different reasons, or by chance.

        Parameters
        ----------
        rows : table, optional
            New rows to score and group, instead of the fitted ones. Of a table that is read in batches and has more
            than 131,072 rows, the 10,000 highest scores at most are grouped, among a sample of the others.

        Returns
        -------
        list of AnomalyGroup
            The groups, the largest first. Each has a rule in words, and the positions of its rows.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> table = {name: list(column) for name, column in weather.table.items()}
        >>> table["wind"][100:112] = [0.0] * 12
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, false_alarms=0.01).fit(table)
        >>> print(detector.groups()[0].rule)
        wind is 0.0 where ... is usual, for any month, elevation and zone
        """
        found = self.results(rows)
        if found.rows.whole is None:
            return found.groups
        return [
            replace(group, positions=np.array([found.position(row) for row in group.positions.tolist()]))
            for group in found.groups
        ]

    def results(
        self,
        rows: Any = None,
        *,
        known: KnownLike | None = None,
        labels: npt.NDArray[Any] | None = None,
        heading: str = "row",
        whole: WholeTable | None = None,
    ) -> Results:
        """Returns the results for all rows, which `to_frame`, `groups`, `report` and the shell present.

        Parameters
        ----------
        rows : table, optional
            New rows, instead of the fitted ones.
        known : path or list of dicts, optional
            Known rows, besides those given at the fit. Of the latter, rules apply to new rows as well,
            and entries about single rows only if these have labels.
        labels : array, optional
            The labels of the rows; by default those of a pandas index, or positions.
        heading : str
            The name of the column of labels.
        whole : WholeTable, optional
            The table that new rows are a part of.

        Returns
        -------
        Results

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> float(detector.results().rank.min())
        1.0
        """
        require_fitted(self)
        entries = () if known is None else read_known(known)
        if rows is None:
            entries = (*entries, *self._known)
            fitted = self._fitted
            scored = ScoredRows(
                fitted.table.original,
                fitted.table.all_context,
                fitted.table.all_behavior,
                fitted.judged.partial,
                self.anomaly_scores_,
                self.p_values_,
                fitted.judged.kinds,
                True,
                fitted.table.original.labels() if labels is None else labels,
                heading,
            )
        elif (batches := find_batches(rows, once=True)) is not None:
            return self._results_of_batches(batches, entries, heading)
        else:
            scored = replace(self.scored_rows(rows, labels=labels, heading=heading), whole=whole)
            entries = self.known_entries(scored, entries)
        return self.results_of(scored, entries)

    def scored_rows(
        self,
        rows: Any,
        *,
        labels: npt.NDArray[Any] | None = None,
        heading: str = "row",
        tick: Callable[[int], object] | None = None,
    ) -> ScoredRows:
        """Scores new rows.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.
        labels : array, optional
            The labels of the rows; by default those of a pandas index, or positions.
        heading : str
            The name of the column of labels.
        tick : function, optional
            Called with the number of finished rows.

        Returns
        -------
        ScoredRows

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.scored_rows(cities.table).scores == detector.anomaly_scores_).all())
        True
        """
        table = self._read(rows)
        return self._score(table, table.labels() if labels is None else labels, heading, tick)

    def _score(
        self,
        table: Table,
        labels: npt.NDArray[Any] | None,
        heading: str,
        tick: Callable[[int], object] | None = None,
    ) -> ScoredRows:
        context, behavior = self._encode(table)
        judged = self._judge_encoded(context, behavior, tick)
        scores = self.method.total(judged.partial)
        p_values = self.method.p_values(scores, lambda: self.anomaly_scores_)
        kinds = judged.kinds
        return ScoredRows(
            table, context, behavior, judged.partial, scores, p_values, kinds, False, labels, heading, judged=judged
        )

    def results_of(self, scored: ScoredRows, known: Sequence[KnownEntry] = ()) -> Results:
        """Returns the results for rows that have been scored.

        Parameters
        ----------
        scored : ScoredRows
            The rows and their scores.
        known : sequence of KnownEntry
            The known rows among them.

        Returns
        -------
        Results

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.results_of(detector.scored_rows(cities.table)).n_rows
        16
        """
        return Results(self.view(), scored, lambda chosen: self._explain_some(scored, chosen, N_FEATURES), known)

    def known_entries(self, scored: ScoredRows, known: Sequence[KnownEntry] = ()) -> tuple[KnownEntry, ...]:
        """Lists the known rows among new rows, with those entries of the fit that apply to them.

        Parameters
        ----------
        scored : ScoredRows
            The rows.
        known : sequence of KnownEntry
            The known rows among them.

        Returns
        -------
        tuple of KnownEntry

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.known_entries(detector.scored_rows(cities.table))
        ()
        """
        table = scored.table
        names = [table.name(place) for place in range(table.n_columns)]
        by_label = () if scored.labels is None else (entry for entry in self._known if entry.row is not None)
        return (*known, *by_label, *usable_rules(self._known, names))

    def _results_of_batches(self, batches: TableBatches, known: Sequence[KnownEntry], heading: str) -> Results:
        """The results for a table that is not in memory: its highest rows, and a sample of the others."""
        keeper: RowKeeper | None = None
        entries: tuple[KnownEntry, ...] = ()
        with scratch_folder() as folder:
            ranks = ScoreRanks(folder / "scores")
            for batch in each_batch(self, batches, "Scoring"):
                scored = self.scored_rows(batch, heading=heading)
                if keeper is None:
                    entries = self.known_entries(scored, known)
                    keeper = RowKeeper(self.threshold_, MAX_FINDINGS, entries)
                keeper.add(scored)
                ranks.add(scored.scores)
            if keeper is None:
                raise ValueError("the table has no batches of rows")
            return self.results_of(keeper.finish(ranks), entries)

    def _sentences(self, table: Table, rows: Positions) -> npt.NDArray[np.object_]:
        found = np.full(table.n_rows, None, dtype=object)
        if len(rows):
            asked, new = Table(table.take(rows)), [None] * len(rows)
            with self._batch(asked, "Explaining") as batch:
                own = self._own_values(asked)
                blocks = self._explain_blocks(batch, own, new, new, N_FEATURES)
                found[rows] = [each.sentence for block in blocks for each in block]
        return found

    def _explain_highest(self, batches: TableBatches, n_rows: int, n_features: int) -> list[Explanation]:
        """Explains the highest scores of a table that is not in memory."""
        pieces: list[Any] = []
        scores, labels = np.zeros(0), []
        n_before = 0
        for batch in each_batch(self, batches, "Scoring"):
            table = self._read(batch)
            total = self.method.total(self._judge(table).partial)
            chosen = highest(total, n_rows)
            pieces.append(table.take(chosen))
            scores = np.append(scores, total[chosen])
            # Positions are those in the whole table.
            named = (table.row_label(row) for row in chosen.tolist())
            labels += [label + n_before if isinstance(label, int) else label for label in named]
            n_before += table.n_rows
        best = highest(scores, n_rows)
        if best.size == 0:
            return []
        return self._explain_new(Table(join_tables(pieces, best)), [labels[place] for place in best], n_features)

    def _explain_every(self, table: Table, n_features: int) -> list[Explanation] | None:
        """Explains all rows of a table, in descending order of score, and scores them at the same time.

        None if some of them are to be left out.
        """
        context, behavior = self._encode(table)
        if self._known or np.isnan(behavior).all(axis=1).any():
            return None
        labels = [table.row_label(row) for row in range(table.n_rows)]
        try:
            with self._encoded_batch(context, behavior, "Explaining") as batch:
                explained = self._explain(batch, self._own_values(table), [None] * table.n_rows, labels, n_features)
        except UnscoredRowError:
            return None
        self._n_outside += int(self._fitted.table.encoding.is_outside(context).sum())
        scores = np.array([each.score for each in explained])
        return [explained[row] for row in highest(scores, table.n_rows).tolist()]

    def _explain_some(self, scored: ScoredRows, chosen: Positions, n_features: int) -> list[Explanation]:
        if scored.is_fitted:
            return self._explain_fitted(chosen, n_features)
        table = scored.table
        own = scored.labels
        labels = [table.row_label(row) if own is None else plain_label(own[row]) for row in chosen.tolist()]
        judged = None if scored.judged is None else scored.judged.take(chosen)
        return self._explain_new(Table(table.take(chosen)), labels, n_features, judged)

    def _explain_fitted(self, positions: Positions, n_features: int) -> list[Explanation]:
        table = self._fitted.table
        context = table.context(positions)
        own = [column.decode(context[:, place]) for place, column in enumerate(self.view().context)]
        labels = [table.original.row_label(int(position)) for position in positions]
        with self._encoded_batch(context, table.behavior(positions), "Explaining") as batch:
            return self._explain(batch, own, positions.tolist(), labels, n_features)

    def _explain_new(
        self, asked: Table, labels: Sequence[Hashable], n_features: int, judged: Judged | None = None
    ) -> list[Explanation]:
        with self._batch(asked, "Explaining") as batch:
            return self._explain(batch, self._own_values(asked), [None] * asked.n_rows, labels, n_features, judged)

    def _own_values(self, asked: Table) -> list[Any]:
        """The contextual values of rows, [feature][row], decoded."""
        columns = self._contextual_columns(asked)
        return [
            column.own_values(asked, position) for column, position in zip(self.view().context, columns, strict=True)
        ]

    def _explain(
        self,
        batch: RowBatch,
        own: Sequence[Any],
        positions: Sequence[int | None],
        labels: Sequence[Hashable],
        n_features: int,
        judged: Judged | None = None,
    ) -> list[Explanation]:
        """Explains the rows of a batch. `judged` is what the method said of them, if it is known."""
        return list(chain.from_iterable(self._explain_blocks(batch, own, positions, labels, n_features, judged)))

    def _explain_blocks(
        self,
        batch: RowBatch,
        own: Sequence[Any],
        positions: Sequence[int | None],
        labels: Sequence[Hashable],
        n_features: int,
        judged: Judged | None = None,
    ) -> Iterator[list[Explanation]]:
        """The same, some rows at a time: what is not kept takes no memory."""
        n_rows, method, view = len(batch.context), self._get_method(), self.view()

        def find(rows: slice) -> Findings:
            return method.find(batch.part(rows), None if judged is None else judged.take(rows))

        def tell(rows: slice, findings: Findings) -> list[Explanation]:
            values = [each[rows] for each in own]
            found = self._tell(view, batch.part(rows), values, positions[rows], labels[rows], n_features, findings)
            for each in found:
                # Sentences are kept, and written now, while the next rows are compared.
                _ = each.sentence
            return found

        blocks = [slice(begin, min(begin + ROWS_AT_A_TIME, n_rows)) for begin in range(0, n_rows, ROWS_AT_A_TIME)]
        if len(blocks) == 1:
            yield tell(blocks[0], find(blocks[0]))
        else:
            with view.keeping():
                yield from in_two_steps(blocks, find, tell)

    def _tell(
        self,
        view: FittedView,
        batch: RowBatch,
        own: Sequence[Any],
        positions: Sequence[int | None],
        labels: Sequence[Hashable],
        n_features: int,
        findings: Findings,
    ) -> list[Explanation]:
        """Makes explanations of what a method found."""
        scores = self.method.total(findings.partial_scores)
        if np.isnan(scores).any():
            first = labels[int(np.isnan(scores).argmax())]
            named = "the row" if first is None else f"row {first}"
            raise UnscoredRowError(
                f"{named} has no score: no behavioral feature has a value both there and in the reference group"
            )
        for row, position in enumerate(positions):
            # Of identical fitted rows, the same one is always left out of the group. Here it is the explained row.
            if position is not None and batch.fitted[row] >= 0:
                neighbors = findings.neighbors[row]
                neighbors[neighbors == position] = batch.fitted[row]
        return explain_rows(view, own, positions, labels, batch.behavior, scores, findings, n_features, Explanation)
