"""Parquet, read and written by duckdb. Names of files and columns are never part of a statement."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus.reading.columns import Choose, RawTable, check_names, pick

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def read_parquet(name: str, path: Path, choose: Choose) -> RawTable:
    """Reads a Parquet file."""
    import duckdb

    try:
        with _connect() as connection, tempfile.TemporaryDirectory(prefix="paribus-") as folder:
            # By a name of our own: stars, brackets and backslashes in a name mean something to duckdb.
            link = os.path.join(folder, "table.parquet")
            os.symlink(path.resolve(), link)
            relation = connection.from_parquet(link)
            names = list(relation.columns)
            check_names(name, names)
            wanted = choose(names)
            kept, places = pick(names, wanted)
            chosen = relation.select(*(duckdb.ColumnExpression(names[place]) for place in places))
            fetched = chosen.fetchnumpy()
    except duckdb.Error as error:
        reason = " ".join(str(error).split("LINE 1:")[0].split())
        raise ValueError(f"{name}: the Parquet file cannot be read ({reason})") from None
    # By place: some versions of duckdb rename columns that differ only in case.
    columns: dict[str, Any] = {key: _unmasked(values) for key, values in zip(kept, fetched.values(), strict=True)}
    return RawTable(name, kept, columns, wanted, None)


def write_parquet(path: Path, columns: dict[str, npt.NDArray[Any]]) -> None:
    """Writes a Parquet file. NaN and None are missing values."""
    import duckdb

    try:
        with _connect() as connection:
            connection.register("rows", columns)
            connection.table("rows").write_parquet(str(path))
    except duckdb.Error as error:
        raise OSError(" ".join(str(error).split())) from None


def _connect() -> DuckDBPyConnection:
    import duckdb

    # Nothing is downloaded, whatever a file or its name may suggest.
    return duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})


def _unmasked(values: Any) -> npt.NDArray[Any]:
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
