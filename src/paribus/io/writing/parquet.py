"""Parquet, written with DuckDB. Names of files and columns are never part of a statement."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.duck import connect, literal_path
from paribus.io.writing.rows import WHOLE_NUMBERS

SUFFIXES = (".parquet",)
_REASON = re.compile(r'": ([^"{}]+)')


def check(path: AnyPath, names: Iterable[str]) -> None:
    """Raises an error if two names differ only in case: DuckDB would silently rename one of them."""
    same: dict[str, str] = {}
    for name in names:
        if (other := same.setdefault(name.lower(), name)) != name:
            raise ValueError(
                f"cannot write '{path}': Parquet cannot hold both '{other}' and '{name}', which differ only in case: "
                "write .csv or .jsonl"
            )


def write(path: Path, columns: dict[str, npt.NDArray[Any]], suffix: str) -> None:
    """Writes a Parquet file. NaN and None are missing values."""
    import duckdb

    numbered = {f"c{place}": values for place, values in enumerate(columns.values())}
    chosen = []
    for place, name in enumerate(columns):
        column = duckdb.ColumnExpression(f"c{place}")
        chosen.append((column.cast("BIGINT") if name in WHOLE_NUMBERS else column).alias(name))
    try:
        with connect() as connection, literal_path(path.parent) as folder:
            connection.register("rows", numbered)
            # Directly to the path, which is a draft already.
            rows = connection.table("rows").select(*chosen)
            rows.write_parquet(os.path.join(folder, path.name), use_tmp_file=False)
    except duckdb.Error as error:
        # The system's own message follows the name of the file.
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, (_REASON.findall(text) or [text])[-1]) from None
