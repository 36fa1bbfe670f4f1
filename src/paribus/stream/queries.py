"""Rows of a database query that is repeated."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from paribus.stream.lines import PATIENCE

MAX_ROWS = 10_000


class PolledQuery:
    """Asks a query for the rows after the last key, again and again.

    Parameters
    ----------
    address : str
        The database, as SQLAlchemy writes it.
    sql : str
        A query that has `:last`, the key of the last row that is done, and gives later rows in the order of their keys.
    key : str
        The column of keys.
    last : number or text, optional
        Where to begin: the last key that is done.
    every : float
        Seconds between two questions.
    once : bool
        Whether to end when there are no more rows.
    is_stopped : function
        Asked now and then whether to end.
    """

    def __init__(
        self, address: str, sql: str, key: str, last: Any, every: float, once: bool, is_stopped: Callable[[], bool]
    ) -> None:
        try:
            import sqlalchemy
        except ModuleNotFoundError:
            raise ValueError("databases need SQLAlchemy: pip install 'paribus[sql]'") from None
        if ":last" not in sql:
            raise ValueError(
                "the query has no :last: ask for the rows after the last one, as in "
                '"SELECT * FROM readings WHERE id > :last ORDER BY id"'
            )
        self._sql, self._key, self._last = sqlalchemy.text(sql), key, last
        self._every, self._once, self._is_stopped = every, once, is_stopped
        self._problems = sqlalchemy.exc.SQLAlchemyError
        try:
            self._engine = sqlalchemy.create_engine(address)
        except self._problems as error:
            raise ValueError(f"cannot open the database: {_reason(error)}") from None

    def batches(self) -> Iterator[list[dict[str, Any]]]:
        """Batches of rows, and an empty one whenever there are none for a while. Nothing is written."""
        try:
            while not self._is_stopped():
                rows = self._ask()
                yield rows
                if rows:
                    self._last = rows[-1][self._key]
                    continue
                if self._once:
                    return
                # The pauses are counted: a clock that jumps back must not stop the watch for as long.
                for _ in range(math.ceil(self._every / PATIENCE)):
                    if not self._is_stopped():
                        time.sleep(min(PATIENCE, self._every))
        finally:
            self._engine.dispose()

    def _ask(self) -> list[dict[str, Any]]:
        try:
            with self._engine.connect() as connection, connection.execute(self._sql, {"last": self._last}) as result:
                rows = [dict(row) for row in result.mappings().fetchmany(MAX_ROWS)]
        except self._problems as error:
            raise ValueError(f"the database does not answer the query: {_reason(error)}") from None
        if rows and self._key not in rows[0]:
            raise ValueError(f"the query has no column '{self._key}', which --key names")
        return rows


def _reason(error: Exception) -> str:
    return " ".join(str(getattr(error, "orig", None) or error).split("\n")[0].split())
