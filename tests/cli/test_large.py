"""The `paribus` command on tables that are read in batches."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise
from paribus._common import atomic_files
from paribus._common.memory import allowed_memory
from paribus._core import Forest
from paribus.cli import commands, fitting, large
from paribus.io.reading import raw
from paribus.output import results, streamed
from tests.support.detectors import quick
from tests.support.running import QUICK_OPTIONS, ROLES, invoke, run
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

QUICK = QUICK_OPTIONS["surprise"]
READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".parquet": pd.read_parquet,
    ".jsonl": lambda path: pd.read_json(path, lines=True),
    ".xlsx": pd.read_excel,
    ".sqlite": lambda path: pd.read_sql("SELECT * FROM scores", f"sqlite:///{path}"),
    ".duckdb": lambda path: duckdb.connect(str(path), read_only=True).table("scores").df(),
}
MEMORY = ["--memory", "4GB"]


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of 100 rows, and batches of 40."""
    monkeypatch.setattr(fitting, "sample_size", lambda *_: 100)
    monkeypatch.setattr(raw, "BATCH_SIZE", 40)


def shuffled(days: Path, to: Path) -> Path:
    header, *lines = days.read_text().splitlines()
    random.Random(0).shuffle(lines)
    to.write_text("\n".join([header, *lines]) + "\n")
    return to


def expect_same_scores(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """The same bits in all columns; whole numbers of a text may be floats in Parquet."""
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_dtype=False)


def test_memory_is_for_the_columns_with_a_role_and_the_rows_there_are() -> None:
    """Tests that columns that are only carried along need no forests, and that few rows need little."""
    assert large.sample_size(10**9, 2_000, 3, 200) >= 200
    assert large.sample_size(10**9, 8) == large.sample_size(10**9, 8, 8)
    with pytest.raises(ValueError, match="--memory is too small for 50 columns: it must be 1,8"):
        large.sample_size(10**9, 50)


def test_forests_are_kept_if_the_memory_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a scarce memory holds no unpacked forests from batch to batch, with the same scores."""
    kept: list[bool] = []
    keep = Forest.keep

    def spy(forest: Forest, keeps: bool) -> None:
        kept.append(keeps)
        keep(forest, keeps)

    monkeypatch.setattr(Forest, "keep", spy)
    table = mixed_table(300)
    detector = quick(ConditionalSurprise, CONTEXT, BEHAVIOR).fit(table)
    for n_bytes, is_kept in ((1, False), (10**12, True), (None, True)):
        kept.clear()
        with allowed_memory(n_bytes), detector.view().keeping():
            assert detector.anomaly_score(table).tolist() == detector.anomaly_scores_.tolist()
        assert bool(kept) == is_kept
        assert kept.count(True) == kept.count(False)


def test_batches_give_what_a_table_in_memory_gives(days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests output, scores and report of a table that the sample holds, from text, Parquet, a folder and a pipe."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 70)
    expected = invoke("detect", days, *ROLES, *QUICK, "--out", tmp_path / "a.csv")
    # Numbers of text are floats.
    floats = "* REPLACE (elevation::DOUBLE AS elevation)"
    duckdb.from_csv_auto(str(days)).project(floats).write_parquet(str(tmp_path / "days.parquet"))
    (tmp_path / "parts").mkdir()
    lines = days.read_text().splitlines(keepends=True)
    for part in range(3):
        (tmp_path / "parts" / f"{part}.csv").write_text("".join([lines[0], *lines[1 + 100 * part : 101 + 100 * part]]))
    for source in (days, tmp_path / "days.parquet", tmp_path / "parts"):
        found = invoke("detect", source, *ROLES, *QUICK, *MEMORY, "--out", tmp_path / "b.csv")
        assert found[:2] == expected[:2]
        expect_same_scores(pd.read_csv(tmp_path / "b.csv"), pd.read_csv(tmp_path / "a.csv"))
    code, *_ = invoke("detect", days, *ROLES, *QUICK, *MEMORY, "--report", tmp_path / "r.html")
    assert code == 0
    piped = run("detect", "-", *ROLES, *QUICK, *MEMORY, cwd=tmp_path, stdin=days.read_bytes())
    assert piped.stdout == expected[1]


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_a_larger_table_is_sampled_scored_and_explained(days: Path, tmp_path: Path, suffix: str) -> None:
    """Tests that all rows are scored in their order, that the highest are explained, and that the sample is named."""
    out = tmp_path / f"scores{suffix}"
    code, text, err = invoke("detect", days, *ROLES, *QUICK, *MEMORY, "--out", out, "--top", 4, "--json")
    assert code == 0, err
    assert "days.csv has 300 rows: the detector is fitted to a sample of" in err
    readers: dict[str, Any] = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    scores = readers[suffix](out) if suffix in readers else pd.read_json(out, lines=True)
    assert scores["row"].tolist() == list(range(300))
    assert {"row", "score", "label", "partial_temperature", "partial_rain", "partial_wind"} <= set(scores)
    top = json.loads(text)
    assert (top["rows"], top["scored"]) == (300, 300)
    best = scores.sort_values("score", ascending=False, kind="stable")[:4]
    assert [each["position"] for each in top["top"]] == best["row"].tolist()
    assert [each["rank_in_file"] for each in top["top"]] == [1, 2, 3, 4]
    np.testing.assert_allclose([each["score"] for each in top["top"]], best["score"])
    assert top["anomalies"] == (scores["label"] == "anomaly").sum()


@pytest.mark.usefixtures("sampled")
def test_the_order_of_rows_does_not_change_scores(days: Path, tmp_path: Path) -> None:
    """Tests that shuffled rows of a sampled table get the same bits, row by row."""
    other = shuffled(days, tmp_path / "other.csv")
    for source, name in ((days, "a.csv"), (other, "b.csv")):
        code, _, err = invoke("detect", source, *ROLES, *QUICK, *MEMORY, "--id", "station", "--out", tmp_path / name)
        assert code == 0, err
    first, second = (pd.read_csv(tmp_path / name).set_index("id").sort_index() for name in ("a.csv", "b.csv"))
    pd.testing.assert_frame_equal(second, first, check_exact=True)


def test_models_are_fitted_and_used_in_batches(days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that fit and score with --memory give the bits of those without."""
    monkeypatch.setattr(raw, "BATCH_SIZE", 70)
    assert invoke("fit", days, *ROLES, *QUICK, "--model", tmp_path / "a.paribus")[0] == 0
    assert invoke("fit", days, *ROLES, *QUICK, *MEMORY, "--model", tmp_path / "b.paribus")[0] == 0
    expected = invoke("score", tmp_path / "a.paribus", days, "--out", tmp_path / "a.csv", "--id", "station")
    found = invoke("score", tmp_path / "b.paribus", days, "--out", tmp_path / "b.csv", "--id", "station", *MEMORY)
    assert found[:2] == expected[:2]
    first, second = (pd.read_csv(tmp_path / name) for name in ("a.csv", "b.csv"))
    expect_same_scores(second, first)


@pytest.mark.usefixtures("sampled")
def test_a_model_of_a_sample_is_saved(days: Path, tmp_path: Path) -> None:
    """Tests that a model fitted to a sample holds no more rows."""
    assert invoke("fit", days, *ROLES, *QUICK, *MEMORY, "--model", tmp_path / "m.paribus")[0] == 0
    assert len(ConditionalSurprise.load(tmp_path / "m.paribus").anomaly_scores_) <= 100


@pytest.fixture(scope="module")
def model(days: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that flags one row in twenty."""
    path = tmp_path_factory.mktemp("model") / "m.paribus"
    assert invoke("fit", days, *ROLES, *QUICK, "--contamination", "0.05", "--model", path)[0] == 0
    return path


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".xlsx", ".sqlite", ".duckdb"])
@pytest.mark.parametrize("options", [["--columns", "all"], ["--only", "flagged", "--id", "station"]])
def test_files_of_a_stream_are_those_of_a_table_in_memory(
    days: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, options: list[str]
) -> None:
    """Tests every column of the results, with their types, in every format, and what is printed."""
    monkeypatch.setattr(commands, "sample_size", lambda *_: 100)
    known = tmp_path / "known.csv"
    known.write_text("row,rule,status,note\n,temperature is above usual,false alarm,warm\n,zone = coast,known cause,\n")
    read, frames, printed = READERS[suffix], [], []
    for number, memory in enumerate(([], MEMORY)):
        out = tmp_path / f"{number}{suffix}"
        code, text, err = invoke(
            "score", model, days, *options, *memory, "--known", known, "--out", out, "--json", "--full"
        )
        assert code == 0, err
        frames.append(read(out))
        printed.append(text)
    assert frames[0]["known"].notna().sum() > 2 or "--only" in options
    pd.testing.assert_frame_equal(frames[1], frames[0], check_exact=True)
    assert printed[1] == printed[0]


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("kind", ["hive", "sqlite", "duckdb", "pipe"])
def test_every_source_is_streamed_to_the_same_file(
    days: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Tests folders with values in their names, databases and pipes, row by row."""
    table = pd.read_csv(days)
    columns = ", ".join(f'"{name}"' for name in table)
    if kind == "hive":
        source: list[Any] = [tmp_path / "hive"]
        for zone, part in table.groupby("zone"):
            (tmp_path / "hive" / f"zone={zone}").mkdir(parents=True)
            part.drop(columns="zone").to_parquet(tmp_path / "hive" / f"zone={zone}" / "part.parquet")
        table = table.sort_values("zone", kind="stable")
    elif kind == "sqlite":
        with sqlite3.connect(tmp_path / "days.sqlite") as connection:
            table.to_sql("days", connection, index=False)
        source = [f"sqlite:///{tmp_path}/days.sqlite", "--sql", "days"]
    elif kind == "duckdb":
        with duckdb.connect(str(tmp_path / "days.duckdb")) as database:
            database.register("rows", table)
            database.execute(f"CREATE TABLE days AS SELECT {columns} FROM rows")
        source = [f"duckdb:///{tmp_path}/days.duckdb", "--sql", "days"]
    expected = tmp_path / "expected.csv"
    table.to_csv(tmp_path / "days.csv", index=False)
    assert invoke("score", model, tmp_path / "days.csv", "--id", "station", "--out", expected)[0] == 0
    out = ["--id", "station", "--out", tmp_path / "o.csv"]
    if kind == "pipe":
        read, write = os.pipe()
        os.write(write, (tmp_path / "days.csv").read_bytes())
        os.close(write)
        source = [f"/dev/fd/{read}"]
    monkeypatch.setattr(commands, "sample_size", lambda *_: 100)
    code, _, err = invoke("score", model, *source, *MEMORY, *out)
    assert code == 0, err
    found = pd.read_csv(tmp_path / "o.csv")
    pd.testing.assert_frame_equal(found, pd.read_csv(expected)[list(found)], check_exact=True, check_dtype=False)


@pytest.mark.usefixtures("sampled")
def test_a_stream_has_reports_and_exit_codes(
    days: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that the report and the exit code of a stream are those of a table in memory."""
    monkeypatch.setattr(commands, "sample_size", lambda *_: 100)
    pages = []
    for memory in ([], MEMORY):
        code, _, err = invoke("score", model, days, *memory, "--report", tmp_path / "r.html", "--max-flagged", "2")
        assert code == 3, err
        pages.append(re.sub(r"<time.*?</time>", "", (tmp_path / "r.html").read_text()))
        assert invoke("score", model, days, *memory, "--max-flagged", "50%")[0] == 0
    assert pages[1] == pages[0]


@pytest.mark.usefixtures("sampled")
def test_only_the_highest_rows_of_a_long_stream_are_kept(
    days: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that ranks, sentences, counts and the report are right if most rows have been dropped."""
    monkeypatch.setattr(commands, "sample_size", lambda *_: 100)
    monkeypatch.setattr(streamed, "MAX_KEPT", 90)
    monkeypatch.setattr(streamed, "N_BACKGROUND", 30)
    monkeypatch.setattr(streamed, "MAX_FINDINGS", 8)
    monkeypatch.setattr(large, "MIN_REPORTED_ROWS", 5)
    monkeypatch.setattr(results, "MAX_FINDINGS", 8)
    frames, found = [], []
    for memory in ([], MEMORY):
        options = ["--out", tmp_path / "s.csv", "--report", tmp_path / "r.html", "--json", "--top", "5"]
        code, text, err = invoke("score", model, days, *memory, *options)
        assert code == 0, err
        frames.append(pd.read_csv(tmp_path / "s.csv"))
        found.append(json.loads(text))
    assert frames[0]["sentence"].notna().sum() == 8
    pd.testing.assert_frame_equal(frames[1].drop(columns="group"), frames[0].drop(columns="group"), check_exact=True)
    for name in ("rows", "scored", "anomalies", "expected_false_alarms"):
        assert found[1][name] == found[0][name]
    own = [{key: value for key, value in each.items() if key != "group"} for each in found[1]["top"]]
    assert own == [{key: value for key, value in each.items() if key != "group"} for each in found[0]["top"]]
    page = (tmp_path / "r.html").read_text()
    assert ">300<" in page


@pytest.mark.parametrize(
    ("memory", "message"),
    [("2cows", "--memory is '2cows': it must be a size such as 2GB"), ("100MB", "--memory is too small for 6 columns")],
)
def test_sizes_that_cannot_be_are_one_sentence(days: Path, memory: str, message: str) -> None:
    """Tests that a size that is none, or too small, is reported before the fit."""
    code, out, err = invoke("detect", days, *ROLES, *QUICK, "--memory", memory)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("name", ["scores.csv", "scores.parquet"])
def test_a_full_disk_leaves_the_old_scores(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Tests that a failure in the last step keeps the old file and leaves nothing else behind."""
    (tmp_path / name).write_text("old")

    def full(_: Path) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(atomic_files, "_flush_to_disk", full)
    code, out, err = invoke("detect", days, *ROLES, *QUICK, *MEMORY, "--out", tmp_path / name)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1] == f"paribus: cannot write '{tmp_path / name}': no space left on device"
    assert (tmp_path / name).read_text() == "old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.usefixtures("sampled")
def test_a_method_without_kinds_is_streamed_as_well(days: Path, tmp_path: Path) -> None:
    """Tests that the file of QCAD has the columns that it has in memory."""
    frames = []
    for options in ([], MEMORY):
        qcad = ["--method", "qcad", *QUICK_OPTIONS["qcad"], "--out", tmp_path / "o.csv"]
        code, _, err = invoke("detect", days, *ROLES, *qcad, *options)
        assert code == 0, err
        frames.append(pd.read_csv(tmp_path / "o.csv"))
    assert list(frames[1]) == list(frames[0])
    assert frames[1]["rank"].tolist() == frames[1]["score"].rank(ascending=False, method="min").tolist()


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("id", [None, "station"])
def test_known_rows_of_a_sampled_table_are_not_listed_again(days: Path, tmp_path: Path, id: str | None) -> None:
    """Tests that rows of the whole table are known by number or by name, and that a note says what the fit does."""
    named = [] if id is None else ["--id", id]
    ask = ["detect", days, *ROLES, *QUICK, *MEMORY, *named, "--json", "--top", "3"]
    first = json.loads(invoke(*ask)[1])["top"]
    known = tmp_path / "known.csv"
    known.write_text(f"row,status\n{first[0]['row']},false alarm\n{first[2]['row']},confirmed\n")
    code, out, err = invoke(*ask, "--known", known, "--out", tmp_path / "o.csv")
    assert code == 0, err
    shown = [each["row"] for each in json.loads(out)["top"]]
    # Where the fit leaves out the confirmed row, other rows may come first.
    assert id is not None or first[1]["row"] in shown
    assert not {first[0]["row"], first[2]["row"]} & set(shown)
    assert ("the fit may use them" in err) == (id is None)
    frame = pd.read_csv(tmp_path / "o.csv").set_index("row" if id is None else "id")
    assert frame.loc[first[2]["row"], "known"] == "confirmed"
    assert frame["known"].notna().sum() == 2


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("options", [["--out", "scores.csv"], []])
def test_a_full_disk_of_stored_scores_names_the_file(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """Tests that a failure while scores are kept for later is one sentence, and that nothing stays."""

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(streamed.ScoreRanks, "add", full)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke("detect", days, *ROLES, *QUICK, *MEMORY, *options)
    assert (code, out) == (2, "")
    assert re.search(r"paribus: cannot write '.*(scores.csv|ranks)': no space left on device$", err.rstrip())
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_between_batches_leaves_the_old_scores(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Tests that a signal while scores are written keeps the old file, and leaves nothing half."""
    (tmp_path / "scores.parquet").write_text("old")
    score = ConditionalSurprise.scored_rows
    n_scored: list[int] = []

    def interrupted(self: Any, batch: Any, **options: Any) -> Any:
        n_scored.append(len(n_scored))
        if len(n_scored) == 3:
            os.kill(os.getpid(), number)
        return score(self, batch, **options)

    monkeypatch.setattr(ConditionalSurprise, "scored_rows", interrupted)
    code, out, err = invoke("detect", days, *ROLES, *QUICK, *MEMORY, "--out", tmp_path / "scores.parquet")
    assert (code, out) == (128 + number, "")
    assert "Traceback" not in err
    assert (tmp_path / "scores.parquet").read_text() == "old"
    assert os.listdir(tmp_path) == ["scores.parquet"]


def test_large_files_are_read_in_batches_without_being_told(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a file that is too large for the machine is recognized by its size."""
    from paribus.cli.options import Source

    source = Source(str(days), None, None, None, None, [])
    assert not large.is_large(source, None)
    assert large.is_large(source, 10**9)
    monkeypatch.setattr(large, "MAX_SHARE", 1e-9)
    assert large.is_large(source, None)
    assert large.is_large(Source(str(days.parent), None, None, None, None, []), None)


@pytest.mark.usefixtures("sampled")
def test_columns_of_a_large_table_are_listed_by_its_first_rows(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the overview of a large table reads a part of it, and says so."""
    monkeypatch.setattr(commands, "MAX_LISTED_ROWS", 70)
    code, out, err = invoke("detect", days, *MEMORY)
    assert code == 0
    assert "days.csv has 300 rows: its columns are listed by the first 80" in err
    assert "temperature" in out


def test_a_folder_cannot_be_overwritten_by_its_scores(days: Path, tmp_path: Path) -> None:
    """Tests that scores do not go into the folder that is read, where they would be part of the table next time."""
    (tmp_path / "parts").mkdir()
    shutil.copy(days, tmp_path / "parts" / "1.csv")
    code, _, err = invoke("detect", tmp_path / "parts", *ROLES, *QUICK, "--out", tmp_path / "parts" / "scores.csv")
    assert code == 2
    assert "is in the folder that is read" in err
