"""CSV and TSV, protected against formula injection in spreadsheets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.reading.columns import number
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import as_text, plain_rows

SUFFIXES = (".csv", ".tsv")
# First characters that make spreadsheets treat text as a formula; some accept the full-width forms, too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Text with one of these characters is quoted, because some programs do not separate values at commas.
NEEDS_QUOTES = re.compile(r'[",;|\t\r\n]')


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Accepts any names."""


def write(path: Path, columns: dict[str, npt.NDArray[Any]], suffix: str, options: WriteOptions) -> None:
    """Writes a header line and a line for each row."""
    separator = "\t" if suffix == ".tsv" else ","
    with path.open("wb") as file:
        for record in itertools.chain([list(columns)], plain_rows(columns, options.types)):
            line = separator.join(_cell(value) for value in record)
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")


def safe_text(text: str) -> str:
    """Text that no spreadsheet treats as a formula. Numbers are not changed.

    >>> safe_text("=1+1"), safe_text("-5"), safe_text("north")
    ("'=1+1", '-5', 'north')
    """
    return f"'{text}" if text.startswith(FORMULA) and number(text) is None else text


def _cell(value: Any) -> str:
    if value is None:
        return ""
    value = as_text(value)
    if not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    text = safe_text(value)
    return '"' + text.replace('"', '""') + '"' if NEEDS_QUOTES.search(text) else text
