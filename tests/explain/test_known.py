"""Known rows and rules: how they are read, which rows they mean, and what follows from them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise, load
from paribus.explain.known import read_known
from paribus.explain.rules import parse_rule
from paribus.tables.table import Table
from tests.explain.test_groups import clean_table, fit
from tests.support.detectors import DetectorClass, for_both, quick

# The placeholder of these tests is one that is named.
pytestmark = pytest.mark.filterwarnings("ignore:column 'y' is -99 in")


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    planted = clean_table()
    planted["y"][100:115] = -99.0
    planted["x"][50] = 60.0
    return planted


TABLE = Table(
    {
        "z": [0.0, 1.0, None, 3.0],
        "cut": np.array(["Ideal", "Very Good", None, "Fair"], dtype=object),
        "when": np.array(["2024-01-01", "2024-02-01", "2024-03-01", "NaT"], dtype="M8[us]"),
        'odd "name" = 1': [1, 2, 3, 4],
        "ok": np.array([True, False, None, True], dtype=object),
    }
)


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("z = 0", [0]),
        ("z=0", [0]),
        ("z != 0", [1, 3]),
        ("z >= 1 and z < 3", [1]),
        ("z between 0.5 and 3", [1, 3]),
        ("z in (0, 3)", [0, 3]),
        ("z is missing", [2]),
        ('cut = "Very Good"', [1]),
        ('cut in (Ideal, "Very Good")', [0, 1]),
        ("cut is missing AND z is missing", [2]),
        ("when >= 2024-02-01", [1, 2]),
        ('"odd ""name"" = 1" > 2', [2, 3]),
        ("ok = true", [0, 3]),
    ],
)
def test_rules_mean_what_they_say(rule: str, rows: list[int]) -> None:
    """Tests each form of a condition, quotes, any case of keywords, and that missing values satisfy no comparison."""
    conditions = parse_rule(rule).conditions
    holds = np.logical_and.reduce([condition.holds(TABLE) for condition in conditions])
    assert np.flatnonzero(holds).tolist() == rows


@pytest.mark.parametrize(
    "rule",
    ["", "z", "z = ", "= 0", "z is", "z is zero", "z is above", "z between 1", "z in 1, 2", "z = 0 or z = 1",
     "z = 0 and", "__import__('os').system('true')", "z = 0; drop table", '"open', "z == 0", "x" * 20_000],
)  # fmt: skip
def test_what_is_no_rule_is_an_error(rule: str) -> None:
    """Tests that nothing else is understood, let alone executed, and that the message says where and what is."""
    with pytest.raises(ValueError, match=r"not understood at|more than 10,000"):
        parse_rule(rule)


def test_a_rule_about_the_wrong_type_is_an_error() -> None:
    """Tests that text is not compared by size, and that a number is not a date."""
    for rule, message in (
        ("cut < Ideal", "holds text"),
        ("z = zero", "'zero', which is not a number"),
        ("when > yesterday", "not a date such as"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_rule(rule).conditions[0].holds(TABLE)


def test_csv_json_and_mappings_are_the_same_list(tmp_path: Path) -> None:
    """Tests the documented formats, a byte order mark, empty lines, and the apostrophe that guards formulas."""
    (tmp_path / "k.csv").write_text(
        '\ufeffrow,rule,status,note\nS1,,confirmed,\n\n,z = 0,False alarm,"a, b\nc"\n\'=1+1,,known_cause,x\n',
        encoding="utf-8",
    )
    entries = [
        {"row": "S1", "status": "confirmed"},
        {"rule": "z = 0", "status": "false alarm", "note": "a, b\nc"},
        {"row": "=1+1", "status": "known cause", "note": "x"},
    ]
    (tmp_path / "k.json").write_text(json.dumps(entries))
    assert read_known(tmp_path / "k.csv") == read_known(tmp_path / "k.json") == read_known(entries)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "k.csv: the first line of a list of known rows is row,rule,status,note"),
        ("row,status\nS1,fine\n", "k.csv, line 2 has the status 'fine': it must be one of confirmed, false alarm"),
        ("row,rule,status\nS1,z = 0,confirmed\n", "k.csv, line 2 must have either a row or a rule"),
        ("row,rule,status\n,,confirmed\n", "k.csv, line 2 must have either a row or a rule"),
        ("rule,status\nz is zero,confirmed\n", "k.csv, line 2: the rule 'z is zero' is not understood at 'zero'"),
        ("row,status\nS1\n", "k.csv, line 2 has 1 values instead of 2"),
        ("[1]", "a list of known rows in JSON is a list of objects"),
        ("[{", "k.csv is not valid JSON"),
        ('[{"row": "a", "status": "confirmed", "by": "me"}]', "k.csv, entry 1 has 'by': an entry has row, rule"),
    ],
)
def test_mistakes_in_a_list_are_named(text: str, message: str, tmp_path: Path) -> None:
    """Tests that the message names the file, the line and what should be there."""
    (tmp_path / "k.csv").write_text(text)
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        read_known(tmp_path / "k.csv")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_known(tmp_path / "nowhere.csv")


def test_known_rows_are_left_out_of_lists_and_shown_as_such(table: dict[str, Any]) -> None:
    """Tests explanations, groups and the frame, for a rule and for a row by its position."""
    known = [{"rule": "y = -99", "status": "known cause", "note": "sensor off"}, {"row": 50, "status": "false alarm"}]
    plain, detector = fit(table), fit(table).fit(table, known=known)
    assert (detector.anomaly_scores_ == plain.anomaly_scores_).all()
    assert {*range(100, 115), 50} <= {each.position for each in plain.explain_all(40)}
    assert not {*range(100, 115), 50} & {each.position for each in detector.explain_all(40)}
    assert [group.column for group in plain.groups()] == ["y"]
    assert detector.groups() == []
    frame = detector.to_frame()
    assert frame["label"][105] == "known"
    assert (frame["known"][105], frame["note"][105]) == ("known cause", "sensor off")
    assert (frame["known"][50], frame["note"][50], frame["known"][51]) == ("false alarm", None, None)
    assert "known" not in plain.to_frame()
    assert not {100, 50} & set(detector.to_frame(only_flagged=True)["row"])


def test_rules_about_what_is_unusual(table: dict[str, Any]) -> None:
    """Tests that a rule can be about the verdict, in a direction and in circumstances, as groups write it."""
    plain = fit(table)
    group = plain.groups()[0]
    for rule, is_hit in (
        ("y is unusual", True),
        ("y is below usual", True),
        ("y is above usual", False),
        ("x is above usual and site = north", False),
        (group.known_rule, True),
    ):
        marks = plain.results(known=[{"rule": rule, "status": "false alarm"}]).marks
        assert (marks.status[100:115] == "false alarm").all() == is_hit


@for_both
def test_nothing_is_learned_from_confirmed_anomalies(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that many confirmed rows no longer pass for ordinary ones, are scored as new rows, and survive a save."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.uniform(size=300).round(2), "x": random.normal(size=300)})
    frame.loc[:89, "x"] = 25 + random.normal(size=90)
    known = [{"rule": "x > 15", "status": "confirmed"}]
    options = {} if make.__name__ == "ConditionalSurprise" else {"n_neighbors": 60}
    plain = quick(make, ["a"], ["x"], n_trees=16, **options).fit(frame)
    detector = quick(make, ["a"], ["x"], n_trees=16, **options).fit(frame, known=known)
    assert detector.anomaly_scores_[:90].min() > np.median(plain.anomaly_scores_[:90])
    explanation = detector.explain(3)
    assert explanation.leading.upper < 10
    assert explanation.score == detector.anomaly_scores_[3]
    assert (explanation.reference["x"][explanation.leading.weights > 0] < 15).all()
    np.testing.assert_array_equal(detector.anomaly_score(frame), detector.anomaly_scores_)
    detector.save(tmp_path / "m.paribus")
    loaded = load(tmp_path / "m.paribus")
    np.testing.assert_array_equal(loaded.anomaly_score(frame), detector.anomaly_scores_)
    assert str(loaded.explain(3)) == str(explanation)
    assert loaded.view().origin.n_excluded == 90


def test_a_list_that_leaves_no_rows_is_an_error(table: dict[str, Any]) -> None:
    """Tests the message if everything is confirmed, and if a rule is about a column that is not there."""
    with pytest.raises(ValueError, match="there are none to learn from"):
        fit(table).fit(table, known=[{"rule": "age > 0", "status": "confirmed"}])
    with pytest.raises(ValueError, match="the known rule 'w = 0' cannot be used: there is no column 'w'"):
        fit(table).fit(table, known=[{"rule": "w = 0", "status": "false alarm"}])


def test_a_model_keeps_what_is_known(tmp_path: Path) -> None:
    """Tests that rules of a saved model apply to new rows, and entries about rows only to rows with labels."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.uniform(size=200).round(2), "x": random.normal(size=200)})
    frame.loc[:2, "x"] = 40.0
    frame.index = pd.Index([f"r{place}" for place in range(200)])
    known = [{"rule": "x = 40", "status": "known cause", "note": "a test"}, {"row": "r7", "status": "confirmed"}]
    quick(ConditionalSurprise, ["a"], ["x"]).fit(frame, known=known).save(tmp_path / "m.paribus")
    loaded = load(tmp_path / "m.paribus")
    assert loaded.results().marks.status[[0, 7]].tolist() == ["known cause", "confirmed"]
    numbered = loaded.results(frame.to_dict("list")).marks
    assert numbered.status[[0, 7]].tolist() == ["known cause", None]
    assert numbered.note[0] == "a test"
    assert loaded.results(frame).marks.status[7] == "confirmed"
    more = [{"rule": "x = 40", "status": "false alarm"}]
    assert loaded.results(frame, known=more).marks.status[0] == "false alarm"
    loaded.save(tmp_path / "again.paribus")
    assert (tmp_path / "again.paribus").read_bytes() == (tmp_path / "m.paribus").read_bytes()
