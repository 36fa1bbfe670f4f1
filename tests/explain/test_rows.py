"""Explanations: which rows can be asked about, and how."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from paribus import QCAD
from paribus.tables.table import Table
from tests.support.detectors import DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


def fit(make: DetectorClass, table: Any, **parameters: Any) -> Any:
    return quick(make, CONTEXT, BEHAVIOR, **({"n_jobs": 1} | parameters)).fit(table)


Maker = Callable[[pd.DataFrame], Any]
MAKERS: dict[str, Maker] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dict": lambda frame: frame.to_dict("list"),
}


@for_both
@pytest.mark.parametrize("library", MAKERS)
def test_results_have_the_callers_type(make: DetectorClass, library: str) -> None:
    """Tests that tables come back in the caller's type, and that each library gets the same explanation."""
    frame = mixed_table(60, missing=0.0)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) % 30, unit="D")
    table = MAKERS[library](frame)
    explanation = quick(make, [*CONTEXT, "when"], BEHAVIOR).fit(table).explain(9)
    assert type(explanation.features) is type(table)
    assert type(explanation.reference) is type(table)
    assert list(explanation.features["feature"]) != []
    expected = quick(make, [*CONTEXT, "when"], BEHAVIOR).fit(frame).explain(9)
    assert explanation.to_dict() == expected.to_dict()
    when = explanation.context[3]
    # ConditionalSurprise compares by parts of a moment, none of which matters here.
    assert (when.text, when.group_text[:8]) == ("2024-01-10", "2024-01-" if make is QCAD else "any time")


@for_both
def test_a_new_row_in_any_form(make: DetectorClass) -> None:
    """Tests a dict, a pandas row, and tables of one row of other libraries: all are the same new row."""
    frame = mixed_table(60, missing=0.0)
    detector = fit(make, frame)
    one = frame.iloc[[5]]
    forms = [one, frame.iloc[5], frame.iloc[5].to_dict(), pl.from_pandas(one), one.to_dict("list")]
    for form in forms:
        explanation = detector.explain(form)
        assert explanation.score == detector.anomaly_scores_[5]
        assert (explanation.position, explanation.title) == (None, "new row")
    array = frame[["age", "load", "pressure"]].to_numpy()
    by_position = quick(make, [0, 1], [2]).fit(array)
    for row in (array[5], list(array[5]), tuple(array[5]), array[[5]]):
        assert by_position.explain(row).score == by_position.anomaly_scores_[5]
    assert list(by_position.explain(5).reference) == ["0", "1", "2", "distance", "weight"]
    counted = pd.DataFrame(array)
    by_position = quick(make, [0, 1], [2]).fit(counted)
    for row in (counted.iloc[5], counted.iloc[5].to_dict(), counted.iloc[[5]]):
        assert by_position.explain(row).score == by_position.anomaly_scores_[5]


@for_both
def test_rows_by_label(make: DetectorClass) -> None:
    """Tests labels of a pandas index: text, timestamps, numbers that are not positions, pairs."""
    frame = mixed_table(60, missing=0.0)
    named = fit(make, frame.set_axis([f"p{row}" for row in range(60)]))
    assert named.explain("p7").position == 7
    assert named.explain(7).row == "p7"
    assert named.explain(7).title == "row p7"
    numbered = fit(make, frame.set_axis(range(100, 160)))
    # An integer is always a position; as a label it is given by name.
    assert numbered.explain(7).row == 107
    assert numbered.explain(row_label=107).position == 7
    dated = fit(make, frame.set_axis(pd.date_range("2026-01-01", periods=60)))
    assert dated.explain(pd.Timestamp("2026-01-08")).position == 7
    paired = fit(make, frame.set_axis(pd.MultiIndex.from_product([["a", "b"], range(30)])))
    assert paired.explain(row_label=("b", 3)).position == 33


@for_both
def test_explain_all_is_explain_for_the_highest_scores(make: DetectorClass) -> None:
    """Tests the order, that explaining rows together changes nothing, and that rows without a score are left out."""
    table = mixed_table(60, missing=0.3)
    table.loc[3, BEHAVIOR] = None
    with pytest.warns(UserWarning, match="no score"):
        detector = fit(make, table)
    everything = detector.explain_all(100)
    assert len(everything) == 60 - np.isnan(detector.anomaly_scores_).sum()
    scores = [explanation.score for explanation in everything]
    assert scores == sorted(scores, reverse=True)
    for explanation in everything[:10]:
        assert explanation.position is not None
        assert explanation.to_dict() == detector.explain(explanation.position).to_dict()


@for_both
def test_many_rows_are_explained_in_blocks(make: DetectorClass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that rows which are explained block by block, on two threads, have the explanations of one block."""
    frame = mixed_table(90, missing=0.1)
    detector, progress = fit(make, frame.iloc[:60]), []
    asked = {"new": frame.iloc[60:], "fitted": None}
    expected = {name: [each.to_dict() for each in detector.explain_all(60, rows=rows)] for name, rows in asked.items()}
    sentences = detector.to_frame(rows=frame.iloc[60:], columns="all")
    monkeypatch.setattr("paribus.detectors.explaining.ROWS_AT_A_TIME", 7)
    detector.progress = lambda n_done, n_rows: progress.append((n_done, n_rows))
    for name, rows in asked.items():
        assert [each.to_dict() for each in detector.explain_all(60, rows=rows)] == expected[name]
    assert detector.to_frame(rows=frame.iloc[60:], columns="all").equals(sentences)
    assert (30, 30) in progress
    assert max(done for done, of in progress if of == 60) == 60


@for_both
def test_a_row_without_a_score_is_named(make: DetectorClass, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the error names the row that cannot be explained, also if it is in a later block than the first."""
    frame = mixed_table(60, missing=0.0)
    detector = fit(make, frame)
    asked = frame.iloc[:20].copy()
    asked.loc[asked.index[17], BEHAVIOR] = np.nan
    monkeypatch.setattr("paribus.detectors.explaining.ROWS_AT_A_TIME", 7)
    with pytest.raises(ValueError, match=r"^row 17 has no score"):
        detector._explain_new(Table(asked), list(range(20)), 3)


@for_both
def test_explain_all_takes_new_rows(make: DetectorClass) -> None:
    """Tests that the most unusual of some new rows come first."""
    detector = fit(make, mixed_table(60, missing=0.0))
    new = mixed_table(30, seed=9, missing=0.0)
    explanations = detector.explain_all(5, rows=new)
    assert [explanation.score for explanation in explanations] == sorted(detector.anomaly_score(new))[::-1][:5]
    assert explanations[0].position is None
    # An explanation knows which of the new rows it is about.
    expected = np.argsort(-detector.anomaly_score(new), kind="stable")[:5].tolist()
    assert [explanation.row for explanation in explanations] == expected
    assert explanations[0].title == f"new row {expected[0]}"
    assert detector.explain_all(5, rows=new.iloc[:0]) == []


@for_both
def test_a_new_row_is_one_more_to_rank(make: DetectorClass) -> None:
    """Tests that the rank of a row below all fitted ones is not beyond their number."""
    detector = fit(make, mixed_table(60, missing=0.0))
    ranks = [explanation.rank for explanation in detector.explain_all(200, rows=mixed_table(200, seed=5, missing=0.0))]
    assert max(ranks) <= 61
    assert detector.explain(mixed_table(1, seed=5, missing=0.0)).n_ranked == 61


@for_both
@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        (60, ValueError, "row 60 is not in the fitted table, whose rows are 0 to 59"),
        (-1, ValueError, "row -1 is not in the fitted table"),
        (True, TypeError, "row is True: it must be the position of a fitted row"),
        (None, TypeError, "row is None: it must be the position of a fitted row"),
        (2.5, TypeError, "row is 2.5: it must be the position of a fitted row"),
        ("nobody", ValueError, "the fitted table has no row 'nobody' in its index"),
        ({"age": 30.0}, ValueError, "column 'load'"),
        (pd.Period("2024-01"), ValueError, "the fitted table has no row Period('2024-01', 'M') in its index"),
        (mixed_table(2), ValueError, "explain takes one row, but the table has 2: use explain_all"),
        (3, ValueError, "row 3 has no score: no behavioral feature has a value both there and in the reference group"),
        (
            {"age": 30.0, "load": 0.1, "site": "north", "pressure": None, "pulse": None},
            ValueError,
            "the row has no score",
        ),
    ],
)
def test_rows_that_cannot_be_explained(make: DetectorClass, row: Any, error: type[Exception], message: str) -> None:
    """Tests that an unknown row, or one without a score, raises an error of one clear sentence."""
    table = mixed_table(60, missing=0.0)
    table.loc[3, BEHAVIOR] = None
    with pytest.warns(UserWarning, match="1 row has no score, .*: row 3$"):
        detector = fit(make, table)
    with pytest.raises(error, match=re.escape(message)):
        detector.explain(row)


@for_both
def test_labels_that_cannot_be_found(make: DetectorClass) -> None:
    """Tests a label of several rows, a table without labels, and arguments that contradict each other."""
    frame = mixed_table(60, missing=0.0)
    with pytest.raises(ValueError, match="30 rows of the fitted table are called 'a'"):
        fit(make, frame.set_axis(["a", "b"] * 30)).explain("a")
    with pytest.raises(ValueError, match="the fitted table has no index to look up 'a' in"):
        fit(make, pl.from_pandas(frame)).explain("a")
    detector = fit(make, frame)
    with pytest.raises(ValueError, match=r"the fitted table has no row \[1\] in its index"):
        detector.explain(row_label=[1])
    with pytest.raises(ValueError, match=r"both row \(0\) and row_label \(1\) are given"):
        detector.explain(0, row_label=1)
    for number in (0, True):
        with pytest.raises(ValueError, match=r"n_features is .*: it must be a whole number from 1"):
            detector.explain(1, n_features=number)
        with pytest.raises(ValueError, match=r"n_rows is .*: it must be a whole number from 1"):
            detector.explain_all(number)
