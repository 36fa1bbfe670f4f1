"""Tables and query results from databases, through SQLAlchemy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from paribus.io.reading import raw
from paribus.io.reading.duckdb_file import read_duckdb, stream_duckdb
from paribus.io.reading.limits import DEFAULT_LIMITS, Limits
from paribus.io.reading.raw import Choose, RawStream, RawTable, Wanted, check_names, pick

if TYPE_CHECKING:
    from sqlalchemy import Engine, Executable

DRIVERS = {
    "postgresql": "psycopg[binary]",
    "mysql": "mysqlclient",
    "mariadb": "mariadb",
    "oracle": "oracledb",
    "mssql": "pyodbc",
    "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "redshift": "sqlalchemy-redshift",
    "clickhouse": "clickhouse-sqlalchemy",
}
"""The Python package that SQLAlchemy needs for each kind of database."""


def read_database(address: str, sql: str | None, choose: Choose, limits: Limits = DEFAULT_LIMITS) -> RawTable:
    """Reads a table or the result of a query. Nothing is written: the transaction is rolled back."""
    if address.startswith("duckdb:"):
        return read_duckdb(address, sql, choose, limits)
    with ExitStack() as stack:
        opened = stream_database(address, sql, stack, limits)
        wanted = choose(opened.names)
        kept, _ = pick(opened.names, wanted)
        columns: dict[str, list[Any]] = {name: [] for name in kept}
        for batch in opened.batches(wanted):
            for name, values in batch.columns.items():
                columns[name].extend(values)
    return RawTable(opened.source, kept, dict(columns), wanted, None)


def stream_database(address: str, sql: str | None, stack: ExitStack, limits: Limits = DEFAULT_LIMITS) -> RawStream:
    """Opens a table or the result of a query, to read it in batches.

    The query runs again for each reading, in one transaction. Nothing is written: it is rolled back.
    """
    if address.startswith("duckdb:"):
        return stream_duckdb(address, sql, limits)
    try:
        import sqlalchemy
    except ModuleNotFoundError:
        raise ValueError("databases need SQLAlchemy: pip install 'paribus[sql]'") from None

    engine = _engine(address)
    stack.callback(engine.dispose)
    name = engine.url.database or engine.url.drivername
    name = os.path.basename(name)

    @contextmanager
    def explained() -> Iterator[None]:
        try:
            yield
        except sqlalchemy.exc.SQLAlchemyError as error:
            # Without the statement and the link that SQLAlchemy adds to its messages.
            reason = " ".join(str(getattr(error, "orig", None) or error).split("\n")[0].split())
            raise ValueError(f"{name}: {reason}") from None

    with explained():
        options: dict[str, Any] = {"yield_per": raw.BATCH_SIZE}
        if engine.url.get_backend_name() == "postgresql":
            # All readings see the table as it was when the first one began.
            options["isolation_level"] = "REPEATABLE READ"
        connection = stack.enter_context(engine.connect().execution_options(**options))
        statement = _statement(engine, name, sql)
        with connection.execute(statement) as result:
            if not result.returns_rows:
                raise ValueError(f"{name}: the statement does not return rows: use a query such as SELECT")
            names = [str(column) for column in result.keys()]  # noqa: SIM118
    check_names(name, names)
    limits.check_columns(name, len(names))

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        kept, places = pick(names, wanted)
        n_done = 0
        with explained(), connection.execute(statement) as result:
            # Without a number, some versions of SQLAlchemy fetch all rows at once.
            for batch in result.partitions(raw.BATCH_SIZE):
                columns: dict[str, Any] = {
                    key: [row[place] for row in batch] for key, place in zip(kept, places, strict=True)
                }
                yield RawTable(name, kept, columns, wanted, None, first_row=n_done)
                n_done += len(batch)

    return RawStream(name, names, batches)


def _engine(address: str) -> Engine:
    import sqlalchemy

    if address.startswith("postgresql://") and find_spec("psycopg2") is None and find_spec("psycopg") is not None:
        # The current driver has another name than the one that older versions of SQLAlchemy look for.
        address = address.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        engine = sqlalchemy.create_engine(address)
    except ModuleNotFoundError as error:
        package = DRIVERS.get(address.partition(":")[0].partition("+")[0], error.name)
        raise ValueError(f"this database needs the Python package {package}: pip install {package}") from None
    except sqlalchemy.exc.NoSuchModuleError:
        dialect = address.partition(":")[0].partition("+")[0]
        package = DRIVERS.get(dialect)
        advice = f"pip install {package}" if package else f"install the SQLAlchemy dialect for {dialect}"
        raise ValueError(f"databases of the kind {dialect} need another Python package: {advice}") from None
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        # The URL is not shown, because it may contain a password.
        reason = "" if "://" in str(error) else f" ({str(error).splitlines()[0]})"
        raise ValueError(f"the URL of the database is not valid{reason}: for SQLite, use sqlite:///file.db") from None
    file = engine.url.database
    is_file = engine.url.get_backend_name() == "sqlite" and file and file != ":memory:" and not file.startswith("file:")
    # SQLite would create an empty database.
    if is_file and not os.path.isfile(str(file)):
        raise FileNotFoundError(f"there is no database file {file}")
    if engine.url.get_backend_name() == "sqlite":
        # A rollback does not undo everything in SQLite, such as a dropped table, so writing is turned off altogether.
        sqlalchemy.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def _statement(engine: Engine, name: str, sql: str | None) -> Executable:
    import sqlalchemy

    inspector = sqlalchemy.inspect(engine)
    tables = [*inspector.get_table_names(), *inspector.get_view_names()]
    if sql is None:
        some = ", ".join(tables[:10]) or "none"
        raise ValueError(f"{name}: choose a table with --sql TABLE, or pass a query; its tables are: {some}")
    schema, _, table = sql.rpartition(".")
    if sql in tables:
        return sqlalchemy.select(sqlalchemy.text("*")).select_from(sqlalchemy.table(sql))
    if " " not in sql.strip():
        if schema and inspector.has_table(table, schema=schema):
            return sqlalchemy.select(sqlalchemy.text("*")).select_from(sqlalchemy.table(table, schema=schema))
        from difflib import get_close_matches

        close = get_close_matches(sql, tables, n=1)
        hint = f"did you mean {close[0]}?" if close else f"its tables are: {', '.join(tables[:10]) or 'none'}"
        raise ValueError(f"{name}: there is no table {sql}: {hint}")
    # Colons are escaped, because SQLAlchemy would read them as parameters.
    return sqlalchemy.text(sql.replace(":", r"\:"))
