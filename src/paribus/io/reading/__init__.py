r"""Tables from files, standard input and databases, in any supported format.

Delimited text and JSON lines are read with Python's parsers rather than with DuckDB's, which reads a file with a ragged
row as one column, one with decimal commas as three columns instead of two, and a quote that is never closed as a
letter, all without a warning. Parquet is read with DuckDB.

>>> import pathlib, tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = pathlib.Path(folder) / "days.csv"
...     _ = path.write_text("month;rain\nMay;1,5\nJune;NA\n")
...     days = read(str(path), note=print)
days.csv: decimal commas in column 'rain' are read as decimal points
>>> days.columns
{'month': array(['May', 'June'], dtype=object), 'rain': array([1.5, nan])}
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack

from paribus.io.reading import delimited, json_lines, parquet
from paribus.io.reading.columns import typed
from paribus.io.reading.folder import list_files, stream_folder
from paribus.io.reading.limits import Limits, parse_limits
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, all_columns
from paribus.io.reading.source import open_source
from paribus.io.reading.source_types import SourceTypes
from paribus.io.reading.table_stream import FileState, ReadTable, TableStream, file_states, typed_stream
from paribus.io.reading.text import TextOptions

__all__ = [
    "Choose",
    "Limits",
    "Note",
    "ReadTable",
    "TableStream",
    "TextOptions",
    "Wanted",
    "open_stream",
    "parse_limits",
    "read",
]

FORMATS = (parquet, json_lines, delimited)
"""A format is a module with `NAME`, `recognizes(head, name)`, `read(...)` and `stream(...)`. The last one accepts any
file."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+._-]*://")
_REMOTE = re.compile(r"(https?|ftps?|s3[an]?|gs|gcs|az|abfss?|hdfs|file)://", re.IGNORECASE)


def read(
    source: str,
    choose: Choose = all_columns,
    *,
    sql: str | None = None,
    text: TextOptions | None = None,
    note: Note = lambda _: None,
) -> ReadTable:
    """Reads a table from a file, from standard input ("-") or from a database.

    Parameters
    ----------
    source : str
        A path, also of a folder of files with the same columns; "-"; or the SQLAlchemy URL of a database.
    choose : function, optional
        Takes the names of all columns, and returns which of them to read, and as which type. Where possible, it is
        called before the rows are read, so that a misspelled name is reported at once.
    sql : str, optional
        The name of a table in the database, or a query.
    text : TextOptions, optional
        How to read a text file, auto-detected by default; and the largest table that is read.
    note : function, optional
        Called with each message about a choice that the reader made, such as the encoding.

    Returns
    -------
    ReadTable
    """
    text = text or TextOptions()
    with ExitStack() as stack:
        if os.path.isdir(source):
            return open_stream(source, stack, choose, sql=sql, text=text, note=note).read()
        raw = _read_raw(source, choose, sql, text, stack, note)
        # Column by column, so that only one column is in memory twice.
        columns = {name: typed(raw, name, text, note) for name in raw.names}
    if raw.n_rows == 0:
        raise ValueError(f"{raw.source}: there are no rows")
    types = SourceTypes()
    types.add(columns, raw.types)
    return ReadTable(raw.source, columns, raw.n_rows, types.found)


def open_stream(
    source: str,
    stack: ExitStack,
    choose: Choose = all_columns,
    *,
    sql: str | None = None,
    text: TextOptions | None = None,
    note: Note = lambda _: None,
) -> TableStream:
    """Opens a table of any size to read it in batches, several times if needed.

    The values are those that `read` gives. Input that can be read only once is kept in a temporary file.

    Parameters
    ----------
    source : str
        A path, also of a folder of files with the same columns; "-"; or the SQLAlchemy URL of a database.
    stack : ExitStack
        Closes the table.
    choose, sql, text, note : optional
        As for `read`.

    Returns
    -------
    TableStream
    """
    text = text or TextOptions()
    _check_place(source, sql)
    states: dict[str, FileState | None] = {}
    if _ADDRESS.match(source):
        from paribus.io.reading.database import stream_database

        raw = stream_database(source, sql, stack, text.limits)
    elif os.path.isdir(source):

        def open_part(path: str, note: Note, stack: ExitStack) -> RawStream:
            return _open_file(path, text, stack, note)

        states = file_states(os.path.join(source, path) for path in list_files(source))
        raw = stream_folder(source, open_part, note)
    else:
        states = file_states([source]) if os.path.isfile(source) else {}
        raw = _open_file(source, text, stack, note)
    return typed_stream(raw, choose, text, note, states)


def _open_file(source: str, text: TextOptions, stack: ExitStack, note: Note) -> RawStream:
    opened = open_source(source, stack, text.limits)
    chosen = next(each for each in FORMATS if each.recognizes(opened.head, opened.name))
    found: RawStream = chosen.stream(opened, text, note, stack)
    return found


def _read_raw(
    source: str,
    choose: Choose,
    sql: str | None,
    text: TextOptions,
    stack: ExitStack,
    note: Note,
) -> RawTable:
    _check_place(source, sql)
    if _ADDRESS.match(source):
        from paribus.io.reading.database import read_database

        return read_database(source, sql, choose, text.limits)
    opened = open_source(source, stack, text.limits)
    chosen = next(each for each in FORMATS if each.recognizes(opened.head, opened.name))
    table: RawTable = chosen.read(opened, choose, text, note, stack)
    return table


def _check_place(source: str, sql: str | None) -> None:
    if _REMOTE.match(source):
        raise ValueError(f"{source} is a URL, and paribus does not download tables: download the file first")
    if sql is not None and not _ADDRESS.match(source):
        raise ValueError(f"--sql needs the URL of a database, such as sqlite:///{source}")
