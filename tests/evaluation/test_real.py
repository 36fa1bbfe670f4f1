"""The experiment on real tables: which rows are wrong, and how it is counted which of them are found."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paper import real_page

from paribus.evaluation import experiments, real_tables
from paribus.evaluation.outlier_tree import OutlierTree
from paribus.evaluation.real import Found, fill_missing, find_errors, sample_rows
from paribus.evaluation.real_tables import RealTable, load_real, package_of
from paribus.evaluation.results import Result, Task

# The number of rows, and of wrong and doubtful ones.
SIZES = {
    "weather": (26_115, 2, 20),
    "airports": (1_458, 3, 16),
    "diamonds": (53_940, 65, 50),
    "hawks": (908, 47, 12),
    "rodents": (32_983, 82, 70),
    "davis": (200, 1, 3),
    "covid testing": (15_524, 7, 18),
    "clemson": (33_148, 1, 0),
    "city weather": (3_655, 9, 2),
    "fastfood": (515, 5, 3),
    "grinnell houses": (929, 17, 1),
    "saratoga houses": (1_728, 5, 2),
    "babies": (1_236, 2, 3),
    "ames": (2_930, 1, 1),
    "baseball": (353, 1, 0),
    "loans": (1_989, 18, 27),
    "flights": (336_776, 8, 9),
}


def toy_table(n_rows: int = 100) -> RealTable:
    """A table whose rows 3 and 7 are wrong, the latter obviously, and whose row 5 is doubtful."""
    frame = pd.DataFrame({"place": ["a", "b"] * (n_rows // 2), "size": np.arange(float(n_rows))})
    return RealTable(frame, ["place"], ["size"], {3: "odd", 7: "odder"}, {5: "perhaps"}, frozenset({7}))


@pytest.mark.parametrize("name", SIZES)
def test_the_rules_find_the_known_rows(name: str) -> None:
    """Tests the numbers of wrong and doubtful rows, that roles are columns, and that no row is both."""
    if find_spec(package_of(name)) is None:
        pytest.skip(f"needs the package {package_of(name)}")
    table = load_real(name)
    assert (len(table.frame), len(table.wrong), len(table.doubtful)) == SIZES[name]
    assert list(table.frame) == [*table.contextual, *table.behavioral]
    assert all(pd.api.types.is_numeric_dtype(table.frame[column]) for column in table.behavioral)
    assert not set(table.wrong) & set(table.doubtful)
    assert table.obvious <= set(table.wrong)
    assert not any("{" in reason for reason in [*table.wrong.values(), *table.doubtful.values()])


def test_every_table_is_counted() -> None:
    """Tests that the list of sizes has all tables."""
    assert set(SIZES) == set(real_tables.real_tables())


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the message says what to install."""
    monkeypatch.setattr(real_tables, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"needs the package plotnine: pip install 'paribus\[bench\]'"):
        load_real("diamonds")


def test_the_first_rule_that_applies_is_the_reason() -> None:
    """Tests the order of rules, the names of columns in reasons, and that wrong rows are not doubtful."""
    frame = pd.DataFrame({"c": ["x", "y", "z", "x"], "b": [1.0, 20.0, 300.0, 8.0], "other": range(4)})
    wrong = [(frame["b"] > 200, "very large"), (frame["b"] > 10, "{c} has {b:.0f}")]
    table = real_tables._judge(frame, ["c"], ["b"], wrong, [(frame["b"] > 5, "{b} may be large")])
    assert table.wrong == {1: "y has 20", 2: "very large"}
    assert table.doubtful == {3: "8.0 may be large"}
    assert list(table.frame) == ["c", "b"]


def test_wrong_rows_are_counted_at_the_top_and_among_flags() -> None:
    """Tests the counts, and that doubtful rows count neither as hits nor as false alarms."""
    scores = np.zeros(100)
    scores[[3, 5, 20]] = [9.0, 8.0, 7.0]
    scores[30:77] = 1.0
    scores[7] = np.nan
    labels = np.where(np.isin(np.arange(100), [3, 5, 20]), -1, 1)
    found = find_errors(toy_table(), scores, labels)
    assert (found.n_rows, found.n_wrong, found.n_doubtful, found.n_obvious) == (100, 2, 1, 1)
    assert (found.top_wrong, found.top_doubtful, found.top_obvious) == (1.0, 1.0, 0.0)
    assert (found.n_flagged, found.flagged_wrong, found.flagged_doubtful, found.flagged_obvious) == (3, 1, 1, 0)
    # A row without a score is the last one.
    assert found.ranks == [1.0, 100.0]
    assert found.recall_in_top == 0.5
    assert found.precision_in_top == 1 / 49
    assert found.recall_of_flags == 0.5
    assert Found(**found.to_dict()) == found


def test_ties_are_averaged_over_all_orders() -> None:
    """Tests that with equal scores half of the wrong rows are in the top 50 of 100, and that nothing is flagged."""
    found = find_errors(toy_table(), np.ones(100), None)
    assert found.top_wrong == 1.0
    assert found.ranks == [50.5, 50.5]
    assert (found.n_flagged, found.recall_of_flags) == (None, None)


def test_a_sample_has_all_wrong_and_doubtful_rows() -> None:
    """Tests that a large table is sampled, with the reasons at the new positions, and that a small one stays."""
    table = toy_table(1000)
    assert sample_rows(table, 1000, 0) is table
    assert sample_rows(table, None, 0) is table
    sample = sample_rows(table, 40, 0)
    assert len(sample.frame) == 40
    sizes = sample.frame["size"].to_numpy()
    assert (np.diff(sizes) > 0).all()
    assert {sizes[row]: reason for row, reason in sample.wrong.items()} == {3.0: "odd", 7.0: "odder"}
    assert [sizes[row] for row in (*sample.doubtful, *sample.obvious)] == [5.0, 7.0]
    assert not sample.frame.equals(sample_rows(table, 40, 1).frame)


def test_missing_values_are_filled_in() -> None:
    """Tests medians of numbers, a category of its own for text, and that other columns and the input stay."""
    frame = pd.DataFrame({"a": [1.0, None, 3.0, 10.0], "b": ["x", None, "y", "x"], "c": [1, 2, 3, 4]})
    before = frame.copy()
    filled = fill_missing(frame)
    assert filled["a"].tolist() == [1.0, 3.0, 3.0, 10.0]
    assert filled["b"].tolist() == ["x", "missing", "y", "x"]
    assert filled["c"].tolist() == [1, 2, 3, 4]
    pd.testing.assert_frame_equal(frame, before)


def test_a_task_measures_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that both kinds of detectors run on a table with missing values, and that a result can be read again."""
    table = toy_table()
    frame = table.frame.assign(size=np.random.default_rng(0).normal(size=100))
    frame.loc[[3, 7], "size"] = 50.0, -50.0
    frame.loc[9, "place"] = None
    monkeypatch.setattr(experiments, "load_real", lambda name: replace(table, frame=frame))
    for method, n_flagged in (("ConditionalSurprise", 2), ("RIF", None)):
        result = experiments.run_task(Task("real", "davis", method, 0))
        assert result.error is None
        assert Result.from_line(result.to_line()) == result
        found = Found(**result.found)
        assert (found.top_wrong, sorted(found.ranks)) == (2.0, [1.0, 2.0])
        assert found.flagged_wrong == n_flagged


def test_outliertree_keeps_its_own_order() -> None:
    """Tests that listed rows come first, that others are tied, and that only behavior can be outlying."""
    pytest.importorskip("outliertree")
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"group": ["a", "b"] * 500, "c": random.normal(size=1000), "b": random.normal(size=1000)})
    frame.loc[7, "b"], frame.loc[11, "c"] = 1000.0, 1000.0
    detector = OutlierTree(["group", "c"], ["b"]).fit(frame)
    assert detector.anomaly_scores_.argmax() == 7
    assert detector.anomaly_scores_[11] == 0
    assert detector.labels_[7] == -1
    assert ((detector.labels_ == -1) == (detector.anomaly_scores_ > 0)).all()


def test_the_page_shows_counts_flags_and_samples(tmp_path: Path) -> None:
    """Tests the lines of a table, means over tables, marks of samples, and failures."""
    found = find_errors(toy_table(), np.where(np.arange(100) == 7, 1.0, np.arange(100) / 1000), None)
    flagged = replace(found, n_rows=1000, n_flagged=4, flagged_wrong=1, flagged_doubtful=0, flagged_obvious=1)
    results = [
        Result(Task("real", "davis", "ConditionalSurprise", 0), 1.0, found=flagged.to_dict()),
        Result(Task("real", "davis", "RIF", 0), 1.0, found=replace(found, top_wrong=0.25).to_dict()),
        Result(Task("real", "davis", "IForest", 0), 1.0, error="ValueError: no"),
    ]
    lines = real_page.known_errors(results, tmp_path)
    assert lines[0] == (
        "- **davis, 1 rows that any detector should find,** in the top 50: ConditionalSurprise 1 (1 flagged), RIF 1."
    )
    assert "| table | rows | wrong | doubtful | ConditionalSurprise | RIF |" in lines
    assert "| davis | 1,000 | 2 | 1 | **1** | 0.2¹ |" in lines
    assert "| **mean recall** |  |  |  | 0.50 | 0.12 |" in lines
    assert "| davis | 2 | 1 of 4 |" in lines
    assert lines[-1] == "Failed: IForest on davis: ValueError: no."
