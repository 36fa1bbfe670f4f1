"""Tables and query results from DuckDB files, read-only and without access to other files."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from paribus.io.duck import OFFLINE
from paribus.io.reading.columns import Choose, RawTable, check_names, pick
from paribus.io.reading.parquet import unmasked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

PREFIX = "duckdb:///"


def read_duckdb(address: str, sql: str | None, choose: Choose) -> RawTable:
    """Reads a table or the result of a query from a file that is named as in duckdb:///weather.duckdb."""
    import duckdb

    file = address.removeprefix(PREFIX)
    if not address.startswith(PREFIX) or not file:
        raise ValueError("the URL of a DuckDB file is like duckdb:///weather.duckdb")
    if not os.path.isfile(file):
        raise FileNotFoundError(f"there is no database file {file}")
    name = os.path.basename(file)
    try:
        with duckdb.connect(file, read_only=True, config=OFFLINE | {"enable_external_access": "false"}) as connection:
            relation = _relation(connection, name, sql)
            names = list(relation.columns)
            check_names(name, names)
            wanted = choose(names)
            kept, places = pick(names, wanted)
            types = {names[place]: str(relation.types[place]) for place in places}
            fetched = relation.select(*(duckdb.ColumnExpression(names[place]) for place in places)).fetchnumpy()
    except duckdb.Error as error:
        raise ValueError(f"{name}: {' '.join(str(error).split('LINE 1:')[0].split())}") from None
    columns: dict[str, Any] = {key: unmasked(values) for key, values in zip(kept, fetched.values(), strict=True)}
    return RawTable(name, kept, columns, wanted, None, types=types)


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
