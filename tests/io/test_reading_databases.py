"""Reading tables from Parquet files and databases."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import ExitStack
from importlib.abc import MetaPathFinder
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paribus.io.reading import ReadTable, Wanted, open_stream, read
from tests.io.test_reading import plain


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    """Tests that numbers, timestamps, text and booleans keep their types, with missing values."""
    table = {
        "whole": pa.array([1, 2, None]),
        "number": pa.array([0.5, None, float("nan")]),
        "text": pa.array(["a", None, "b"]),
        "boolean": pa.array([True, None, False]),
        "timestamp": pa.array([0, None, 1], pa.timestamp("ms")),
        "same'\";": pa.array([1, 2, 3], pa.int32()),
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    columns = read(str(tmp_path / "t.parquet")).columns
    assert list(columns) == list(table)
    assert np.array_equal(columns["whole"], [1, 2, np.nan], equal_nan=True)
    assert np.array_equal(columns["number"], [0.5, np.nan, np.nan], equal_nan=True)
    assert columns["text"].tolist() == ["a", None, "b"]
    assert columns["boolean"].tolist() == [True, None, False]
    assert np.isnat(columns["timestamp"]).tolist() == [False, True, False]
    some = read(str(tmp_path / "t.parquet"), lambda names: Wanted(["text", "same'\";"])).columns
    assert list(some) == ["text", "same'\";"]


@pytest.mark.parametrize(
    "name", ["a*.parquet", "a?.parquet", "[ab].parquet", "a{b,c}.parquet", "'; drop\".parquet", "a\\*.parquet"]
)
def test_file_names_are_taken_literally(tmp_path: Path, name: str) -> None:
    """Tests that wildcards and quotes in a file name have no special meaning."""
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / name)
    for other in ("ab.parquet", "a.parquet", "b.parquet", "ac.parquet"):
        pq.write_table(pa.table({"x": [2.0]}), tmp_path / other)
    assert read(str(tmp_path / name)).columns["x"].tolist() == [1.0]


@pytest.fixture
def database(tmp_path: Path) -> str:
    path = tmp_path / "plant.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE "two words" (site TEXT, "load" REAL, n INTEGER)')
        connection.executemany('INSERT INTO "two words" VALUES (?, ?, ?)', [("north", 1.5, 7), ("south", None, 8)])
    connection.close()
    return f"sqlite:///{path}"


def test_tables_and_queries_of_a_database(database: str) -> None:
    """Tests a table by its name, and a query with a colon in it."""
    assert plain(read(database, sql="two words")) == {"site": ["north", "south"], "load": [1.5, None], "n": [7.0, 8.0]}
    query = "SELECT site || ':x' AS s, n FROM \"two words\" WHERE n > 7"
    assert plain(read(database, sql=query)) == {"s": ["south:x"], "n": [8.0]}
    assert list(read(database, lambda names: Wanted(["n"]), sql="two words").columns) == ["n"]


def test_database_errors_are_one_sentence(database: str, tmp_path: Path) -> None:
    """Tests missing tables, files and rows, statements that write, and that no password is shown."""
    for sql, message in (
        (None, "its tables are: two words"),
        ("two_words", "there is no table two_words: did you mean two words?"),
        ("SELECT * FROM nowhere", "plant.db: no such table: nowhere"),
        ("DELETE FROM 'two words'", "attempt to write a readonly database"),
        ("SELECT site FROM 'two words' WHERE n > 9", "there are no rows"),
        ("SELECT site, site FROM 'two words'", "both called 'site'"),
    ):
        with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
            read(database, sql=sql)
        assert message in str(caught.value)
    assert read(database, sql="two words").n_rows == 2
    with pytest.raises(FileNotFoundError, match=r"there is no database file"):
        read(f"sqlite:///{tmp_path}/none.db", sql="t")
    assert not (tmp_path / "none.db").exists()
    for url in (
        "nosuchbase://me:secret@host/db",
        "postgresql+nodriver://me:secret@host/db",
        "mysql://me:secret@host:x/db",
    ):
        with pytest.raises(ValueError, match=r"^(?!.*secret)[^\n]*$"):
            read(url, sql="t")


def test_databases_need_an_extra(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the message names the extra to install if SQLAlchemy is missing."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ValueError, match=r"pip install 'paribus\[sql\]'"):
        read(database, sql="two words")


class Absent(MetaPathFinder):
    """Finds no module of these names."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Ends the search."""
        if fullname in self.names:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


def test_parquet_needs_no_dataframe_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Parquet is read and written without pandas, polars or pyarrow."""
    from paribus.io.writing import append_columns

    modules = {"pandas", "polars", "pyarrow"}
    for module in modules:
        # Not None: releases of DuckDB before 1.5 would take that for a module that is there.
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Absent(modules), *sys.meta_path])
    columns = {"x": np.array([1.0, np.nan]), "s": np.array(["a", None], dtype=object)}
    with append_columns(tmp_path / "t.parquet", columns) as append:
        append(columns)
        append(columns)
    expected = {"x": [1.0, None, 1.0, None], "s": ["a", None, "a", None]}
    assert plain(read(str(tmp_path / "t.parquet"))) == expected
    with ExitStack() as stack:
        batches = list(open_stream(str(tmp_path / "t.parquet"), stack).batches())
    assert [plain(ReadTable("t", batch, 4)) for batch in batches] == [expected]
