"""The scores of all rows as a file."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from paribus.score_file import Scores, write_scores

SCORES = Scores(
    np.array([5.0, np.nan, 80.5, 5.0]),
    {"rain": np.array([5.0, np.nan, 80.5, 5.0]), "=wind": np.array([np.nan, np.nan, 80.5, 5.0])},
    50.0,
    np.array(["a;b", "=1+1", '-2"', "-7"], dtype=object),
)


def test_csv_has_all_rows_and_no_formula(tmp_path: Path) -> None:
    """Tests that ranks, verdicts and partial scores are there, and that no text starts like a formula."""
    write_scores(tmp_path / "s.csv", SCORES)
    text = (tmp_path / "s.csv").read_text()
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["id", "score", "rank", "label", "partial_rain", "partial_=wind"]
    assert rows[1] == ["a;b", "5.0", "2", "normal", "5.0", ""]
    assert rows[2] == ["'=1+1", "", "", "not scored", "", ""]
    assert rows[3] == ["'-2\"", "80.5", "1", "anomaly", "80.5", "80.5"]
    # A number is no formula.
    assert rows[4][0] == "-7"
    # A program that splits at semicolons sees one value here, too.
    assert '"a;b"' in text


def test_all_formats_hold_the_same(tmp_path: Path) -> None:
    """Tests that JSON lines and Parquet have the values of the CSV file, and nothing where a value is missing."""
    write_scores(tmp_path / "s.jsonl", SCORES)
    write_scores(tmp_path / "s.parquet", SCORES)
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert lines[1] == {
        "id": "=1+1", "score": None, "rank": None, "label": "not scored", "partial_rain": None, "partial_=wind": None,
    }  # fmt: skip
    assert pq.read_table(tmp_path / "s.parquet").to_pylist() == lines
    assert len(os.listdir(tmp_path)) == 2


def test_a_name_without_a_format_is_refused(tmp_path: Path) -> None:
    """Tests that the formats there are are named."""
    with pytest.raises(ValueError, match=r"must end in one of \.csv, \.tsv, \.parquet, \.jsonl"):
        write_scores(tmp_path / "s.xlsx", SCORES)
    assert not os.listdir(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an error in the middle leaves what was there, for each format."""
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        (tmp_path / name).write_text("old")
    monkeypatch.setattr("paribus.score_file._rows", lambda columns: _fail())
    monkeypatch.setattr("paribus.reading.parquet._connect", _fail)
    for name in ("s.csv", "s.jsonl", "s.parquet"):
        with pytest.raises(OSError, match="No space left"):
            write_scores(tmp_path / name, SCORES)
        assert (tmp_path / name).read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["s.csv", "s.jsonl", "s.parquet"]


def _fail() -> None:
    raise OSError("No space left on device")
