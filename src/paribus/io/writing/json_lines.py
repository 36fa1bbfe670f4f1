"""JSON lines: one object for each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import Append, as_text, plain_rows

SUFFIXES = (".jsonl", ".ndjson")


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Accepts any names."""


@contextmanager
def appender(path: Path, suffix: str, options: WriteOptions) -> Iterator[Append]:
    """Writes one line for each row."""
    with path.open("wb") as file:

        def append(columns: dict[str, npt.NDArray[Any]]) -> None:
            for record in plain_rows(columns, options.types):
                fields = {name: as_text(value) for name, value in zip(columns, record, strict=True)}
                line = json.dumps(fields, ensure_ascii=False, allow_nan=False)
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")

        yield append
