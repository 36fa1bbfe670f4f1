"""Tables that are read in batches have the values of those that are read at once."""

from __future__ import annotations

import gzip
import json
import signal
import sqlite3
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paribus.io.duck import connect, interruptible
from paribus.io.reading import TextOptions, Wanted, open_stream, raw, read

# Cells of all kinds, also those that make a column change its kind in the last line.
CELLS = [
    "1",
    "2.5",
    "-3",
    "",
    "NA",
    "north",
    "true",
    "False",
    "2026-01-31",
    "2026-02-01T10:00:00Z",
    "1,5",
    " 7 ",
    "1e9",
]
cells = st.sampled_from(CELLS)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three rows."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 3)


def values_of(columns: dict[str, Any]) -> dict[str, list[Any]]:
    found = {name: np.asarray(values) for name, values in columns.items()}
    return {
        name: [str(values.dtype.kind if values.dtype.kind not in "iu" else "f")]
        + [None if value != value else value for value in values.tolist()]
        for name, values in found.items()
    }


def at_once(path: str, **options: Any) -> Any:
    notes: list[str] = []
    try:
        return values_of(read(path, note=notes.append, **options).columns), notes
    except ValueError as error:
        return str(error)


def in_batches(path: str, **options: Any) -> Any:
    notes: list[str] = []
    try:
        with ExitStack() as stack:
            stream = open_stream(path, stack, note=notes.append, **options)
            batches = list(stream.batches())
            again = list(stream.batches())
    except ValueError as error:
        return str(error)
    n_rows = len(next(iter(batches[0].values())))
    assert n_rows <= 3
    assert [values_of(batch) for batch in again] == [values_of(batch) for batch in batches]
    assert sum(len(next(iter(batch.values()))) for batch in batches) == stream.n_rows
    return values_of({name: np.concatenate([batch[name] for batch in batches]) for name in stream.names}), notes


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=10),
    strict=st.booleans(),
    separator=st.sampled_from([";", ","]),
    ragged=st.booleans(),
)
def test_delimited_text(tmp_path: Path, rows: list[list[str]], strict: bool, separator: str, ragged: bool) -> None:
    """Tests that values, types, notes and errors are the same, whatever a column turns into at its end."""
    written = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in rows]
    lines = ["a;b".replace(";", separator), *(separator.join(row) for row in written)]
    if ragged:
        lines.append(separator.join(["1", "2", "3"]))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    options = {"text": TextOptions(separator=separator, has_header=True), "choose": lambda _: Wanted(strict=strict)}
    assert in_batches(str(path), **options) == at_once(str(path), **options)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 2.5, True, None, "x", "3", "2026-01-31"])),
        min_size=1,
        max_size=9,
    )
)
def test_json_lines(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """Tests that keys that come late, and values of several types, are read alike."""
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert in_batches(str(path)) == at_once(str(path))


def test_parquet_and_databases(tmp_path: Path) -> None:
    """Tests numbers with gaps, text that is numbers, booleans and timestamps."""
    frame = pd.DataFrame(
        {
            "whole": np.arange(8),
            "gaps": [1.0, None, 3.0, None, None, None, 7.0, 8.0],
            "text": ["1", "2", None, "4", "5", "6", "7", "x"],
            "digits": [str(each) for each in range(8)],
            "flag": [True, False, None, True, False, None, True, True],
            "when": pd.date_range("2026-01-01", periods=8),
        }
    )
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", row_group_size=5)
    path = str(tmp_path / "t.parquet")
    assert in_batches(path) == at_once(path)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        frame.drop(columns="flag").to_sql("t", connection, index=False)
    connection.close()
    address = f"sqlite:///{tmp_path / 't.db'}"
    assert in_batches(address, sql="t") == at_once(address, sql="t")


def test_compressed_text_is_read_again_from_its_start(tmp_path: Path) -> None:
    """Tests gzipped text, which is decompressed for each reading."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 10))
    assert in_batches(str(path)) == at_once(str(path))


def test_a_folder_is_one_table(tmp_path: Path) -> None:
    """Tests files of a folder in the order of their names, with values in the names of folders."""
    for year in (2025, 2026):
        for month in ("May", "__HIVE_DEFAULT_PARTITION__"):
            folder = tmp_path / "days" / f"year={year}" / f"month={month}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"rain": [1.5, 2.5, None, year], "wind": [1, 2, 3, 4]}), folder / "part-0.parquet")
    (tmp_path / "days" / "_SUCCESS").write_text("")
    (tmp_path / "days" / ".hidden").write_text("")
    found, _ = in_batches(str(tmp_path / "days"))
    assert list(found) == ["rain", "wind", "year", "month"]
    assert found["year"] == ["f", *[2025.0] * 8, *[2026.0] * 8]
    assert found["month"][1:] == [*["May"] * 4, *[None] * 4] * 2
    assert at_once(str(tmp_path / "days")) == (found, [])
    some, _ = in_batches(str(tmp_path / "days"), choose=lambda _: Wanted(["month", "wind"]))
    assert list(some) == ["wind", "month"]


def test_a_folder_of_csv_files_has_one_type_per_column(tmp_path: Path) -> None:
    """Tests that text in the last file makes the column text in all of them."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "1.csv").write_text("a,b\n1,2\n")
    (folder / "2.csv").write_text("a,b\n3,x\n")
    found, _ = in_batches(str(folder))
    assert found == {"a": ["f", 1.0, 3.0], "b": ["O", "2", "x"]}


def test_parquet_files_of_a_folder_have_one_type_per_column(tmp_path: Path) -> None:
    """Tests that numbers in one file and words in another are an error, and no categories; numbers as text are fine."""
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table({"y": [0.5, 1.5, 2.5, 3.5]}), folder / "1.parquet")
    for values, is_fine, part in (
        (["1", "2", "3", "4.25"], True, 2),
        (["k0", "k1", "k2", "k3"], False, 2),
        (["k"], False, 0),
    ):
        pq.write_table(pa.table({"y": values}), folder / f"{part}.parquet")
        with ExitStack() as stack:
            if is_fine:
                columns = open_stream(str(folder), stack, lambda _: Wanted(strict=True)).read().columns
                assert columns["y"].tolist() == [0.5, 1.5, 2.5, 3.5, 1.0, 2.0, 3.0, 4.25]
                continue
            with pytest.raises(
                ValueError, match=r"^parts: column 'y' has numbers in one file and text that is no number"
            ):
                open_stream(str(folder), stack, lambda _: Wanted(strict=True))


def test_files_of_a_folder_must_belong_together(tmp_path: Path) -> None:
    """Tests that other columns, and no files at all, are one sentence each."""
    with pytest.raises(ValueError, match="is a folder without files"):
        read(str(tmp_path))
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("a,c\n1,2\n")
    with pytest.raises(ValueError, match=r"its files are not parts of one table: 2.csv has other columns than 1.csv"):
        read(str(tmp_path))


def test_damage_in_a_later_batch_names_its_line(tmp_path: Path) -> None:
    """Tests that a line with too many values is found before anything is scored."""
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 10 + "1,2,3\n")
    with ExitStack() as stack, pytest.raises(ValueError, match=r"t.csv, line 12: it has 3 values and the first line 2"):
        open_stream(str(path), stack)


def test_long_statements_end_with_a_signal() -> None:
    """Tests that what a signal's handler raises ends a statement of DuckDB at once, and is raised."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with connect() as connection:
            rows = connection.sql("SELECT sum(sqrt(a.range * b.range)) FROM range(10000000) a, range(10000000) b")
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                interruptible(connection, rows.fetchall)
            assert time.monotonic() - start < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_errors_of_statements_are_raised() -> None:
    """Tests that an error in the thread is the error of the caller."""
    with connect() as connection, pytest.raises(duckdb.Error):
        interruptible(connection, lambda: connection.sql("SELECT 1 / 'x'").fetchall())
