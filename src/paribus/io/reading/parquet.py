"""Parquet, read with DuckDB. Names of files and columns are never part of a statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus._common.text import clipped
from paribus.io.duck import connect, interruptible, literal_path
from paribus.io.reading import raw
from paribus.io.reading.limits import (
    BYTES_PER_NUMBER,
    BYTES_PER_TEXT,
    DEFAULT_LIMITS,
    Limits,
    check_memory,
)
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, check_names, pick
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

NAME = "Parquet"
ROW_NUMBER = "file_row_number"
MAX_REASON = 300  # characters of DuckDB's message, which can contain the whole schema
# Types whose values all take the same memory.
_FIXED = re.compile(
    r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|BOOLEAN|DATE|TIME|DECIMAL\(\d+,\d+\)|TIMESTAMP.*|INTERVAL|UUID"
)


def recognizes(head: bytes, name: str) -> bool:
    """Whether a file that starts with these bytes is in this format."""
    return head.startswith(b"PAR1")


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a Parquet file."""
    return read_parquet(source.name, source.path(stack), choose, text.limits)


def stream(source: Source, text: TextOptions, note: Note, stack: ExitStack) -> RawStream:
    """Opens a Parquet file, to read it in batches.

    Reads ranges of row numbers, for which DuckDB reads no other row groups. A result that it streams would
    have to be fetched through pyarrow, or as tuples of Python objects.
    """
    path = source.path(stack)
    with _opened(source.name, path) as (_, relation):
        names = list(relation.columns)
        check_names(source.name, names)
        text.limits.check_columns(source.name, len(names))
        n_rows = int(relation.count("*").fetchall()[0][0])
    if ROW_NUMBER in names:
        raise ValueError(f"{source.name}: a column is called {ROW_NUMBER}, which DuckDB needs for itself: rename it")

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        import duckdb

        kept, places = pick(names, wanted)
        number = duckdb.ColumnExpression(ROW_NUMBER)
        for begin in range(0, n_rows, raw.BATCH_SIZE):
            # A connection for each batch: results of an abandoned generator would stay open.
            with _opened(source.name, path, numbered=True) as (connection, relation):
                end = min(begin + raw.BATCH_SIZE, n_rows) - 1
                some = relation.filter(number.between(duckdb.ConstantExpression(begin), duckdb.ConstantExpression(end)))
                work = partial(fetch, source.name, some, kept, places, text.limits)
                columns = interruptible(connection, work)
                types = {names[place]: str(relation.types[place]) for place in places}
            yield RawTable(source.name, kept, columns, wanted, None, first_row=begin, types=types)

    return RawStream(source.name, names, batches, n_rows=n_rows)


def read_parquet(name: str, path: Path, choose: Choose, limits: Limits = DEFAULT_LIMITS) -> RawTable:
    """Reads a Parquet file."""
    with _opened(name, path) as (connection, relation):
        names = list(relation.columns)
        check_names(name, names)
        limits.check_columns(name, len(names))
        wanted = choose(names)
        kept, places = pick(names, wanted)
        types = {names[place]: str(relation.types[place]) for place in places}
        columns = interruptible(connection, lambda: fetch(name, relation, kept, places, limits))
        return RawTable(name, kept, columns, wanted, None, types=types)


@contextmanager
def _opened(name: str, path: Path, *, numbered: bool = False) -> Iterator[tuple[DuckDBPyConnection, DuckDBPyRelation]]:
    """The rows of a file, with their numbers on request. Errors become one sentence."""
    import duckdb

    try:
        with connect() as connection, literal_path(path.resolve()) as literal:
            yield connection, connection.from_parquet(literal, file_row_number=numbered, hive_partitioning=False)
    # Names that are not UTF-8 are an error of DuckDB's binding, which is none of DuckDB's own.
    except (duckdb.Error, RuntimeError, UnicodeError) as error:
        reason = clipped(str(error).split("LINE 1:")[0].strip(), MAX_REASON)
        raise ValueError(f"{name}: the Parquet file cannot be read ({reason})") from None


def fetch(name: str, rows: DuckDBPyRelation, kept: list[str], places: list[int], limits: Limits) -> dict[str, Any]:
    """The columns at these places, if they fit into memory.

    A few bytes of a file can stand for a text that is repeated in all rows, so the lengths are added up first.
    """
    import duckdb

    kinds = [str(kind) for kind in rows.types]
    # By position: DuckDB before 2.0 would take a dot or a quote in a name for SQL.
    columns = [duckdb.SQLExpression(f"#{place + 1}") for place in places]
    measures = [duckdb.FunctionExpression("count", duckdb.ConstantExpression(1))]
    texts = [each for each, place in zip(columns, places, strict=True) if not _FIXED.fullmatch(kinds[place])]
    for column in texts:
        length = duckdb.FunctionExpression("strlen", column.cast("VARCHAR"))
        measures += [duckdb.FunctionExpression(each, length) for each in ("max", "sum")]
    n_rows, *lengths = (int(each or 0) for each in rows.aggregate(measures).fetchall()[0])
    longest, total = max(lengths[::2], default=0), sum(lengths[1::2])
    limits.check_cell(name, longest)
    n_cells = n_rows * len(texts)
    check_memory(
        name, n_rows, len(kept), total + BYTES_PER_TEXT * n_cells + BYTES_PER_NUMBER * (n_rows * len(kept) - n_cells)
    )
    fetched = rows.select(*columns).fetchnumpy()
    # By position, because some versions of DuckDB rename columns that differ only in case.
    return {key: unmasked(values) for key, values in zip(kept, fetched.values(), strict=True)}


def unmasked(values: Any) -> npt.NDArray[Any]:
    """A column that DuckDB fetched, with missing values in place of masked ones."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    mask = np.ma.getmaskarray(values)
    if not mask.any():
        return values.data
    if values.dtype.kind in "iuf":
        return np.where(mask, np.nan, values.data.astype(np.float64))
    if values.dtype.kind in "mM":
        return np.where(mask, np.array("NaT", dtype=values.dtype), values.data)
    objects = values.data.astype(object)
    objects[mask] = None
    return objects
