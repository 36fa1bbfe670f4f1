"""Files that change while they are read."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from paribus.io.reading import open_stream, raw


def table_of(path: Path, n: int) -> Path:
    path.write_text("a,b\n" + "".join(f"{row},{row % 7}\n" for row in range(n)))
    return path


@pytest.mark.parametrize("cut", [0, 1, 600, 4_003])
def test_a_file_that_shrinks_is_refused_or_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    """Tests that rows that are gone in the second reading are an error that says so, and never made up."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 50)
    path = table_of(tmp_path / "t.csv", 2_000)
    with ExitStack() as stack:
        stream = open_stream(str(path), stack)
        assert stream.n_rows == 2_000
        os.truncate(path, cut)
        with pytest.raises(ValueError, match=r"^t.csv.*: [^\n]*(changed while it was read|values and the first line)"):
            list(stream.batches())


def test_a_file_that_grows_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows that came after the types of the columns were known are an error that says so."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 50)
    path = table_of(tmp_path / "t.csv", 200)
    with ExitStack() as stack:
        stream = open_stream(str(path), stack)
        with path.open("a") as file:
            file.write("200,1\n")
        with pytest.raises(
            ValueError, match=r"^t.csv: it changed while it was read: there are 201 rows instead of 200"
        ):
            list(stream.batches())


def test_a_number_that_becomes_text_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests a value that was a number when the types were found, and is none when it is converted."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 50)
    path = table_of(tmp_path / "t.csv", 200)
    with ExitStack() as stack:
        stream = open_stream(str(path), stack)
        path.write_text(path.read_text().replace("100,2\n", "1x0,2\n"))
        with pytest.raises(ValueError, match=r"^t.csv: it changed while it was read"):
            list(stream.batches())


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_other_values_in_as_many_rows_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Tests that scores of one version of a file are not written beside the values of another one."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 50)
    paths = [table_of(tmp_path / f"{name}.csv", 200) for name in "tu"]
    with ExitStack() as stack:
        stream = open_stream(str(tmp_path if kind == "folder" else paths[0]), stack)
        assert sum(len(batch["a"]) for batch in stream.batches()) == stream.n_rows
        paths[0].write_text(paths[0].read_text().replace("100,2\n", "100,3\n"))
        os.utime(paths[0], ns=(1, 1))
        with pytest.raises(ValueError, match=r"^([^\n:]*/)?t.csv: it changed while it was read: read it again"):
            list(stream.batches())


def test_a_parquet_file_that_is_replaced_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a Parquet file that is cut or replaced between batches gives one sentence."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(raw, "BATCH_SIZE", 50)
    path = tmp_path / "t.parquet"
    for change in ("cut", "shorter"):
        pq.write_table(pa.table({"a": list(range(200))}), path)
        with ExitStack() as stack:
            stream = open_stream(str(path), stack)
            if change == "cut":
                os.truncate(path, 100)
            else:
                pq.write_table(pa.table({"a": list(range(120))}), path)
            with pytest.raises(ValueError, match=r"^t.parquet: [^\n]*(cannot be read|changed while it was read)"):
                list(stream.batches())
