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
from paribus.io.duck import connect, interruptible, literal_path
from paribus.io.writing.rows import WHOLE_NUMBERS, Append

SUFFIXES = (".parquet",)
JOINING_MEMORY = "512MB"
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


@contextmanager
def appender(path: Path, suffix: str) -> Iterator[Append]:
    """Writes a Parquet file. NaN and None are missing values.

    DuckDB cannot add rows to a file. Parts are written to a hidden folder beside it, and joined in the end, which takes
    little memory.
    """
    with TemporaryDirectory(prefix=".paribus-", suffix=".parts", dir=path.parent) as folder:
        parts: list[Path] = []

        def append(columns: dict[str, npt.NDArray[Any]]) -> None:
            part = Path(folder) / f"{len(parts):08d}.parquet"
            _write(part, columns)
            parts.append(part)

        yield append
        if len(parts) == 1:
            os.replace(parts[0], path)
        elif parts:
            _join(Path(folder), len(parts), path)


def _write(path: Path, columns: dict[str, npt.NDArray[Any]]) -> None:
    import duckdb

    numbered = {f"c{place}": values for place, values in enumerate(columns.values())}
    chosen = []
    for place, (name, values) in enumerate(columns.items()):
        column = duckdb.ColumnExpression(f"c{place}")
        # Text, even if none is there.
        to = "BIGINT" if name in WHOLE_NUMBERS else "VARCHAR" if values.dtype.kind == "O" else None
        chosen.append((column if to is None else column.cast(to)).alias(name))
    with _explained(), connect() as connection, literal_path(path.parent) as folder:
        connection.register("rows", numbered)
        # Directly to the path, which is a draft already.
        rows = connection.table("rows").select(*chosen)
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
