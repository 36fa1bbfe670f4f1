"""Files with the scores of all rows."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from paribus.io.reading import read
from paribus.io.writing import append_columns, parquet, write_columns
from paribus.io.writing.delimited import safe_text

LABELS = np.array(["a;b", "=1+1", '-2"', "-7"], dtype=object)
SCORES: dict[str, Any] = {
    "id": LABELS,
    "score": np.array([5.0, np.nan, 80.5, 5.0]),
    "rank": np.array([2.0, np.nan, 1.0, 2.0]),
    "label": np.array(["normal", "not scored", "anomaly", "normal"], dtype=object),
    "partial_rain": np.array([5.0, np.nan, 80.5, 5.0]),
    "partial_=wind": np.array([np.nan, np.nan, 80.5, 5.0]),
}


def test_csv_has_all_rows_and_no_formula(tmp_path: Path) -> None:
    """Tests that ranks, labels and partial scores are written, and that no text starts like a formula."""
    write_columns(tmp_path / "s.csv", SCORES)
    text = (tmp_path / "s.csv").read_text()
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["id", "score", "rank", "label", "partial_rain", "partial_=wind"]
    assert rows[1] == ["a;b", "5.0", "2", "normal", "5.0", ""]
    assert rows[2] == ["'=1+1", "", "", "not scored", "", ""]
    assert rows[3] == ["'-2\"", "80.5", "1", "anomaly", "80.5", "80.5"]
    # A number is not a formula.
    assert rows[4][0] == "-7"
    # Quoted for programs that separate values at semicolons.
    assert '"a;b"' in text


def test_all_formats_hold_the_same_values(tmp_path: Path) -> None:
    """Tests that JSON lines and Parquet have the same values, with null where a value is missing."""
    write_columns(tmp_path / "s.jsonl", SCORES)
    write_columns(tmp_path / "s.parquet", SCORES)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines[1] == {
        "id": "=1+1", "score": None, "rank": None, "label": "not scored", "partial_rain": None, "partial_=wind": None,
    }  # fmt: skip
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.to_pylist() == lines
    assert [str(field.type) for field in table.schema] == ["string", "double", "int64", "string", "double", "double"]
    assert len(os.listdir(tmp_path)) == 2


def test_an_unknown_suffix_is_an_error(tmp_path: Path) -> None:
    """Tests that the message lists the known suffixes."""
    with pytest.raises(ValueError, match=r"must end in one of \.csv, \.tsv, \.parquet, \.jsonl"):
        write_columns(tmp_path / "s.xml", SCORES)
    assert not os.listdir(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an error during the write leaves the old file unchanged, for each format."""
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        (tmp_path / name).write_text("old")
    monkeypatch.setattr("paribus.io.writing.rows.zip", lambda *_, **__: _fail(), raising=False)
    monkeypatch.setattr("paribus.io.writing.parquet.connect", _fail)
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        with pytest.raises(OSError, match="No space left"):
            write_columns(tmp_path / name, SCORES)
        assert (tmp_path / name).read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["s.csv", "s.jsonl", "s.parquet"]


def test_parquet_rejects_names_that_differ_only_in_case(tmp_path: Path) -> None:
    """Tests that no column is renamed: CSV holds both, and Parquet is an error that leaves no file."""
    scores: dict[str, Any] = {
        "score": np.array([1.0]),
        "partial_rain": np.array([1.0]),
        "partial_Rain": np.array([2.0]),
    }
    write_columns(tmp_path / "s.csv", scores)
    assert (tmp_path / "s.csv").read_text().startswith("score,partial_rain,partial_Rain\n")
    message = r"cannot write '.*s.parquet': .* both 'partial_rain' and 'partial_Rain', which differ only in"
    with pytest.raises(ValueError, match=message):
        write_columns(tmp_path / "s.parquet", scores)
    assert os.listdir(tmp_path) == ["s.csv"]


def test_parquet_is_drafted_in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Parquet needs no other folder, that names are taken literally, and the message for a full disk."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    write_columns(tmp_path / "s.parquet", SCORES)
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("a*[b]?{c}", "quote'\"s", "\udcff"):
        folder = tmp_path / name
        folder.mkdir()
        write_columns(folder / f"{name}.parquet", SCORES)
        assert read(str(folder / f"{name}.parquet")).n_rows == 4
        assert len(os.listdir(folder)) == 1
    code = f"""
import resource, signal, numpy as np
from paribus.io.writing import write_columns
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    write_columns({str(tmp_path / "s.parquet")!r}, {{"score": np.random.default_rng(0).random(50_000)}})
except OSError as error:
    print(error)
"""
    before = (tmp_path / "s.parquet").read_bytes()
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == f"cannot write '{tmp_path / 's.parquet'}': file too large\n"
    assert (tmp_path / "s.parquet").read_bytes() == before
    assert len(os.listdir(tmp_path)) == 4


def test_row_groups_of_wide_tables_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that many columns have fewer rows in a group, in parts and when these are joined, and keep their order."""
    monkeypatch.setattr(parquet, "VALUES_IN_GROUP", 2 * parquet.MIN_ROWS_IN_GROUP)
    columns = {"row": np.arange(10_000.0), "twice": 2.0 * np.arange(10_000.0)}
    with append_columns(tmp_path / "s.parquet", columns) as append:
        for begin in (0, 6_000):
            append({name: column[begin : begin + 6_000] for name, column in columns.items()})
        (part,) = tmp_path.glob("**/00000001.parquet")
        assert pq.ParquetFile(part).num_row_groups == 2
    found = pq.ParquetFile(tmp_path / "s.parquet")
    sizes = [found.metadata.row_group(place).num_rows for place in range(found.num_row_groups)]
    # DuckDB adds what is left of one part to the beginning of the next one.
    assert max(sizes) < 2 * parquet.MIN_ROWS_IN_GROUP
    assert found.read().column("row").to_pylist() == list(range(10_000))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_every_start_of_a_formula_is_guarded(start: str) -> None:
    """Tests that text that a spreadsheet may treat as a formula gets an apostrophe, and other text does not."""
    assert safe_text(f"{start}SUM(A1)") == f"'{start}SUM(A1)"
    assert safe_text(f"A1{start}") == f"A1{start}"


def _fail() -> None:
    raise OSError("No space left on device")
