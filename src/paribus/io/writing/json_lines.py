"""JSON lines: one object for each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.writing.rows import Append, plain_rows

SUFFIXES = (".jsonl", ".ndjson")


def check(path: AnyPath, names: Iterable[str]) -> None:
    """Accepts any names."""


@contextmanager
def appender(path: Path, suffix: str) -> Iterator[Append]:
    """Writes one line for each row."""
    with path.open("wb") as file:

        def append(columns: dict[str, npt.NDArray[Any]]) -> None:
            for record in plain_rows(columns):
                line = json.dumps(dict(zip(columns, record, strict=True)), ensure_ascii=False, allow_nan=False)
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")

        yield append
