"""Database files, damaged or not."""

from __future__ import annotations

import sqlite3

from fuzzing.area import REFUSED, Area, as_file, scratch, sentence
from paribus.io.reading import TextOptions, read


def seeds() -> list[bytes]:
    """A small SQLite database."""
    path = scratch() / "seed.db"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA page_size = 512")
        connection.execute("CREATE TABLE t (a INTEGER, b TEXT, c REAL, d BLOB)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [(1, "x", 1.5, None), (2, "y" * 600, None, b"z"), ("text", "", 1e30, b"")],
        )
    connection.close()
    return [path.read_bytes()]


def check(data: bytes) -> bool:
    """Tests that a damaged database is refused in one sentence, or read."""
    path = as_file(data, "t.db")
    try:
        read(f"sqlite:///{path}", sql="t", text=TextOptions())
    except REFUSED as error:
        sentence(error)
        return False
    return True


AREAS = [Area("sqlite files", seeds, check, 0.01)]
