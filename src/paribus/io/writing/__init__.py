"""Columns into files: one module per format.

A format is a module with `SUFFIXES`, `check(path, names, options)` and `appender(path, suffix, options)`. `check`
raises an error if the format cannot hold columns with these names. `appender` is given the path of an empty file, or
that of an existing one for a format that changes files `IN_PLACE`, and yields a function that adds rows to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath, atomic_path, check_writable
from paribus.io.writing import database, delimited, json_lines, parquet, spreadsheet
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import Append

FORMATS = (delimited, parquet, json_lines, spreadsheet, database)
DEFAULT_OPTIONS = WriteOptions()


def check_format(path: AnyPath, names: Iterable[str] = (), options: WriteOptions = DEFAULT_OPTIONS) -> None:
    """Raises an error if a file name has no known suffix, or if its format cannot hold columns with these names."""
    _format(path).check(path, names, options)


def write_columns(path: AnyPath, columns: dict[str, npt.NDArray[Any]], options: WriteOptions = DEFAULT_OPTIONS) -> None:
    """Writes columns to a file in the format of its suffix: completely, or not at all."""
    with append_columns(path, columns, options) as append:
        append(columns)


@contextmanager
def append_columns(path: AnyPath, names: Iterable[str], options: WriteOptions = DEFAULT_OPTIONS) -> Iterator[Append]:
    """Yields a function that adds rows to a file in the format of its suffix: completely, or not at all."""
    chosen = _format(path)
    chosen.check(path, list(names), options)
    suffix = Path(path).suffix.lower()
    target = check_writable(path)
    if getattr(chosen, "IN_PLACE", False) and target.is_file() and target.stat().st_size:
        with chosen.appender(target, suffix, options) as append:
            yield append
        return
    with atomic_path(path) as draft, chosen.appender(draft, suffix, options) as append:
        yield append


def _format(path: AnyPath) -> ModuleType:
    suffix = Path(path).suffix.lower()
    for each in FORMATS:
        if suffix in each.SUFFIXES:
            return each
    known = ", ".join(suffix for each in FORMATS for suffix in each.SUFFIXES)
    raise ValueError(f"cannot write '{path}': its name must end in one of {known}")
