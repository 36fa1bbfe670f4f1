"""Mistakes, interrupts and full disks: the messages of the `paribus` command, and the files it leaves behind."""

from __future__ import annotations

import errno
import json
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from paribus import QCAD
from paribus._common import atomic_files as files
from paribus.cli.outputs import check_outputs
from tests.support.running import COMMAND, QUICK, QUICK_OPTIONS, ROLES, for_each_method, invoke, run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect"], "Missing argument 'FILE'"),
        (["detect", "none.csv"], "there is no file none.csv"),
        (["detect", ""], "the file name is empty: give one"),
        (["detect", "."], "is a folder"),
        (["detect", "DAYS", "--nonsense"], "No such option: --nonsense"),
        (["detect", "DAYS", "-b", "rain"], "choose the contextual columns with --context"),
        (["detect", "DAYS", "--json"], "choose the contextual columns with --context"),
        (["detect", "DAYS", "-c", "mont", "-b", "rain"], "--context: there is no column 'mont': did you mean 'month'?"),
        (
            ["detect", "DAYS", "-c", "month", "-b", "Rain"],
            "--behavior: there is no column 'Rain': did you mean 'rain'?",
        ),
        (["detect", "DAYS", "-c", "month", "--id", "no"], "--id: there is no column 'no'"),
        (["detect", "DAYS", "-c", "month", "--id", "month"], "cannot be contextual or behavioral"),
        (
            ["detect", "DAYS", "-c", "month", "-b", "zone", "--method", "qcad"],
            "column 'zone' has 'coast', and no numbers at all",
        ),
        (
            ["detect", "DAYS", "-c", "month", "-b", "month"],
            "named both contextual and behavioral|and no numbers at all",
        ),
        (["detect", "DAYS", "-c", "month", "--categorical", "rain"], "only contextual columns can be categorical"),
        (
            ["detect", "DAYS", "-c", "month", "--method", "qcad", "--clip", "much"],
            "--clip is 'much': it must be a number or none",
        ),
        (["detect", "DAYS", "-c", "month", "--method", "qcad", "--clip", "0"], "--clip is 0"),
        (["detect", "DAYS", "-c", "month", "--contamination", "0.9"], "--contamination is 0.9: it must be a share"),
        (["detect", "DAYS", "-c", "month", "--contamination", "90%"], "--contamination is 0.9: it must be a share"),
        (["detect", "DAYS", "-c", "month", "--contamination", "few"], "it must be a number or auto"),
        (["detect", "DAYS", "-c", "month", "--false-alarms", "%"], "--false-alarms is '%': it must be a number"),
        (["datasets", "--out", "days.csv"], "--out needs the name of a data set"),
        (["datasets", "wether", "--out", "days.csv"], "there is no data set 'wether': did you mean 'weather'?"),
        (["datasets", "weather", "--out", "days.txt"], "its name must end in one of .csv"),
        (["detect", "DAYS", "-c", "month", "--max-features", "0"], "--max-features is 0"),
        (["detect", "DAYS", "-c", "month", "--n-trees", "0"], "--n-trees is 0"),
        (["detect", "DAYS", "-c", "month", "--n-jobs", "0"], "--n-jobs is 0"),
        (
            ["detect", "DAYS", "-c", "month", "--method", "qcad", "--clip", "-1"],
            "from 1e-9 to 1e9, or none for no cap",
        ),
        (["detect", "DAYS", "-c", "month", "--clip", "3"], "--clip"),
        (["detect", "DAYS", "-c", "month", "--false-alarms", "0"], "--false-alarms is 0"),
        (["detect", "DAYS", "-c", "month", "--method", "qcad", "--false-alarms", "0.1"], "--false-alarms"),
        (
            ["detect", "DAYS", "-c", "month", "--random-state", "1.5"],
            "--random-state is 1.5: it must be a whole number",
        ),
        (["detect", "DAYS", "-c", "month", "--random-state", "-1"], "--random-state is -1: it must be a whole number"),
        (["detect", "DAYS", "-c", ""], "--context names no column: use --context COLUMN,COLUMN"),
        (["detect", "DAYS", "-c", "month", "-b", " , "], "--behavior names no column: use --behavior COLUMN,COLUMN"),
        (["detect", "DAYS", "-c", "month", "--categorical", ""], "--categorical names no column"),
        (["detect", "DAYS", "-c", "month", "--top", "0"], "--top"),
        (["detect", "DAYS", "-c", "month", "--out", "s.xls"], "its name must end in one of .csv"),
        (["detect", "DAYS", "-c", "month", "--out", "no/s.csv"], "there is no folder 'no'"),
        (["detect", "DAYS", "-c", "month", "--out", "DAYS"], "would overwrite"),
        (["detect", "DAYS", "-c", "month", "--out", "s.csv", "--report", "s.csv"], "would overwrite the file of --out"),
        (["detect", "DAYS", "-c", "month", "--report", "."], "it is a folder"),
        (
            ["detect", "DAYS", "-c", "month", "--report", "-"],
            "cannot write '-': the report is an HTML page, so its name",
        ),
        (["detect", "DAYS", "-c", "month", "--report", "r.pdf"], "so its name must end in .html or .htm"),
        (["demo", "--report", "r.pdf"], "so its name must end in .html or .htm"),
        (["explain", "DAYS", *ROLES, "--row", "1", "--format", "svg"], "--format needs --plots FOLDER"),
        (["explain", "DAYS", *ROLES, "--row", "300", "--plots", "new"], "there is no row 300"),
        (["detect", "DAYS", "--sql", "days"], "--sql needs the URL of a database"),
        (["explain", "DAYS", *ROLES], "Missing option '--row'"),
        (["explain", "DAYS", *ROLES, "--row", "300"], "there is no row 300: rows are numbered from 0 to 299"),
        (["explain", "DAYS", *ROLES, "--row", "s30x", "--id", "station"], "has no row s30x: did you mean s30"),
        (["explain", "DAYS", *ROLES, "--row", "1", "--plots", "DAYS"], "is a file, not a folder"),
        (["explain", "DAYS", *ROLES, "--row", "1", "--format", "gif"], "it must be one of svg, png, pdf"),
        (["fit", "DAYS", *ROLES], "Missing option '--model'"),
        (["nonsense"], "No such command 'nonsense'"),
        (["score", "none.paribus", "DAYS"], "there is no model none.paribus"),
    ],
)
def test_mistakes_get_one_line_and_code_2(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    """Tests that each mistake is one line on standard error, with nothing on standard output, and writes nothing."""
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke(*(str(days) if each == "DAYS" else each for each in arguments))
    assert code == 2
    assert out == ""
    assert err.startswith("paribus: ")
    assert err.count("\n") == 1
    assert any(each in err for each in message.split("|")), err
    assert os.listdir(tmp_path) == []


def test_mistakes_of_the_installed_command(tmp_path: Path) -> None:
    """Tests the exit code and the message of the installed command."""
    bad = tmp_path / "bad.csv"
    bad.write_text("month,rain\nMay,1\nJune\n")
    result = run("detect", "bad.csv", "-c", "month", "-b", "rain", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "paribus: bad.csv, line 3: it has 1 value and the first line 2, with commas between them\n"
    assert result.stdout == ""


def test_a_full_disk_is_one_line_and_leaves_the_old_file(days: Path, tmp_path: Path) -> None:
    """Tests that a failed write keeps the old scores, and leaves no other file behind."""
    (tmp_path / "s.csv").write_text("old")
    limited = f"ulimit -f 8; trap '' XFSZ; exec {COMMAND} detect {days} {' '.join(ROLES + QUICK)} --out s.csv"
    result = subprocess.run(["bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "paribus: cannot write 's.csv': file too large"
    assert "Traceback" not in result.stderr
    assert (tmp_path / "s.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["s.csv"]


def test_a_full_disk_leaves_no_folder_and_prints_nothing(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that if one picture cannot be saved, no new file or folder is left behind, and nothing is printed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "137-behavior.svg").write_text("old")
    flush, flushed = files._flush_to_disk, []

    def flush_until_full(draft: Path) -> None:
        flushed.append(draft)
        if len(flushed) % 2 == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        flush(draft)

    monkeypatch.setattr(files, "_flush_to_disk", flush_until_full)
    for folder in ("new", "old"):
        code, out, err = invoke("explain", days, "--row", 137, *ROLES, *QUICK, "--plots", folder, "--format", "svg")
        assert (code, out) == (2, "")
        assert err.splitlines()[-1] == f"paribus: cannot write '{folder}/137-context.svg': no space left on device"
    assert os.listdir(tmp_path) == ["old"]
    assert os.listdir(tmp_path / "old") == ["137-behavior.svg"]


@pytest.mark.parametrize("place", ["value", "name"])
def test_debug_may_be_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Tests that a column or a file can be called --debug, and that the option works after any command."""
    name = "--debug" if place == "name" else "t.csv"
    (tmp_path / name).write_text("--debug,x\n" + "".join(f"{row % 3},{row}\n" for row in range(30)))
    monkeypatch.chdir(tmp_path)
    code, _, err = invoke("detect", "--context", "--debug", "-b", "x", "--n-trees", 2, "--top", 1, "--", name)
    assert code == 0, err
    assert "like it in --debug" in err
    with pytest.raises(FileNotFoundError):
        invoke("detect", "none.csv", "--debug")


def test_inputs_are_never_overwritten(days: Path, tmp_path: Path) -> None:
    """Tests standard input from the output file, a database URL with options, and a statement that writes."""
    table = tmp_path / "in.csv"
    table.write_bytes(days.read_bytes())
    with table.open("rb") as stream:
        command = [COMMAND, "detect", "-", "-c", "month", "-b", "rain", "--out", str(table)]
        result = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "would overwrite the input" in result.stderr
    assert table.read_bytes() == days.read_bytes()
    database = tmp_path / "w.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (a REAL, b REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, i % 7) for i in range(40)])
    connection.close()
    before = database.read_bytes()
    for extra in (["--sql", "t", "--report", str(database)], ["--sql", "drop table t"]):
        code, _, err = invoke("detect", f"sqlite:///{database}?timeout=5", "-c", "a", "-b", "b", *extra)
        assert code == 2, err
        assert database.read_bytes() == before


CELLS: dict[str, Callable[[int], object]] = {
    "numbers": lambda row: row % 7,
    "timestamps": lambda row: f"2026-01-{1 + row % 28:02}",
    "text": lambda row: f"k{row % 3}",
    "booleans": lambda row: ("true", "FALSE")[row % 2],
}


def write_kind(path: Path, kind: str) -> Path:
    path.write_text("c,x\n" + "".join(f"{CELLS[kind](row)},{row % 5}\n" for row in range(40)))
    return path


@for_each_method
@pytest.mark.parametrize("held", CELLS)
def test_a_column_of_another_kind_is_an_error(method: str, tmp_path: Path, held: str) -> None:
    """Tests that a model scores the table it was fitted to, and rejects other kinds of values."""
    path, model = tmp_path / "t.csv", tmp_path / "m"
    assert invoke("fit", write_kind(path, held), "-c", "c", "-b", "x", "-m", model, *QUICK_OPTIONS[method])[0] == 0
    for holds in CELLS:
        code, out, err = invoke("score", model, write_kind(path, holds), "--top", 1)
        if holds == held:
            assert (code, err.count("\n")) == (0, 1), err
            assert "have no score" not in err
            continue
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"paribus: column 'c' held {held} at fit and holds {holds} here: ")


@for_each_method
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_booleans_in_a_column_of_text_are_an_error(method: str, days: Path, tmp_path: Path, name: str) -> None:
    """Tests that booleans in place of text are an error, and that a boolean among text is not."""
    assert invoke("fit", days, *ROLES, *QUICK_OPTIONS[method], "-m", tmp_path / "m")[0] == 0
    row = {"month": "May", "elevation": 100, "zone": True, "temperature": 9, "rain": 1, "wind": 3}
    for zones, code in (([True, True], 2), ([True, "coast"], 0)):
        rows = [row | {"zone": zone} for zone in zones]
        lines = [json.dumps(each) for each in rows]
        if name == "t.csv":
            lines = [",".join(row), *(",".join(map(str, each.values())) for each in rows)]
        (tmp_path / name).write_text("\n".join(lines))
        found, _, err = invoke("score", tmp_path / "m", tmp_path / name)
        assert found == code, err
        assert ("column 'zone' held text at fit and holds booleans here" in err) == (code == 2)


def test_without_anomalies_there_is_advice(tmp_path: Path) -> None:
    """Tests that if no row is flagged, the message names the option that flags some, if there is one."""
    path = tmp_path / "t.csv"
    path.write_text("a,x,y\n" + "".join(f"{row},{row % 7 + 0.5},{row * 2}\n" for row in range(60)))
    roles = ["-c", "a", "-b", "x,y", "--n-trees", 5]
    advice = "(--contamination 0.01 flags the highest 1 %)"
    for command in (["detect", path, *roles], ["fit", path, *roles, "-m", tmp_path / "m"]):
        err = invoke(*command)[2]
        assert "no score is above" in err
        assert advice in err
    assert "no score" not in invoke("detect", path, *roles, "--contamination", 0.01)[2]
    err = invoke("score", tmp_path / "m", path)[2]
    assert "no score is above" in err
    assert "contamination" not in err


def test_booleans_are_the_same_in_every_format(tmp_path: Path) -> None:
    """Tests that a model that was fitted to booleans in Python recognizes their spelling in text."""
    rows = [(row % 2 == 0, float(row % 5)) for row in range(40)]
    detector = QCAD(["c"], ["x"], n_trees=2).fit({"c": [c for c, _ in rows], "x": [x for _, x in rows]})
    detector.save(tmp_path / "m")
    (tmp_path / "t.csv").write_text("c,x\n" + "".join(f"{c},{x}\n" for c, x in rows))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({"c": c, "x": x}) + "\n" for c, x in rows))
    for name in ("t.csv", "t.jsonl"):
        code, _, err = invoke("score", tmp_path / "m", tmp_path / name, "--out", tmp_path / "s.jsonl")
        assert code == 0, err
        lines = (tmp_path / "s.jsonl").read_text().splitlines()
        assert [json.loads(line)["score"] for line in lines] == detector.anomaly_scores_.tolist()


def test_a_column_without_values_is_noted(days: Path, tmp_path: Path) -> None:
    """Tests that rows are scored without a column that has no values, with a note."""
    assert invoke("fit", days, *ROLES, *QUICK, "-m", tmp_path / "m")[0] == 0
    lines = [line.split(",") for line in days.read_text().splitlines()]
    for name in ("elevation", "zone", "rain"):
        place = lines[0].index(name)
        new = [lines[0], *([*line[:place], "", *line[place + 1 :]] for line in lines[1:])]
        (tmp_path / "new.csv").write_text("\n".join(",".join(line) for line in new))
        code, _, err = invoke("score", tmp_path / "m", tmp_path / "new.csv")
        assert code == 0
        assert err.startswith(f"paribus: new.csv: column '{name}' has no values at all, so no row is compared by it\n")
        compared = [each for each in ("month", "elevation", "zone") if each != name]
        assert f"most like it in {', '.join(compared[:-1])} and {compared[-1]};" in err
    (tmp_path / "new.csv").write_text("month,elevation,zone,temperature,rain,wind\n" + ",,,1,2,3\n" * 9)
    for arguments in (["score", tmp_path / "m"], ["detect"]):
        code, _, err = invoke(*arguments, tmp_path / "new.csv", *(ROLES if arguments == ["detect"] else []))
        assert code == 0
        assert "like it in nothing;" in err


def test_names_that_parquet_cannot_hold_are_an_error_before_the_fit(tmp_path: Path) -> None:
    """Tests that nothing is fitted or scored if the scores cannot be written."""
    path = tmp_path / "t.csv"
    path.write_text("c,rain,Rain\n" + "".join(f"{row % 3},{row},{row}\n" for row in range(30)))
    assert invoke("fit", path, "-c", "c", "-m", tmp_path / "m", "--n-trees", 2)[0] == 0
    expected = "both 'rain' and 'Rain', which differ only in case: write .csv or .jsonl\n"
    for arguments in (
        ["detect", path, "-c", "c"],
        ["detect", path, "-c", "c", "-b", "rain,Rain"],
        ["score", tmp_path / "m", path],
    ):
        code, out, err = invoke(*arguments, "--out", tmp_path / "s.parquet")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.endswith(expected)
    assert invoke("detect", path, "-c", "c", "-b", "rain", "--out", tmp_path / "s.parquet")[0] == 0


def test_messages_of_the_library_name_options(days: Path, tmp_path: Path) -> None:
    """Tests that messages name options instead of parameters, and that the model of an array is an error."""
    lines = days.read_text().splitlines()
    (tmp_path / "t.csv").write_text("\n".join(lines[:2]))
    err = invoke("detect", tmp_path / "t.csv", *ROLES)[2]
    assert err == (
        "paribus: a row needs others to be compared with: the table has 1 row(s), "
        "and 1 of them with a behavioral value\n"
    )
    (tmp_path / "t.csv").write_text("\n".join(lines[:9]))
    code, _, err = invoke("detect", tmp_path / "t.csv", *ROLES, "--method", "qcad", "--n-neighbors", 99)
    assert code == 0
    assert err.startswith("paribus: --n-neighbors is 99, but there are only 7 other rows: all of them are used\n")
    QCAD([0], [1], n_trees=2).fit(np.random.default_rng(0).random((20, 2))).save(tmp_path / "m")
    code, out, err = invoke("score", tmp_path / "m", days)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("paribus: m was fitted to a table without column names")


def test_undecodable_file_names_can_be_seen_and_typed(days: Path, tmp_path: Path) -> None:
    """Tests that an undecodable file name works for every file, and that messages show it so that it can be typed."""
    name = os.fsdecode(b"a'\\\xff\xe9.csv")
    (tmp_path / name).write_bytes(days.read_bytes())
    code, out, _ = invoke("detect", tmp_path / name)
    assert code == 0
    suggested = next(line for line in out.splitlines() if line.startswith("  paribus detect "))
    typed = suggested.removeprefix("  paribus detect ").partition(" --context")[0]
    shown = subprocess.run(["bash", "-c", f"ls -d {typed}"], capture_output=True, check=True)
    assert shown.stdout.strip() == os.fsencode(tmp_path / name)
    code, _, err = invoke("detect", tmp_path / (name + "x"))
    assert code == 2
    assert "a'\\\\xff\\xe9.csv?" in err
    for option, suffix in (("--out", ".csv"), ("--out", ".parquet"), ("--report", ".html")):
        code, _, err = invoke("detect", tmp_path / name, *ROLES, *QUICK, option, tmp_path / (name + suffix))
        assert code == 0, err
        assert (tmp_path / (name + suffix)).stat().st_size > 0


def test_a_model_in_a_pipe_is_an_error(days: Path) -> None:
    """Tests that a model in a pipe, which has no random access, is an error in one line."""
    result = subprocess.run(
        ["bash", "-c", f"{COMMAND} score <(echo PK) {days}"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert re.fullmatch(r"paribus: /dev/fd/\d+ is a pipe or a device, and a model cannot be .*\n", result.stderr)


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ("sqlite:///w.db", True),
        ("sqlite:///w.db?timeout=5&x=/a", True),
        ("sqlite+pysqlite:///w.db", True),
        ("sqlite:////FOLDER/w.db", True),
        ("w.db", True),
        ("sqlite:///other.db", False),
        ("postgresql:///w.db", False),
    ],
)
def test_a_database_that_is_read_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, is_refused: bool
) -> None:
    """Tests that the file of a database is recognized in any form of its URL."""
    monkeypatch.chdir(tmp_path)
    source = source.replace("/FOLDER", str(tmp_path))
    if is_refused:
        with pytest.raises(ValueError, match=r"--out w.db would overwrite the input .*: choose another name"):
            check_outputs([source], {"--out": Path("w.db")})
    else:
        check_outputs([source], {"--out": Path("w.db")})
