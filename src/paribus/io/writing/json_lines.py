"""JSON lines: one object for each row."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.writing.rows import plain_rows

SUFFIXES = (".jsonl", ".ndjson")


def check(path: AnyPath, names: Iterable[str]) -> None:
    """Accepts any names."""


def write(path: Path, columns: dict[str, npt.NDArray[Any]], suffix: str) -> None:
    """Writes one line for each row."""
    with path.open("wb") as file:
        for record in plain_rows(columns):
            line = json.dumps(dict(zip(columns, record, strict=True)), ensure_ascii=False, allow_nan=False)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
