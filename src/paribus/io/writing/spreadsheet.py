"""Excel workbooks, written with XlsxWriter. Text is stored as text, so that no cell is ever a formula or a link."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import Append, as_text, plain_rows

SUFFIXES = (".xlsx",)
# What a sheet can hold.
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
# Numbers with more digits lose the last ones in a spreadsheet.
MAX_WHOLE = 10**15
# Widths of columns, in characters.
MIN_WIDTH, MAX_WIDTH, N_MEASURED = 8, 60, 200
# The first date that spreadsheets represent.
FIRST_YEAR = 1900


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Raises an error if XlsxWriter is not installed, or if there are more columns than a sheet can hold."""
    try:
        import xlsxwriter  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("spreadsheets need XlsxWriter: pip install 'paribus[xlsx]'") from None
    if len(list(names)) > MAX_COLUMNS:
        raise ValueError(f"cannot write '{path}': a sheet holds no more than {MAX_COLUMNS:,} columns: write .csv")


@contextmanager
def appender(path: Path, suffix: str, options: WriteOptions) -> Iterator[Append]:
    """Writes one sheet with a header that stays in view and can filter the rows."""
    import xlsxwriter

    settings = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    # The file is written at the end: on a full disk, XlsxWriter would leave an archive whose finalizer prints an error.
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, settings)
    # The same results give the same file.
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = _Sheet(book, options)
    try:
        yield sheet.append
        sheet.finish()
    finally:
        # Otherwise XlsxWriter would do so when the book is collected.
        book.close()
    path.write_bytes(content.getbuffer())


class _Sheet:
    def __init__(self, book: Any, options: WriteOptions) -> None:
        self._sheet = book.add_worksheet(options.table[:31])
        self._bold = book.add_format({"bold": True})
        self._formats = {
            datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
            date: book.add_format({"num_format": "yyyy-mm-dd"}),
        }
        self._types = options.types
        self._widths: list[int] = []
        self._n_rows = 0

    def append(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Adds rows, and before the first ones the header."""
        if not self._widths:
            self._widths = [max(MIN_WIDTH, len(name) + 3) for name in columns]
            for place, name in enumerate(columns):
                self._sheet.write_string(0, place, _bounded(name), self._bold)
        n_rows = self._n_rows + len(next(iter(columns.values())))
        if n_rows >= MAX_ROWS:
            raise ValueError(
                f"{n_rows:,} rows are more than a sheet can hold: write .csv or .parquet, or only flagged rows"
            )
        for record in plain_rows(columns, self._types):
            self._n_rows += 1
            for place, value in enumerate(record):
                if value is not None:
                    self._write(place, value)

    def _write(self, place: int, value: Any) -> None:
        row, sheet = self._n_rows, self._sheet
        if isinstance(value, bool):
            sheet.write_boolean(row, place, value)
        elif isinstance(value, int | float) and abs(value) < MAX_WHOLE:
            sheet.write_number(row, place, value)
        elif isinstance(value, date) and value.year > FIRST_YEAR and getattr(value, "tzinfo", None) is None:
            sheet.write_datetime(row, place, value, self._formats[type(value)])
        else:
            sheet.write_string(row, place, _bounded(str(as_text(value))))
        if row <= N_MEASURED:
            length = 19 if isinstance(value, datetime | timedelta) else min(len(str(value)), MAX_WIDTH)
            self._widths[place] = max(self._widths[place], length + 1)

    def finish(self) -> None:
        """Sets widths, and what stays in view and filters."""
        for place, width in enumerate(self._widths):
            self._sheet.set_column(place, place, min(width, MAX_WIDTH))
        self._sheet.freeze_panes(1, 0)
        if self._widths:
            self._sheet.autofilter(0, 0, self._n_rows, len(self._widths) - 1)


def _bounded(text: str) -> str:
    """Text that a cell can hold: not too long, and without characters that XML does not have."""
    kept = "".join(
        letter if letter in "\t\n" or " " <= letter < "\ud800" or letter > "\udfff" else " " for letter in text
    )
    return kept if len(kept) <= MAX_TEXT else kept[: MAX_TEXT - 1] + "…"
