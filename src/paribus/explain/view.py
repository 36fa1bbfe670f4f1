"""Read access to a fitted detector: its columns, its scores, and what is usual in its table."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.explain.context import ContextColumn
from paribus.methods.fitted import Fitted
from paribus.methods.interface import FittedMethod, RowBatch
from paribus.tables.column_format import PRESENCE, CodedFormat, ColumnFormat
from paribus.tables.row_store import ColumnSummary, RowStore
from paribus.tables.rows import is_label
from paribus.tables.table import find_key

# Up to this many scores are compared with those of the fitted rows one by one.
MAX_COUNTED = 20


@dataclass(frozen=True)
class FittedView:
    """Read-only access to a fitted detector, for explanations, pictures and reports."""

    store: RowStore
    """The fitted rows."""
    behavior_names: list[str]
    """The names of the behavioral features."""
    behavior_columns: list[str]
    """The names of the behavioral columns; features for missing values have no column."""
    behavior_sources: list[str]
    """The column of each behavioral feature; one that says whether a value is missing has the column of the value."""
    behavior_codes: list[dict[Hashable, int] | None]
    """The codes of the categories of each behavioral feature; None if it is numeric."""
    n_values: int
    """The number of behavioral features that are values; the others say that one is missing."""
    reach: Floats = field(repr=False)
    """[row][2]: the distances of the nearest and the farthest reference row, for all fitted rows or a sample."""
    threshold: float
    """The score above which a row is an anomaly."""
    n_reference: int
    """The size of a reference group."""
    seconds: float
    """How long the fit took."""
    columns_have_names: bool
    """Whether the columns of the fitted table have names."""
    roles_by_name: bool
    """Whether the columns of other tables are matched by name."""
    full_partial_score: float
    """The partial score at which the bar of a feature is full."""
    full_score: str
    """What scores mean and how they are made up, in words."""
    citation: str
    """The method and who published it, in a sentence."""
    _fitted: Fitted = field(repr=False)
    _get_method: Callable[[], FittedMethod] = field(repr=False)
    _get_n_threads: Callable[[], int] = field(repr=False)

    @classmethod
    def of(cls, fitted: Fitted, get_method: Callable[[], FittedMethod], get_n_threads: Callable[[], int]) -> FittedView:
        """The view of a fit. `get_method` is called only when needed, since it may have to restore the method."""
        table, roles = fitted.table, fitted.table.roles
        return cls(
            store=table,
            behavior_names=table.behavior_names,
            behavior_columns=[table.name(position) for position in roles.behavioral],
            behavior_sources=[table.name(roles.behavioral[source]) for source in table.behavior_encoding.sources],
            n_values=len(roles.behavioral),
            behavior_codes=table.behavior_encoding.feature_codes,
            reach=fitted.reach,
            threshold=fitted.threshold,
            n_reference=fitted.state.n_reference,
            seconds=fitted.seconds,
            columns_have_names=table.names is not None,
            roles_by_name=roles.by_name,
            full_partial_score=fitted.method.full_partial_score,
            full_score=fitted.method.full_score(fitted.state, table.n_behavioral),
            citation=fitted.method.citation,
            _fitted=fitted,
            _get_method=get_method,
            _get_n_threads=get_n_threads,
        )

    # What follows is computed when it is first needed: a model of many rows is opened to score a few.

    @cached_property
    def context(self) -> list[ContextColumn]:
        """The contextual features."""
        table, found = self._fitted.table, []
        for feature, (position, codes) in enumerate(zip(table.roles.contextual, table.encoding.codes, strict=True)):
            times = table.encoding.times[feature] if table.encoding.times else None
            form, summary = table.column_format(feature), table.context_summary(feature)
            found.append(ContextColumn(table.name(position), form, summary, codes, times))
        return found

    @cached_property
    def behavior_formats(self) -> list[ColumnFormat]:
        """How the values of each behavioral feature are written."""
        table, formats = self._fitted.table, []
        for feature, codes in enumerate(self.behavior_codes):
            write = table.column_format(table.n_contextual + feature)
            if codes is not None:
                write = CodedFormat.of(write.title, PRESENCE if feature >= self.n_values else codes)
            formats.append(write)
        return formats

    @cached_property
    def behavior_summaries(self) -> list[ColumnSummary]:
        """A summary of the values of each behavioral feature."""
        return [self.store.behavior_summary(feature) for feature in range(len(self.behavior_names))]

    @cached_property
    def scores(self) -> Floats:
        """The score of each fitted row; NaN for a row without a score."""
        return self._fitted.scores

    @property
    def partial_scores(self) -> Floats:
        """[fitted row][behavioral feature]: the partial scores."""
        return self._fitted.judged.partial

    @cached_property
    def sorted_scores(self) -> Floats:
        """The scores that are not missing, in ascending order."""
        return np.sort(self.scores[~np.isnan(self.scores)])

    def count_around(self, scores: Floats) -> tuple[Positions, Positions, int]:
        """How many fitted rows score lower than each score, and how many higher; and how many have a score."""
        is_sorted = "sorted_scores" in self.__dict__
        if is_sorted or len(scores) > MAX_COUNTED or np.isnan(scores).any():
            n = len(self.sorted_scores)
            lower = np.searchsorted(self.sorted_scores, scores, "left")
            return lower, n - np.searchsorted(self.sorted_scores, scores, "right"), n
        # Of a few, which takes less time than to sort them all.
        lower, higher = (
            np.array([np.count_nonzero(compare(self.scores, score)) for score in scores], dtype=np.int64)
            for compare in (np.less, np.greater)
        )
        return lower, higher, int(np.count_nonzero(~np.isnan(self.scores)))

    @property
    def n_threads(self) -> int:
        """The number of threads to use."""
        return self._get_n_threads()

    def keeping(self) -> AbstractContextManager[None]:
        """While it lasts, the method keeps what it makes for many rows, such as forests that it had to unpack."""
        keeping = getattr(self._get_method(), "keeping", None)
        return nullcontext() if keeping is None else keeping()

    def p_values(self, scores: Floats) -> Floats:
        """The probability that an ordinary row scores as high."""
        return self._fitted.method.p_values(scores, lambda: self.scores)

    def compared_with(self, noun: str) -> str:
        """What a row is compared with, in words; the noun is the word for one row."""
        return self._fitted.method.compared_with(noun, self.n_reference)

    def expected(self, context: Floats, excluded: int | None = None) -> npt.NDArray[np.float64]:
        """The percentiles of behavior in encoded contexts, [row][feature][quantile]; `excluded` is left out."""
        unknown = np.full((len(context), len(self.behavior_names)), np.nan)
        fitted = np.full(len(context), -1 if excluded is None else excluded, dtype=np.int64)
        return self._get_method().percentiles(RowBatch(context, unknown, fitted, self.n_threads))

    def usual_ranges(self, rows: Positions) -> tuple[Floats, Floats]:
        """The 5 % and the 95 % percentiles of behavior of fitted rows, [row][feature]; each row is left out itself."""
        context, behavior = self.store.context(rows), self.store.behavior(rows)
        method = self._get_method()
        fitted = method.match(context, behavior)
        found = method.percentiles(RowBatch(context, behavior, fitted, self.n_threads))
        n = found.shape[2] - 1
        return found[:, :, 5 * n // 100], found[:, :, -(-95 * n // 100)]

    @property
    def origin(self) -> Origin:
        """What the detector was fitted to, and when."""
        fitted = self._fitted
        return Origin(fitted.note, fitted.fitted_at, len(fitted.excluded), len(fitted.known))

    @property
    def known(self) -> Sequence[Mapping[str, str | None]]:
        """What was known about some rows at the fit, as plain values."""
        return self._fitted.known

    def find_row(self, row: Any) -> int | None:
        """The position of a fitted row that is given by position or label; None for a new row."""
        if is_label(row):
            return self.store.original.find_row(row)
        if row is not None and not np.isscalar(row):
            return None
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise TypeError(f"row is {row!r}: it must be the position of a fitted row (from 0) or a new row")
        if not 0 <= row < self.store.n_rows:
            raise ValueError(
                f"row {row} is not in the fitted table, whose rows are 0 to {self.store.n_rows - 1:,}; "
                f"for a label of its index use explain(row_label={row})"
            )
        return int(row)

    def own_context(self, behavior: str) -> list[int]:
        """The places of the contextual features that a behavioral feature is judged by."""
        table = self._fitted.table
        if table.roles.contexts is None:
            return list(range(len(self.context)))
        return table.roles.contexts[table.behavior_encoding.sources[self.behavior_names.index(behavior)]]

    def behavior_place(self, feature: str | int) -> int:
        """The position of a feature among the behavioral features."""
        return find_key(feature, self.behavior_names, "behavioral feature")

    def context_place(self, feature: str | int) -> int:
        """The position of a feature among the contextual features."""
        return find_key(feature, [column.name for column in self.context], "contextual feature")

    def highest(self, n: int) -> npt.NDArray[np.int64]:
        """The positions of the n highest scores, in descending order of score."""
        return highest(self.scores, n)

    def strongest_features(self, n: int) -> list[int]:
        """The behavioral features, in descending order of their contribution to the n highest scores."""
        contributions = np.nan_to_num(self.partial_scores[self.highest(n)]).mean(axis=0)
        return [int(place) for place in np.argsort(-contributions, kind="stable")]

    def require_numbers(self, place: int) -> None:
        """Raises an error if a behavioral feature is categorical, and cannot be an axis."""
        if self.behavior_codes[place] is not None:
            raise ValueError(
                f"behavioral feature '{self.behavior_names[place]}' holds categories: choose a numeric one"
            )

    def typical_context(self) -> Floats:
        """The median of each numeric feature and the most frequent category of each categorical one, encoded."""
        return np.array([column.summary.typical for column in self.context])

    def context_of(self, row: int) -> Floats:
        """The context of a fitted row, encoded."""
        return np.asarray(self.store.context(np.array([row]))[0])


@dataclass(frozen=True)
class Origin:
    """Where a fitted detector comes from."""

    note: str
    """The user's note, such as the name of the table."""
    fitted_at: str
    """The time of the fit, in UTC."""
    n_excluded: int
    """The number of rows that were excluded from the fit because they are confirmed anomalies."""
    n_known: int
    """The number of entries about known rows."""


class HasView(Protocol):
    """What pictures and reports need of a fitted detector."""

    def view(self) -> FittedView:
        """Read access to the fitted detector."""


def highest(scores: Floats, n: int) -> npt.NDArray[np.int64]:
    """The positions of the n highest scores, in descending order of score; missing scores are left out.

    >>> highest(np.array([1.0, np.nan, 3.0]), 5)
    array([2, 0])
    """
    return np.argsort(-scores, kind="stable")[: min(n, int((~np.isnan(scores)).sum()))]
