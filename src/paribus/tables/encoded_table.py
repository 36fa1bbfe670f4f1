"""A table with its roles, as the caller gave it and as the arrays that methods compute with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import SMALLEST_RANGE, Floats, Positions
from paribus._common.memory import check_fit
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat, column_title
from paribus.tables.encoding import BehaviorEncoding, ContextEncoding
from paribus.tables.placeholders import find_placeholder
from paribus.tables.roles import Roles, assign_roles
from paribus.tables.row_hash import Hashes, canonical_order, hash_contents, hash_rows
from paribus.tables.row_store import ColumnSummary, Rows
from paribus.tables.table import Columns, Contexts, Table
from paribus.tables.time_parts import TimePartsOption

# Up to this many times as many columns as are needed, whole rows are taken.
MAX_ROW_RATIO = 4
# With missing="auto", a column must have values in at least this share and this number of rows, and lack them in as
# many.
MIN_MISSING_SHARE, MIN_MISSING_ROWS = 0.005, 20
# If more than this share of a column's categories occur once, it identifies rows; tested from this many rows on.
MAX_UNIQUE_SHARE, MIN_ROWS_OF_NAMES = 0.5, 20

RowNumbers = npt.NDArray[np.uint32]


class EncodedTable:
    """A table in memory with its roles, in its original and in its encoded form. It is a `RowStore`.

    Parameters
    ----------
    original : Table, or a function that makes it
        The table as the caller gave it. One that comes from a file is made when it is first needed.
    roles : Roles
        The roles of its columns.
    encoding : ContextEncoding
        The codes of categories.
    rows : array
        [row][feature]: the contextual features, then the behavioral ones.
    order : array, optional
        By row of `rows`: its position in the caller's table, if they are in another order.
    columns : list of str, or int
        The names of the columns, or their number if they have none. By default those of the original.
    behavior_encoding : BehaviorEncoding, optional
        What the behavioral features are; by default the behavioral columns, which hold numbers.
    described : dict, optional
        By feature of `rows`: its format and its summary, as far as they were computed before.
    """

    def __init__(
        self,
        original: Table | Callable[[], Table],
        roles: Roles,
        encoding: ContextEncoding,
        rows: Floats,
        order: RowNumbers | None = None,
        columns: list[str] | int | None = None,
        behavior_encoding: BehaviorEncoding | None = None,
        described: dict[int, tuple[ColumnFormat, ColumnSummary]] | None = None,
    ) -> None:
        if columns is None:
            assert isinstance(original, Table)
            columns = original.n_columns if original.names is None else original.names
        self._original = original
        self.names = columns if isinstance(columns, list) else None
        self.n_columns = len(columns) if isinstance(columns, list) else columns
        self.roles = roles
        self.encoding = encoding
        self.behavior_encoding = behavior_encoding or BehaviorEncoding.numeric(len(roles.behavioral))
        self.rows = rows
        self.order = order
        self._described = described or {}

    @property
    def original(self) -> Table:
        """The table as the caller gave it."""
        if not isinstance(self._original, Table):
            self._original = self._original()
        return self._original

    def __getstate__(self) -> dict[str, Any]:
        # A function that makes the table from a file cannot be pickled.
        kept = {name: value for name, value in self.__dict__.items() if name != "places"}
        return kept | {"_original": self.original}

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def name(self, position: int) -> str:
        """The name of a column in results."""
        return self.names[position] if self.names is not None else str(position)

    @property
    def n_contextual(self) -> int:
        """The number of contextual features, which come first in `rows`."""
        return len(self.roles.contextual)

    @property
    def n_behavioral(self) -> int:
        """The number of behavioral features, which come last in `rows`."""
        return self.behavior_encoding.n_features

    @property
    def behavior_names(self) -> list[str]:
        """The names of the behavioral features."""
        return self.behavior_encoding.names([self.name(position) for position in self.roles.behavioral])

    @property
    def categorical(self) -> npt.NDArray[np.uint8]:
        """For each feature of `rows`: 1 if it is categorical, 0 if it is numeric."""
        return np.append(self.encoding.categorical, self.behavior_encoding.categorical)

    @property
    def feature_kinds(self) -> npt.NDArray[np.uint8]:
        """The same for the features that methods use, where timestamps are split into parts."""
        return np.append(self.encoding.feature_kinds, self.behavior_encoding.categorical)

    @property
    def feature_contexts(self) -> list[npt.NDArray[np.uint16]]:
        """Of each behavioral feature: the features of its context that methods use, with timestamps in parts."""
        columns = self.encoding.feature_columns
        contexts = self.roles.contexts
        everything = np.arange(len(columns), dtype=np.uint16)
        if contexts is None:
            return [everything] * self.n_behavioral
        return [everything[np.isin(columns, contexts[source])] for source in self.behavior_encoding.sources]

    @property
    def all_context(self) -> Floats:
        """[row][contextual feature] in the caller's order: a copy."""
        return self.context(slice(None))

    @property
    def all_behavior(self) -> Floats:
        """[row][behavioral feature] in the caller's order: a copy."""
        return self.behavior(slice(None))

    def context(self, rows: Rows) -> Floats:
        """Contextual features of some rows: [row][feature], categories as codes."""
        held, n = self._held(rows), self.n_contextual
        if isinstance(held, slice) or MAX_ROW_RATIO * n < self.rows.shape[1]:
            return np.ascontiguousarray(self.rows[held, :n])
        # To take whole rows and leave out a part of them is faster.
        return np.ascontiguousarray(self.rows.take(held, axis=0)[:, :n])

    def behavior(self, rows: Rows) -> Floats:
        """Behavioral features of some rows: [row][feature]."""
        return np.ascontiguousarray(self.rows[self._held(rows), self.n_contextual :])

    def column(self, feature: int) -> Floats:
        """A feature of all rows in the caller's order; the behavioral ones come after the contextual ones."""
        return self.rows[self._held(slice(None)), feature]

    def context_summary(self, feature: int) -> ColumnSummary:
        """A summary of one contextual feature."""
        return self._summary(feature)

    def behavior_summary(self, feature: int) -> ColumnSummary:
        """A summary of one behavioral feature."""
        return self._summary(self.n_contextual + feature)

    def _summary(self, feature: int) -> ColumnSummary:
        if feature in self._described:
            return self._described[feature][1]
        codes = self._codes(feature)
        return ColumnSummary.of(np.ascontiguousarray(self.rows[:, feature]), None if codes is None else len(codes))

    def _codes(self, feature: int) -> dict[Hashable, int] | None:
        return [*self.encoding.codes, *self.behavior_encoding.feature_codes][feature]

    def column_format(self, feature: int) -> ColumnFormat:
        """How the values of a feature are written; the behavioral ones come after the contextual ones."""
        behavioral = [self.roles.behavioral[source] for source in self.behavior_encoding.sources]
        position = [*self.roles.contextual, *behavioral][feature]
        if self._codes(feature) is not None:
            return ColumnFormat(Kind.CATEGORICAL, title=column_title(self.names, position))
        if feature in self._described:
            return replace(self._described[feature][0], title=column_title(self.names, position))
        return ColumnFormat.fit(self.original, position, self.column(feature))

    @cached_property
    def places(self) -> RowNumbers:
        """By position in the caller's table: where the row is in `rows`."""
        places = np.zeros(self.n_rows, dtype=np.uint32)
        numbers = np.arange(self.n_rows, dtype=np.uint32)
        if self.order is None:
            return numbers
        places[self.order] = numbers
        return places

    def held(self, positions: Positions) -> Positions:
        """Where rows of the caller's table are in `rows`; -1 for -1."""
        return np.where(positions >= 0, self.places[positions].astype(np.int64), -1)

    def given(self, held: Positions) -> Positions:
        """The positions in the caller's table of rows of `rows`; -1 for -1."""
        return held if self.order is None else np.where(held >= 0, self.order[held].astype(np.int64), -1)

    def row_hashes(self) -> Hashes:
        """A hash of each row of `rows`, which depends neither on the names of categories nor on the origin of time."""
        columns = self._columns()
        return hash_rows(columns, hash_contents(columns, self._category_names()))

    def _columns(self) -> list[Floats]:
        # The indicators of missing values are determined by the values.
        n_values = len(self.encoding.codes) + len(self.behavior_encoding.codes)
        columns = [np.ascontiguousarray(self.rows[:, feature]) for feature in range(n_values)]
        for feature, times in enumerate(self.encoding.times):
            if times is not None:
                columns[feature] = times.since_first(columns[feature])
        return columns

    def _category_names(self) -> list[list[Hashable] | None]:
        all_codes = [*self.encoding.codes, *self.behavior_encoding.codes]
        return [None if codes is None else list(codes) for codes in all_codes]

    def without_behavior(self, positions: Positions) -> EncodedTable:
        """The same table, in which some rows have no behavior; they are given by position in the caller's table."""
        if len(positions) == 0:
            return self
        rows = self.rows.copy()
        rows[self.held(positions), self.n_contextual :] = np.nan
        columns = self.n_columns if self.names is None else self.names
        return EncodedTable(
            self._original, self.roles, self.encoding, rows, self.order, columns, self.behavior_encoding
        )

    def by_content(self) -> EncodedTable:
        """The same table with its rows in an order that depends on their values alone, and is random otherwise.

        Samples that are drawn by position then do not depend on the original order of rows. Categories are
        numbered in an order that does not depend on what they are called.
        """
        columns, names = self._columns(), self._category_names()
        hashes = hash_contents(columns, names)
        row_hashes = hash_rows(columns, hashes)
        numbers = [None if each is None else np.argsort(np.argsort(each)) for each in hashes]
        rows = self.rows.copy()
        for feature, of_codes in enumerate(numbers):
            if of_codes is not None:
                known = ~np.isnan(rows[:, feature])
                rows[known, feature] = of_codes[rows[known, feature].astype(np.int64)]
        codes = [
            None if each is None or of_codes is None else _ordered(each, of_codes.tolist())
            for each, of_codes in zip(names, numbers, strict=True)
        ]
        order = canonical_order(row_hashes, rows)
        # Minus zero becomes zero, which it equals.
        rows = rows[order] + 0.0
        return EncodedTable(
            self._original,
            self.roles,
            replace(self.encoding, codes=codes[: len(self.encoding.codes)]),
            rows,
            order.astype(np.uint32),
            self.n_columns if self.names is None else self.names,
            replace(self.behavior_encoding, codes=codes[len(self.encoding.codes) :]),
        )

    def _held(self, rows: Rows) -> Rows | RowNumbers:
        return rows if self.order is None else self.places[rows]


def _ordered(categories: list[Hashable], codes: list[int]) -> dict[Hashable, int]:
    """The codes of categories, in the order of the codes."""
    return dict(sorted(zip(categories, codes, strict=True), key=itemgetter(1)))


def encode_table(
    table: Any,
    contextual: Contexts,
    behavioral: Columns | None,
    categorical: Columns | None,
    time_parts: TimePartsOption | None = None,
    holidays: str | None = None,
    *,
    judges_categories: bool = False,
    missing: bool | str = False,
) -> EncodedTable:
    """Validates and encodes a table that is to be fitted. It is copied, so that the caller may change it afterwards.

    Timestamps are numbers if `time_parts` is None. If behavior may be categorical, constant columns are left out, and
    `missing` selects the columns whose missing values are judged: none, all columns that have missing values, or
    "auto", those where values are neither nearly always nor nearly never missing.
    """
    table = Table(table)
    roles = assign_roles(table, contextual, behavioral, categorical, judges_categories=judges_categories)
    n_columns = len(roles.contextual) + len(roles.behavioral)
    check_fit(
        f"a fit to {table.n_rows:,} rows of {n_columns:,} columns",
        table.n_rows,
        n_columns,
        "fit a sample of the rows, or choose fewer columns",
    )
    encoding = ContextEncoding.fit(table, roles.contextual, roles.categorical)
    context = encoding.encode(table, roles.contextual)
    if time_parts is not None:
        encoding = encoding.with_times(table, roles.contextual, context, time_parts, holidays)
    behavior_encoding = BehaviorEncoding.fit(table, roles.behavioral, roles.categorical)
    behavior = behavior_encoding.encode(table, roles.behavioral)
    _warn_about_empty_context(table, context, roles.contextual)
    _warn_about_names_in_context(table, encoding, context, roles.contextual)
    names = [table.name(position) for position in roles.behavioral]
    _check_behavior(behavior, names)
    _check_categories(behavior, names, behavior_encoding)
    kept = find_varying(behavior)
    leaves_out = judges_categories and len(kept) > 0
    _warn_about_constants(behavior, names, behavior_encoding, is_left_out=leaves_out)
    _warn_about_placeholders(table, roles, [*context.T, *behavior.T])
    if leaves_out:
        behavior = behavior[:, kept]
        positions = [roles.behavioral[place] for place in kept]
        categories = roles.categorical & {*roles.contextual, *positions}
        contexts = None if roles.contexts is None else [roles.contexts[place] for place in kept]
        roles = replace(roles, behavioral=positions, categorical=categories, contexts=contexts)
        codes = [behavior_encoding.codes[place] for place in kept]
        behavior_encoding = BehaviorEncoding(codes, find_missing(behavior, missing))
        behavior = behavior_encoding.with_missing(behavior)
    rows = np.hstack([context, behavior])
    return EncodedTable(table.copy(), roles, encoding, rows, behavior_encoding=behavior_encoding)


def find_varying(behavior: Floats) -> list[int]:
    """The columns that have more than one value."""
    present = np.isnan(behavior)
    lowest = np.where(present, np.inf, behavior).min(axis=0, initial=np.inf)
    highest = np.where(present, -np.inf, behavior).max(axis=0, initial=-np.inf)
    return np.flatnonzero(highest - lowest > SMALLEST_RANGE).tolist()


def find_missing(behavior: Floats, missing: bool | str) -> list[int]:
    """The columns whose missing values are judged.

    >>> behavior = np.where(np.arange(1000)[:, None] < [0, 1, 100], np.nan, 1.0)
    >>> find_missing(behavior, True), find_missing(behavior, "auto"), find_missing(behavior, False)
    ([1, 2], [2], [])
    """
    if missing is False:
        return []
    n_missing = np.isnan(behavior).sum(axis=0)
    fewest = 1.0 if missing is True else max(MIN_MISSING_ROWS, MIN_MISSING_SHARE * len(behavior))
    found: list[int] = []
    for column in np.flatnonzero((n_missing >= fewest) & (n_missing <= len(behavior) - fewest)).tolist():
        absent = np.isnan(behavior[:, column])
        # A column that is missing in the same rows as an earlier one adds nothing.
        if not any(np.array_equal(absent, np.isnan(behavior[:, each])) for each in found):
            found.append(column)
    return found


def _warn_about_empty_context(table: Table, context: Floats, positions: list[int]) -> None:
    """Warns about contextual columns that have no values."""
    for column, position in enumerate(positions):
        if table.n_rows and np.isnan(context[:, column]).all():
            warnings.warn(
                f"contextual column {table.label(position)} has no values at all, so no row is compared by it",
                UserWarning,
                stacklevel=4,
            )


def _warn_about_names_in_context(
    table: Table, encoding: ContextEncoding, context: Floats, positions: list[int]
) -> None:
    """Warns about contextual columns of categories that hardly any rows share, such as dates in text."""
    for column, (position, codes) in enumerate(zip(positions, encoding.codes, strict=True)):
        if codes is None or table.kind(position) is Kind.NUMERIC:
            # Numbers are categories only where the caller says so.
            continue
        n_known = int((~np.isnan(context[:, column])).sum())
        if n_known >= MIN_ROWS_OF_NAMES and len(codes) > MAX_UNIQUE_SHARE * n_known:
            warnings.warn(
                f"contextual column {table.label(position)} has {len(codes):,} categories in {n_known:,} rows, so "
                "hardly any rows are comparable by it: convert it if it holds dates or numbers, or leave it out",
                UserWarning,
                stacklevel=4,
            )


def _check_behavior(behavior: Floats, names: list[str]) -> None:
    """Raises an error if behavioral columns cannot be used, and warns about those that are constant."""
    present = ~np.isnan(behavior)
    n_usable = int(present.any(axis=1).sum())
    if n_usable < 2:
        raise ValueError(
            f"a row needs others to be compared with: the table has n_samples = {len(behavior)}, "
            f"and {n_usable} of them with a behavioral value"
        )
    for column, name in enumerate(names):
        values = behavior[present[:, column], column]
        if values.size == 0:
            raise ValueError(f"behavioral column '{name}' has no values at all: leave it out")


def _check_categories(behavior: Floats, names: list[str], encoding: BehaviorEncoding) -> None:
    """Raises an error if a column of categories identifies rows instead of describing them."""
    for column, (name, codes) in enumerate(zip(names, encoding.codes, strict=True)):
        if codes is None:
            continue
        known = behavior[~np.isnan(behavior[:, column]), column].astype(np.int64)
        n_unique = int((np.bincount(known) == 1).sum())
        if len(known) >= MIN_ROWS_OF_NAMES and n_unique > MAX_UNIQUE_SHARE * len(known):
            raise ValueError(
                f"behavioral column '{name}' has {len(codes):,} distinct values in {len(known):,} rows, so none can "
                "be called unusual: leave it out, or use it to name the rows"
            )


def _warn_about_constants(behavior: Floats, names: list[str], encoding: BehaviorEncoding, *, is_left_out: bool) -> None:
    varying = find_varying(behavior)
    for column, (name, codes) in enumerate(zip(names, encoding.codes, strict=True)):
        if column in varying:
            continue
        value = behavior[~np.isnan(behavior[:, column]), column][0]
        text = f"{value:g}" if codes is None else repr(list(codes)[int(value)])[:40]
        what = "it is left out" if is_left_out else "it scores 0"
        warnings.warn(f"behavioral column '{name}' is {text} in every row, so {what}", UserWarning, stacklevel=4)


def _warn_about_placeholders(table: Table, roles: Roles, columns: list[Floats]) -> None:
    for position, values in zip([*roles.contextual, *roles.behavioral], columns, strict=True):
        is_numeric = table.kind(position) is Kind.NUMERIC and position not in roles.categorical
        found = find_placeholder(values) if is_numeric else None
        if found is not None:
            value, n_rows = found
            warnings.warn(
                f"column {table.label(position)} is {value} in {n_rows:,} rows, and far from that in all others: if it "
                f"stands for a missing value, replace {value} by NaN",
                UserWarning,
                stacklevel=4,
            )
