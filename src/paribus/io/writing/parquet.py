"""Parquet, written with DuckDB. Names of files and columns are never part of a statement."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.duck import check_names, connect, interruptible, literal_path
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.relation import as_relation
from paribus.io.writing.rows import Append

SUFFIXES = (".parquet",)
# Several threads would hold a row group each, and take longer.
JOINING = {"memory_limit": "512MB", "threads": "1"}
# A row group is in memory as a whole when parts are written, read and joined.
MAX_ROWS_IN_GROUP, MIN_ROWS_IN_GROUP = 122_880, 2_048
VALUES_IN_GROUP = 5_000_000
_REASON = re.compile(r'": ([^"{}]+)')


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Raises an error if two names differ only in case: DuckDB would silently rename one of them."""
    check_names(path, names, "Parquet")


@contextmanager
def appender(path: Path, suffix: str, options: WriteOptions) -> Iterator[Append]:
    """Writes a Parquet file. NaN and None are missing values.

    DuckDB cannot add rows to a file. Parts are written to a folder beside it, and joined in the end, which takes little
    memory.
    """
    with TemporaryDirectory(dir=path.parent) as folder:
        parts: list[Path] = []

        def append(columns: dict[str, npt.NDArray[Any]]) -> None:
            part = Path(folder) / f"{len(parts):08d}.parquet"
            _write(part, columns, options)
            parts.append(part)

        yield append
        if len(parts) == 1:
            os.replace(parts[0], path)
        elif parts:
            _join(Path(folder), len(parts), path)


def _write(path: Path, columns: dict[str, npt.NDArray[Any]], options: WriteOptions) -> None:
    with _explained(), connect() as connection, literal_path(path.parent) as folder:
        # Directly to the path, which is a draft already.
        rows = as_relation(connection, columns, options.types)
        target = os.path.join(folder, path.name)
        size = _rows_in_group(len(columns))
        interruptible(connection, lambda: rows.write_parquet(target, row_group_size=size, use_tmp_file=False))


def _join(folder: Path, n_parts: int, path: Path) -> None:
    with (
        _explained(),
        connect(temp_directory=str(folder), **JOINING) as connection,
        literal_path(folder) as parts,
        literal_path(path.parent) as target,
    ):
        names = [os.path.join(parts, f"{place:08d}.parquet") for place in range(n_parts)]
        rows, joined = connection.from_parquet(names), os.path.join(target, path.name)
        size = _rows_in_group(len(rows.columns))
        interruptible(connection, lambda: rows.write_parquet(joined, row_group_size=size, use_tmp_file=False))


def _rows_in_group(n_columns: int) -> int:
    """The maximum number of rows in a row group of a file with this many columns.

    >>> _rows_in_group(10), _rows_in_group(100), _rows_in_group(10_000)
    (122880, 50000, 2048)
    """
    return min(max(VALUES_IN_GROUP // n_columns, MIN_ROWS_IN_GROUP), MAX_ROWS_IN_GROUP)


@contextmanager
def _explained() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        # The system's own message follows the name of the file.
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, (_REASON.findall(text) or [text])[-1]) from None
