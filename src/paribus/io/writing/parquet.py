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
JOINING_MEMORY = "512MB"
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
        interruptible(connection, lambda: rows.write_parquet(target, use_tmp_file=False))


def _join(folder: Path, n_parts: int, path: Path) -> None:
    with (
        _explained(),
        connect(memory_limit=JOINING_MEMORY, temp_directory=str(folder)) as connection,
        literal_path(folder) as parts,
        literal_path(path.parent) as target,
    ):
        names = [os.path.join(parts, f"{place:08d}.parquet") for place in range(n_parts)]
        rows, joined = connection.from_parquet(names), os.path.join(target, path.name)
        interruptible(connection, lambda: rows.write_parquet(joined, use_tmp_file=False))


@contextmanager
def _explained() -> Iterator[None]:
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        # The system's own message follows the name of the file.
        text = " ".join(str(error).split())
        raise OSError(errno.EIO, (_REASON.findall(text) or [text])[-1]) from None
