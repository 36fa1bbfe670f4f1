"""Where results go: files, reports, pictures and exit codes, of a fit and of a model; and known rows."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from paribus import load
from tests.support.running import QUICK_OPTIONS, ROLES, fitted, for_each_method, invoke, write_table

QUICK = ["--n-trees", "16", "--false-alarms", "0.01"]
# Days whose wind was not measured.
WITHOUT_WIND = range(100, 106)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Days with codes, a comment that looks like a formula, and days without wind."""
    path = write_table(tmp_path_factory.mktemp("days") / "days.csv")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for place, row in enumerate(rows):
        row |= {"code": f"{place:05}", "comment": "=1+1"}
        if place in WITHOUT_WIND:
            row["wind"] = "-99"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def model(days: Path) -> Path:
    path = days.with_name("m.paribus")
    code, _, err = invoke("fit", days, *ROLES, *QUICK, "--id", "station", "--model", path)
    assert code == 0, err
    return path


def detect(*arguments: object) -> tuple[int, str, str]:
    return invoke("detect", *arguments, *ROLES, *QUICK)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ("none", []),
        ("roles", ["month", "elevation", "zone", "temperature", "rain", "wind"]),
        ("all", ["station", "month", "elevation", "zone", "temperature", "rain", "wind", "code", "comment"]),
    ],
)
def test_the_file_has_what_was_asked_for(columns: str, names: list[str], days: Path, tmp_path: Path) -> None:
    """Tests the results, the original columns, and that codes and whole numbers come out as they went in."""
    code, _, err = detect(days, "--id", "station", "--out", tmp_path / "o.csv", "--columns", columns)
    assert code == 0, err
    rows = rows_of(tmp_path / "o.csv")
    found = ["id", "score", "p_value", "rank", "label", "kind", "group", "sentence", "leading", "value"]
    found += ["usual_low", "usual_high", "partial_temperature", "partial_rain", "partial_wind"]
    assert list(rows[0]) == [*found, *names]
    assert len(rows) == 300
    flagged = [row for row in rows if row["label"] == "anomaly"]
    assert {row["id"] for row in flagged} >= {f"s{place}" for place in WITHOUT_WIND}
    for row in flagged:
        assert row["sentence"].startswith(row["leading"])
        assert row["kind"] in ("whole", "combination", "value")
    assert all(row["sentence"] == row["kind"] == "" for row in rows if row["label"] == "normal")
    if columns == "all":
        assert rows[7]["code"] == "00007"
        assert rows[7]["comment"] == "'=1+1"
    if columns != "none":
        original = rows_of(days)
        assert [float(row["elevation"]) for row in rows] == [float(row["elevation"]) for row in original]


def test_only_flagged_rows_and_other_formats(days: Path, tmp_path: Path) -> None:
    """Tests that ids and codes stay text in Parquet, and that only flagged rows are there."""
    out = ["--columns", "all", "--only", "flagged"]
    code, _, err = detect(days, "--id", "code", "--out", tmp_path / "o.parquet", *out)
    assert code == 0, err
    table = pq.read_table(tmp_path / "o.parquet").to_pylist()
    assert {row["label"] for row in table} == {"anomaly"}
    assert {f"{place:05}" for place in WITHOUT_WIND} <= {row["id"] for row in table} == {row["code"] for row in table}
    for name in ("o.xlsx", "o.duckdb", "o.sqlite", "o.jsonl", "o.tsv"):
        code, _, err = detect(days, "--out", tmp_path / name, "--out-table", "found")
        assert code == 0, err
        assert (tmp_path / name).stat().st_size > 0
    code, out_text, err = invoke(
        "detect", f"duckdb:///{tmp_path / 'o.duckdb'}", "--sql", "found", "-c", "month", "-b", "rain", *QUICK
    )
    assert code == 0, err
    assert out_text.startswith("row\trank\tscore")


def test_groups_come_first_and_stand_for_their_rows(days: Path) -> None:
    """Tests that the shell prints groups, then rows, and of each group one row; and groups in JSON."""
    code, out, err = detect(days, "--id", "station", "--top", 5)
    assert code == 0, err
    groups, _, rows = out.partition("\n\n")
    assert groups.splitlines()[0] == "group\trows\twhat they have in common"
    assert groups.splitlines()[1].startswith("1\t6\twind is -99.0 where ")
    lines = [line.split("\t") for line in rows.splitlines()]
    assert lines[0] == ["id", "rank", "score", "group", "why"]
    assert len(lines) == 6
    assert [line[3] for line in lines].count("1") == 1
    code, out, _ = detect(days, "--json", "--top", 10)
    found = json.loads(out)
    assert (found["groups"][0]["size"], found["groups"][0]["known_rule"]) == (6, "wind = -99")
    assert found["expected_false_alarms"] == pytest.approx(3.0)
    assert [row["group"] for row in found["top"]].count(1) >= 2


def test_exit_codes_for_pipelines(days: Path) -> None:
    """Tests that code 3 means too many flagged rows, by number or share, and that known rows do not count."""
    n_flagged = json.loads(detect(days, "--json")[1])["anomalies"]
    for arguments, expected in (
        ([], 0),
        (["--fail-if-flagged"], 3),
        (["--max-flagged", n_flagged], 0),
        (["--max-flagged", n_flagged - 1], 3),
        (["--max-flagged", "1%"], 3),
        (["--max-flagged", "50%"], 0),
    ):
        code, out, err = detect(days, *arguments)
        assert code == expected, err
        assert out
        assert ("more than allowed: exit code 3" in err) == (expected == 3)
    for wrong in ("half", "120%", "-1", "0.5"):
        code, _, err = detect(days, f"--max-flagged={wrong}")
        assert code == 2
        assert "it must be a number of rows, such as 20, or a share, such as 0.5%" in err


def test_known_rows_do_not_come_back(days: Path, tmp_path: Path) -> None:
    """Tests a rule and an id: not shown, not counted, marked in files, also with a model and for another table."""
    known = tmp_path / "known.csv"
    known.write_text("row,rule,status,note\n,wind = -99 and code < 00110,known cause,sensor\ns137,,false alarm,\n")
    arguments = ["--id", "station", "--known", known, "--out", tmp_path / "o.csv"]
    code, _, err = detect(days, *arguments)
    assert code == 2
    assert "the known rule 'wind = -99 and code < 00110' cannot be used: column 'code' holds text" in err
    known.write_text('row,rule,status,note\n,wind = -99 and comment = "=1+1",known cause,sensor\ns137,,false alarm,\n')
    code, out, err = detect(days, *arguments, "--top", 300)
    assert code == 0, err
    assert "known and not listed: " in err
    assert not {f"s{place}" for place in (*WITHOUT_WIND, 137)} & set(out.split())
    rows = {row["id"]: row for row in rows_of(tmp_path / "o.csv")}
    assert (rows["s105"]["label"], rows["s105"]["known"], rows["s105"]["note"]) == ("known", "known cause", "sensor")
    assert rows["s137"]["known"] == "false alarm"
    assert "group" in rows["s105"]


def test_a_model_does_all_of_it(days: Path, model: Path, tmp_path: Path) -> None:
    """Tests score with a report, pictures, groups, known rows and files; the results are those of a fit."""
    known = tmp_path / "known.json"
    known.write_text('[{"rule": "wind = -99", "status": "false alarm"}]')
    code, out, err = invoke(
        "score", model, days, "--id", "station", "--report", tmp_path / "r.html", "--plots", tmp_path / "plots",
        "--format", "svg", "--top", 2, "--out", tmp_path / "o.csv", "--columns", "all",
    )  # fmt: skip
    assert code == 0, err
    assert out.startswith("group\trows")
    page = (tmp_path / "r.html").read_text()
    assert "Each of 300 new rows was compared with" in page
    assert "wind is -99.0 where" in page
    assert len(os.listdir(tmp_path / "plots")) == 4
    rows = rows_of(tmp_path / "o.csv")
    assert [float(row["score"]) for row in rows] == load(model).anomaly_scores_.tolist()
    assert rows[3]["code"] == "00003"
    code, out, err = invoke("score", model, days, "--known", known, "--max-flagged", 20)
    assert code == 0, err
    assert "-99" not in out


def test_a_row_is_explained_with_a_model(days: Path, model: Path) -> None:
    """Tests a fitted row by its name, a row of a file, and the messages for rows that are not there."""
    code, out, err = invoke("explain", "--model", model, "--row", "s105")
    assert code == 0, err
    assert out.startswith("row s105: score ")
    assert "wind -99.0 where month is" in out
    code, other, err = invoke("explain", days, "--model", model, "--id", "station", "--row", "s105", "--json")
    assert code == 0, err
    found = json.loads(other)
    assert (found["row"], found["position"], found["value"]) == ("s105", None, -99.0)
    assert "fitted rows" in found["sentence"]
    for arguments, message in (
        (["--model", model, "--row", "s1055"], "the model has no row s1055: did you mean 's1"),
        ([days, "--model", model, "--row", "300"], "there is no row 300"),
        (["--row", "3"], "name a FILE whose row to explain, or a model with --model"),
        (["--model", model, "--row", "s1", "-c", "month"], "the model has its own contextual and behavioral columns"),
    ):
        code, _, err = invoke("explain", *arguments)
        assert code == 2
        assert message in err


def test_a_model_is_shown(days: Path, model: Path) -> None:
    """Tests what it was fitted to, when, the roles, the calibration and the size."""
    code, out, err = invoke("show", model)
    assert code == 0, err
    for line in ("method: ConditionalSurprise", "fitted to: days.csv", "rows: 300", "context: month, elevation, zone"):
        assert line in out.splitlines()
    found = json.loads(invoke("show", model, "--json")[1])
    assert found["behavior"] == ["temperature", "rain", "wind"]
    assert set(found["held_by_the_90_%_range"]) == {"temperature", "rain", "wind"}
    assert all(0.7 < share <= 1 for share in found["held_by_the_90_%_range"].values())
    assert found["bytes"] == model.stat().st_size
    assert found["fitted_at"].startswith("20")


def test_the_guess_says_which_columns_it_leaves_out(days: Path, tmp_path: Path) -> None:
    """Tests that columns that are not in the suggested command are named, each with its reason."""
    path = tmp_path / "wide.csv"
    names = [f"x{place}" for place in range(8)]
    lines = [f"id{row},same," + ",".join(str(row * 7 % (13 + place)) for place in range(8)) for row in range(60)]
    path.write_text("\n".join([f"name,constant,{','.join(names)}", *lines]) + "\n")
    code, out, err = invoke("detect", path)
    assert code == 0, err
    assert "--id name" in out
    assert "constant (it has the same value in every row)" in out
    mentioned = out.partition("for example:")[2]
    assert all(name in mentioned for name in ("name", "constant", *names))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detect", "nofile.csv"], "there is no file nofile.csv"),
        (["detect", "dayz.csv"], "there is no file dayz.csv: did you mean days.csv?"),
        (["detect", "duckdb:///no.duckdb"], "there is no database file no.duckdb"),
        (["detect", "mysql://host/name"], "the Python package mysqlclient: pip install mysqlclient"),
        (["detect", "snowflake://host/name"], "pip install snowflake-sqlalchemy"),
        (["detect", "days.csv", "-c", "month", "-b", "rain", "--known", "no.csv"], "there is no file no.csv"),
        (["detect", "days.csv", "-c", "month", "-b", "rain", "--only", "flagged"], "--only needs --out PATH"),
        (["detect", "days.csv", "-c", "month", "-b", "rain", "--full"], "--full needs --json"),
        (["detect", "days.csv", "-c", "month", "-b", "rain", "--format", "svg"], "--format needs --plots FOLDER"),
        (["show", "days.csv"], "days.csv is not a model saved by paribus"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that each mistake is found before the work starts, and that the message says what to do."""
    (tmp_path / "days.csv").write_bytes(days.read_bytes())
    (tmp_path / "flb.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "flb" not in err
    assert len(err.splitlines()) == 1


@for_each_method
def test_the_leading_value_is_the_same_everywhere(method: str, days: Path, tmp_path: Path) -> None:
    """Tests that the file, the JSON and Python name the same leading column and range."""
    arguments: list[Any] = [days, *ROLES, *QUICK_OPTIONS[method], "--contamination", 0.05]
    code, out, err = invoke("detect", *arguments, "--json", "--top", 3, "--out", tmp_path / "o.csv")
    assert code == 0, err
    rows = rows_of(tmp_path / "o.csv")
    for row in json.loads(out)["top"]:
        written = rows[row["position"]]
        assert written["leading"] == row["leading"]
        assert [float(written["usual_low"]), float(written["usual_high"])] == row["usual"]
        assert written["sentence"] == row["sentence"]
    assert fitted(method).behavioral_features_ == ["temperature", "rain", "wind"]


def test_a_column_of_names_called_id_is_there_once(days: Path, tmp_path: Path) -> None:
    """Tests that --columns all does not repeat the column of --id."""
    renamed = tmp_path / "days.csv"
    renamed.write_text(days.read_text().replace("station", "id", 1))
    code, _, err = invoke(
        "detect", renamed, *ROLES, *QUICK, "--id", "id", "--columns", "all", "--out", tmp_path / "o.csv"
    )
    assert code == 0, err
    header = (tmp_path / "o.csv").read_text().splitlines()[0].split(",")
    assert header.count("id") == 1
    assert "id (paribus)" not in header
