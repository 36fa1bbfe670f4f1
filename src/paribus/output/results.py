"""The results for the rows of a table: scores, findings, groups and known rows, as columns and as lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.explain.explanation import RowExplanation
from paribus.explain.finding import Finding, finding_columns
from paribus.explain.group import AnomalyGroup
from paribus.explain.groups import GroupedTable, find_groups
from paribus.explain.known import KnownEntry, Marks, mark
from paribus.explain.view import FittedView, highest
from paribus.methods.interface import Judged
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from paribus.tables.joining import join_tables
from paribus.tables.table import Table

Columns: TypeAlias = Literal["none", "roles", "all"]
COLUMNS = ("none", "roles", "all")
# The maximum number of flagged rows that are explained: those with the highest scores.
MAX_FINDINGS = 10_000
# Rows that are explained at a time, which bounds the memory for their distributions.
BLOCK_SIZE = 2_048

Flags = npt.NDArray[np.bool_]
Explain: TypeAlias = Callable[[Positions], Sequence[RowExplanation]]


@dataclass(frozen=True)
class WholeTable:
    """A table that is not in memory: its rows with the highest scores are here, and a sample of the others."""

    n_rows: int
    n_scored: int
    n_above: int
    """The number of rows above the threshold, known or not."""
    weights: Floats = field(repr=False)
    """The number of rows of the table that each row here represents."""
    n_known_elsewhere: int = 0
    """The number of rows above the threshold that are known and not here."""
    positions: Positions | None = field(default=None, repr=False)
    """The position of each row in the table; None if the table has no order."""
    ranks: Floats | None = field(default=None, repr=False)
    """The rank of each row in the table; None if those above it are all here."""
    n_missing: int | None = None
    """The number of missing values in columns with a role; None if unknown."""
    lowest: float | None = None
    """The lowest score; None if unknown."""
    is_sampled: bool = False
    """Whether the fitted rows are a sample of the table."""


@dataclass(frozen=True)
class ScoredRows:
    """The rows of a table, fitted or new, and the results of the method for them."""

    table: Table
    """The rows as the caller gave them."""
    context: Floats = field(repr=False)
    """[row][contextual feature]: encoded."""
    behavior: Floats = field(repr=False)
    """[row][behavioral feature]"""
    partial: Floats = field(repr=False)
    """[row][behavioral feature]: the partial scores."""
    scores: Floats = field(repr=False)
    """The score of each row; NaN for a row without a score."""
    p_values: Floats = field(repr=False)
    """The probability that an ordinary row scores as high."""
    kinds: npt.NDArray[np.object_] | None
    """The kind of each row's verdict; None if the method has no kinds."""
    is_fitted: bool
    """Whether these are the fitted rows, rather than new ones."""
    labels: npt.NDArray[Any] | None = None
    """The labels of the rows; None for their positions."""
    heading: str = "row"
    """The name of the column of labels."""
    whole: WholeTable | None = None
    """The table that these rows are a part of; None if they are all there are."""
    judged: Judged | None = field(default=None, repr=False)
    """All that the method says of the rows, so that they need not be judged again to be explained; None if unknown."""

    def taken(self, rows: Positions) -> ScoredRows:
        """Some of the rows."""
        return replace(
            self,
            table=Table(self.table.take(rows)),
            context=self.context[rows],
            behavior=self.behavior[rows],
            partial=self.partial[rows],
            scores=self.scores[rows],
            p_values=self.p_values[rows],
            kinds=None if self.kinds is None else self.kinds[rows],
            labels=None if self.labels is None else self.labels[rows],
            judged=None if self.judged is None else self.judged.take(rows),
        )

    @staticmethod
    def joined(parts: Sequence[ScoredRows]) -> ScoredRows:
        """The rows of several parts of a table, one below the other; parts have labels, or none has."""
        if len(parts) == 1:
            return parts[0]

        def join(get: Callable[[ScoredRows], Any]) -> Any:
            return None if get(parts[0]) is None else np.concatenate([get(part) for part in parts])

        return replace(
            parts[0],
            table=Table(join_tables([part.table.take(np.arange(part.table.n_rows)) for part in parts])),
            context=join(lambda part: part.context),
            behavior=join(lambda part: part.behavior),
            partial=join(lambda part: part.partial),
            scores=join(lambda part: part.scores),
            p_values=join(lambda part: part.p_values),
            kinds=join(lambda part: part.kinds),
            labels=join(lambda part: part.labels),
            judged=None,
        )


class Results:
    """The results for the rows of a table. Findings and groups, which take time, are computed when they are first used.

    Parameters
    ----------
    view : FittedView
        What the rows are compared with.
    rows : ScoredRows
        The rows and their scores.
    explain : function
        Explains rows that are given by position.
    known : sequence of KnownEntry
        What is known about some rows.
    """

    def __init__(
        self,
        view: FittedView,
        rows: ScoredRows,
        explain: Explain,
        known: Sequence[KnownEntry] = (),
    ) -> None:
        self.view = view
        self.rows = rows
        self.explain = explain
        self._known = known
        self.ranking: Floats | None = None
        """The ranking of lists, such as adjusted scores after teaching; None for the scores."""

        self.label_column: str | None = None
        """The name of the column of the table that holds the labels; None if there is none."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows.scores)

    @property
    def is_above(self) -> Flags:
        """Whether each row has a score above the threshold, known or not."""
        return np.asarray(self.rows.scores > self.view.threshold)

    @cached_property
    def is_flagged(self) -> Flags:
        """Whether each row has a score above the threshold and is not known."""
        return self.is_above & ~self.marks.is_known

    @property
    def n_total(self) -> int:
        """The number of rows of the table, including those that are not here."""
        return self.n_rows if self.rows.whole is None else self.rows.whole.n_rows

    @property
    def n_scored(self) -> int:
        """The number of rows of the table that have a score."""
        return int((~np.isnan(self.rows.scores)).sum()) if self.rows.whole is None else self.rows.whole.n_scored

    @property
    def n_above(self) -> int:
        """The number of rows of the table above the threshold, known or not."""
        return int(self.is_above.sum()) if self.rows.whole is None else self.rows.whole.n_above

    @property
    def n_known(self) -> int:
        """The number of rows of the table above the threshold that are known."""
        n_here = int((self.is_above & self.marks.is_known).sum())
        return n_here if self.rows.whole is None else n_here + self.rows.whole.n_known_elsewhere

    @property
    def n_flagged(self) -> int:
        """The number of rows of the table above the threshold that are not known."""
        return self.n_above - self.n_known

    @property
    def has_known(self) -> bool:
        """Whether there is a list of known rows."""
        return bool(self._known)

    @property
    def entries(self) -> Sequence[KnownEntry]:
        """The list of known rows."""
        return self._known

    @property
    def expected_false_alarms(self) -> float:
        """The number of rows that would be flagged by chance, if all were ordinary."""
        return float(self.view.p_values(np.array([self.view.threshold]))[0]) * self.n_scored

    @cached_property
    def rank(self) -> Floats:
        """The rank of each row: 1 is the highest score, equal scores share a rank; NaN for a row without a score."""
        scores, whole = self.rows.scores, self.rows.whole
        if whole is not None and whole.ranks is not None:
            return whole.ranks
        known = np.sort(scores[~np.isnan(scores)])
        rank = (len(known) - np.searchsorted(known, scores, "right") + 1).astype(np.float64)
        rank[np.isnan(scores)] = np.nan
        return rank

    @cached_property
    def marks(self) -> Marks:
        """What is known about each row."""
        names = [self.name(row) for row in range(self.n_rows)] if any(e.row is not None for e in self._known) else []
        is_about_usual = any(entry.rule is not None and entry.rule.on_usual for entry in self._known)
        return mark(self._known, self.rows.table, names, self.findings if is_about_usual else ())

    def highest(self, n: int) -> Positions:
        """The positions of the n highest scores of rows that are not known, in descending order of score."""
        ranking = self.rows.scores if self.ranking is None else self.ranking
        return highest(np.where(self.marks.is_known, np.nan, ranking), n)

    def label(self, row: int) -> Any:
        """The label of a row, or its position."""
        return row if self.rows.labels is None else self.rows.labels[row]

    def position(self, row: int) -> int:
        """The position of a row in the whole table."""
        whole = self.rows.whole
        return row if whole is None or whole.positions is None else int(whole.positions[row])

    def name(self, row: int) -> str:
        """The label of a row as text."""
        label = self.label(row)
        return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings about rows above the threshold, known or not, in descending order of score."""
        chosen = highest(self.rows.scores, min(int(self.is_above.sum()), MAX_FINDINGS))
        found: list[Finding] = []
        with self.view.keeping() if len(chosen) else nullcontext():
            for start in range(0, len(chosen), BLOCK_SIZE):
                block = chosen[start : start + BLOCK_SIZE]
                found += [Finding.of(each, int(row)) for row, each in zip(block, self.explain(block), strict=True)]
        return found

    @cached_property
    def groups(self) -> list[AnomalyGroup]:
        """The groups of flagged rows with the same cause, the largest first."""
        return find_groups([each for each in self.findings if self.is_flagged[each.position]], self.grouped_table)

    @property
    def grouped_table(self) -> GroupedTable:
        """The rows among which groups are searched."""
        rows, view = self.rows, self.view
        time = time_column(rows.table, [column.name for column in view.context])
        return GroupedTable(
            context=rows.context,
            behavior=rows.behavior,
            p_values=rows.p_values,
            columns=view.context,
            names=view.behavior_names,
            sources=view.behavior_sources,
            formats=view.behavior_formats,
            labels=rows.labels,
            times=None if time is None else rows.table.numbers(time),
            time_format=None if time is None else ColumnFormat.fit(rows.table, time, rows.table.numbers(time)),
            weights=np.ones(self.n_rows) if rows.whole is None else rows.whole.weights,
        )

    @cached_property
    def group_of(self) -> Floats:
        """The number of the group of each row; NaN for a row without one."""
        numbers = np.full(self.n_rows, np.nan)
        for group in self.groups:
            numbers[group.positions] = group.number
        return numbers

    @property
    def verdicts(self) -> npt.NDArray[np.object_]:
        """The label of each row: "anomaly", "known" (an anomaly that was reviewed), "normal" or "not scored"."""
        verdict = np.where(self.is_above, "anomaly", "normal").astype(object)
        verdict[self.is_above & self.marks.is_known] = "known"
        verdict[np.isnan(self.rows.scores)] = "not scored"
        return verdict

    def columns(
        self, columns: Columns = "none", *, only_flagged: bool = False, sentences: bool = True
    ) -> dict[str, npt.NDArray[Any]]:
        """The results as columns of a table.

        Parameters
        ----------
        columns : {"none", "roles", "all"}
            Which original columns to add: those with a role, or all. Results whose names they take get the suffix
            " (paribus)".
        only_flagged : bool
            Whether to leave out all rows but those that are flagged and not known.
        sentences : bool
            Whether to add the sentence, the leading value and the group of each flagged row, which takes time.

        Returns
        -------
        dict
        """
        rows = self.rows
        found: dict[str, npt.NDArray[Any]] = {
            rows.heading: np.arange(self.n_rows) if rows.labels is None else rows.labels,
            "score": rows.scores,
            "p_value": rows.p_values,
            "rank": self.rank,
            "label": self.verdicts,
        }
        if rows.kinds is not None:
            kinds = rows.kinds.astype(object)
            kinds[~self.is_above] = None
            found["kind"] = kinds
        if self.has_known:
            found |= {"known": self.marks.status, "note": self.marks.note}
        if sentences:
            found["group"] = self.group_of
            found |= finding_columns(self.findings, self.n_rows)
        found |= {f"partial_{name}": rows.partial[:, place] for place, name in enumerate(self.view.behavior_names)}
        if columns != "none":
            found = self._with_original(found, columns)
        return {name: values[self.is_flagged] for name, values in found.items()} if only_flagged else found

    def _with_original(self, found: dict[str, npt.NDArray[Any]], columns: Columns) -> dict[str, npt.NDArray[Any]]:
        table = self.rows.table
        roles = {column.name for column in self.view.context} | set(self.view.behavior_names)
        # The column of labels is there already, if it has the same name.
        twice = {self.label_column} & {self.rows.heading}
        kept = [
            p
            for p in range(table.n_columns)
            if (columns == "all" or table.name(p) in roles) and table.name(p) not in twice
        ]
        taken = {table.name(p).casefold() for p in kept}
        named = {}
        for name, values in found.items():
            while name.casefold() in taken or name in named:
                name += " (paribus)"
            named[name] = values
        return named | {table.name(p): table.values(p) for p in kept}


def time_column(table: Table, preferred: Sequence[str] = ()) -> int | None:
    """The position of the column of timestamps, a contextual one if possible; None if there is none."""
    names = [table.name(p) for p in range(table.n_columns)]
    ordered = sorted(range(table.n_columns), key=lambda p: names[p] not in preferred)
    for position in ordered:
        if table.kind(position) is Kind.TIME and table.holds(position) == "timestamps" and table.has_values(position):
            return position
    return None
