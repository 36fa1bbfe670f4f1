"""Parquet, read with DuckDB. Names of files and columns are never part of a statement."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus.io.duck import connect, literal_path
from paribus.io.reading.columns import Choose, Note, RawTable, check_names, pick
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions

NAME = "Parquet"


def recognizes(head: bytes, name: str) -> bool:
    """Whether a file that starts with these bytes is in this format."""
    return head.startswith(b"PAR1")


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a Parquet file."""
    return read_parquet(source.name, source.path(stack), choose)


def read_parquet(name: str, path: Path, choose: Choose) -> RawTable:
    """Reads a Parquet file."""
    import duckdb

    try:
        with connect() as connection, literal_path(path.resolve()) as literal:
            relation = connection.from_parquet(literal)
            names = list(relation.columns)
            check_names(name, names)
            wanted = choose(names)
            kept, places = pick(names, wanted)
            types = {names[place]: str(relation.types[place]) for place in places}
            chosen = relation.select(*(duckdb.ColumnExpression(names[place]) for place in places))
            fetched = chosen.fetchnumpy()
    except duckdb.Error as error:
        reason = " ".join(str(error).split("LINE 1:")[0].split())
        raise ValueError(f"{name}: the Parquet file cannot be read ({reason})") from None
    # By position, because some versions of DuckDB rename columns that differ only in case.
    columns: dict[str, Any] = {key: unmasked(values) for key, values in zip(kept, fetched.values(), strict=True)}
    return RawTable(name, kept, columns, wanted, None, types=types)


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
