"""Files of results: golden files for each format, round trips, and text that a spreadsheet could run."""

from __future__ import annotations

import csv
import datetime as dt
import json
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paribus.io.reading import read
from paribus.io.writing import check_format, write_columns
from paribus.io.writing.options import WriteOptions
from tests.support.hostile import NAMES

SUFFIXES = ("csv", "tsv", "parquet", "jsonl", "xlsx", "duckdb", "sqlite", "db")
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "http://example.org", "'quoted", "007"]


def source() -> pa.Table:
    """A table with a column of each type, and missing values."""
    return pa.table(
        {
            "id": ["007", "x", None],
            "n": pa.array([1, None, 3], pa.int32()),
            "day": pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]),
            "at": pa.array([dt.datetime(2024, 1, 1, 5), dt.datetime(2024, 1, 2), None]),
            "ok": [True, None, False],
            "f": [1.0, 2.0, None],
            "single": pa.array([1.5, None, 2.0], pa.float32()),
            "text": ["=1+1", "two, words", None],
            "price": pa.array([1, 2, 3], pa.decimal128(10, 2)),
            "empty": pa.array([None, None, None], pa.string()),
        }
    )


RESULTS: dict[str, Any] = {
    "row": np.arange(3),
    "score": np.array([5.25, np.nan, 0.5]),
    "p_value": np.array([1e-6, np.nan, 0.3]),
    "rank": np.array([1.0, np.nan, 2.0]),
    "label": np.array(["anomaly", "not scored", "normal"], dtype=object),
    "group": np.array([1.0, np.nan, np.nan]),
}
GOLDEN_CSV = """row,score,p_value,rank,label,group,id,n,day,at,ok,f,single,text,price,empty
0,5.25,1e-06,1,anomaly,1,007,1,2024-01-01,2024-01-01 05:00:00,true,1.0,1.5,'=1+1,1.0,
1,,,,not scored,,x,,,2024-01-02 00:00:00,,2.0,,"two, words",2.0,
2,0.5,0.3,2,normal,,,3,2024-01-03,,false,,2.0,,3.0,
"""
GOLDEN_JSON = {
    "row": 0, "score": 5.25, "p_value": 1e-06, "rank": 1, "label": "anomaly", "group": 1, "id": "007", "n": 1,
    "day": "2024-01-01", "at": "2024-01-01 05:00:00", "ok": True, "f": 1.0, "single": 1.5, "text": "=1+1",
    "price": 1.0, "empty": None,
}  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with the results and the columns of the source in every format."""
    pq.write_table(source(), tmp_path / "source.parquet")
    table = read(str(tmp_path / "source.parquet"))
    for suffix in SUFFIXES:
        write_columns(tmp_path / f"r.{suffix}", RESULTS | table.columns, WriteOptions(table.types))
    return tmp_path


def test_csv_and_json_lines_are_as_they_should_be(written: Path) -> None:
    """Tests the golden files: whole numbers, dates, booleans, missing values, and no formula."""
    assert (written / "r.csv").read_text() == GOLDEN_CSV
    assert (written / "r.tsv").read_text().splitlines()[0] == GOLDEN_CSV.splitlines()[0].replace(",", "\t")
    lines = (written / "r.jsonl").read_text().splitlines()
    assert json.loads(lines[0]) == GOLDEN_JSON
    assert list(json.loads(lines[0])) == list(GOLDEN_JSON)
    assert len(lines) == 3


def test_parquet_keeps_all_types(written: Path) -> None:
    """Tests that what comes in comes out, with its type, and that ids stay text."""
    found = pq.read_table(written / "r.parquet")
    original = source()
    assert found.select(original.column_names).schema.types == original.schema.types
    assert found.select(original.column_names).to_pylist() == original.to_pylist()
    assert [str(found.schema.field(name).type) for name in RESULTS] == [
        "int64", "double", "double", "int64", "string", "int64",
    ]  # fmt: skip


def test_a_workbook_has_typed_cells_and_no_formula(written: Path) -> None:
    """Tests numbers, dates, booleans and text, the header that stays in view, and that two files are the same."""
    sheet = openpyxl.load_workbook(written / "r.xlsx").active
    rows = [[cell.value for cell in row] for row in sheet.rows]
    assert rows[0] == list(GOLDEN_JSON)
    day, at = dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 5)
    assert rows[1] == [*list(GOLDEN_JSON.values())[:8], day, at, True, 1, 1.5, "=1+1", 1, None]
    assert {cell.data_type for row in sheet.rows for cell in row} <= {"n", "s", "d", "b"}
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == "A1:P4"
    table = read(str(written / "source.parquet"))
    write_columns(written / "again.xlsx", RESULTS | table.columns, WriteOptions(table.types))
    assert (written / "again.xlsx").read_bytes() == (written / "r.xlsx").read_bytes()


@pytest.mark.parametrize("suffix", ["sqlite", "db", "duckdb"])
def test_databases_keep_their_other_tables(suffix: str, written: Path) -> None:
    """Tests that the table is replaced as a whole, that others stay, and that a foreign one is not touched."""
    path = written / f"r.{suffix}"
    connect: Any = duckdb.connect if suffix == "duckdb" else sqlite3.connect
    connection = connect(str(path))
    assert connection.execute("SELECT n, \"rank\" FROM scores WHERE id = 'x'").fetchall() == [(None, None)]
    connection.execute("CREATE TABLE mine (a INTEGER)")
    connection.commit()
    connection.close()
    write_columns(path, RESULTS)
    connection = connect(str(path))
    assert len(connection.execute("SELECT * FROM scores").fetchone()) == len(RESULTS)
    assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)
    connection.close()
    message = "has a table mine that paribus did not write: choose another name with --out-table"
    with pytest.raises(ValueError, match=message):
        check_format(path, (), WriteOptions(table="mine"))
    with pytest.raises(ValueError, match=message):
        write_columns(path, RESULTS, WriteOptions(table="mine"))
    write_columns(path, RESULTS, WriteOptions(table='odd "; DROP TABLE mine; --'))
    connection = connect(str(path))
    assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)
    connection.close()


def test_a_failure_leaves_the_database_as_it_was(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a table that cannot be written completely is not replaced at all."""
    for name in ("r.sqlite", "r.duckdb"):
        before = read(f"{name.partition('.')[2]}:///{written / name}", sql="scores").columns["score"].tolist()
        monkeypatch.setattr("paribus.io.writing.database.plain_rows", _failing_rows)
        monkeypatch.setattr("paribus.io.writing.database.as_relation", _fail)
        with pytest.raises(OSError, match="No space left"):
            write_columns(written / name, RESULTS)
        monkeypatch.undo()
        after = read(f"{name.partition('.')[2]}:///{written / name}", sql="scores").columns["score"].tolist()
        assert repr(before) == repr(after)


def test_another_kind_of_file_is_not_overwritten_by_a_database(tmp_path: Path) -> None:
    """Tests that a text file called .db, or an SQLite file called .duckdb, is an error before the work starts."""
    (tmp_path / "notes.db").write_text("my notes, which are long enough")
    sqlite3.connect(tmp_path / "real.duckdb").execute("CREATE TABLE a (b)").connection.close()
    for name, kind in (("notes.db", "an SQLite"), ("real.duckdb", "a DuckDB")):
        with pytest.raises(ValueError, match=f"{name} is not {kind} database"):
            check_format(tmp_path / name)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hostile_names_and_values_are_only_text(suffix: str, tmp_path: Path) -> None:
    """Tests that no format runs, loses or misplaces text that looks like code, as a name or as a value."""
    texts = [*NAMES, *FORMULAS]
    columns: dict[str, Any] = {name: np.array([name, *FORMULAS[:2]], dtype=object) for name in texts}
    columns |= {name: np.array([1.0, 2.0, 3.0]) for name in ("score", "p_value", "rank", "label")}
    path = tmp_path / f"h.{suffix}"
    if suffix in ("parquet", "duckdb", "sqlite", "db"):
        # Names of columns and text in databases cannot hold these.
        columns = {name: values for name, values in columns.items() if "\ud800" not in name and "\x00" not in name}
    write_columns(path, columns)
    assert path.stat().st_size > 0
    if suffix == "csv":
        rows = list(csv.reader(path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)))
        starts = {cell[0] for row in rows for cell in row if cell}
        assert not starts & set("=+-@\t\r\n")
    if suffix == "xlsx":
        sheet = openpyxl.load_workbook(path).active
        assert {cell.data_type for row in sheet.rows for cell in row} <= {"n", "s"}
        assert not any(cell.hyperlink for row in sheet.rows for cell in row)
    if suffix == "duckdb":
        assert len(read(f"duckdb:///{path}", sql="scores").columns) == len(columns)


def test_a_missing_writer_of_workbooks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the message says what to install, before anything is written."""
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(ValueError, match=r"spreadsheets need XlsxWriter: pip install 'paribus\[xlsx\]'"):
        check_format(tmp_path / "r.xlsx")


def test_a_duckdb_file_is_read_without_other_packages(tmp_path: Path) -> None:
    """Tests a table, a query, a misspelled name, and that a query can neither write nor read other files."""
    path = tmp_path / "w.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE days AS SELECT 'May' AS month, 1.5 AS rain, DATE '2024-01-31' AS day")
    connection.close()
    found = read(f"duckdb:///{path}", sql="days")
    assert found.columns["month"].tolist() == ["May"]
    assert found.types["day"] == "DATE"
    assert read(f"duckdb:///{path}", sql="SELECT rain * 2 AS twice FROM days").columns["twice"].tolist() == [3.0]
    with pytest.raises(ValueError, match="there is no table dayz: did you mean days"):
        read(f"duckdb:///{path}", sql="dayz")
    for query in ("DROP TABLE days; SELECT 1", f"SELECT * FROM read_csv('{tmp_path}/x.csv')"):
        with pytest.raises(ValueError, match=r"w\.duckdb: "):
            read(f"duckdb:///{path}", sql=query)
    assert read(f"duckdb:///{path}", sql="days").n_rows == 1


def _fail(*_: Any) -> Any:
    raise OSError("No space left on device")


def _failing_rows(*_: Any) -> Any:
    yield (0, 1.0, 1.0, 1, "a", 1)
    raise OSError("No space left on device")
