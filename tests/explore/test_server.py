"""The explorer through its addresses: from a file to decisions, and what it refuses."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paribus import ConditionalSurprise, load
from paribus.explain.known import read_known
from tests.explore.support import ROLES, Explorer, wait, write_stones
from tests.support.running import invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    write_stones(folder / "stones.csv")
    (folder / "broken.csv").write_text('a,b\n1,2\n3\n"')
    (folder.parent / "secret.csv").write_text("a,b\n1,2\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    return folder


@pytest.fixture(scope="module")
def fitted(folder: Path) -> Explorer:
    explorer = Explorer(folder)
    explorer.open("stones.csv")
    explorer.fit(**ROLES)
    assert explorer.state()["message"] is None
    return explorer


@pytest.fixture
def explorer(fitted: Explorer) -> Iterator[Explorer]:
    """A fitted explorer without answers."""
    yield fitted
    while fitted.state()["answers"]:
        fitted.ask("take-back", place=0)


def test_columns_have_types_histograms_and_advice(explorer: Explorer) -> None:
    """Tests that each column is shown with what is in it, and with the advice on its role."""
    state = explorer.state()
    columns = {column["name"]: column for column in state["columns"]}
    assert columns["carat"]["type"] == "numbers"
    assert sum(columns["carat"]["histogram"]["counts"]) == 1500
    assert columns["cut"]["categories"][0][1] == 500
    said = {each["name"]: each for each in state["advice"]["columns"]}
    assert said["stone"]["looks_like"] == "names the rows"
    assert said["carat"]["gains"]


def test_the_list_has_the_errors_on_top(explorer: Explorer) -> None:
    """Tests that rows with a size of 0 and those that are too wide are listed with names, sentences and groups."""
    found = explorer.ask("rows", filter={}, begin=0, n=100)
    names = {row["name"] for row in found["rows"]}
    assert {f"S{row:04}" for row in [*range(20, 26), 3, 4, 5]} <= names
    assert found["n"] == found["n_flagged"] >= 9
    assert 0 < found["expected_false"] < 2
    first = found["rows"][0]
    assert first["sentence"]
    groups = explorer.state()["result"]["groups"]
    assert groups[0]["known_rule"].startswith("z = 0")
    assert groups[0]["size"] == 6


def test_filters_leave_what_fits(explorer: Explorer) -> None:
    """Tests that rows are filtered by column, group, range, category, name and status, and sorted by a column."""

    def names(**wanted: object) -> list[str]:
        return [row["name"] for row in explorer.ask("rows", filter=wanted, begin=0, n=200)["rows"]]

    assert set(names(column="x")) >= {"S0003", "S0004", "S0005"}
    assert len(names(group=1)) == 6
    assert set(names(ranges=[{"column": "z", "low": -1, "high": 0.5}])) == {f"S{row:04}" for row in range(20, 26)}
    assert set(names(search="s0003", status="all")) == {"S0003"}
    ideal = [{"column": "cut", "category": "Ideal"}]
    assert all(int(name[1:]) % 3 == 2 for name in names(status="all", ranges=ideal))
    by_carat = explorer.ask("rows", filter={"status": "all", "sort": "carat"}, begin=0, n=3)["rows"]
    assert by_carat[0]["cells"][0] >= by_carat[1]["cells"][0] >= by_carat[2]["cells"][0]
    everything = explorer.ask("rows", filter={"status": "all"}, begin=1490, n=50)
    assert (everything["n"], len(everything["rows"])) == (1500, 10)


def test_the_threshold_says_what_to_expect(explorer: Explorer) -> None:
    """Tests that a lower threshold flags more rows, and expects more of them by chance."""
    found = [explorer.ask("rows", filter={"threshold": each}, begin=0, n=0) for each in (1.0, 2.0, 4.0)]
    assert found[0]["n_flagged"] > found[1]["n_flagged"] >= found[2]["n_flagged"]
    assert found[0]["expected_false"] == pytest.approx(150, rel=0.3)
    assert found[0]["expected_false"] > found[1]["expected_false"] > found[2]["expected_false"]


def test_the_map_shows_all_rows(explorer: Explorer) -> None:
    """Tests that the map has each row as a dot or counted in a cell, and the listed ones on top."""
    dots = explorer.ask("map", filter={}, x="carat", y="z")
    assert len(dots["dots"]) == 1500
    assert len(dots["listed"]) == explorer.ask("rows", filter={}, n=0)["n"]
    cells = explorer.ask("map", filter={}, x="cut", y="z")
    assert sum(n for _, _, n in cells["cells"]["counts"]) == 1500
    assert cells["x"]["categories"] == ["Fair", "Good", "Ideal"]


def test_a_row_says_why(explorer: Explorer) -> None:
    """Tests that a row has its sentence, pictures, comparable rows, neighbors in time, and a rule about its like."""
    row = explorer.ask("row", row=20)
    assert "z 0.000" in row["sentence"]
    assert row["behavior"][0]["picture"].startswith("<svg")
    assert all(each["picture"].startswith("<svg") for each in row["context"])
    assert row["comparable"]["rows"]
    assert row["around"]["column"] == "day"
    assert 20 in row["around"]["rows"]
    assert explorer.ask("rule", rule=row["rule"])["n_flagged"] >= 1


def test_what_if_follows_the_values(explorer: Explorer) -> None:
    """Tests that a corrected value is no longer strange, and that a circumstance can be left out."""
    row = explorer.ask("row", row=20)
    usual = next(each["usual"] for each in row["behavior"] if each["name"] == "z")
    middle = sum(float(end) for end in usual.split(" to ")) / 2
    corrected = explorer.ask("what-if", row=20, values={"z": str(middle)}, left_out=[])
    assert corrected["score"] < 2.0 < row["score"]
    same = explorer.ask("what-if", row=20, values={}, left_out=[])
    assert same["score"] == pytest.approx(row["score"])
    without = explorer.ask("what-if", row=100, values={}, left_out=["carat"])
    wide = next(each["usual"] for each in without["behavior"] if each["name"] == "z").split(" to ")
    assert float(wide[1]) - float(wide[0]) > 1.0
    assert "must be a number" in explorer.error("what-if", row=20, values={"z": "wide"}, left_out=[])
    assert "is behavior" in explorer.error("what-if", row=20, values={}, left_out=["z"])


def test_what_if_is_quick(explorer: Explorer) -> None:
    """Tests that an answer takes less than 200 ms of processor time."""
    start = time.process_time()
    for _ in range(3):
        explorer.ask("what-if", row=20, values={"z": "2"}, left_out=["carat"])
    assert (time.process_time() - start) / 3 < 0.2


def test_answers_are_in_the_file_at_once(explorer: Explorer, folder: Path) -> None:
    """Tests that each decision is written as it is made, that the list follows, and that undo takes it back."""
    before = [row["row"] for row in explorer.ask("rows", filter={}, n=100)["rows"]]
    explorer.ask("answer", row=3, status="false alarm", note="a wide stone")
    explorer.ask("answer", rule="z = 0", status="known cause")
    path = folder / "stones.known.csv"
    assert [(entry.row, entry.status) for entry in read_known(path)] == [
        ("S0003", "false alarm"),
        (None, "known cause"),
    ]
    after = [row["row"] for row in explorer.ask("rows", filter={}, n=100)["rows"]]
    assert set(before) - set(after) >= {3, *range(20, 26)}
    state = explorer.state()
    assert state["teaching"]["n_false"] == 1
    weights = {(each["behavior"], each["condition"]): each["weight"] for each in state["teaching"]["weights"]}
    assert weights["x", "given the context"] < weights["z", "given the context"] <= 1.0
    assert explorer.ask("undo")["undone"]
    assert [entry.row for entry in read_known(path)] == ["S0003"]
    assert explorer.ask("next", how="highest")["row"] is not None


def test_a_later_decision_replaces_an_earlier_one(explorer: Explorer, folder: Path) -> None:
    """Tests that a row has one answer, the latest, and that one about a row precedes that about its group."""
    explorer.ask("answer", rule="z = 0", status="known cause")
    explorer.ask("answer", row=20, status="confirmed")
    explorer.ask("answer", row=20, status="false alarm")
    entries = read_known(folder / "stones.known.csv")
    assert [(entry.row, entry.status) for entry in entries] == [("S0020", "false alarm"), (None, "known cause")]
    decided = explorer.ask("rows", filter={"status": "decided"}, n=50)["rows"]
    assert {row["name"]: row["status"] for row in decided}["S0020"] == "false alarm"


def test_answers_of_others_are_kept(explorer: Explorer, folder: Path) -> None:
    """Tests that a decision is added to what somebody else wrote into the file in the meantime."""
    explorer.ask("answer", row=3, status="confirmed")
    path = folder / "stones.known.csv"
    path.write_text(path.read_text() + "S0004,,known cause,by a colleague\n")
    explorer.ask("answer", row=5, status="confirmed")
    assert {entry.row for entry in read_known(path)} == {"S0003", "S0004", "S0005"}


def test_results_can_be_compared(folder: Path) -> None:
    """Tests that other roles keep the earlier result, and that rows that appeared and went are listed."""
    explorer = Explorer(folder)
    explorer.open("stones.csv")
    explorer.fit(**ROLES)
    explorer.fit(z="none")
    state = explorer.state()
    assert [each["number"] for each in state["results"]] == [1, 2]
    assert state["compared"] == 1
    before = state["results"][0]
    assert before["went"] >= 6
    went = explorer.ask("rows", filter={"change": "went"}, n=100)
    assert {f"S{row:04}" for row in range(20, 26)} <= {row["name"] for row in went["rows"]}
    explorer.ask("show", number=1, compared=2)
    assert explorer.ask("rows", filter={"change": "appeared"}, n=0)["n"] == before["went"]


def test_work_can_be_canceled(folder: Path) -> None:
    """Tests that a fit ends soon after it was canceled, with a sentence, and that another one can follow."""
    explorer = Explorer(folder)
    explorer.open("stones.csv")
    explorer.ask("roles", roles=ROLES)
    explorer.ask("parameters", parameters={"n_trees": 256})
    explorer.ask("fit")
    assert "still being computed" in explorer.error("fit")
    explorer.ask("cancel")
    wait(explorer.session)
    assert "Canceled" in explorer.state()["message"]
    assert explorer.state()["result"] is None


@pytest.mark.parametrize("what", ["csv", "parquet", "model", "command"])
def test_files_can_be_taken_away(explorer: Explorer, what: str, tmp_path: Path) -> None:
    """Tests that what is taken away is what was found."""
    explorer.ask("answer", row=3, status="false alarm")
    answer = explorer.client.post("/api/take-away", json={"what": what})
    path = tmp_path / json.loads(answer.headers["x-file-name"])
    path.write_bytes(answer.content)
    if what == "model":
        assert isinstance(load(path), ConditionalSurprise)
    elif what == "command":
        expected = "paribus detect stones.csv --context carat,cut --behavior x,z --id stone --method surprise "
        assert answer.text.startswith(expected + "--n-trees 16 --known stones.known.csv --learn")
    else:
        import pandas as pd

        table = pd.read_csv(path) if what == "csv" else pd.read_parquet(path)
        assert len(table) == 1500
        assert table["taught_score"].is_monotonic_decreasing
        assert table.set_index("id").loc["S0003", "known"] == "false alarm"


def test_the_script_repeats_what_was_done(explorer: Explorer, folder: Path) -> None:
    """Tests that the Python script runs and prints the rows of the list, whatever a note says."""
    explorer.ask("answer", row=3, status="false alarm", note="'''\nimport os; print('ran')")
    explorer.ask("answer", row=22, status="confirmed")
    script = explorer.ask("words")["script"]
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert "ran" not in done.stdout.split()
    rows = explorer.ask("rows", filter={}, n=7)["rows"]
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()[: len(rows)]]
    assert [words for _, words in lines] == [row["sentence"] for row in rows]
    # Both are rounded.
    assert [float(score) for score, _ in lines] == pytest.approx([row["taught"] for row in rows], abs=0.0051)


def test_the_command_repeats_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the shell command ranks the rows as the page does, once what was confirmed is known at the fit."""
    write_stones(tmp_path / "stones.csv")
    explorer = Explorer(tmp_path)
    explorer.open("stones.csv")
    explorer.fit(**ROLES)
    explorer.ask("answer", row=3, status="false alarm")
    assert not explorer.ask("words")["note"]
    explorer.ask("answer", row=22, status="confirmed")
    assert "confirmed since the fit" in explorer.ask("words")["note"]
    explorer.fit()
    words = explorer.ask("words")
    assert not words["note"]
    assert "fit(table, known=[" in words["script"]
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke(*shlex.split(words["command"])[1:], "--json", "--n-jobs", "1")
    assert code == 0, err
    listed = explorer.ask("rows", filter={}, n=8)["rows"]
    found = json.loads(out)["top"][: len(listed)]
    assert [(each["row"], each["score"]) for each in found] == [
        (row["name"], pytest.approx(row["score"], abs=1e-4)) for row in listed
    ]


def test_a_model_can_be_explored(explorer: Explorer, folder: Path) -> None:
    """Tests that a model shows the rows that it was fitted to, with the same scores."""
    path = folder / "stones.paribus"
    path.write_bytes(explorer.client.post("/api/take-away", json={"what": "model"}).content)
    other = Explorer(folder)
    other.open("stones.paribus")
    assert other.state()["message"] is None
    rows = [each.ask("rows", filter={}, n=20)["rows"] for each in (explorer, other)]
    assert [row["score"] for row in rows[0]] == [row["score"] for row in rows[1]]


def test_a_broken_file_is_one_sentence(folder: Path) -> None:
    """Tests that a file that cannot be read is named in a sentence, and that another one can be opened then."""
    explorer = Explorer(folder)
    explorer.open("broken.csv")
    message = explorer.state()["message"]
    assert "broken.csv" in message
    assert message.endswith(".")
    explorer.open("stones.csv")
    assert explorer.state()["file"] == "stones.csv"


@pytest.mark.parametrize(
    "name", ["../secret.csv", "/etc/passwd", "link.csv", "..", "", "stones.csv/../../secret.csv", "a\0b", ".hidden.csv"]
)
def test_nothing_outside_of_the_folder_is_opened(explorer: Explorer, name: str) -> None:
    """Tests that paths, links and odd names that lead out of the folder are not there."""
    assert "there is no table, model or report" in explorer.error("open", file=name).lower()
    assert name not in [each["name"] for each in explorer.ask("files")["files"]]


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/api/", "/x"])
def test_other_paths_are_not_there(explorer: Explorer, path: str) -> None:
    """Tests that only the files of the page are served."""
    assert explorer.client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["state", "rows", "files", "take-away"])
def test_nothing_without_the_token(explorer: Explorer, path: str) -> None:
    """Tests that no address gives data without the token, and that the page without data is there."""
    for method in ("GET", "POST"):
        answer = explorer.client.request(method, f"/api/{path}", headers={"authorization": "Bearer wrong"})
        assert answer.status_code == 401
    assert explorer.client.get("/", headers={"authorization": ""}).status_code == 200


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("rows", {"filter": []}),
        ("rows", {"filter": {"threshold": "high"}}),
        ("rows", {"filter": {"ranges": [{"column": "nothing"}]}}),
        ("rows", {"filter": {"status": "odd"}}),
        ("rows", {"begin": 1e999}),
        ("rows", {"begin": 10**400}),
        ("open", {"file": "\ud800"}),
        ("row", {"row": -1}),
        ("row", {"row": 1500}),
        ("row", {"row": 1.5}),
        ("row", {}),
        ("map", {"x": "nothing", "y": "z"}),
        ("answer", {"row": 1, "status": "odd"}),
        ("answer", {"rule": "import os", "status": "confirmed"}),
        ("answer", {"rule": "nothing = 1", "status": "confirmed"}),
        ("roles", {"roles": {"nothing": "context"}}),
        ("roles", {"roles": {"z": "boss"}}),
        ("parameters", {"parameters": {"n_trees": -1}}),
        ("parameters", {"parameters": {"progress": "print"}}),
        ("parameters", {"parameters": {"method": "x" * 3_000}}),
        ("take-away", {"what": "../../etc"}),
        ("take-back", {"place": 99}),
        ("show", {"number": "one"}),
        ("next", {"how": "lowest"}),
    ],
)
def test_wrong_requests_are_one_sentence(explorer: Explorer, path: str, fields: dict[str, object]) -> None:
    """Tests that requests that make no sense are refused in a sentence, and change nothing."""
    before = explorer.state()["version"]
    answer = explorer.client.post(f"/api/{path}", content=json.dumps(fields))
    assert answer.status_code == 400
    assert answer.json()["error"].endswith((".", "?", "…"))
    assert len(answer.json()["error"]) <= 1_000
    assert explorer.state()["version"] == before
    assert explorer.client.post(f"/api/{path}", content=b"[" * 100_000).status_code == 400


def test_huge_requests_are_refused(explorer: Explorer) -> None:
    """Tests that a request of more than a megabyte is refused."""
    assert explorer.client.post("/api/rule", content=b"x" * 1_000_001).status_code == 413


def test_tabs_learn_of_changes(explorer: Explorer) -> None:
    """Tests that a tab that has the latest state receives only the progress, and everything after a change."""
    version = explorer.state()["version"]
    explorer.ask("answer", row=4, status="confirmed")
    news = explorer.client.get(f"/api/state?since={version}").json()
    assert news["version"] > version
    assert news["answers"][0]["row"] == "S0004"
