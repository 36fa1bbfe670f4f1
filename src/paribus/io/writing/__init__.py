"""Columns into files: one module per format.

A format is a module with `SUFFIXES`, `check(path, names)` and `appender(path, suffix)`. `check` raises an error if the
format cannot hold columns with these names; `appender` is given the path of an empty file, and yields a function that
adds rows to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath, atomic_path
from paribus.io.writing import delimited, json_lines, parquet
from paribus.io.writing.rows import Append

FORMATS = (delimited, parquet, json_lines)


def check_format(path: AnyPath, names: Iterable[str] = ()) -> None:
    """Raises an error if a file name has no known suffix, or if its format cannot hold columns with these names."""
    _format(path).check(path, names)


def write_columns(path: AnyPath, columns: dict[str, npt.NDArray[Any]]) -> None:
    """Writes columns to a file in the format of its suffix: completely, or not at all."""
    with append_columns(path, columns) as append:
        append(columns)


@contextmanager
def append_columns(path: AnyPath, names: Iterable[str]) -> Iterator[Append]:
    """Yields a function that adds rows to a file in the format of its suffix: completely, or not at all."""
    chosen = _format(path)
    chosen.check(path, names)
    with atomic_path(path) as draft, chosen.appender(draft, Path(path).suffix.lower()) as append:
        yield append


def _format(path: AnyPath) -> ModuleType:
    suffix = Path(path).suffix.lower()
    for each in FORMATS:
        if suffix in each.SUFFIXES:
            return each
    known = ", ".join(suffix for each in FORMATS for suffix in each.SUFFIXES)
    raise ValueError(f"cannot write '{path}': its name must end in one of {known}")
