"""Typed columns as arrays of floats, the form that methods use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.tables.column import Kind, what_is
from paribus.tables.table import Table
from paribus.tables.time_parts import AUTO, TimeParts, TimePartsOption, is_moment, parts_wanted, zone_of


@dataclass(frozen=True)
class ContextEncoding:
    """The contextual features of the fitted table: which of them are categorical, and the code of each category.

    Numbers are not changed. The code of a category is its position in the list of fitted categories, which is sorted,
    or ordered by content (`EncodedTable.by_content`): codes do not depend on the order of rows. A category that was not
    in the fitted table gets a code of its own.
    """

    codes: list[dict[Hashable, int] | None]
    """For each feature: the codes of its categories, or None if it is numeric."""
    held: list[str]
    """For each feature: the word for the values that it held at fit, so that dates are not mistaken for numbers."""
    times: tuple[TimeParts | None, ...] = ()
    """For each feature: the time parts in use; None if it holds no timestamps. Empty if no feature does."""

    @classmethod
    def fit(cls, table: Table, positions: list[int], categorical: frozenset[int]) -> ContextEncoding:
        """Assigns codes to the categories of a table."""
        codes = [_number_categories(table, p) if p in categorical else None for p in positions]
        return cls(codes, [table.holds(p) for p in positions])

    def with_times(
        self,
        table: Table,
        positions: list[int],
        context: Floats,
        time_parts: TimePartsOption = AUTO,
        holidays: str | None = None,
    ) -> ContextEncoding:
        """The same encoding with the time parts in use; `context` is the encoded context."""
        times = [
            TimeParts.fit(context[:, place], zone_of(table, p), parts_wanted(time_parts, table.name(p)), holidays)
            if self.codes[place] is None and is_moment(table, p)
            else None
            for place, p in enumerate(positions)
        ]
        return replace(self, times=tuple(times) if any(times) else ())

    @cached_property
    def feature_columns(self) -> npt.NDArray[np.int64]:
        """For each feature that methods use: the contextual column that it comes from."""
        return np.repeat(np.arange(len(self.codes)), [1 if each is None else len(each.kinds) for each in self._times])

    @cached_property
    def feature_kinds(self) -> npt.NDArray[np.uint8]:
        """For each feature that methods use: 1 if it is categorical, 0 if it is numeric."""
        kinds = [
            [own] if each is None else each.kinds
            for own, each in zip(self.categorical.tolist(), self._times, strict=True)
        ]
        return np.array([kind for some in kinds for kind in some], dtype=np.uint8)

    @property
    def _times(self) -> tuple[TimeParts | None, ...]:
        return self.times or (None,) * len(self.codes)

    def expand(self, context: Floats) -> Floats:
        """The features that methods use, of encoded contexts: timestamps split into parts, the rest unchanged."""
        if not self.times:
            return context
        columns: list[Floats] = []
        for place, each in enumerate(self.times):
            column = context[:, place]
            columns += [column] if each is None else each.features(column)
        return np.ascontiguousarray(np.column_stack(columns))

    def is_outside(self, context: Floats) -> npt.NDArray[np.bool_]:
        """Whether each encoded context has a timestamp before or after all fitted ones."""
        found = np.zeros(len(context), dtype=bool)
        for place, each in enumerate(self.times):
            if each is not None:
                found |= each.is_outside(context[:, place])
        return found

    @property
    def categorical(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """For each feature: 1 if it is categorical, 0 if it is numeric."""
        return np.array([codes is not None for codes in self.codes], dtype=np.uint8)

    def encode(self, table: Table, positions: list[int]) -> Floats:
        """The contextual features of a table: [row][feature], NaN where a value is missing."""
        columns = [
            _numbers(table, position, held) if codes is None else _encode_categories(table, position, codes)
            for position, codes, held in zip(positions, self.codes, self.held, strict=True)
        ]
        return np.ascontiguousarray(np.column_stack(columns))


@dataclass(frozen=True)
class BehaviorEncoding:
    """The behavioral features of the fitted table: its behavioral columns, and indicators of missing values.

    Whether a value is missing is a feature of its own, and never part of the value's.
    """

    codes: list[dict[Hashable, int] | None]
    """For each behavioral column: the codes of its categories, or None if it is numeric."""
    missing: list[int]
    """The columns whose missing values are judged, by position among the behavioral ones; ascending."""

    @classmethod
    def fit(cls, table: Table, positions: list[int], categorical: frozenset[int]) -> BehaviorEncoding:
        """Assigns codes to the categories of a table."""
        return cls([_number_categories(table, p) if p in categorical else None for p in positions], [])

    @classmethod
    def numeric(cls, n_columns: int) -> BehaviorEncoding:
        """The encoding of columns that hold numbers."""
        return cls([None] * n_columns, [])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.codes) + len(self.missing)

    @property
    def feature_codes(self) -> list[dict[Hashable, int] | None]:
        """For each feature: the codes of its categories, or None if it is numeric."""
        flags: list[dict[Hashable, int] | None] = [{False: 0, True: 1} for _ in self.missing]
        return self.codes + flags

    @property
    def categorical(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        """For each feature: 1 if it is categorical, 0 if it is numeric."""
        return np.array([codes is not None for codes in self.feature_codes], dtype=np.uint8)

    @property
    def sources(self) -> list[int]:
        """For each feature: the position of its column among the behavioral ones."""
        return [*range(len(self.codes)), *self.missing]

    def names(self, columns: list[str]) -> list[str]:
        """The names of the features.

        >>> BehaviorEncoding([None, None], [1]).names(["rain", "wind"])
        ['rain', 'wind', 'wind (missing)']
        """
        names = list(columns)
        for place in self.missing:
            name = f"{columns[place]} (missing)"
            while name in names:
                name += "_"
            names.append(name)
        return names

    def encode(self, table: Table, positions: list[int]) -> Floats:
        """The behavioral features of a table: [row][feature], NaN where a value is missing."""
        columns = [
            _numbers(table, position) if codes is None else _encode_categories(table, position, codes)
            for position, codes in zip(positions, self.codes, strict=True)
        ]
        return self.with_missing(np.column_stack(columns))

    def with_missing(self, columns: Floats) -> Floats:
        """The features of columns that are encoded already: 1 is added where a value is missing, 0 where it is not."""
        flags = [np.isnan(columns[:, place]).astype(np.float64) for place in self.missing]
        return np.ascontiguousarray(np.column_stack([columns, *flags]))


def encode_behavior(table: Table, positions: list[int]) -> Floats:
    """The behavioral features of a table: [row][feature], NaN where a value is missing."""
    return np.ascontiguousarray(np.column_stack([_numbers(table, position) for position in positions]))


def _numbers(table: Table, position: int, held: str = Kind.NUMERIC.value) -> Floats:
    if not table.has_values(position):
        return np.full(table.n_rows, np.nan)
    if (holds := table.holds(position)) != held:
        raise TypeError(_changed(table, position, held, holds))
    return table.numbers(position)


def _changed(table: Table, position: int, held: str, holds: str) -> str:
    return f"column {table.label(position)} held {held} at fit and holds {holds} here: convert it"


def _number_categories(table: Table, position: int) -> dict[Hashable, int]:
    distinct = {value for value in table.categories(position) if value is not None}
    return {value: code for code, value in enumerate(sorted_categories(distinct))}


def sorted_categories(categories: Iterable[Hashable]) -> list[Hashable]:
    """Categories in the order in which they are listed."""
    return sorted(categories, key=_sort_key)


def _sort_key(value: Hashable) -> tuple[str, Hashable]:
    return ("", value) if not isinstance(value, str) else ("text", value)


def _encode_categories(table: Table, position: int, codes: dict[Hashable, int]) -> Floats:
    values = table.categories(position)
    distinct = {value for value in values if value is not None}
    known = {what_is(value) for value in codes}
    found = {what_is(value) for value in distinct}
    # 1 and 0 are accepted in place of True and False, which they equal.
    if known and found and not known & found and not distinct <= codes.keys():
        raise TypeError(_changed(table, position, " and ".join(sorted(known)), " and ".join(sorted(found))))
    unseen = len(codes)
    return np.fromiter(
        (np.nan if value is None else codes.get(value, unseen) for value in values), dtype=np.float64, count=len(values)
    )
