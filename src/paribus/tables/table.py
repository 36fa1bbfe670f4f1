"""A table of any kind as typed columns."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER, Floats, Positions
from paribus.tables.adapters import adapt
from paribus.tables.column import Kind, is_missing, what_is

ColumnKey: TypeAlias = str | int
Columns: TypeAlias = ColumnKey | Sequence[ColumnKey]
Contexts: TypeAlias = Columns | Mapping[str, Columns] | Mapping[int, Columns]
"""The contextual columns, or those of each behavioral column."""


class NamedRows(dict[str, Any]):
    """A dict of columns with labels for its rows, as the index of a pandas table gives them."""

    def __init__(self, columns: Mapping[str, Any], labels: npt.NDArray[Any]) -> None:
        super().__init__(columns)
        self.labels = labels


class Table:
    """A table of the caller's, read column by column.

    Parameters
    ----------
    data : dataframe or array
        A pandas, polars or pyarrow table, a dict of columns, or anything that numpy converts to a two-dimensional
        array.
    labels : array, optional
        The labels of the rows, for a table without an index.

    Examples
    --------
    >>> table = Table([[1, "a"], [2, None]])
    >>> table.kind(0), table.numbers(0)
    (<Kind.NUMERIC: 'numbers'>, array([1., 2.]))
    >>> table.categories(1)
    ['a', None]
    """

    def __init__(self, data: Any, labels: npt.NDArray[Any] | None = None) -> None:
        self._labels = data.labels if isinstance(data, NamedRows) else labels
        self._adapter = adapt(data)
        self.n_rows, self.n_columns = self._adapter.n_rows, self._adapter.n_columns
        self.names = self._adapter.names

    def label(self, position: int) -> str:
        """The name of a column in messages: quoted, or its position."""
        return f"'{self.names[position]}'" if self.names is not None else str(position)

    def name(self, position: int) -> str:
        """The name of a column in results."""
        return self.names[position] if self.names is not None else str(position)

    def kind(self, position: int) -> Kind:
        """The kind of values that a column holds."""
        return self._adapter.kind(position)

    def holds(self, position: int) -> str:
        """The word for the values of a column in messages."""
        kind, example = self.kind(position), self.example(position)
        if kind is Kind.UNUSABLE:
            return "values of different or unsupported types"
        return kind.value if example is None else what_is(example)

    def has_values(self, position: int) -> bool:
        """Whether any value of a column is not missing."""
        return self._adapter.has_values(position)

    def numbers(self, position: int) -> Floats:
        """A column as finite floats, NaN where a value is missing. Timestamps are microseconds."""
        values = self._adapter.floats(position, self.label(position))
        bad = np.flatnonzero(np.isinf(values) | (np.abs(values) > LARGEST_NUMBER))
        if bad.size:
            row, value = int(bad[0]), values[bad[0]]
            what = "an infinite value" if np.isinf(value) else f"{value:g}, which is too large to compute with"
            raise ValueError(
                f"column {self.label(position)} has {what} in row {row}: "
                "replace it by a number, or by a missing value if it is unknown"
            )
        return values

    def categories(self, position: int) -> list[Hashable]:
        """A column as categories, None where a value is missing."""
        values = self._adapter.as_list(position)
        if set(map(type, values)) <= {str, bool, int, NoneType}:
            # Nothing else is missing, and nothing cannot be hashed: millions of values need not be asked one by one.
            return values
        categories = [None if is_missing(value) else value for value in values]
        for row, value in enumerate(categories):
            if not isinstance(value, Hashable):
                raise TypeError(
                    f"column {self.label(position)} holds a {type(value).__name__} in row {row}, "
                    "which cannot be a category: convert the column to text or numbers"
                )
        return categories

    def example(self, position: int) -> Any:
        """The first value of a column that is not missing, or None."""
        return self._adapter.example(position)

    def copy(self) -> Table:
        """A copy, which later changes to the caller's table do not affect."""
        return Table(self._adapter.copy(), self._labels)

    def values(self, position: int) -> npt.NDArray[Any]:
        """A column as an array of numbers or timestamps where possible, else of objects."""
        return self._adapter.values(position)

    @property
    def array_type(self) -> np.dtype[Any] | None:
        """The data type of the array that the table was given as; None for any other table."""
        return self._adapter.array_type

    def take(self, rows: Positions, extra: Mapping[str, npt.NDArray[Any]] | None = None) -> Any:
        """Some rows as a table of the caller's type, with extra columns on the right."""
        return self._adapter.take(rows, {self._new_name(name): values for name, values in (extra or {}).items()})

    def find_row(self, label: Hashable) -> int:
        """The position of the row that has a label in the caller's index."""
        index = self._adapter.index
        if index is None and self._labels is None:
            raise ValueError(
                f"the fitted table has no index to look up {label!r} in: name a row by its position, from 0"
            )
        try:
            if index is None:
                assert self._labels is not None
                # A timestamp can be given as text.
                sought = self._labels.dtype.type(label) if self._labels.dtype.kind in "mM" else label
                found = np.flatnonzero(self._labels == sought)
            else:
                # An unhashable value cannot be a label; pandas would raise errors of its own for it.
                hash(label)
                found = np.arange(self.n_rows)[index.get_loc(label)].reshape(-1)
        except (KeyError, TypeError, ValueError):
            found = np.arange(0)
        if len(found) == 0:
            raise ValueError(f"the fitted table has no row {label!r} in its index") from None
        if len(found) > 1:
            raise ValueError(
                f"{len(found)} rows of the fitted table are called {label!r}: name one by its position, from 0"
            )
        return int(found[0])

    def texts(self, column: ColumnKey, rows: Positions) -> list[str]:
        """Some values of a column as text."""
        position = self.find_column(column)
        return [str(self.cell(position, int(row))) for row in rows]

    def find_column(self, column: ColumnKey) -> int:
        """The position of a column that is given by name or by position."""
        return find_key(column, [self.name(position) for position in range(self.n_columns)], "column")

    def cell(self, position: int, row: int) -> Any:
        """One value, unconverted."""
        return self._adapter.cell(position, row)

    def cells(self, position: int) -> list[Any]:
        """All values of a column, unconverted."""
        return list(self._adapter.raw(position))

    def row_label(self, row: int) -> Hashable:
        """The label of a row in the caller's index, or its position if there is no index."""
        names = self._row_names()
        label: Hashable = row if names is None else names[row]
        return label.item() if isinstance(label, np.generic) else label

    def labels(self) -> npt.NDArray[Any] | None:
        """The labels of all rows; None if they are the rows' positions."""
        names = self._row_names()
        if names is None or all(label == row for row, label in enumerate(names)):
            return None
        labels = np.empty(self.n_rows, dtype=object)
        labels[:] = list(names)
        return labels

    def like(self, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        """A new table of the caller's type, with the caller's index where there is one; an array for an array."""
        return self._adapter.like(columns)

    def with_results(self, kept: Iterable[int], columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        """A new table of the caller's type: some of its columns, and then numbers and text, whose types are fixed."""
        return self._adapter.with_results(list(kept), columns)

    def new(self, columns: Mapping[str, Any]) -> Any:
        """A new table of the caller's type with rows of its own; a dict of columns if there is no dataframe."""
        return self._adapter.new(columns)

    def _row_names(self) -> Any:
        return self._labels if self._adapter.index is None else self._adapter.index

    def _new_name(self, name: str) -> str:
        while self.names is not None and name in self.names:
            name += "_"
        return name


def find_key(key: ColumnKey, names: Sequence[str], what: str) -> int:
    """The position of a name, or of a position, in a list of names."""
    if isinstance(key, str):
        if key not in names:
            raise ValueError(f"there is no {what} '{key}'{nearest_name(key, names)}")
        return list(names).index(key)
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < len(names):
        raise ValueError(f"there is no {what} {key!r}: give a name, or a position from 0 to {len(names) - 1}")
    return int(key)


def nearest_name(name: str, names: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: the most similar one, or the first few that there are."""
    close = difflib.get_close_matches(name, names, n=1) or [n for n in names if n.lower() == name.lower()]
    if close:
        return f": did you mean '{close[0]}'?"
    listed = ", ".join(f"'{n}'" for n in names[:10])
    return f": choose from {listed}{', ...' if len(names) > 10 else ''}"
