"""Parquet, read and written by duckdb. Names of files and columns are never part of a statement."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus.reading.columns import Choose, RawTable, check_names, pick

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_REASON = re.compile(r'": ([^"{}]+)')
_PLAIN = re.compile(r"/[\w./ +,=@%-]*")


def read_parquet(name: str, path: Path, choose: Choose) -> RawTable:
    """Reads a Parquet file."""
    import duckdb

    try:
        with _connect() as connection, _plain_name(path.resolve()) as plain:
            relation = connection.from_parquet(plain)
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


def write_parquet(path: Path, columns: dict[str, npt.NDArray[Any]], whole: Container[str] = ()) -> None:
    """Writes a Parquet file. NaN and None are missing values. `whole`: the columns of floats that are whole numbers."""
    import duckdb

    numbered = {f"c{place}": values for place, values in enumerate(columns.values())}
    chosen = []
    for place, name in enumerate(columns):
        column = duckdb.ColumnExpression(f"c{place}")
        chosen.append((column.cast("BIGINT") if name in whole else column).alias(name))
    try:
        with _connect() as connection, _plain_name(path.parent) as folder:
            connection.register("rows", numbered)
            # Straight to the file: it is a draft already.
            rows = connection.table("rows").select(*chosen)
            rows.write_parquet(os.path.join(folder, path.name), use_tmp_file=False)
    except duckdb.Error as error:
        # Behind the name of the file stands what the system says.
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, (_REASON.findall(text) or [text])[-1]) from None


@contextmanager
def _plain_name(path: Path) -> Iterator[str]:
    """A path as duckdb takes it literally: by a link if there are stars, brackets or odd bytes in it."""
    if _PLAIN.fullmatch(str(path)):
        yield str(path)
        return
    with tempfile.TemporaryDirectory(prefix="paribus-") as folder:
        link = os.path.join(folder, "link")
        os.symlink(path, link)
        yield link


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
