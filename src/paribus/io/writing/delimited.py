"""CSV and TSV, protected against formula injection in spreadsheets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.reading.columns import number
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import Append, as_text, plain_rows

SUFFIXES = (".csv", ".tsv")
# First characters that make spreadsheets treat text as a formula; some accept the full-width forms, too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Text with one of these characters is quoted, because some programs do not separate values at commas.
NEEDS_QUOTES = re.compile(r'[",;|\t\r\n]')


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Accepts any names."""


@contextmanager
def appender(path: Path, suffix: str, options: WriteOptions) -> Iterator[Append]:
    """Writes a header line, and then a line for each row."""
    separator = "\t" if suffix == ".tsv" else ","
    with path.open("wb") as file:

        def append(columns: dict[str, npt.NDArray[Any]]) -> None:
            # The header goes before the first rows.
            header = [] if file.tell() else [list(columns)]
            for record in itertools.chain(header, plain_rows(columns, options.types)):
                line = separator.join(_cell(value) for value in record)
                file.write(line.encode("utf-8", "backslashreplace") + b"\n")

        yield append


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
