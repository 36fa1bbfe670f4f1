"""A table's behavioral features under each condition, and the evidence of its cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import column_ranges
from paribus._core import RowIndex
from paribus.methods.surprise.calibration import USUAL_EVIDENCE
from paribus.methods.surprise.categories import CategoricalColumn, Categories
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.familiarity import Familiarity
from paribus.methods.surprise.forests import time_blocks
from paribus.methods.surprise.preparing import choose_for_features, in_parts, summarize
from paribus.methods.surprise.reference_groups import AnyColumn, ReferenceGroups
from paribus.methods.surprise.state import MAX_REFERENCES, Summary, SurpriseSettings, SurpriseState
from paribus.methods.surprise.tasks import make_column
from paribus.methods.surprise.views import Asked
from paribus.tables.encoded_table import EncodedTable

# A value that is no less probable than those of a tenth of the ordinary rows of its context is no error, however rare
# it is in the column.
EXPLAINED = float(np.log(10.0))
# Nor is a gross value where at least this share of the values in comparable contexts is gross on the same side.
SHARE_IN_COMPANY = 0.5


class TableColumns:
    """The behavioral features of a table, given the context, and given all other features.

    Sums depend on the order of their terms. Rows are therefore held in an order that depends on their values alone, and
    is random otherwise: the first of them are a sample.

    Parameters
    ----------
    table : EncodedTable
        The table, its rows by content.
    settings : SurpriseSettings
        How forests are grown.
    index : RowIndex
        Finds rows by their values.
    ranges : array
        The range of each contextual feature.
    summaries : list
        By behavioral feature: the whole column.
    others : list of lists
        By behavioral feature: the others that it is judged by.
    """

    def __init__(
        self,
        table: EncodedTable,
        settings: SurpriseSettings,
        index: RowIndex,
        ranges: Floats,
        summaries: Sequence[Summary],
        others: list[list[int]],
    ) -> None:
        self.settings = settings
        self.table, self.rows = table, in_parts(table)
        self.index = index
        self.ranges, self.others = ranges, others
        self.n_contextual, self.n_behavioral = len(ranges), len(others)
        self.context = self.rows[:, : self.n_contextual]
        self.categorical = table.feature_kinds
        is_category = self.categorical[: self.n_contextual].astype(bool)
        self._familiarity = Familiarity(self.context, is_category, table.feature_contexts)
        self.summarize(summaries)

    @classmethod
    def of(cls, table: EncodedTable, settings: SurpriseSettings) -> TableColumns:
        """Those of a table that is about to be fitted."""
        summaries = summarize(table, np.full(table.n_rows, True))
        context = table.encoding.expand(table.rows[:, : table.n_contextual])
        ranges = [float(column_ranges(context[:, [feature]])[0]) for feature in range(context.shape[1])]
        others = choose_for_features(table, context, summaries)
        return cls(table, settings, RowIndex(table.rows), np.array(ranges), summaries, others)

    @classmethod
    def recall(cls, table: EncodedTable, state: SurpriseState) -> TableColumns:
        """Those of a table that was fitted before."""
        forests = state.forests
        index = RowIndex(table.rows, forests.index)
        columns = cls(table, state.settings, index, state.ranges, state.summaries, state.others)
        kinds, samples = forests.kinds(columns.categorical), forests.open_samples(state.n_rows)
        for column, learned, which, packed in zip(
            columns.all, state.learned, forests.sample_of, forests.packed, strict=True
        ):
            # Both follow from the kind of the feature.
            column.recall(learned, kinds, samples[which], packed)  # type: ignore[arg-type]
        return columns

    def summarize(self, summaries: Sequence[Summary]) -> None:
        """Makes the columns of these summaries, not fitted yet."""
        self.summaries = list(summaries)
        self.given_context: list[AnyColumn] = []
        self.given_all: list[AnyColumn] = []
        """Empty if there is one behavioral column."""
        contexts = self.table.feature_contexts
        # Features that are values come first, then those that say that one is missing.
        n_values = len(self.table.behavior_encoding.codes)
        for feature, others in enumerate(self.others):
            # Of values that are missing together, the first is informative: the others are judged given it.
            known = np.arange(min(self.n_contextual + n_values, 65_535), self.n_contextual + feature)
            given = np.append(contexts[feature], known.astype(np.uint16))
            self.given_context.append(self._column(feature, given))
            if others:
                chosen = np.array([self.n_contextual + other for other in others], dtype=np.uint16)
                self.given_all.append(self._column(feature, np.append(given, chosen)))
        size = min(len(self.rows) - 1, MAX_REFERENCES)
        self.groups = ReferenceGroups(self.rows, self.ranges, self.categorical, size, self.given_context)

    def _column(self, feature: int, features: npt.NDArray[np.uint16]) -> AnyColumn:
        return make_column(self.rows, self.number(feature), self.summaries[feature], features)

    @property
    def all(self) -> list[AnyColumn]:
        """By place: the features given the context, and then given all."""
        return [*self.given_context, *self.given_all]

    def number(self, place: int) -> int:
        """The column of the table at a place."""
        return self.n_contextual + place % self.n_behavioral

    def seed(self, place: int) -> int:
        """The seed of the forests at a place."""
        return self.settings.seed * len(self.all) + place

    def blocks(self) -> Positions | None:
        """Blocks of time, of which a tree has all rows or none; None if there are no timestamps."""
        for place, times in enumerate(self.table.encoding.times):
            if times is not None:
                return time_blocks(self.table.rows[:, place])
        return None

    def asked(self, rows: Floats, fitted: Positions, n_threads: int) -> Asked:
        """Rows to be judged, [row][column of the table], and the fitted row that each one is, or -1."""
        unfamiliar = self._familiarity.unfamiliar(rows[:, : self.n_contextual], fitted)
        return Asked(rows, fitted, n_threads, unfamiliar=unfamiliar)

    def cells(
        self,
        asked: Asked,
        behavior: Floats,
        evidence: Floats,
        surprises: Floats,
        spread: dict[int, tuple[Floats, Floats]] | None = None,
    ) -> tuple[CellEvidence, CellEvidence | None]:
        """The evidence of all cells, from that at each place: [row][place].

        The arrays become part of the result, without a copy. `spread` has evidence and surprises of categories that are
        spread evenly, by place; the second result are the cells with these, None if there are none.
        """
        gross = self._gross(asked, behavior, evidence)
        spread_cells = None
        if spread:
            its_evidence, its_surprises = evidence.copy(), surprises.copy()
            for place, each in spread.items():
                its_evidence[:, place], its_surprises[:, place] = each
            spread_cells = self._join(its_evidence, its_surprises, gross, asked.unfamiliar)
        return self._join(evidence, surprises, gross, asked.unfamiliar), spread_cells

    def have_placeholders(self, behavior: Floats) -> npt.NDArray[np.bool_]:
        """By row: whether a value is a placeholder."""
        found = np.zeros(len(behavior), dtype=bool)
        for feature, summary in enumerate(self.summaries):
            if not isinstance(summary, Categories) and summary[0].tails.has_placeholders:
                found |= summary[0].tails.are_placeholders(behavior[:, feature])
        return found

    def _gross(self, asked: Asked, behavior: Floats, evidence: Floats) -> Floats:
        """The evidence of values that are beyond anything that their columns have: [row][behavioral feature].

        Values that trees see as they are, because they have not been pulled in, are not gross where others in the same
        context are like them. `evidence` is that of all cells: [row][place].
        """
        found = np.zeros(behavior.shape)
        for feature, (summary, column) in enumerate(zip(self.summaries, self.given_context, strict=True)):
            if isinstance(summary, Categories) or isinstance(column, CategoricalColumn) or column.is_constant:
                continue
            values, whole = behavior[:, feature], summary[0]
            found[:, feature] = whole.tails.evidence(values)
            is_seen = (whole.limits[0] <= values) & (values <= whole.limits[1])
            (rows,) = np.nonzero(is_seen & (found[:, feature] > 0))
            if rows.size:
                atoms = column.atoms(asked.take(rows))
                is_like_it = (whole.tails.evidence(atoms) > 0) & (
                    (atoms > whole.tails.middle) == (values[rows, None] > whole.tails.middle)
                )
                # The density beyond an end is that of the values before it.
                is_common = (evidence[rows, feature] <= EXPLAINED) & ~whole.tails.is_beyond_end(values[rows])
                found[rows[is_common | (is_like_it.mean(axis=1) >= SHARE_IN_COMPANY)], feature] = 0.0
        return found

    def _join(
        self, evidence: Floats, surprises: Floats, gross: Floats, unfamiliar: npt.NDArray[np.bool_] | None
    ) -> CellEvidence:
        """The evidence of gross values is at least `gross`; that of placeholders, which have no other, is that.

        In an unfamiliar context, the density is thin everywhere, and surprises are no more than what the evidence says.
        """
        n = self.n_behavioral
        parts = [(evidence[:, :n], surprises[:, :n])]
        if self.given_all:
            parts.append((evidence[:, n:], surprises[:, n:]))
        for its_evidence, its_surprises in parts:
            are_placeholders = np.isnan(its_evidence) & (gross > 0)
            its_evidence[are_placeholders] = its_surprises[are_placeholders] = gross[are_placeholders]
            np.maximum(its_evidence, gross, out=its_evidence)
            if unfamiliar is not None:
                np.minimum(its_surprises, its_evidence - USUAL_EVIDENCE, out=its_surprises, where=unfamiliar)
        (alone, alone_surprises), (together, together_surprises) = parts[0], parts[-1]
        return CellEvidence(alone, together, alone_surprises, together_surprises, gross)
