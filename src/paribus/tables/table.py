"""Any dataframe or array, as typed columns."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER
from paribus._common.arrays import Floats as Floats
from paribus.tables.column import Kind as Kind
from paribus.tables.column import array_kind, is_missing, object_kind, series_to_floats, to_floats, what_is

ColumnKey: TypeAlias = str | int
Columns: TypeAlias = ColumnKey | Sequence[ColumnKey]


class NamedRows(dict[str, Any]):
    """A dict of columns whose rows have names, as those of a pandas table with an index have."""

    def __init__(self, columns: Mapping[str, Any], labels: npt.NDArray[Any]) -> None:
        super().__init__(columns)
        self.labels = labels


class Table:
    """A table of the caller's, read column by column.

    Parameters
    ----------
    data : dataframe or array
        A pandas, polars or pyarrow table, a dict of columns, or whatever numpy makes a two-dimensional array of.
    labels : array, optional
        What the rows are called, if the table has no index of its own that says so.

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
        self._frame: nw.DataFrame[Any] | None = None
        self._array: npt.NDArray[Any] | None = None
        self._mapping: dict[Any, npt.NDArray[Any]] | None = None
        names: list[Any] | None = None
        if hasattr(data, "toarray") and hasattr(data, "nnz"):
            raise TypeError("sparse input is not supported: pass data.toarray() or a dataframe")
        if isinstance(data, Mapping):
            names, self._mapping = list(data), {name: _as_column(name, values) for name, values in data.items()}
            lengths = {len(column) for column in self._mapping.values()}
            if len(lengths) > 1:
                raise ValueError(f"the columns of the table differ in length: {sorted(lengths)}")
            self.n_rows, self.n_columns = next(iter(lengths), 0), len(names)
        elif (frame := _as_frame(data)) is not None:
            self._frame = frame
            names = list(frame.columns)
            self.n_rows, self.n_columns = frame.shape
            if not all(isinstance(name, str) for name in names) and names != list(range(len(names))):
                odd = next(name for name in names if not isinstance(name, str))
                raise ValueError(f"column name {odd!r} is not text: rename it, or pass an array and use positions")
        else:
            self._array = _as_array(data)
            self.n_rows, self.n_columns = self._array.shape
        self.names: list[str] | None = names if names and all(isinstance(name, str) for name in names) else None

    def label(self, position: int) -> str:
        """How messages call a column."""
        return f"'{self.names[position]}'" if self.names is not None else str(position)

    def name(self, position: int) -> str:
        """How results call a column."""
        return self.names[position] if self.names is not None else str(position)

    def kind(self, position: int) -> Kind:
        """What a column holds, by its type."""
        if self._frame is None:
            return array_kind(self._values(position))
        dtype = self._series(position).dtype
        if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration):
            return Kind.TIME
        if dtype.is_numeric():
            return Kind.NUMERIC
        if isinstance(dtype, nw.String | nw.Categorical | nw.Enum | nw.Boolean):
            return Kind.CATEGORICAL
        if isinstance(dtype, nw.Object | nw.Unknown):
            return object_kind(self._values(position))
        return Kind.UNUSABLE

    def holds(self, position: int) -> str:
        """What messages call the values of a column."""
        kind, example = self.kind(position), self.example(position)
        if kind is Kind.UNUSABLE:
            return "values of no one kind"
        return kind.value if example is None else what_is(example)

    def has_values(self, position: int) -> bool:
        """Whether anything in a column is not missing."""
        if self._frame is not None:
            return int(self._series(position).null_count()) < self.n_rows
        return any(not is_missing(value) for value in self._values(position))

    def numbers(self, position: int) -> Floats:
        """A column as finite floats, NaN where a value is missing. Moments in time are microseconds."""
        if self._frame is None or isinstance(self._series(position).dtype, nw.Object | nw.Unknown):
            values = to_floats(self._values(position), self.label(position))
        else:
            values = series_to_floats(self._series(position))
        bad = np.flatnonzero(np.isinf(values) | (np.abs(values) > LARGEST_NUMBER))
        if bad.size:
            row, value = int(bad[0]), values[bad[0]]
            what = "an infinite value" if np.isinf(value) else f"{value:g}, which is too large to compute with"
            raise ValueError(
                f"column {self.label(position)} has {what} in row {row}: "
                "replace it by a number, or by a missing value if it is not known"
            )
        return values

    def categories(self, position: int) -> list[Hashable]:
        """A column as categories, None where a value is missing."""
        values = self._values(position).tolist() if self._frame is None else self._series(position).to_list()
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
        values = (
            self._values(position) if self._frame is None else self._series(position).drop_nulls().head(1).to_list()
        )
        return next((value for value in values if not is_missing(value)), None)

    def copy(self) -> Table:
        """The same table, out of reach of later changes by its owner."""
        same = self._frame.clone() if self._frame is not None else self.take(np.arange(self.n_rows))
        return Table(same, self._labels)

    def values(self, position: int) -> npt.NDArray[Any]:
        """A column as numpy has it: of numbers or moments where it can be, else of objects."""
        if self._frame is not None and self._series(position).dtype.is_numeric():
            series = self._series(position)
            return series_to_floats(series) if series.null_count() else np.asarray(series.to_numpy())
        return self._values(position)

    @property
    def array_type(self) -> np.dtype[Any] | None:
        """The type of the array that the table is, if it is one."""
        return None if self._array is None else self._array.dtype

    def take(self, rows: npt.NDArray[np.int64], extra: Mapping[str, npt.NDArray[Any]] | None = None) -> Any:
        """These rows as a table of the caller's type, with more columns to their right."""
        more = {self._new_name(name): values for name, values in (extra or {}).items()}
        if self._frame is not None:
            taken = self._frame[rows]
            backend = taken.implementation
            return taken.with_columns(
                *(nw.new_series(name, values, backend=backend) for name, values in more.items())
            ).to_native()
        if self._array is not None and not more:
            return self._array[rows]
        if self._array is not None:
            # Columns of their own, so that each keeps its type.
            return {str(p): self._array[rows, p] for p in range(self.n_columns)} | more
        assert self._mapping is not None
        return {name: column[rows] for name, column in self._mapping.items()} | more

    def find_row(self, label: Hashable) -> int:
        """The position of the row that the caller's index calls so."""
        index = self._index
        if index is None and self._labels is None:
            raise ValueError(f"the fitted table has no index to find {label!r} in: name a row by its position, from 0")
        try:
            if index is None:
                assert self._labels is not None
                # Text can name a moment.
                sought = self._labels.dtype.type(label) if self._labels.dtype.kind in "mM" else label
                found = np.flatnonzero(self._labels == sought)
            else:
                # What cannot be hashed is no label, and pandas has errors of its own for it.
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

    def texts(self, column: ColumnKey, rows: npt.NDArray[np.int64]) -> list[str]:
        """Some values of a column as text."""
        position = self.find_column(column)
        return [str(self.cell(position, int(row))) for row in rows]

    def find_column(self, column: ColumnKey) -> int:
        """The position of a column that is named by text or by position."""
        return find_key(column, [self.name(position) for position in range(self.n_columns)], "column")

    def cell(self, position: int, row: int) -> Any:
        """One value as it is."""
        return (self._values(position) if self._frame is None else self._series(position))[row]

    def cells(self, position: int) -> list[Any]:
        """A column as it is."""
        return list(self._values(position))

    def row_label(self, row: int) -> Hashable:
        """What the caller's index calls a row; its position if there is no index."""
        names = self._labels if self._index is None else self._index
        label: Hashable = row if names is None else names[row]
        return label.item() if isinstance(label, np.generic) else label

    def labels(self) -> npt.NDArray[Any] | None:
        """What the rows are called; None if that is their positions."""
        names = self._labels if self._index is None else self._index
        if names is None or all(label == row for row, label in enumerate(names)):
            return None
        labels = np.empty(self.n_rows, dtype=object)
        labels[:] = list(names)
        return labels

    def like(self, columns: dict[str, npt.NDArray[Any]]) -> Any:
        """A new table of the caller's type, with the caller's index where it has one; an array for an array."""
        if self._array is not None:
            return np.column_stack(list(columns.values()))
        result = self.new(columns)
        if self._index is not None:
            result.index = self._index
        return result

    def new(self, columns: Mapping[str, Any]) -> Any:
        """A table of its own in the caller's type; a dict of columns where the caller has no dataframe."""
        if self._frame is None:
            return dict(columns)
        return nw.from_dict(columns, backend=self._frame.implementation).to_native()

    @property
    def _index(self) -> Any:
        return None if self._frame is None else nw.maybe_get_index(self._frame)

    def _new_name(self, name: str) -> str:
        while self.names is not None and name in self.names:
            name += "_"
        return name

    def _series(self, position: int) -> nw.Series[Any]:
        assert self._frame is not None
        return self._frame[:, position]

    def _values(self, position: int) -> npt.NDArray[Any]:
        if self._mapping is not None:
            return list(self._mapping.values())[position]
        if self._array is not None:
            return self._array[:, position]
        values = np.empty(self.n_rows, dtype=object)
        values[:] = self._series(position).to_list()
        return values


def find_key(key: ColumnKey, names: Sequence[str], what: str) -> int:
    """The place of a name, or of a position, among names."""
    if isinstance(key, str):
        if key not in names:
            raise ValueError(f"there is no {what} '{key}'{nearest_name(key, names)}")
        return list(names).index(key)
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < len(names):
        raise ValueError(f"there is no {what} {key!r}: give a name, or a position from 0 to {len(names) - 1}")
    return int(key)


def _as_frame(data: Any) -> nw.DataFrame[Any] | None:
    if isinstance(data, nw.DataFrame):
        return data
    if isinstance(data, nw.LazyFrame) or type(data).__name__ == "LazyFrame":
        raise TypeError("a lazy table has no rows yet: call .collect() and pass the result")
    if type(data).__name__ == "RecordBatch" and type(data).__module__.startswith("pyarrow"):
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"column names must be unique: {_one_line(error)}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _unmasked(data: Any) -> Any:
    if not isinstance(data, np.ma.MaskedArray):
        return data
    # A masked value is a missing one.
    values = data.data.astype(object)
    values[np.ma.getmaskarray(data)] = None
    return values


def _as_column(name: Any, values: Any) -> npt.NDArray[Any]:
    values = _unmasked(values)
    column = np.asarray(values)
    if column.dtype.kind in "US" and not isinstance(values, np.ndarray):
        column = np.asarray(values, dtype=object)
    if column.ndim != 1 or column.dtype.kind in "cV":
        raise ValueError(f"column {name!r} is not a plain list of numbers or categories")
    return column


def _as_array(data: Any) -> npt.NDArray[Any]:
    data = _unmasked(data)
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            # numpy made text of the numbers; keep each value as it is.
            array = np.asarray(data, dtype=object)
    except ValueError:
        raise ValueError("the rows of the table do not all have the same length") from None
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: a table holds real numbers or categories")
    if array.dtype.kind == "V":
        raise TypeError("structured arrays are not supported: pass a dataframe")
    if array.ndim != 2:
        raise ValueError(
            f"expected a table with rows and columns (2 dimensions), got {array.ndim}. Reshape your data: "
            "array.reshape(1, -1) for a single row, array.reshape(-1, 1) for a single column"
        )
    return array


def nearest_name(name: str, names: Sequence[str]) -> str:
    """The end of a sentence about a name that is not there: what may have been meant, or what there is."""
    close = difflib.get_close_matches(name, names, n=1) or [n for n in names if n.lower() == name.lower()]
    if close:
        return f": did you mean '{close[0]}'?"
    listed = ", ".join(f"'{n}'" for n in names[:10])
    return f": choose from {listed}{', ...' if len(names) > 10 else ''}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
