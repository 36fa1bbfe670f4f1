"""A table or a query of a database, by SQLAlchemy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paribus.io.reading.columns import Choose, RawTable, check_names, pick

if TYPE_CHECKING:
    from sqlalchemy import Engine, Executable

BATCH = 10_000


def read_database(address: str, sql: str | None, choose: Choose) -> RawTable:
    """Reads a table, or what a query returns. Nothing is written: the transaction is rolled back."""
    try:
        import sqlalchemy
    except ModuleNotFoundError:
        raise ValueError("databases need SQLAlchemy: pip install 'paribus[sql]'") from None

    engine = _engine(address)
    name = engine.url.database or engine.url.drivername
    name = os.path.basename(name)
    try:
        with engine.connect().execution_options(yield_per=BATCH) as connection:
            result = connection.execute(_statement(engine, name, sql))
            if not result.returns_rows:
                raise ValueError(f"{name}: the statement returns no rows, a query such as SELECT does")
            names = [str(column) for column in result.keys()]  # noqa: SIM118
            check_names(name, names)
            wanted = choose(names)
            kept, places = pick(names, wanted)
            columns: list[list[Any]] = [[] for _ in kept]
            for batch in result.partitions():
                for column, place in zip(columns, places, strict=True):
                    column.extend(row[place] for row in batch)
    except sqlalchemy.exc.SQLAlchemyError as error:
        # Without the statement and the link to a page that SQLAlchemy adds.
        reason = " ".join(str(getattr(error, "orig", None) or error).split("\n")[0].split())
        raise ValueError(f"{name}: {reason}") from None
    finally:
        engine.dispose()
    return RawTable(name, kept, dict(zip(kept, columns, strict=True)), wanted, None)


def _engine(address: str) -> Engine:
    import sqlalchemy

    try:
        engine = sqlalchemy.create_engine(address)
    except ModuleNotFoundError as error:
        raise ValueError(f"this kind of database needs the Python package {error.name}: install it") from None
    except (sqlalchemy.exc.ArgumentError, ValueError) as error:
        # Not the address itself: there may be a password in it.
        reason = "" if "://" in str(error) else f" ({str(error).splitlines()[0]})"
        raise ValueError(
            f"the address of the database is not understood{reason}: sqlite:///file.db is one for SQLite"
        ) from None
    file = engine.url.database
    is_file = engine.url.get_backend_name() == "sqlite" and file and file != ":memory:" and not file.startswith("file:")
    # SQLite would make an empty one.
    if is_file and not os.path.isfile(str(file)):
        raise FileNotFoundError(f"there is no database file {file}")
    if engine.url.get_backend_name() == "sqlite":
        # SQLite keeps a dropped table out of transactions that Python has not begun: let it refuse to write at all.
        sqlalchemy.event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = ON"))
    return engine


def _statement(engine: Engine, name: str, sql: str | None) -> Executable:
    import sqlalchemy

    inspector = sqlalchemy.inspect(engine)
    tables = [*inspector.get_table_names(), *inspector.get_view_names()]
    if sql is None:
        some = ", ".join(tables[:10]) or "none"
        raise ValueError(f"{name}: say --sql TABLE, or --sql with a query; its tables are: {some}")
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
    # A colon is a colon: there are no parameters to fill in.
    return sqlalchemy.text(sql.replace(":", r"\:"))
