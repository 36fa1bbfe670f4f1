"""Tables in SQLite and DuckDB files. An existing database keeps its other tables; the table is replaced as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.io.duck import OFFLINE, check_names
from paribus.io.writing.options import WriteOptions
from paribus.io.writing.relation import as_relation, is_boolean
from paribus.io.writing.rows import Append, as_text, is_whole, plain_rows

SUFFIXES = (".duckdb", ".sqlite", ".sqlite3", ".db")
IN_PLACE = True
"""An existing file is changed rather than replaced."""
# A table with these columns was written by paribus, so it may be replaced.
OWN_COLUMNS = {"score", "p_value", "rank", "label"}
_TYPES = {"f": "REAL", "i": "INTEGER", "u": "INTEGER", "b": "INTEGER"}


def check(path: AnyPath, names: Iterable[str], options: WriteOptions) -> None:
    """Raises an error if the names cannot be columns, or if a table with this name is not one that may be replaced."""
    check_names(path, names, "a database")
    file = Path(path)
    if not file.is_file() or file.stat().st_size == 0:
        return
    existing = _columns_of(file, options.table)
    if existing is not None and not {each.removesuffix(" (paribus)") for each in existing} >= OWN_COLUMNS:
        raise ValueError(
            f"{file.name} has a table {options.table} that paribus did not write: choose another name with --out-table"
        )


@contextmanager
def appender(path: Path, suffix: str, options: WriteOptions) -> Iterator[Append]:
    """Writes the table in one transaction, which is undone if anything fails."""
    with (_duckdb_table if suffix == ".duckdb" else _sqlite_table)(path, options) as append:
        yield append


@contextmanager
def _duckdb_table(path: Path, options: WriteOptions) -> Iterator[Append]:
    import duckdb

    if path.is_file() and path.stat().st_size == 0:
        # DuckDB treats an empty file as a damaged one.
        path.unlink()
    name, is_there = _name(options.table), False
    try:
        with duckdb.connect(str(path), config=OFFLINE) as connection:
            connection.begin()
            connection.execute(f"DROP TABLE IF EXISTS {name}")

            def append(columns: dict[str, npt.NDArray[Any]]) -> None:
                nonlocal is_there
                rows = as_relation(connection, columns, options.types)
                if is_there:
                    rows.insert_into(name)
                else:
                    rows.create(name)
                is_there = True

            yield append
            connection.commit()
            # Otherwise the rows may still be in the log next to the file. It is merged when the connection is closed,
            # where a full disk would be no error.
            connection.execute("CHECKPOINT")
    except duckdb.Error as error:
        raise OSError(f"cannot write '{path.name}': {' '.join(str(error).split())}") from None


@contextmanager
def _sqlite_table(path: Path, options: WriteOptions) -> Iterator[Append]:
    name, is_there = _name(options.table), False
    try:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"DROP TABLE IF EXISTS {name}")

            def append(columns: dict[str, npt.NDArray[Any]]) -> None:
                nonlocal is_there
                if not is_there:
                    connection.execute(f"CREATE TABLE {name} ({_described(columns, options)})")
                is_there = True
                rows = ([as_text(value) for value in record] for record in plain_rows(columns, options.types))
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' for _ in columns)})", rows)

            yield append
    except sqlite3.Error as error:
        raise OSError(f"cannot write '{path.name}': {error}") from None


def _described(columns: dict[str, npt.NDArray[Any]], options: WriteOptions) -> str:
    """The columns of a table as SQLite declares them."""
    types = [
        "INTEGER" if is_whole(name, options.types) or is_boolean(values) else _TYPES.get(values.dtype.kind, "TEXT")
        for name, values in columns.items()
    ]
    return ", ".join(f"{_name(name)} {kind}" for name, kind in zip(columns, types, strict=True))


def _columns_of(file: Path, table: str) -> set[str] | None:
    """The columns of a table; None if there is no such table."""
    with file.open("rb") as opened:
        is_sqlite = opened.read(16).startswith(b"SQLite format 3")
    wants_duckdb = file.suffix.lower() == ".duckdb"
    if is_sqlite and not wants_duckdb:
        with closing(sqlite3.connect(f"file:{file.resolve().as_posix()}?mode=ro", uri=True)) as connection:
            found = connection.execute("SELECT name FROM pragma_table_info(?)", [table]).fetchall()
            return {str(name) for (name,) in found} or None
    if is_sqlite or not wants_duckdb:
        raise ValueError(
            f"{file.name} is not {'a DuckDB' if wants_duckdb else 'an SQLite'} database: choose another name"
        )
    import duckdb

    try:
        with duckdb.connect(str(file), read_only=True, config=OFFLINE) as connection:
            found = connection.execute(
                "SELECT column_name FROM information_schema.columns WHERE lower(table_name) = lower(?)", [table]
            ).fetchall()
            return {str(name) for (name,) in found} or None
    except duckdb.Error as error:
        raise ValueError(
            f"{file.name} cannot be opened as a DuckDB database ({' '.join(str(error).split())})"
        ) from None


def _name(name: str) -> str:
    """A name as SQL quotes it; a quote in it is doubled, so that it cannot end the name."""
    return '"' + name.replace('"', '""').replace("\x00", "") + '"'
