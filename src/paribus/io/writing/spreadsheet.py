"""Excel workbooks, written with XlsxWriter. Text is stored as text, so that no cell is ever a formula or a link."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.rows import as_text, plain_rows

SUFFIXES = (".xlsx",)
# What a sheet can hold.
MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
# Numbers with more digits lose the last ones in a spreadsheet.
MAX_WHOLE = 10**15
# Widths of columns, in characters.
MIN_WIDTH, MAX_WIDTH, N_MEASURED = 8, 60, 200
# The first day that a spreadsheet can tell from a number.
FIRST_YEAR = 1900


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Raises an error if XlsxWriter is not installed, or if there are more columns than a sheet can hold."""
    try:
        import xlsxwriter  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError("spreadsheets need XlsxWriter: pip install 'paribus[xlsx]'") from None
    if len(list(names)) > MAX_COLUMNS:
        raise ValueError(f"cannot write '{path}': a sheet holds no more than {MAX_COLUMNS:,} columns: write .csv")


def write(path: Path, columns: dict[str, npt.NDArray[Any]], suffix: str, options: WriteOptions) -> None:
    """Writes one sheet with a header that stays in view and can filter the rows."""
    import xlsxwriter

    n_rows = len(next(iter(columns.values())))
    if n_rows >= MAX_ROWS:
        raise ValueError(
            f"{n_rows:,} rows are more than a sheet can hold: write .csv or .parquet, or only flagged rows"
        )
    settings = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    book = xlsxwriter.Workbook(str(path), settings)
    # The same results give the same file.
    book.set_properties({"created": datetime(2000, 1, 1)})
    sheet = book.add_worksheet(options.table[:31])
    bold = book.add_format({"bold": True})
    formats = {
        datetime: book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        date: book.add_format({"num_format": "yyyy-mm-dd"}),
    }
    widths = [MIN_WIDTH] * len(columns)
    for place, name in enumerate(columns):
        sheet.write_string(0, place, _bounded(name), bold)
        widths[place] = max(widths[place], len(name) + 3)
    for row, record in enumerate(plain_rows(columns, options.types), 1):
        for place, value in enumerate(record):
            if value is None:
                continue
            if isinstance(value, bool):
                sheet.write_boolean(row, place, value)
            elif isinstance(value, int | float) and abs(value) < MAX_WHOLE:
                sheet.write_number(row, place, value)
            elif isinstance(value, date) and value.year > FIRST_YEAR and getattr(value, "tzinfo", None) is None:
                sheet.write_datetime(row, place, value, formats[type(value)])
            else:
                sheet.write_string(row, place, _bounded(str(as_text(value))))
            if row <= N_MEASURED:
                length = 19 if isinstance(value, datetime | timedelta) else min(len(str(value)), MAX_WIDTH)
                widths[place] = max(widths[place], length + 1)
    for place, width in enumerate(widths):
        sheet.set_column(place, place, min(width, MAX_WIDTH))
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, n_rows, len(columns) - 1)
    book.close()


def _bounded(text: str) -> str:
    """Text that a cell can hold: not too long, and without characters that XML does not have."""
    kept = "".join(
        letter if letter in "\t\n" or " " <= letter < "\ud800" or letter > "\udfff" else " " for letter in text
    )
    return kept if len(kept) <= MAX_TEXT else kept[: MAX_TEXT - 1] + "…"
