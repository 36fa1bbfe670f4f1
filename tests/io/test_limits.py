"""What is too large is refused with one sentence that says how to raise the limit, before it takes memory."""

from __future__ import annotations

import gzip
import io
import json
import resource
import sqlite3
import tracemalloc
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paribus import QCAD, ConditionalSurprise
from paribus._common import control_groups, memory
from paribus.io.reading import Limits, TextOptions, Wanted, open_stream, parse_limits, read
from tests.support.running import ROLES, invoke, write_table

FORMATS = ["csv", "jsonl", "parquet", "db"]


def write(path: Path, columns: dict[str, list[Any]]) -> str:
    """Writes a table in the format of the suffix, and returns what to read."""
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in [tuple(columns), *rows]))
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows))
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    else:
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE t ({', '.join(columns)})")
            connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
        connection.close()
        return f"sqlite:///{path}"
    return str(path)


def read_both_ways(source: str, limits: Limits) -> dict[str, Any]:
    """Reads a table at once and in batches, which must raise the same error or none."""
    text, sql = TextOptions(limits=limits), "t" if source.startswith("sqlite") else None
    found: dict[str, Any] = {}
    messages = set()
    try:
        found = read(source, text=text, sql=sql).columns
    except ValueError as error:
        messages.add(str(error))
    try:
        with ExitStack() as stack:
            list(open_stream(source, stack, text=text, sql=sql).batches())
    except ValueError as error:
        messages.add(str(error))
    if messages:
        assert len(messages) == 1
        raise ValueError(messages.pop())
    return found


@pytest.mark.parametrize("suffix", FORMATS)
def test_too_many_columns_are_refused(tmp_path: Path, suffix: str) -> None:
    """Tests that a table with one column too many is refused in every format, and read with a higher limit."""
    source = write(tmp_path / f"t.{suffix}", {f"c{i}": ["1", "2"] for i in range(31)})
    with pytest.raises(ValueError, match=r"^t\.\w+: it has more than 30 columns: .* --limit columns=40 if"):
        read_both_ways(source, Limits(columns=30))
    assert len(read_both_ways(source, Limits(columns=31))) == 31


@pytest.mark.parametrize("suffix", FORMATS)
def test_too_long_values_are_refused(tmp_path: Path, suffix: str) -> None:
    """Tests that a value with one character too many is refused in every format, and read with a higher limit."""
    source = write(tmp_path / f"t.{suffix}", {"a": ["x", "y" * 1001], "b": ["1", "2"]})
    with pytest.raises(ValueError, match=r"^t\.\w+.*: a value is longer than 1,000 characters: .*--limit cell="):
        read_both_ways(source, Limits(cell=1000))
    assert len(read_both_ways(source, Limits(cell=1001))["a"][1]) == 1001


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_too_long_lines_are_refused(tmp_path: Path, suffix: str) -> None:
    """Tests that lines are read up to a limit."""
    source = write(tmp_path / f"t.{suffix}", {f"c{i}": ["1", "x" * 90] for i in range(10)})
    with pytest.raises(ValueError, match=r"^t\.\w+, line \d: it is longer than 900 characters: .* --limit line=9000"):
        read_both_ways(source, Limits(line=900))
    assert len(read_both_ways(source, Limits(line=9000))) == 10


@pytest.mark.parametrize("opening", ["[", '{"a": '])
def test_deep_json_is_refused(tmp_path: Path, opening: str) -> None:
    """Tests that lists and objects are read up to a depth; brackets inside of text do not count."""
    closing = "]" if opening == "[" else "}"
    for depth in (10, 11):
        line = '{"b": "[[[[[[[[[[[[[[[[", "a": ' + opening * depth + "1" + closing * depth + "}\n"
        (tmp_path / "t.jsonl").write_text(line)
        if depth == 10:
            assert list(read_both_ways(str(tmp_path / "t.jsonl"), Limits(nesting=10))) == ["b", "a"]
        else:
            with pytest.raises(ValueError, match=r"t.jsonl, line 1: its lists and objects are nested more than 10"):
                read_both_ways(str(tmp_path / "t.jsonl"), Limits(nesting=10))


def test_objects_with_other_keys_each_take_little_memory(tmp_path: Path) -> None:
    """Tests that a sparse table is refused without taking memory for its missing values, and that columns of it can be
    read."""
    n = 2500
    path = tmp_path / "t.jsonl"
    path.write_text("".join(f'{{"key{i}": {i}, "x": {i}}}\n' for i in range(n)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"2,500 rows have 2,501 distinct keys, so only 5,000 of 6,252,500"):
            read_both_ways(str(path), Limits())
        table = read(str(path), lambda _: Wanted(["x", "key7"]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * path.stat().st_size
    assert table.columns["x"].tolist() == list(range(n))
    assert np.flatnonzero(~np.isnan(table.columns["key7"])).tolist() == [7]


def test_files_that_decompress_to_far_more_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that gzipped text and Parquet stop at a multiple of their size, before they fill memory or the disk."""
    monkeypatch.setattr("paribus.io.reading.limits.SMALL_SIZE", 1000)
    data = {"t.csv.gz": b"a,b\n" + b"1,2\n" * 30_000, "t.parquet.gz": b"PAR1" + bytes(120_000)}
    for name, content in data.items():
        (tmp_path / name).write_bytes(gzip.compress(content, mtime=0))
        with pytest.raises(ValueError, match=rf"^{name}: it becomes more than 200 times as large .* expansion=2000"):
            read_both_ways(str(tmp_path / name), Limits())
    assert len(read_both_ways(str(tmp_path / "t.csv.gz"), Limits(expansion=2000))["a"]) == 30_000


def test_a_few_bytes_of_parquet_can_stand_for_more_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a text that is repeated by a dictionary is measured before it becomes one object per row."""
    path = tmp_path / "t.parquet"
    long = pa.DictionaryArray.from_arrays(np.zeros(100_000, dtype=np.int32), ["x" * 50_000])
    pq.write_table(pa.table({"a": long, "b": np.arange(100_000)}), path)
    assert path.stat().st_size < 1_000_000
    monkeypatch.setattr(memory, "_limits", lambda: iter([10**9]))
    with pytest.raises(MemoryError, match=r"reading 100,000 rows of 2 columns at once needs about 5.0 GB of memory"):
        read(str(path))
    assert len(read(str(path), lambda _: Wanted(["b"])).columns["b"]) == 100_000


def test_text_that_cannot_fit_into_memory_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the size of a text file tells before it is read that it cannot fit."""
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n" + "1,2,3\n" * 10_000)
    monkeypatch.setattr("paribus.io.reading.delimited.SMALL_FILE", 1000)
    monkeypatch.setattr(memory, "_limits", lambda: iter([10**6]))
    with pytest.raises(MemoryError, match=r"reading 10,001 rows of 3 columns at once needs about 2 MB"):
        read(str(path))


def test_the_limits_of_process_and_container_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the memory of this process is that of its container or of ulimit, if that is less."""
    machine = memory.memory_limit()
    assert machine is not None
    for version, own, file in [("0::/job/step", "job", "memory.max"), ("4:cpu,memory:/job", "memory/job", None)]:
        (tmp_path / "groups").write_text(f"{version}\n")
        folder = tmp_path / own
        folder.mkdir(parents=True)
        (folder / (file or "memory.limit_in_bytes")).write_text("123456789\n")
        monkeypatch.setattr(control_groups, "OWN_GROUPS", tmp_path / "groups")
        monkeypatch.setattr(control_groups, "CONTROL_GROUPS", tmp_path)
        assert memory.memory_limit() == 123_456_789
    (tmp_path / "groups").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10**6, 10**6))
    assert memory.memory_limit() == 10**6


def test_limits_are_an_option_of_the_command(tmp_path: Path) -> None:
    """Tests that the command says which limit was hit, takes a higher one, and explains a wrong one."""
    days = write_table(tmp_path / "days.csv", 60)
    code, _, err = invoke("detect", days, *ROLES, "--limit", "columns=3")
    assert (code, err.count("\n")) == (2, 1)
    assert "days.csv: it has more than 3 columns: raise the limit with --limit columns=7" in err
    assert invoke("detect", days, "--limit", "columns=7")[0] == 0
    for wrong in ("columns", "columns=-1", "rows=5", "columns=²"):
        code, _, err = invoke("detect", days, "--limit", wrong)
        assert code == 2
        assert "it must be NAME=NUMBER, with one of the names columns, cell, line, nesting, expansion" in err
    assert parse_limits(["cell=5"]) == Limits(cell=5)


def test_a_fit_that_cannot_fit_into_memory_is_not_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the number of rows and columns tells before the fit that there is not enough memory."""
    days = write_table(tmp_path / "days.csv", 60)
    monkeypatch.setattr(memory, "_limits", lambda: iter([3 * 10**8]))
    code, _, err = invoke("detect", days, *ROLES)
    assert (code, err.count("\n")) == (2, 1)
    assert "a fit to 60 rows of 6 columns of days.csv needs about 301 MB of memory, and this process may use" in err


def test_a_fit_in_python_that_cannot_fit_into_memory_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a fit is refused by the same estimate in Python, and leaves a fitted detector as it was."""
    table = {name: np.arange(50.0) % place for place, name in enumerate("xyz", 5)}
    detector = ConditionalSurprise(["x"], ["y"], n_trees=2).fit(table)
    scores = detector.anomaly_scores_
    monkeypatch.setattr(memory, "_limits", lambda: iter([3 * 10**8]))
    message = (
        r"a fit to 50 rows of 3 columns needs about 300 MB of memory, and this process may use 300 MB: fit a sample"
    )
    for make in (QCAD, ConditionalSurprise):
        with pytest.raises(MemoryError, match=message):
            make(["x"], ["y", "z"]).fit(table)
    with pytest.raises(MemoryError, match="a fit to 50 rows of 2 columns"):
        detector.fit(table)
    assert detector.anomaly_scores_ is scores


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "needed"), [(1_000, 1_000, 2.4e9), (200, 10_000, 4.5e9), (10**6, 10, 1.6e9)]
)
def test_wide_and_long_tables_need_what_they_take(
    monkeypatch: pytest.MonkeyPatch, n_rows: int, n_columns: int, needed: float
) -> None:
    """Tests that the forests of short columns are not taken for those of long ones."""
    monkeypatch.setattr(memory, "_limits", lambda: iter([int(needed)]))
    memory.check_fit("it", n_rows, n_columns, "")
    monkeypatch.setattr(memory, "_limits", lambda: iter([int(0.9 * needed)]))
    with pytest.raises(MemoryError):
        memory.check_fit("it", n_rows, n_columns, "")


def test_pipes_are_bounded_like_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that limits hold for standard input."""
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b,c\n1,2,3\n")))
    with pytest.raises(ValueError, match=r"^standard input: it has more than 2 columns"):
        read("-", text=TextOptions(limits=Limits(columns=2)))
