"""Tables and query results from DuckDB files, read-only and without access to other files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from paribus.io.duck import OFFLINE
from paribus.io.reading.limits import Limits
from paribus.io.reading.parquet import fetch
from paribus.io.reading.raw import BATCH_SIZE, Choose, RawStream, RawTable, Wanted, check_names, pick

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

PREFIX = "duckdb:///"


def read_duckdb(address: str, sql: str | None, choose: Choose, limits: Limits) -> RawTable:
    """Reads a table or the result of a query from a file that is named as in duckdb:///weather.duckdb."""
    name, file = _find(address)
    with _opened(name, file, sql) as relation:
        names = list(relation.columns)
        check_names(name, names)
        limits.check_columns(name, len(names))
        wanted = choose(names)
        kept, places = pick(names, wanted)
        types = {names[place]: str(relation.types[place]) for place in places}
        return RawTable(name, kept, fetch(name, relation, kept, places, limits), wanted, None, types=types)


def stream_duckdb(address: str, sql: str | None, limits: Limits) -> RawStream:
    """Opens a table or the result of a query, to read it in batches; the query runs again for each reading."""
    name, file = _find(address)
    with _opened(name, file, sql) as relation:
        names = list(relation.columns)
        check_names(name, names)
        limits.check_columns(name, len(names))
        n_rows = int(relation.count("*").fetchall()[0][0])

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        kept, places = pick(names, wanted)
        for begin in range(0, n_rows, BATCH_SIZE):
            # A table and a query give their rows in the order of the file, or in the order that the query specifies.
            with _opened(name, file, sql) as relation:
                columns = fetch(name, relation.limit(BATCH_SIZE, offset=begin), kept, places, limits)
                types = {names[place]: str(relation.types[place]) for place in places}
            yield RawTable(name, kept, columns, wanted, None, first_row=begin, types=types)

    return RawStream(name, names, batches, n_rows=n_rows)


def _find(address: str) -> tuple[str, str]:
    file = address.removeprefix(PREFIX)
    if not address.startswith(PREFIX) or not file:
        raise ValueError("the URL of a DuckDB file must look like duckdb:///weather.duckdb")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"there is no database file {file}")
    return os.path.basename(file), file


@contextmanager
def _opened(name: str, file: str, sql: str | None) -> Iterator[DuckDBPyRelation]:
    import duckdb

    settings = OFFLINE | {"enable_external_access": "false"}
    try:
        with duckdb.connect(file, read_only=True, config=settings) as connection:
            yield _relation(connection, name, sql)
    except duckdb.Error as error:
        raise ValueError(f"{name}: {' '.join(str(error).split('LINE 1:')[0].split())}") from None


def _relation(connection: DuckDBPyConnection, name: str, sql: str | None) -> DuckDBPyRelation:
    found = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY table_name").fetchall()
    tables = [str(table) for (table,) in found]
    listed = ", ".join(tables[:10]) or "none"
    if sql is None:
        raise ValueError(f"{name}: choose a table with --sql TABLE, or pass a query; its tables are: {listed}")
    if sql in tables:
        return connection.table('"' + sql.replace('"', '""') + '"')
    if " " not in sql.strip():
        close = get_close_matches(sql, tables, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its tables are: {listed}"
        raise ValueError(f"{name}: there is no table {sql}: {hint}")
    return connection.sql(sql)
