"""DuckDB without network access, and without paths that it would interpret."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from paribus._common.atomic_files import AnyPath
from paribus._common.scratch import scratch_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Result = TypeVar("Result")

OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings with which DuckDB never downloads extensions."""
_LITERAL = re.compile(r"/[\w./ +,=@%-]*")


@contextmanager
def literal_path(path: Path) -> Iterator[str]:
    """A path that DuckDB takes literally: a link if the path has wildcards, brackets or undecodable bytes."""
    if _LITERAL.fullmatch(str(path)):
        yield str(path)
        return
    with scratch_folder() as folder:
        link = os.path.join(folder, "link")
        os.symlink(path, link)
        yield link


def connect(**settings: str) -> DuckDBPyConnection:
    """A connection that never downloads extensions."""
    import duckdb

    return duckdb.connect(config={**OFFLINE, **settings})


def interruptible(connection: DuckDBPyConnection, work: Callable[[], Result]) -> Result:
    """Does some work with a connection, which a signal interrupts at once.

    It is done in a thread: in the main thread, DuckDB looks for signals only every few seconds, and turns what their
    handlers raise into an error of its own.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    thread = Thread(target=run)
    thread.start()
    try:
        return done.result()
    except BaseException:
        connection.interrupt()
        raise
    finally:
        thread.join()


def check_names(path: AnyPath, names: Iterable[str], what: str) -> None:
    """Raises an error if two names differ only in case."""
    same: dict[str, str] = {}
    for name in names:
        if (other := same.setdefault(name.lower(), name)) != name:
            raise ValueError(
                f"cannot write '{path}': {what} cannot hold both '{other}' and '{name}', which differ only in case: "
                "write .csv or .jsonl"
            )
