"""The `paribus` command."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from paribus import QCAD, ConditionalSurprise, datasets, load
from paribus.cli.printing import print_json
from paribus.detectors.base import ContextualDetector
from paribus.output.tables import BEHAVIOR_HEADINGS
from tests.support.running import (
    QUICK,
    QUICK_OPTIONS,
    ROLES,
    fitted,
    for_each_method,
    in_terminal,
    invoke,
    invoke_in_terminal,
    run,
)


def suggestion(out: str) -> str:
    """The command that the list of columns ends with."""
    return next(line for line in out.splitlines() if line.startswith("  paribus detect "))


@pytest.mark.parametrize("method", ["surprise", "qcad"])
def test_an_option_of_the_other_method_is_refused(method: str, days: Path) -> None:
    """Tests that an option that does not apply to the method is an error."""
    option = "--n-neighbors" if method == "surprise" else "--max-samples"
    other = "qcad" if method == "surprise" else "surprise"
    code, out, err = invoke("detect", days, *ROLES, "--method", method, option, 9)
    assert (code, out, err) == (2, "", f"paribus: {option} is for --method {other}: add that, or leave {option} out\n")


def test_the_default_method_is_surprise(days: Path, tmp_path: Path) -> None:
    """Tests that without --method the scores, explanations and models are ConditionalSurprise's."""
    table = {name: values[:300] for name, values in datasets.load("weather").table.items()}
    detector = ConditionalSurprise(["month", "elevation", "zone"], ["temperature", "rain", "wind"], n_trees=8)
    detector.fit(table)
    quick = ["--n-trees", 8]
    code, out, err = invoke("detect", days, *ROLES, *quick, "--json", "--top", 2)
    assert code == 0, err
    assert "each compared with the rows like it in month, elevation and zone" in err
    assert json.loads(out)["top"][0]["score"] == detector.anomaly_scores_.max()
    assert invoke("fit", days, *ROLES, *quick, "--model", tmp_path / "m")[0] == 0
    assert type(load(tmp_path / "m")) is ConditionalSurprise
    code, scored, err = invoke("score", tmp_path / "m", days, "--json", "--top", 2)
    assert code == 0, err
    assert [each["score"] for each in json.loads(scored)["top"]] == [each["score"] for each in json.loads(out)["top"]]


@for_each_method
def test_detect_gives_the_results_of_the_library(
    method: str, days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests plain output in a pipe, the scores of all rows in a file, and the report."""
    arguments = ["detect", days, *ROLES, *QUICK_OPTIONS[method], "--id", "station", "--top", 4]
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, out, err = invoke(*arguments, "--out", tmp_path / "s.csv", "--report", tmp_path / "r.html")
    assert code == 0, err
    assert "\x1b" not in out + err
    detector = fitted(method)
    lines = [line.split("\t") for line in out.splitlines()]
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
    compared = detector.view().compared_with("row")
    assert f"300 rows, each compared with {compared} in month, elevation and zone" in err
    assert sorted(os.listdir(tmp_path)) == ["r.html", "s.csv"]


@for_each_method
def test_json_has_the_explanations(method: str, days: Path, tmp_path: Path) -> None:
    """Tests that --json prints the summary and the explanations, and nothing else on standard output."""
    code, out, err = invoke("detect", days, *ROLES, *QUICK_OPTIONS[method], "--json", "--full", "--top", 2)
    assert code == 0, err
    result = json.loads(out)
    detector = fitted(method)
    assert result["rows"] == 300
    assert result["anomalies"] == int((detector.labels_ == -1).sum())
    assert result["parameters"]["n_trees"] == 5
    assert result["categorical"] == ["month", "zone"]
    expected = json.loads(json.dumps([each.to_dict() for each in detector.explain_all(2)]))
    for ours, theirs in zip(result["top"], expected, strict=True):
        assert ours == theirs | {"rank_in_file": theirs["rank"], "group": None}


@for_each_method
def test_json_is_short_by_default(method: str, days: Path) -> None:
    """Tests that a row takes a few hundred bytes, and has the same values as the complete form."""
    code, out, err = invoke("detect", days, *ROLES, *QUICK_OPTIONS[method], "--json", "--top", 3)
    assert code == 0, err
    for ours, explanation in zip(json.loads(out)["top"], fitted(method).explain_all(3), strict=True):
        assert ours["sentence"] == str(explanation)
        assert ours["score"] == explanation.score
        assert (ours["leading"], ours["value"]) == (explanation.leading.name, explanation.leading.value)
        assert len(json.dumps(ours)) < 900


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_can_be_printed_in_any_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that characters that the output encoding does not have are escaped, and others are not."""
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding))
    print_json({"contextual": ["\u00e9\u0142"]})
    sys.stdout.flush()
    assert json.loads(out.getvalue().decode(encoding)) == {"contextual": ["\u00e9\u0142"]}
    assert ("\u00e9".encode() in out.getvalue()) == (encoding == "utf-8")


def test_json_at_a_terminal_is_ascii(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no character of the data can control a terminal, and that a pipe gets it unchanged."""
    print_json("\u202e")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_json("\u202e")
    assert capsys.readouterr().out == '"\u202e"\n"\\u202e"\n'


@for_each_method
def test_the_report_explains_at_least_fifty_rows(
    method: str, days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a large --top makes the report longer, and that a small one does not make it shorter."""
    explained: list[int] = []
    monkeypatch.setattr(ContextualDetector, "write_report", lambda _, path, rows, **__: explained.append(len(rows)))
    for top in (2, 60):
        code, _, err = invoke(
            "detect", days, *ROLES, *QUICK_OPTIONS[method], "--top", top, "--report", tmp_path / "r.html"
        )
        assert code == 0, err
    assert explained == [50, 60]


def test_every_source_gives_the_same_result(days: Path, tmp_path: Path) -> None:
    """Tests standard input, gzip, Parquet, JSON lines and a database against the plain file."""
    rows = list(csv.DictReader(days.read_text().splitlines()))
    for row in rows:
        row |= {name: float(row[name]) for name in ("elevation", "temperature", "rain", "wind")}
    (tmp_path / "d.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(days.read_bytes(), mtime=0))
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
    """Tests that types, missing values and examples are shown, with a command that can be run as it is."""
    code, out, err = invoke("detect", days)
    assert code == 0, err
    assert out.splitlines()[0].split("\t") == ["column", "type", "missing", "distinct", "looks like", "examples"]
    assert "elevation\tnumbers\t0\t" in out
    code, _, err = invoke(*shlex.split(suggestion(out))[1:], "--n-trees", 2)
    assert code == 0, err
    # Names that must be quoted.
    odd = tmp_path / "odd.csv"
    rows = "".join(f"{row % 3},k{row % 2},{row * 1.5},{row}\n" for row in range(30))
    odd.write_text(f"""a b,"c,d",'e',"x""y"\n{rows}""")
    _, out, _ = invoke("detect", odd)
    code, _, err = invoke(*shlex.split(suggestion(out))[1:], "--n-trees", 2)
    assert code == 0, err


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("--top.csv", []),
        ("two\nlines  and 'quotes'.csv", []),
        ("t.csv", ["--no-header"]),
        ("t.csv", ["--header", "--encoding", "utf-16-le"]),
        ("t.csv", ["--missing", "-9", "--missing", "no value", "--separator", ","]),
        ("t.csv", ["--separator", "tab"]),
        ("t.csv", ["--separator", "\t"]),
        ("sqlite:///w.db", ["--sql", "days"]),
        ("sqlite:///w.db", ["--sql", "SELECT *\n  FROM days -- all\n WHERE a < 'x'"]),
    ],
)
def test_the_suggested_command_reads_the_table_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, options: list[str]
) -> None:
    """Tests that the suggested command runs in a shell as it is, with the options that were given."""
    separator = "\t" if options[-1:] in (["tab"], ["\t"]) else ","
    lines = [separator.join(["a", "k", "x", "y"])]
    lines += [separator.join([str(row % 3), f"k{row % 2}", f"{row * 1.5}", "-9"]) for row in range(30)]
    if name == "sqlite:///w.db":
        with sqlite3.connect(tmp_path / "w.db") as connection:
            connection.execute("CREATE TABLE days (a, k, x)")
            rows = [(row % 3, f"k{row % 2}", row * 1.5) for row in range(30)]
            connection.executemany("INSERT INTO days VALUES (?, ?, ?)", rows)
        connection.close()
    else:
        encoding = "utf-16-le" if "utf-16-le" in options else "utf-8"
        text = "\n".join(lines[1:] if "--no-header" in options else lines)
        (tmp_path / name).write_text(text, encoding=encoding)
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke("detect", *options, "--", name)
    assert code == 0, err
    words = subprocess.run(
        ["bash", "-c", "printf '%s\\0' " + suggestion(out).strip()], capture_output=True, check=True, text=True
    ).stdout.split("\0")
    typed = [word for word in words if word in options]
    assert sorted(typed) == sorted(options)
    code, out, err = invoke(*words[1:-1], "--n-trees", 2)
    assert code == 0, err
    assert "30 rows" in err


@for_each_method
def test_fit_and_score_give_the_results_of_detect(method: str, days: Path, tmp_path: Path) -> None:
    """Tests that a saved model gives fitted rows their scores of the fit, and that it scores new rows."""
    model, scores = tmp_path / "m.paribus", tmp_path / "s.parquet"
    code, _, err = invoke("fit", days, *ROLES, *QUICK_OPTIONS[method], "--id", "station", "--model", model)
    assert code == 0, err
    code, shown, err = invoke("score", model, days, "--id", "station", "--out", scores, "--top", 2)
    assert code == 0, err
    detector = fitted(method)
    table = pq.read_table(tmp_path / "s.parquet").to_pydict()
    assert table["score"] == detector.anomaly_scores_.tolist()
    assert table["id"][:2] == ["s0", "s1"]
    assert shown.splitlines()[1].split("\t")[0] == f"s{detector.anomaly_scores_.argmax()}"
    # New rows, with the columns in another order and an extra column.
    new = tmp_path / "new.csv"
    new.write_text("more,wind,rain,temperature,zone,elevation,month\nx,5,1,30,coast,10,January\nx,,,,coast,10,May\n")
    code, out, err = invoke("score", tmp_path / "m.paribus", new, "--json")
    assert code == 0
    assert "1 row without a score" in err
    found = json.loads(out)
    assert (found["rows"], found["scored"], len(found["top"])) == (2, 1, 1)
    row = {"month": "January", "elevation": 10.0, "zone": "coast", "temperature": 30.0, "rain": 1.0, "wind": 5.0}
    assert found["top"][0]["score"] == detector.explain(row).score
    assert (found["top"][0]["row"], found["top"][0]["rank_in_file"]) == (0, 1)
    new.write_text("wind,rain,temperatur,zone,elevation,month\n5,1,30,coast,10,January\n")
    code, _, err = invoke("score", tmp_path / "m.paribus", new)
    assert code == 2
    assert "the model needs the column 'temperature', which is not there: did you mean 'temperatur'?" in err
    before = (tmp_path / "m.paribus").read_bytes()
    assert "would overwrite" in invoke("fit", days, *ROLES, "--model", days)[2]
    assert invoke("score", days, days)[2].strip() == "paribus: days.csv is not a model saved by paribus"
    assert (tmp_path / "m.paribus").read_bytes() == before


def test_a_model_with_roles_by_position_scores_a_file_by_name(days: Path, tmp_path: Path) -> None:
    """Tests that a detector that was fitted in Python with columns by position finds them in a file."""
    table = {name: values[:300] for name, values in datasets.load("weather").table.items()}
    places = [list(table).index(name) for name in ("elevation", "zone", "rain")]
    detector = QCAD(places[:2], places[2:], n_trees=3).fit(table)
    detector.save(tmp_path / "m")
    code, out, err = invoke("score", tmp_path / "m", days, "--id", "station", "--json", "--top", 1)
    assert code == 0, err
    assert json.loads(out)["top"][0]["row"] == f"s{detector.anomaly_scores_.argmax()}"


def test_leading_zeros_of_codes_are_kept(tmp_path: Path) -> None:
    """Tests that numbers in categorical columns are read as text, for the fit and for scoring."""
    path = tmp_path / "t.csv"
    path.write_text("zip,x\n" + "".join(f"00{row % 3},{row}.5\n" for row in range(40)))
    code, _, err = invoke("fit", path, "-c", "zip", "--categorical", "zip", "-b", "x", "-m", tmp_path / "m")
    assert code == 0, err
    assert load(tmp_path / "m").categories_ == {"zip": ["000", "001", "002"]}
    code, _, err = invoke("score", tmp_path / "m", path)
    assert code == 0, err


@for_each_method
def test_explain_prints_one_row_and_saves_its_pictures(method: str, days: Path, tmp_path: Path) -> None:
    """Tests that the explanation is that of the library, as plain text, and that pictures are saved."""
    arguments = ["explain", days, "--row", "s137", "--id", "station", *ROLES, *QUICK_OPTIONS[method]]
    code, out, err = invoke(*arguments, "--plots", tmp_path / "pictures")
    assert code == 0, err
    assert out.startswith("row s137: score ")
    assert "\x1b" not in out
    lines = out.splitlines()
    explanation = fitted(method).explain(137)
    assert explanation.sentence in lines[1]
    assert all("\t" in line and line == line.strip() for line in lines[2 + len(explanation.warnings) :])
    assert [line.split("\t")[0] for line in lines[-8:]] == [
        *(BEHAVIOR_HEADINGS[0], *(feature.name for feature in explanation.behavior)),
        *("context", *(feature.name for feature in explanation.context)),
    ]
    names = [f"s137-{kind}.{each}" for kind in ("behavior", "context") for each in ("png", "svg")]
    assert sorted(os.listdir(tmp_path / "pictures")) == names
    assert (tmp_path / "pictures" / "s137-context.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "pictures" / "s137-context.svg").read_bytes()
    _, out, _ = invoke("explain", days, "--row", 137, *ROLES, *QUICK_OPTIONS[method], "--json", "--full")
    assert json.loads(out) == json.loads(fitted(method).explain(137).to_json())


def test_the_same_explanation_gives_the_same_pictures(days: Path, tmp_path: Path) -> None:
    """Tests that the pictures of two runs are identical files."""
    arguments = ["explain", days, "--row", 137, *ROLES, *QUICK_OPTIONS["surprise"], "--format", "svg,pdf"]
    for folder in ("a", "b"):
        assert invoke(*arguments, "--plots", tmp_path / folder)[0] == 0
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / each).iterdir()} for each in "ab")
    assert len(first) == 4
    assert first == second


@for_each_method
def test_the_name_of_an_unnamed_row_is_unique(method: str, days: Path, tmp_path: Path) -> None:
    """Tests that a missing name is replaced by one that no other row has, in every output and for --row."""
    detector = fitted(method)
    highest = int(detector.anomaly_scores_.argmax())
    lines = days.read_text().splitlines()
    lines[1 + highest] = "," + lines[1 + highest].partition(",")[2]
    lines[1] = f"row {highest}," + lines[1].partition(",")[2]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    options = [*ROLES, *QUICK_OPTIONS[method], "--id", "station"]
    files = ["--out", tmp_path / "s.csv", "--report", tmp_path / "r.html"]
    code, out, err = invoke("detect", path, *options, "--top", 1, *files)
    assert code == 0, err
    name = f"(row {highest})"
    assert out.splitlines()[1].split("\t")[0] == name
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert (rows[0]["id"], rows[highest]["id"]) == (f"row {highest}", name)
    assert name in (tmp_path / "r.html").read_text()
    assert invoke("explain", path, *options, "--row", name)[1].startswith(f"row {name}: score ")
    path.write_text("\n".join([*lines, f"{name},{lines[1].partition(',')[2]}"]))
    assert invoke("detect", path, *options, "--top", 1)[1].splitlines()[1].split("\t")[0] == f"({name})"


def test_a_terminal_gets_a_bar_and_a_table(days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a terminal shows progress, then a table that fits, in colors unless NO_COLOR is set."""
    shown = in_terminal("detect", days, *ROLES, *QUICK, "--top", 2, cwd=tmp_path)
    assert "300/300" in shown
    assert "Scoring" in shown
    assert "why" in shown
    assert "\t" not in shown
    assert "\x1b[1m" in shown
    last = shown[shown.rindex("300/300") :]
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).split("\r\n")
    assert max(len(line) for line in lines[2:]) <= 90
    # Bold is not a color.
    monkeypatch.setenv("NO_COLOR", "1")
    plain = invoke_in_terminal("detect", days, columns=90)
    assert re.search(r"\x1b\[[0-9;]*[34][0-9]", plain) is None


def test_names_and_values_cannot_control_the_terminal(tmp_path: Path) -> None:
    """Tests that escape sequences, markup and long names in the data are shown as harmless text."""
    evil = "\x1b[31mred\x1b]0;title\x07[bold]m\u202e"
    path = tmp_path / "t.csv"
    rows = "".join(f"{evil if row % 2 else 'b'},{row % 5},{'[/red]' if row == 3 else row}\n" for row in range(40))
    path.write_text(f"{evil},{'n' * 5000},id\n{rows}")
    shown = invoke_in_terminal("detect", path, columns=90)
    assert "\x1b[31m" not in shown
    assert "\x1b]0" not in shown
    assert "\u202e" not in shown
    assert "[bold]m" in shown
    shown = invoke_in_terminal("detect", path, "-c", evil, "-b", "n" * 5000, "--id", "id", "--n-trees", 2, columns=90)
    assert "\x1b[31m" not in shown
    assert "\x1b]0" not in shown
    code, out, err = invoke("detect", path, "-c", evil, "-b", "no" + evil)
    assert code == 2
    assert "\x1b" not in out + err
    assert err.count("\n") == 1


def test_the_british_spelling_of_behavior_is_accepted(days: Path) -> None:
    """Tests that --behaviour works as --behavior does, and that the help does not mention it."""
    british = [word.replace("--behavior", "--behaviour") for word in ROLES]
    assert invoke("detect", days, *british, *QUICK)[:2] == invoke("detect", days, *ROLES, *QUICK)[:2]
    assert "--behaviour" not in invoke("detect", "--help")[1]


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
    typed: list[str] = ["--method", "qcad"]
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        typed += (
            [option.replace("--", "--no-", 1)] if value is False else [option, "none" if value is None else str(value)]
        )
    code, out, err = invoke("detect", days, *ROLES, *typed, "--json", "--full", "--top", 1)
    assert code == 0, err
    assert json.loads(out)["parameters"] == given
    table = {name: values[:300] for name, values in datasets.load("weather").table.items()}
    detector = QCAD(["month", "elevation", "zone"], ["temperature", "rain", "wind"], **given).fit(table)
    assert json.loads(out)["top"][0]["score"] == np.nanmax(detector.anomaly_scores_)


def test_gzip_through_a_pipe(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a compressed table can be read from standard input."""
    packed = gzip.compress(days.read_bytes(), mtime=0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(packed)))
    code, _, err = invoke("detect", "-", "-c", "month,elevation,zone", "-b", "temperature", "--n-trees", 2)
    assert code == 0, err
    assert "Warning" not in err
