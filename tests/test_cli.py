"""The `paribus` command, as the shell runs it."""

from __future__ import annotations

import csv
import gzip
import inspect
import json
import os
import pty
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import typer.main

from paribus import QCAD, cli, datasets
from paribus.cli import options

COMMAND = os.path.join(os.path.dirname(sys.executable), "paribus")
ROLES = ["--context", "month,elevation,zone", "--behavior", "temperature,rain,wind"]
QUICK = ["--n-trees", "5", "--n-neighbors", "50"]


def run(
    *arguments: object, cwd: Path, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the installed command."""
    result = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"} | environment,
    )
    return subprocess.CompletedProcess(result.args, result.returncode, result.stdout.decode(), result.stderr.decode())


def invoke(*arguments: object) -> tuple[int, str, str]:
    """Runs the command in this process: faster, where nothing depends on a process of its own."""
    import contextlib
    import io
    from unittest import mock

    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with (
            mock.patch.object(sys, "argv", ["paribus", *map(str, arguments)]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as caught,
        ):
            cli.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    return int(caught.value.code or 0), out.getvalue(), err.getvalue()


def write_table(path: Path, n: int = 300) -> Path:
    table = datasets.load("weather").table
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["station", *table])
        rows = list(zip(*table.values(), strict=True))[:n]
        writer.writerows([f"s{place}", *row] for place, row in enumerate(rows))
    return path


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("days") / "days.csv")


def scores_of(days: Path) -> QCAD:
    table = datasets.load("weather").table
    columns = {name: values[:300] for name, values in table.items()}
    return QCAD(["month", "elevation", "zone"], ["temperature", "rain", "wind"], n_trees=5, n_neighbors=50).fit(columns)


def test_help_is_quick_and_names_the_commands(tmp_path: Path) -> None:
    """Tests that the help takes not much longer than Python needs for typer, and that it loads nothing heavy."""
    # The best of three: the machine may be busy.
    ours, bare = [], []
    for _ in range(3):
        start = time.perf_counter()
        result = run("--help", cwd=tmp_path)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import typer, typer.core, typer.main"], check=True)
        bare.append(time.perf_counter() - start)
    assert min(ours) < 2 * min(bare) + 0.15
    for command in ("detect", "explain", "fit", "score", "demo", "datasets"):
        assert command in result.stdout
    assert "\\b" not in result.stdout
    assert invoke() == (0, result.stdout, "")
    code = (
        "import sys, paribus.cli; print(*{'numpy', 'sklearn', 'narwhals', 'duckdb', 'rich.table'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == ""


def test_every_option_is_explained() -> None:
    """Tests that each option of each command has a help text, and each parameter of the detector an option."""
    for command in typer.main.get_command(cli.app).commands.values():  # type: ignore[attr-defined]
        assert command.help
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"
    detector = inspect.signature(QCAD).parameters
    ours = inspect.signature(options.parameters).parameters
    assert set(ours) == set(detector) - {"contextual", "behavioral", "categorical", "progress"}
    given = options.parameters()
    assert given == {name: detector[name].default for name in ours}


def test_detect_writes_what_the_library_says(days: Path, tmp_path: Path) -> None:
    """Tests plain output in a pipe, the scores of all rows in a file, and the report."""
    arguments = ["detect", days, *ROLES, *QUICK, "--id", "station", "--top", 4]
    result = run(*arguments, "--out", "s.csv", "--report", "r.html", cwd=tmp_path, FORCE_COLOR="1")
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    detector = scores_of(days)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == ["id", "rank", "score", "why"]
    best = detector.explain_all(4)
    assert [line[0] for line in lines[1:]] == [f"s{each.position}" for each in best]
    assert [line[3] for line in lines[1:]] == [str(each) for each in best]
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == [f"s{place}" for place in range(300)]
    assert [float(row["score"]) for row in rows] == detector.anomaly_scores_.tolist()
    assert [float(row["partial_rain"]) for row in rows] == detector.partial_scores_["rain"].tolist()
    assert [row["label"] == "anomaly" for row in rows] == (detector.labels_ == -1).tolist()
    assert [row["id"] for row in rows if row["rank"] == "1"] == [f"s{best[0].position}"]
    page = (tmp_path / "r.html").read_text()
    assert f"s{best[0].position}" in page
    assert "300 rows, each compared with the 50 most like it in month, elevation and zone" in result.stderr
    assert sorted(os.listdir(tmp_path)) == ["r.html", "s.csv"]


def test_json_has_the_explanations(days: Path, tmp_path: Path) -> None:
    """Tests that a program gets the summary and the explanations, and nothing else on standard output."""
    code, out, err = invoke("detect", days, *ROLES, *QUICK, "--json", "--top", 2)
    assert code == 0, err
    result = json.loads(out)
    detector = scores_of(days)
    assert result["rows"] == 300
    assert result["anomalies"] == int((detector.labels_ == -1).sum())
    assert result["parameters"]["n_trees"] == 5
    expected = json.loads(json.dumps([each.to_dict() for each in detector.explain_all(2)]))
    for ours, theirs in zip(result["top"], expected, strict=True):
        assert ours == theirs | {"rank_in_file": theirs["rank"]}


def test_every_source_gives_the_same(days: Path, tmp_path: Path) -> None:
    """Tests standard input, gzip, Parquet, JSON lines and a database against the plain file."""
    rows = list(csv.DictReader(days.read_text().splitlines()))
    for row in rows:
        row |= {name: float(row[name]) for name in ("elevation", "temperature", "rain", "wind")}
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(days.read_bytes()))
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "d.parquet")
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute(f"CREATE TABLE days ({', '.join(rows[0])})")
        connection.executemany(f"INSERT INTO days VALUES ({', '.join('?' * 7)})", [list(row.values()) for row in rows])
    connection.close()
    expected = invoke("detect", days, *ROLES, *QUICK, "--top", 3)
    assert expected[0] == 0
    for name in ("d.jsonl", "d.csv.gz", "d.parquet"):
        assert invoke("detect", tmp_path / name, *ROLES, *QUICK, "--top", 3)[:2] == expected[:2]
    assert (
        invoke("detect", f"sqlite:///{tmp_path}/d.db", "--sql", "days", *ROLES, *QUICK, "--top", 3)[:2] == expected[:2]
    )
    piped = run("detect", "-", *ROLES, *QUICK, "--top", 3, cwd=tmp_path, stdin=days.read_bytes())
    assert piped.stdout == expected[1]


def test_without_roles_the_columns_are_listed(days: Path, tmp_path: Path) -> None:
    """Tests that types, missing values and examples are shown, with a command that works as it is."""
    result = run("detect", days, cwd=tmp_path)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert lines[0].split("\t") == ["column", "type", "missing", "distinct", "examples"]
    assert "elevation\tnumbers\t0\t" in result.stdout
    suggested = next(line for line in lines if line.startswith("  paribus detect "))
    code, _, err = invoke(*shlex.split(suggested)[1:], "--n-trees", 2)
    assert code == 0, err
    # Names that a shell or a comma would break.
    odd = tmp_path / "odd.csv"
    rows = "".join(f"{row % 3},k{row % 2},{row * 1.5},{row}\n" for row in range(30))
    odd.write_text(f"""a b,"c,d",'e',"x""y"\n{rows}""")
    _, out, _ = invoke("detect", odd)
    suggested = next(line for line in out.splitlines() if line.startswith("  paribus detect "))
    code, _, err = invoke(*shlex.split(suggested)[1:], "--n-trees", 2)
    assert code == 0, err


def test_fit_and_score_are_detect_in_two_steps(days: Path, tmp_path: Path) -> None:
    """Tests that a saved model scores the rows it knows as they were scored, and new ones against them."""
    result = run("fit", days, *ROLES, *QUICK, "--id", "station", "--model", "m.paribus", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    result = run("score", "m.paribus", days, "--id", "station", "--out", "s.parquet", "--top", 2, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    detector = scores_of(days)
    table = pq.read_table(tmp_path / "s.parquet").to_pydict()
    assert table["score"] == detector.anomaly_scores_.tolist()
    assert table["id"][:2] == ["s0", "s1"]
    assert result.stdout.splitlines()[1].split("\t")[0] == f"s{detector.anomaly_scores_.argmax()}"
    # Other rows, with the columns in another order and one too many.
    new = tmp_path / "new.csv"
    new.write_text("more,wind,rain,temperature,zone,elevation,month\nx,5,1,30,coast,10,January\nx,,,,coast,10,May\n")
    code, out, err = invoke("score", tmp_path / "m.paribus", new, "--json")
    assert code == 0
    assert "1 row(s) get no score" in err
    found = json.loads(out)
    assert (found["rows"], found["scored"], len(found["top"])) == (2, 1, 1)
    row = {"month": "January", "elevation": 10.0, "zone": "coast", "temperature": 30.0, "rain": 1.0, "wind": 5.0}
    assert found["top"][0]["score"] == detector.explain(row).score
    assert (found["top"][0]["row"], found["top"][0]["rank_in_file"]) == (0, 1)
    new.write_text("wind,rain,temperatur,zone,elevation,month\n5,1,30,coast,10,January\n")
    code, _, err = invoke("score", tmp_path / "m.paribus", new)
    assert code == 2
    assert "the model needs a column: there is no column 'temperature': did you mean 'temperatur'?" in err
    before = (tmp_path / "m.paribus").read_bytes()
    assert "would replace" in invoke("fit", days, *ROLES, "--model", days)[2]
    assert invoke("score", days, days)[2].strip() == "paribus: days.csv is not a model that paribus saved"
    assert (tmp_path / "m.paribus").read_bytes() == before


def test_codes_with_zeros_in_front_stay_codes(tmp_path: Path) -> None:
    """Tests that numbers named categorical are texts, at fit and when other rows are scored."""
    path = tmp_path / "t.csv"
    path.write_text("zip,x\n" + "".join(f"00{row % 3},{row}.5\n" for row in range(40)))
    code, _, err = invoke("fit", path, "-c", "zip", "--categorical", "zip", "-b", "x", "-m", tmp_path / "m")
    assert code == 0, err
    assert QCAD.load(tmp_path / "m").categories_ == {"zip": ["000", "001", "002"]}
    code, _, err = invoke("score", tmp_path / "m", path)
    assert code == 0, err


def test_explain_prints_one_row_and_saves_its_pictures(days: Path, tmp_path: Path) -> None:
    """Tests that the explanation is that of the library, in plain text, with pictures where they are wanted."""
    arguments = ["explain", days, "--row", "s137", "--id", "station", *ROLES, *QUICK]
    result = run(*arguments, "--plots", "pictures", cwd=tmp_path, FORCE_COLOR="1")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("row s137: score ")
    assert "\x1b" not in result.stdout
    names = [f"s137-{kind}.{each}" for kind in ("behaviour", "context") for each in ("png", "svg")]
    assert sorted(os.listdir(tmp_path / "pictures")) == names
    assert (tmp_path / "pictures" / "s137-context.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "pictures" / "s137-context.svg").read_bytes()
    _, out, _ = invoke("explain", days, "--row", 137, *ROLES, *QUICK, "--json")
    assert json.loads(out) == json.loads(scores_of(days).explain(137).to_json())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect"], "Missing argument 'FILE'"),
        (["detect", "none.csv"], "there is no file none.csv"),
        (["detect", "."], "is a folder"),
        (["detect", "DAYS", "--nonsense"], "No such option: --nonsense"),
        (["detect", "DAYS", "-b", "rain"], "say which columns are the circumstances"),
        (["detect", "DAYS", "--json"], "say which columns are the circumstances"),
        (["detect", "DAYS", "-c", "mont", "-b", "rain"], "--context: there is no column 'mont': did you mean 'month'?"),
        (
            ["detect", "DAYS", "-c", "month", "-b", "Rain"],
            "--behavior: there is no column 'Rain': did you mean 'rain'?",
        ),
        (["detect", "DAYS", "-c", "month", "--id", "no"], "--id: there is no column 'no'"),
        (["detect", "DAYS", "-c", "month", "--id", "month"], "cannot be context or behaviour too"),
        (["detect", "DAYS", "-c", "month", "-b", "zone"], "column 'zone' has 'coast', and no numbers at all"),
        (
            ["detect", "DAYS", "-c", "month", "-b", "month"],
            "named both contextual and behavioural|and no numbers at all",
        ),
        (["detect", "DAYS", "-c", "month", "--categorical", "rain"], "only contextual columns can be categorical"),
        (["detect", "DAYS", "-c", "month", "--clip", "much"], "--clip is 'much': it must be a number or none"),
        (["detect", "DAYS", "-c", "month", "--clip", "0"], "clip is 0"),
        (["detect", "DAYS", "-c", "month", "--contamination", "0.9"], "contamination is 0.9"),
        (["detect", "DAYS", "-c", "month", "--max-features", "0"], "max_features is 0"),
        (["detect", "DAYS", "-c", "month", "--n-trees", "0"], "n_trees is 0"),
        (["detect", "DAYS", "-c", "month", "--n-jobs", "0"], "n_jobs is 0"),
        (["detect", "DAYS", "-c", "month", "--top", "0"], "--top"),
        (["detect", "DAYS", "-c", "month", "--out", "s.xls"], "its name must end in one of .csv"),
        (["detect", "DAYS", "-c", "month", "--out", "no/s.csv"], "there is no folder 'no'"),
        (["detect", "DAYS", "-c", "month", "--out", "DAYS"], "would replace"),
        (["detect", "DAYS", "-c", "month", "--out", "s.csv", "--report", "s.csv"], "would replace the file of --out"),
        (["detect", "DAYS", "-c", "month", "--report", "."], "it is a folder"),
        (["detect", "DAYS", "--sql", "days"], "--sql needs the address of a database"),
        (["explain", "DAYS", *ROLES], "Missing option '--row'"),
        (["explain", "DAYS", *ROLES, "--row", "300"], "there is no row 300: rows are numbered from 0 to 299"),
        (["explain", "DAYS", *ROLES, "--row", "s30x", "--id", "station"], "names no row s30x: did you mean s30"),
        (["explain", "DAYS", *ROLES, "--row", "1", "--plots", "DAYS"], "is a file, and a folder is needed"),
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


def test_mistakes_of_the_installed_command(days: Path, tmp_path: Path) -> None:
    """Tests the exit code and the one line once in a process of its own, and the traceback that --debug adds."""
    bad = tmp_path / "bad.csv"
    bad.write_text("month,rain\nMay,1\nJune\n")
    result = run("detect", "bad.csv", "-c", "month", "-b", "rain", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr == "paribus: bad.csv, line 3: it has 1 value and the first line 2, with ',' between them\n"
    assert result.stdout == ""
    result = run("detect", "bad.csv", "-c", "month", "--debug", cwd=tmp_path)
    assert result.returncode not in (0, 2)
    assert "Traceback" in result.stderr


def test_a_full_disk_is_one_line_and_leaves_the_old_file(days: Path, tmp_path: Path) -> None:
    """Tests that a write that the system stops keeps the old scores, and leaves nothing half-written."""
    (tmp_path / "s.csv").write_text("old")
    limited = f"ulimit -f 8; trap '' XFSZ; exec {COMMAND} detect {days} {' '.join(ROLES + QUICK)} --out s.csv"
    result = subprocess.run(["bash", "-c", limited], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "paribus: cannot write 's.csv': file too large"
    assert "Traceback" not in result.stderr
    assert (tmp_path / "s.csv").read_text() == "old"
    assert os.listdir(tmp_path) == ["s.csv"]


def start_long_run(days: Path, folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [COMMAND, "detect", str(days), *ROLES, "--n-trees", "9000", "--out", "s.csv"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    # Until the library is loaded: interrupts before that are Python's own.
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and "_core" not in maps.read_text():
        pass
    return process


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "code", "message"), [(signal.SIGINT, 130, "paribus: interrupted\n"), (signal.SIGTERM, 143, "")]
)
def test_an_interrupt_ends_it_with_one_line(days: Path, tmp_path: Path, number: int, code: int, message: str) -> None:
    """Tests that Ctrl-C and a kill end a long run soon, and leave no half-written file."""
    process = start_long_run(days, tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code
    # Where the interrupt comes in the middle of an import, C code may have a word of its own before.
    assert out == ""
    assert err.endswith(message)
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    """Tests that a closed pipe ends the command without a word."""
    script = f"{COMMAND} datasets | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert result.stderr == ""
    assert result.returncode in (0, 141)


def in_terminal(*arguments: object, cwd: Path, **environment: str) -> str:
    """What a person sees."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLUMNS": "90", "LANG": "C.UTF-8"} | environment,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0, shown.decode()
    return shown.decode()


def test_a_terminal_gets_a_bar_and_a_table(days: Path, tmp_path: Path) -> None:
    """Tests that a person sees progress, then a table no wider than the terminal, in colours unless NO_COLOR is set."""
    shown = in_terminal("detect", days, *ROLES, *QUICK, "--top", 2, cwd=tmp_path)
    assert "300/300" in shown
    assert "Scoring" in shown
    assert "why" in shown
    assert "\t" not in shown
    assert "\x1b[1m" in shown
    last = shown[shown.rindex("300/300") :]
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).split("\r\n")
    assert max(len(line) for line in lines[2:]) <= 90
    # Bold is no colour.
    plain = in_terminal("detect", days, cwd=tmp_path, NO_COLOR="1")
    assert re.search(r"\x1b\[[0-9;]*[34][0-9]", plain) is None


def test_names_and_values_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Tests that escapes, markup and long names in the data are shown as harmless text."""
    evil = "\x1b[31mred\x1b]0;title\x07[bold]m\u202e"
    path = tmp_path / "t.csv"
    rows = "".join(f"{evil if row % 2 else 'b'},{row % 5},{'[/red]' if row == 3 else row}\n" for row in range(40))
    path.write_text(f"{evil},{'n' * 5000},id\n{rows}")
    shown = in_terminal("detect", "t.csv", cwd=tmp_path)
    assert "\x1b[31m" not in shown
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown
    assert "[bold]m" in shown
    shown = in_terminal("detect", "t.csv", "-c", evil, "-b", "n" * 5000, "--id", "id", "--n-trees", "2", cwd=tmp_path)
    assert "\x1b[31m" not in shown
    assert "\x1b]0" not in shown
    code, out, err = invoke("detect", path, "-c", evil, "-b", "no" + evil)
    assert code == 2
    assert "\x1b" not in out + err
    assert err.count("\n") == 1


def test_names_with_commas(tmp_path: Path) -> None:
    """Tests that a name with a comma can be given alone, or in quotes among others."""
    path = tmp_path / "t.csv"
    path.write_text('"a,b",c,x\n' + "".join(f"{row % 3},{row % 2},{row}\n" for row in range(30)))
    first = invoke("detect", path, "-c", "a,b", "-c", "c", "-b", "x", "--n-trees", "2")
    second = invoke("detect", path, "-c", '"a,b",c', "-b", "x", "--n-trees", "2")
    assert first[0] == second[0] == 0
    assert first[1] == second[1]


def test_scores_depend_on_the_options(days: Path, tmp_path: Path) -> None:
    """Tests that every parameter on the command line reaches the detector."""
    given: dict[str, Any] = {
        "n_neighbors": 20, "n_trees": 3, "bootstrap": False, "max_features": 0.5, "min_samples_split": 5,
        "n_quantiles": 50, "clip": None, "scale_tails": False, "contamination": 0.1, "random_state": 7, "n_jobs": 1,
    }  # fmt: skip
    typed: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        typed += (
            [option.replace("--", "--no-", 1)] if value is False else [option, "none" if value is None else str(value)]
        )
    code, out, err = invoke("detect", days, *ROLES, *typed, "--json", "--top", 1)
    assert code == 0, err
    assert json.loads(out)["parameters"] == given
    table = {name: values[:300] for name, values in datasets.load("weather").table.items()}
    detector = QCAD(["month", "elevation", "zone"], ["temperature", "rain", "wind"], **given).fit(table)
    assert json.loads(out)["top"][0]["score"] == np.nanmax(detector.anomaly_scores_)


def test_the_demo_shows_the_planted_days_and_writes_a_report(tmp_path: Path) -> None:
    """Tests that the demo finds the strangest days, and says where the report is."""
    result = run("demo", cwd=tmp_path, COLUMNS="100")
    assert result.returncode == 0, result.stderr
    assert "The strangest days" in result.stdout
    assert "1204" in result.stdout
    assert "The report is in paribus-demo.html." in result.stdout
    assert (tmp_path / "paribus-demo.html").read_text().startswith("<!doctype html>")


def test_the_list_of_data_sets_in_a_pipe_is_plain(tmp_path: Path) -> None:
    """Tests that a program gets one line per set, with tabs between the values."""
    lines = [line.split("\t") for line in run("datasets", cwd=tmp_path).stdout.splitlines()]
    assert lines[0] == ["name", "rows", "context", "behaviour", "anomalies", "what it is"]
    assert [line[0] for line in lines[1:]] == datasets.names()
    assert ["Abalone", "4177", "4", "5", "100"] in [line[:5] for line in lines]
    assert ["football", "532", "6", "2", ""] in [line[:5] for line in lines]


def test_the_list_of_data_sets_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a person gets a table no wider than the terminal, with names and numbers whole."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    cli.datasets()
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines) <= 80
    assert "\t" not in "".join(lines)
    words = {word for line in lines for word in line.split()}
    assert set(datasets.names()) <= words
    assert "19000" in words


def test_public_names_are_found_when_needed() -> None:
    """Tests that the package offers its names although it imports them late, and no others."""
    import paribus

    assert {"QCAD", "gower_neighbors", "__version__"} <= set(dir(paribus))
    assert paribus.QCAD.__module__ == "paribus.detector"
    assert paribus.__version__.count(".") >= 2
    with pytest.raises(AttributeError, match="module 'paribus' has no attribute 'QCDA'"):
        _ = paribus.QCDA  # type: ignore[attr-defined]


def test_gzip_through_a_pipe(days: Path) -> None:
    """Tests that a compressed table on standard input is read as a file of it is."""
    packed = gzip.compress(days.read_bytes())
    command = [COMMAND, "detect", "-", "-c", "month,elevation,zone", "-b", "temperature", "--n-trees", "2"]
    result = subprocess.run(command, input=packed, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    assert b"Warning" not in result.stderr


def test_what_is_read_is_never_replaced(days: Path, tmp_path: Path) -> None:
    """Tests standard input that comes from the file to be written, a database with options, and a query that writes."""
    table = tmp_path / "in.csv"
    table.write_bytes(days.read_bytes())
    with table.open("rb") as stream:
        command = [COMMAND, "detect", "-", "-c", "month", "-b", "rain", "--out", str(table)]
        result = subprocess.run(command, stdin=stream, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "would replace the table that is read" in result.stderr
    assert table.read_bytes() == days.read_bytes()
    database = tmp_path / "w.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (a REAL, b REAL)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, i % 7) for i in range(40)])
    connection.close()
    before = database.read_bytes()
    for extra in (["--sql", "t", "--report", str(database)], ["--sql", "drop table t"]):
        command = [COMMAND, "detect", f"sqlite:///{database}?timeout=5", "-c", "a", "-b", "b", *extra]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 2, result.stderr
        assert database.read_bytes() == before
