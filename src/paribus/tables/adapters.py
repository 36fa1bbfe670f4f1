"""One adapter per kind of table: arrays, mappings of columns, and dataframes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.tables.column import Kind, array_kind, is_missing, object_kind, series_to_floats, to_floats


class Adapter(ABC):
    """Reads one kind of table, column by column. Columns are given by position."""

    n_rows: int
    n_columns: int
    names: list[str] | None = None
    """The names of the columns; None if they are only numbered."""
    index: Any = None
    """The index of a pandas table; None for any other table."""
    array_type: np.dtype[Any] | None = None
    """The data type of an array; None for any other table."""

    @abstractmethod
    def kind(self, position: int) -> Kind:
        """The kind of values that a column holds."""

    @abstractmethod
    def has_values(self, position: int) -> bool:
        """Whether any value of a column is not missing."""

    @abstractmethod
    def floats(self, position: int, label: str) -> Floats:
        """A column as floats, NaN where a value is missing. `label` is the name of the column in messages."""

    @abstractmethod
    def raw(self, position: int) -> npt.NDArray[Any]:
        """A column as the array that holds it, or as an array of Python objects."""

    @abstractmethod
    def values(self, position: int) -> npt.NDArray[Any]:
        """A column as an array of numbers or timestamps where possible, else of objects."""

    @abstractmethod
    def as_list(self, position: int) -> list[Any]:
        """A column as a list of Python values."""

    @abstractmethod
    def cell(self, position: int, row: int) -> Any:
        """One value."""

    @abstractmethod
    def example(self, position: int) -> Any:
        """The first value of a column that is not missing, or None."""

    @abstractmethod
    def copy(self) -> Any:
        """A copy of the table, which later changes to the original do not affect."""

    @abstractmethod
    def take(self, rows: Positions, extra: Mapping[str, npt.NDArray[Any]]) -> Any:
        """Some rows in the caller's type, with extra columns on the right."""

    def new(self, columns: Mapping[str, Any]) -> Any:
        """A new table in the caller's type; a dict of columns where the caller has no dataframe."""
        return dict(columns)

    def like(self, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        """A new table in the caller's type with the caller's rows; an array for an array."""
        return self.new(columns)

    def with_results(self, kept: list[int], columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        """A new table in the caller's type: some of the columns, and then numbers and text."""
        names = self.names or [str(position) for position in range(self.n_columns)]
        return self.new({names[position]: self.raw(position) for position in kept} | dict(columns))


class _NumpyAdapter(Adapter):
    """What arrays and mappings have in common: each column is a numpy array."""

    def kind(self, position: int) -> Kind:
        return array_kind(self.raw(position))

    def has_values(self, position: int) -> bool:
        return any(not is_missing(value) for value in self.raw(position))

    def floats(self, position: int, label: str) -> Floats:
        return to_floats(self.raw(position), label)

    def values(self, position: int) -> npt.NDArray[Any]:
        return self.raw(position)

    def as_list(self, position: int) -> list[Any]:
        return list(self.raw(position).tolist())

    def cell(self, position: int, row: int) -> Any:
        return self.raw(position)[row]

    def example(self, position: int) -> Any:
        return next((value for value in self.raw(position) if not is_missing(value)), None)

    def copy(self) -> Any:
        return self.take(np.arange(self.n_rows), {})


class _ArrayAdapter(_NumpyAdapter):
    """A two-dimensional array, or whatever numpy converts to one."""

    def __init__(self, data: Any) -> None:
        self._array = _as_array(data)
        self.n_rows, self.n_columns = self._array.shape
        self.array_type = self._array.dtype

    def raw(self, position: int) -> npt.NDArray[Any]:
        return self._array[:, position]

    def take(self, rows: Positions, extra: Mapping[str, npt.NDArray[Any]]) -> Any:
        if not extra:
            return self._array[rows]
        # Separate columns, so that each keeps its type.
        return {str(p): self._array[rows, p] for p in range(self.n_columns)} | dict(extra)

    def like(self, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        return np.column_stack(list(columns.values()))


class _MappingAdapter(_NumpyAdapter):
    """A mapping from the names of columns to their values."""

    def __init__(self, data: Mapping[Any, Any]) -> None:
        self._columns = {name: _as_column(name, values) for name, values in data.items()}
        self._arrays = list(self._columns.values())
        lengths = {len(column) for column in self._arrays}
        if len(lengths) > 1:
            raise ValueError(f"the columns of the table differ in length: {sorted(lengths)}")
        self.n_rows, self.n_columns = next(iter(lengths), 0), len(self._arrays)
        self.names = _text_names(list(data))

    def raw(self, position: int) -> npt.NDArray[Any]:
        return self._arrays[position]

    def take(self, rows: Positions, extra: Mapping[str, npt.NDArray[Any]]) -> Any:
        return {name: column[rows] for name, column in self._columns.items()} | dict(extra)


class _FrameAdapter(Adapter):
    """A dataframe that narwhals reads, such as one of pandas, polars or pyarrow."""

    def __init__(self, frame: nw.DataFrame[Any], *, is_batch: bool = False) -> None:
        self._frame = frame
        self._is_batch = is_batch
        self.n_rows, self.n_columns = frame.shape
        names: list[Any] = list(frame.columns)
        self.names = _text_names(names)
        if names and self.names is None and names != list(range(len(names))):
            odd = next(name for name in names if not isinstance(name, str))
            raise ValueError(f"column name {odd!r} is not text: rename it, or pass an array and use positions")
        self.index = nw.maybe_get_index(frame)

    def kind(self, position: int) -> Kind:
        dtype = self._series(position).dtype
        if isinstance(dtype, nw.Datetime | nw.Date | nw.Duration):
            return Kind.TIME
        if dtype.is_numeric():
            return Kind.NUMERIC
        if isinstance(dtype, nw.String | nw.Categorical | nw.Enum | nw.Boolean):
            return Kind.CATEGORICAL
        return object_kind(self.raw(position)) if self._has_objects(position) else Kind.UNUSABLE

    def has_values(self, position: int) -> bool:
        return int(self._series(position).null_count()) < self.n_rows

    def floats(self, position: int, label: str) -> Floats:
        if self._has_objects(position):
            return to_floats(self.raw(position), label)
        return series_to_floats(self._series(position))

    def raw(self, position: int) -> npt.NDArray[Any]:
        values = np.empty(self.n_rows, dtype=object)
        values[:] = self.as_list(position)
        return values

    def values(self, position: int) -> npt.NDArray[Any]:
        series = self._series(position)
        if not series.dtype.is_numeric():
            return self.raw(position)
        return series_to_floats(series) if series.null_count() else np.asarray(series.to_numpy())

    def as_list(self, position: int) -> list[Any]:
        return list(self._series(position).to_list())

    def cell(self, position: int, row: int) -> Any:
        return self._series(position)[row]

    def example(self, position: int) -> Any:
        values = self._series(position).drop_nulls().head(1).to_list()
        return next((value for value in values if not is_missing(value)), None)

    def copy(self) -> Any:
        return self._frame.clone()

    def take(self, rows: Positions, extra: Mapping[str, npt.NDArray[Any]]) -> Any:
        taken = self._frame[rows]
        backend = taken.implementation
        return taken.with_columns(
            *(nw.new_series(name, values, backend=backend) for name, values in extra.items())
        ).to_native()

    def new(self, columns: Mapping[str, Any]) -> Any:
        return nw.from_dict(columns, backend=self._frame.implementation).to_native()

    def like(self, columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        result = self.new(columns)
        if self.index is not None:
            result.index = self.index
        return result

    def with_results(self, kept: list[int], columns: Mapping[str, npt.NDArray[Any]]) -> Any:
        backend = self._frame.implementation
        series = [
            # NaN is a missing value, and types do not depend on the values.
            nw.new_series(name, values.tolist(), nw.String(), backend=backend)
            if values.dtype.kind == "O"
            else nw.new_series(name, values, nw.Float64(), backend=backend)
            for name, values in columns.items()
        ]
        if backend.is_pyarrow() or backend.is_polars():
            series = [each.fill_nan(None) if each.dtype == nw.Float64() else each for each in series]
        parts = [each.to_frame() for each in series]
        if kept:
            chosen = self._frame.select(nw.nth(*kept))
            parts = [chosen if self.index is None else nw.maybe_reset_index(chosen), *parts]
        result = nw.concat(parts, how="horizontal").to_native()
        if self._is_batch:
            import pyarrow

            arrays = [column.combine_chunks() for column in result.columns]
            return pyarrow.RecordBatch.from_arrays(arrays, schema=result.schema)
        if self.index is not None:
            result.index = self.index
        return result

    def _has_objects(self, position: int) -> bool:
        return isinstance(self._series(position).dtype, nw.Object | nw.Unknown)

    def _series(self, position: int) -> nw.Series[Any]:
        return self._frame[:, position]


def adapt(data: Any) -> Adapter:
    """Chooses the adapter for a table."""
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        raise TypeError("sparse input is not supported: pass data.toarray() or a dataframe")
    if isinstance(data, Mapping):
        return _MappingAdapter(data)
    frame = _as_frame(data)
    return _ArrayAdapter(data) if frame is None else _FrameAdapter(frame, is_batch=_is_record_batch(data))


def _text_names(names: list[Any]) -> list[str] | None:
    return names if names and all(isinstance(name, str) for name in names) else None


def _as_frame(data: Any) -> nw.DataFrame[Any] | None:
    if isinstance(data, nw.DataFrame):
        return data
    if isinstance(data, nw.LazyFrame) or type(data).__name__ == "LazyFrame":
        raise TypeError("a lazy table has no rows yet: call .collect() and pass the result")
    if _is_record_batch(data):
        import pyarrow

        data = pyarrow.Table.from_batches([data])
    try:
        frame = nw.from_native(data, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"column names must be unique: {' '.join(str(error).split())}") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_record_batch(data: Any) -> bool:
    return type(data).__name__ == "RecordBatch" and type(data).__module__.startswith("pyarrow")


def _as_column(name: Any, values: Any) -> npt.NDArray[Any]:
    values = _unmasked(values)
    column = np.asarray(values)
    if column.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # numpy converts mixed values to text; keep each value as it is.
        column = np.asarray(values, dtype=object)
    if column.ndim != 1 or column.dtype.kind in "cV":
        raise ValueError(f"column {name!r} is not a plain list of numbers or categories")
    return column


def _as_array(data: Any) -> npt.NDArray[Any]:
    data = _unmasked(data)
    try:
        array = data if isinstance(data, np.ndarray) else np.asarray(data)
        if array.dtype.kind in "US" and not isinstance(data, np.ndarray):
            # numpy converts mixed values to text; keep each value as it is.
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


def _unmasked(data: Any) -> Any:
    """Replaces the masked values of a masked array by None, which is a missing value."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    values = data.data.astype(object)
    values[np.ma.getmaskarray(data)] = None
    return values
