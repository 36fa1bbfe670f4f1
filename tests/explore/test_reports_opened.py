"""Reports in the explorer: what they hold can be read, filtered, marked and taken away, and nothing else pretended."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paribus.explain.known import read_known
from paribus.output.report.reading import read_report
from tests.explore.support import ROLES, Explorer, write_stones


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Explorer:
    """An explorer with a fitted table, whose report is beside the table."""
    folder = tmp_path_factory.mktemp("reported")
    write_stones(folder / "stones.csv")
    (folder / "page.html").write_text("<!doctype html><title>no report</title>")
    explorer = Explorer(folder)
    explorer.open("stones.csv")
    explorer.fit(**ROLES)
    made = explorer.client.post("/api/take-away", json={"what": "report"})
    (folder / "stones-report.html").write_bytes(made.content)
    return explorer


@pytest.fixture(scope="module")
def report(table: Explorer) -> Explorer:
    explorer = Explorer(table.session.folder.root)
    explorer.open("stones-report.html")
    assert explorer.state()["message"] is None
    return explorer


def test_a_report_lists_what_the_table_does(table: Explorer, report: Explorer) -> None:
    """Tests that names, scores, sentences and groups of flagged rows are those of the table, and what to expect too."""
    one, other = (each.ask("rows", filter={}, n=100) for each in (table, report))
    assert [(row["name"], row["sentence"]) for row in one["rows"]] == [
        (r["name"], r["sentence"]) for r in other["rows"]
    ]
    assert [row["score"] for row in other["rows"]] == pytest.approx([row["score"] for row in one["rows"]], rel=1e-3)
    assert one["n_flagged"] == other["n_flagged"]
    for threshold in (3.0, 4.0):
        expected = [
            each.ask("rows", filter={"threshold": threshold}, n=0)["expected_false"] for each in (table, report)
        ]
        assert expected[1] == pytest.approx(expected[0], rel=0.05)
    assert report.state()["result"]["groups"] == table.state()["result"]["groups"]
    assert (report.state()["kind"], report.state()["n_rows"]) == ("report", 1500)


def test_rows_of_a_report_are_filtered_and_mapped(report: Explorer) -> None:
    """Tests that the columns of listed rows are typed again, so that ranges, categories and the map work."""
    zero = report.ask("rows", filter={"ranges": [{"column": "z", "high": 0.5}]}, n=100)["rows"]
    assert {row["name"] for row in zero} == {f"S{row:04}" for row in range(20, 26)}
    assert report.ask("map", filter={}, x="carat", y="z")["listed"]
    row = report.ask("row", row=zero[0]["row"])
    assert "z 0.000" in row["sentence"]
    assert row["behavior"][0]["name"] == "z"
    assert {each["name"]: each["value"] for each in row["cells"]}["z"] == "0.000"


def test_answers_about_a_report_are_those_about_its_table(table: Explorer, report: Explorer) -> None:
    """Tests that marks by row and by rule are written with the names of the table, and change the order of the list."""
    path = report.session.folder.root / "stones-report.known.csv"
    try:
        rows = report.ask("rows", filter={}, n=100)["rows"]
        wide = next(row for row in rows if row["name"] == "S0003")
        report.ask("answer", row=wide["row"], status="false alarm")
        report.ask("answer", rule="z = 0", status="known cause")
        assert [(entry.row, entry.status) for entry in read_known(path)] == [
            ("S0003", "false alarm"),
            (None, "known cause"),
        ]
        left = {row["name"]: row for row in report.ask("rows", filter={}, n=100)["rows"]}
        assert not left.keys() & {"S0003", *(f"S{row:04}" for row in range(20, 26))}
        assert left["S0004"]["taught"] < left["S0004"]["score"]
        assert len(table.session.taught().result.mark(read_known(path)).is_known.nonzero()[0]) == 7
    finally:
        path.unlink(missing_ok=True)


def test_what_a_report_does_not_hold_is_said(report: Explorer) -> None:
    """Tests that questions to the detector are refused in a sentence, and that the list can be taken away."""
    for path, fields in [("what-if", {"row": 0, "values": {}}), ("fit", {})]:
        assert "open the table" in report.error(path, **fields)
    for what in ("model", "report", "script", "command"):
        assert "holds no detector" in report.error("take-away", what=what)
    lines = report.client.post("/api/take-away", json={"what": "csv"}).text.splitlines()
    assert lines[0].startswith("row,score,taught_score,p_value,rank")
    assert len(lines) == 1 + report.state()["result"]["n_rows"]
    assert report.ask("words") == {"script": "", "command": "", "note": ""}


def test_only_reports_are_offered(report: Explorer) -> None:
    """Tests that a page that is no report is not in the list of files, and is refused."""
    assert [each["name"] for each in report.ask("files")["files"]] == ["stones-report.html", "stones.csv"]
    with pytest.raises(ValueError, match="not a report"):
        read_report(report.session.folder.root / "page.html")


def _without_whole(content: Any) -> Any:
    del content["whole"]
    return content


def _changed(place: str, value: Any) -> Callable[[Any], Any]:
    def change(content: Any) -> Any:
        target = content
        *path, last = place.split("/")
        for each in path:
            target = target[int(each) if each.isdigit() else each]
        target[int(last) if last.isdigit() else last] = value
        return content

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_without_whole, "earlier version"),
        (lambda content: [], "damaged"),
        (_changed("rows/0", []), "damaged"),
        (_changed("rows/0/4", "high"), "damaged"),
        (_changed("rows/0/6", 9), "damaged"),
        (_changed("rows/0/8", 99), "damaged"),
        (_changed("rows/0/10", [[1, 2]]), "damaged"),
        (_changed("rows/0/11", ["a"]), "damaged"),
        (_changed("rows/0/12", -1), "damaged"),
        (_changed("threshold", 1e999), "damaged"),
        (_changed("whole/columns", ["x", "x"]), "damaged"),
        (_changed("whole/groups", [{"number": "one"}]), "damaged"),
        (_changed("whole/n_rows", -5), "damaged"),
    ],
)
def test_damaged_reports_are_one_sentence(
    report: Explorer, tmp_path: Path, change: Callable[[Any], Any], sentence: str
) -> None:
    """Tests that data which were changed are refused, whatever was done to them."""
    page = (report.session.folder.root / "stones-report.html").read_text(encoding="utf-8")
    found = re.search(r'<template id="data">([^<]*)</template>', page)
    assert found is not None
    content = change(json.loads(gzip.decompress(base64.b64decode(found[1]))))
    packed = base64.b64encode(gzip.compress(json.dumps(content).encode())).decode()
    path = tmp_path / "changed.html"
    path.write_text(page.replace(found[1], packed), encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        read_report(path)


@pytest.mark.parametrize("packed", ["", "AAAA", base64.b64encode(gzip.compress(b"[" * 100_000)[:-9]).decode()])
def test_data_that_cannot_be_unpacked_are_refused(report: Explorer, tmp_path: Path, packed: str) -> None:
    """Tests that data that are empty, no archive or cut off are refused in a sentence."""
    page = (report.session.folder.root / "stones-report.html").read_text(encoding="utf-8")
    path = tmp_path / "cut.html"
    path.write_text(re.sub(r'(<template id="data">)[^<]*', rf"\g<1>{packed}", page), encoding="utf-8")
    with pytest.raises(ValueError, match="damaged"):
        read_report(path)
