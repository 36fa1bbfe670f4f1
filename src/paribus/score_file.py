"""The scores of all rows as a file: CSV, Parquet or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from paribus.files import AnyPath, atomic_path, atomic_write
from paribus.reading.columns import number
from paribus.values import Floats

PARQUET = ".parquet"
# What a spreadsheet takes for the start of a formula, in a text; some take the wide letters of East Asia, too.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# Texts with these stand in quotes: some programs take another sign than the comma for the separator.
NEEDS_QUOTES = re.compile(r'[",;|\t\r\n]')


@dataclass(frozen=True)
class Scores:
    """The scores of the rows of a table."""

    total: Floats
    partial: dict[str, Floats]
    """By behavioural feature."""
    threshold: float
    """The score above which a row is an anomaly."""
    labels: npt.NDArray[Any] | None = None
    """What the rows are called; None for their numbers, from 0."""

    @property
    def is_anomaly(self) -> npt.NDArray[np.bool_]:
        """Which rows have a score above the threshold."""
        return np.asarray(self.total > self.threshold)

    @property
    def rank(self) -> Floats:
        """1 for the highest score; equal scores have the same rank; NaN for a row without a score."""
        known = np.sort(self.total[~np.isnan(self.total)])
        rank = (len(known) - np.searchsorted(known, self.total, "right") + 1).astype(np.float64)
        rank[np.isnan(self.total)] = np.nan
        return rank

    def highest(self, n: int) -> npt.NDArray[np.int64]:
        """The positions of the highest scores, from the highest downwards."""
        return np.argsort(-self.total, kind="stable")[: min(n, int((~np.isnan(self.total)).sum()))]

    def label(self, row: int) -> Any:
        """What a row is called."""
        return row if self.labels is None else self.labels[row]

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of the file."""
        verdict = np.where(self.is_anomaly, "anomaly", "normal").astype(object)
        verdict[np.isnan(self.total)] = "not scored"
        rows = np.arange(len(self.total)) if self.labels is None else self.labels
        return {
            "row" if self.labels is None else "id": rows,
            "score": self.total,
            "rank": self.rank,
            "label": verdict,
            **{f"partial_{name}": values for name, values in self.partial.items()},
        }


def check_score_file(path: AnyPath, behavioral: Iterable[str] = ()) -> None:
    """Says so if the name of a file does not tell its format, or the format does not know two names apart."""
    suffix = Path(path).suffix.lower()
    if suffix != PARQUET and suffix not in _WRITERS:
        formats = ", ".join([".csv", ".tsv", PARQUET, ".jsonl"])
        raise ValueError(f"cannot write '{path}': its name must end in one of {formats}")
    same: dict[str, str] = {}
    for name in behavioral if suffix == PARQUET else ():
        # duckdb would rename one of them without a word.
        if (other := same.setdefault(name.lower(), name)) != name:
            raise ValueError(
                f"cannot write '{path}': Parquet cannot hold both '{other}' and '{name}', which differ only in case: "
                "write .csv or .jsonl"
            )


def write_scores(path: AnyPath, scores: Scores) -> None:
    """Writes all rows, in the order of the table; the whole file or nothing."""
    check_score_file(path, scores.partial)
    suffix = Path(path).suffix.lower()
    if suffix == PARQUET:
        from paribus.reading.parquet import write_parquet

        with atomic_path(path) as draft:
            write_parquet(draft, scores.columns(), whole={"rank"})
        return
    with atomic_write(path) as file:
        _WRITERS[suffix](file, scores.columns())


def safe_text(text: str) -> str:
    """A text that no spreadsheet runs as a formula. Numbers stay as they are.

    >>> safe_text("=1+1"), safe_text("-5"), safe_text("north")
    ("'=1+1", '-5', 'north')
    """
    return f"'{text}" if text.startswith(FORMULA) and number(text) is None else text


def _write_csv(file: BinaryIO, columns: dict[str, npt.NDArray[Any]], separator: str = ",") -> None:
    for record in _chain(list(columns), _rows(columns)):
        line = separator.join(_cell(value) for value in record)
        file.write(line.encode("utf-8", "backslashreplace") + b"\n")


def _write_tsv(file: BinaryIO, columns: dict[str, npt.NDArray[Any]]) -> None:
    _write_csv(file, columns, "\t")


def _write_json_lines(file: BinaryIO, columns: dict[str, npt.NDArray[Any]]) -> None:
    for record in _rows(columns):
        line = json.dumps(dict(zip(columns, record, strict=True)), ensure_ascii=False, allow_nan=False)
        file.write(line.encode("utf-8", "backslashreplace") + b"\n")


def _chain(headings: list[Any], rows: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    yield headings
    yield from rows


def _rows(columns: dict[str, npt.NDArray[Any]]) -> Iterator[tuple[Any, ...]]:
    """Rows of plain values: None for NaN, and ranks as whole numbers."""
    lists = []
    for name, column in columns.items():
        values = column.tolist()
        if column.dtype.kind == "f":
            values = [None if value != value else int(value) if name == "rank" else value for value in values]
        lists.append(values)
    return zip(*lists, strict=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    text = safe_text(value)
    return '"' + text.replace('"', '""') + '"' if NEEDS_QUOTES.search(text) else text


_WRITERS: dict[str, Callable[[BinaryIO, dict[str, npt.NDArray[Any]]], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
}
