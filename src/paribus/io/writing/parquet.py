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
from paribus.io.duck import check_names, connect, literal_path
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.relation import as_relation

SUFFIXES = (".parquet",)
_REASON = re.compile(r'": ([^"{}]+)')


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Raises an error if two names differ only in case: DuckDB would silently rename one of them."""
    check_names(path, names, "Parquet")


def write(path: Path, columns: dict[str, npt.NDArray[Any]], suffix: str, options: WriteOptions) -> None:
    """Writes a Parquet file. NaN and None are missing values."""
    import duckdb

    try:
        with connect() as connection, literal_path(path.parent) as folder:
            # Directly to the path, which is a draft already.
            rows = as_relation(connection, columns, options.types)
            rows.write_parquet(os.path.join(folder, path.name), use_tmp_file=False)
    except duckdb.Error as error:
        # The system's own message follows the name of the file.
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, (_REASON.findall(text) or [text])[-1]) from None
