"""Results of a fit as users take them on: one frame, the threshold, and read access for pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from paribus import ConditionalSurprise
from paribus.tables.column import is_missing
from tests.support.detectors import DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

RESULTS = ["row", "score", "p_value", "rank", "label"]
FOUND = ["group", "sentence", "leading", "value", "usual_low", "usual_high"]
PARTS = ["partial_pressure", "partial_pulse"]


def names_of_results(make: DetectorClass, *, sentences: bool = True) -> list[str]:
    """The columns of a frame; only one method tells kinds apart."""
    kind = ["kind"] if make is ConditionalSurprise else []
    return [*RESULTS, *kind, *(FOUND if sentences else []), *PARTS]


def fit(make: DetectorClass, table: Any, **options: Any) -> Any:
    return quick(make, CONTEXT, BEHAVIOR, **options).fit(table)


@for_both
def test_the_frame_has_the_results_of_all_rows(make: DetectorClass) -> None:
    """Tests each column against the attributes of the detector, in the order of the rows."""
    detector = fit(make, mixed_table(80, missing=0.0), contamination=0.1)
    frame = detector.to_frame()
    assert list(frame) == names_of_results(make)
    assert frame["p_value"].tolist() == detector.p_values_.tolist()
    assert frame["row"].tolist() == list(range(80))
    assert frame["score"].tolist() == detector.anomaly_scores_.tolist()
    assert frame["rank"].tolist() == [1 + (detector.anomaly_scores_ > score).sum() for score in frame["score"]]
    assert (frame["label"] == "anomaly").tolist() == (detector.labels_ == -1).tolist()
    assert set(frame["label"]) == {"anomaly", "normal"}
    for name in BEHAVIOR:
        assert frame[f"partial_{name}"].tolist() == detector.partial_scores_[name].tolist()


@for_both
def test_equal_scores_share_a_rank_and_missing_ones_have_none(make: DetectorClass) -> None:
    """Tests identical rows, and a row without behavior."""
    table = mixed_table(60, missing=0.0)
    table.loc[1] = table.loc[0]
    table.loc[2, BEHAVIOR] = None
    with pytest.warns(UserWarning, match="no score"):
        frame = fit(make, table).to_frame()
    assert frame["rank"][0] == frame["rank"][1]
    assert np.isnan(frame["rank"][2])
    assert np.isnan(frame["score"][2])
    assert frame["label"][2] == "not scored"
    assert frame["rank"].max() <= 59


@for_both
def test_rows_are_called_by_their_labels(make: DetectorClass) -> None:
    """Tests that the column `row` has the labels of a pandas index."""
    names = [f"p{row}" for row in range(60)]
    frame = fit(make, mixed_table(60, missing=0.0).set_axis(names)).to_frame()
    assert frame["row"].tolist() == names


@for_both
def test_original_columns_can_be_added(make: DetectorClass) -> None:
    """Tests that all columns of the table follow, and that results make way for columns of the same name."""
    table = mixed_table(60, missing=0.0)
    table["note"], table["Score"] = "a note", range(60)
    frame = fit(make, table).to_frame(columns="all", sentences=False)
    assert list(frame) == ["row", "score (paribus)", *names_of_results(make, sentences=False)[2:], *table.columns]
    roles = fit(make, table).to_frame(columns="roles", sentences=False)
    assert list(roles) == [*names_of_results(make, sentences=False), *CONTEXT, *BEHAVIOR]
    with pytest.raises(ValueError, match="columns is 'some': it must be one of none, roles, all"):
        fit(make, table).to_frame(columns="some")
    pd.testing.assert_frame_equal(frame[table.columns.tolist()], table)
    assert frame["score (paribus)"].tolist() == fit(make, table).anomaly_scores_.tolist()


@for_both
def test_sentences_explain_the_anomalies(make: DetectorClass) -> None:
    """Tests that anomalies have their sentence, and that other rows have none."""
    detector = fit(make, mixed_table(60, missing=0.0), contamination=0.1)
    frame = detector.to_frame()
    for position, (label, sentence) in enumerate(zip(frame["label"], frame["sentence"], strict=True)):
        assert sentence == str(detector.explain(position)) if label == "anomaly" else pd.isna(sentence)
    assert (frame["label"] == "anomaly").sum() == 6


@for_both
def test_a_table_without_anomalies_has_no_sentences(make: DetectorClass) -> None:
    """Tests that the column is there, and empty, if no row is flagged."""
    table = {"a": np.arange(60.0), "x": np.arange(60) % 7 + 0.5, "y": np.arange(60) * 2.0}
    detector = quick(make, ["a"], ["x", "y"]).fit(table)
    assert (detector.labels_ == 1).all()
    assert list(detector.to_frame()["sentence"]) == [None] * 60
    assert len(detector.to_frame(only_flagged=True)["row"]) == 0


@for_both
def test_the_frame_has_the_type_of_the_table(make: DetectorClass) -> None:
    """Tests pandas, polars, pyarrow, a dict of columns and an array, all with the same values."""
    frame = mixed_table(60, missing=0.0)
    expected = fit(make, frame).to_frame(columns=True)
    for table in (pl.from_pandas(frame), pa.Table.from_pandas(frame), frame.to_dict("list")):
        found = fit(make, table).to_frame(columns=True)
        assert type(found) is type(table)
        names = found.column_names if isinstance(found, pa.Table) else list(getattr(found, "columns", found))
        assert names == list(expected)
        for name in names:
            column = found[name].to_pylist() if isinstance(found, pa.Table) else list(found[name])
            assert [each for each in column if not is_missing(each)] == expected[name].dropna().tolist()
    array = frame[["age", "load", "pressure"]].to_numpy()
    found = quick(make, [0, 1], [2]).fit(array).to_frame(columns=True, sentences=False)
    assert type(found) is dict
    kind = ["kind"] if make is ConditionalSurprise else []
    assert list(found) == [*RESULTS, *kind, "partial_2", "0", "1", "2"]
    assert list(found["2"]) == array[:, 2].tolist()


@for_both
def test_the_threshold_is_the_highest_score_of_a_normal_row(make: DetectorClass) -> None:
    """Tests that the threshold is the negative offset, and that exactly the scores above it are anomalies."""
    table = mixed_table(100, missing=0.0)
    for contamination in ("auto", 0.05, 0.5):
        detector = fit(make, table, contamination=contamination)
        assert detector.threshold_ == -detector.offset_
        assert detector.threshold_ > 0
        assert ((detector.anomaly_scores_ > detector.threshold_) == (detector.labels_ == -1)).all()
        if contamination != "auto":
            assert (detector.labels_ == -1).sum() == 100 * contamination
        assert (detector.predict(table) == detector.labels_).all()
        assert all(each.threshold == detector.threshold_ for each in detector.explain_all(2))


@for_both
def test_the_view_shows_what_was_fitted(make: DetectorClass) -> None:
    """Tests that the view has the rows, names, scores and threshold of the detector, and finds rows and features."""
    table = mixed_table(80, missing=0.1)
    table.loc[:, "pressure"] = table["pressure"].fillna(1.0)
    detector = fit(make, table)
    view = detector.view()
    assert view is detector.view()
    assert [column.name for column in view.context] == CONTEXT
    assert view.behavior_names == BEHAVIOR
    assert view.store.n_rows == 80
    np.testing.assert_array_equal(view.store.behavior(np.array([3, 1])), table[BEHAVIOR].to_numpy()[[3, 1]])
    np.testing.assert_array_equal(view.scores, detector.anomaly_scores_)
    np.testing.assert_array_equal(view.partial_scores, detector.partial_scores_.to_numpy())
    assert view.sorted_scores.tolist() == sorted(detector.anomaly_scores_)
    assert view.threshold == detector.threshold_
    assert view.n_reference == detector.n_neighbors_
    assert view.seconds == detector.fit_seconds_
    assert view.highest(3).tolist() == [each.position for each in detector.explain_all(3)]
    assert (view.behavior_place("pulse"), view.context_place("site"), view.context_place(1)) == (1, 2, 1)
    assert view.find_row(7) == 7
    assert view.find_row({"age": 3.0}) is None
    summary = view.context[0].summary
    assert (summary.lowest, summary.highest, summary.n_missing) == (
        table["age"].min(),
        table["age"].max(),
        table["age"].isna().sum(),
    )
    assert "rows" in view.compared_with("row")
    assert "days" in view.compared_with("day")


@for_both
def test_the_view_expects_what_the_detector_expects(make: DetectorClass) -> None:
    """Tests that the percentiles of a context are those of the detector, without the row itself if it is excluded."""
    table = mixed_table(80, missing=0.0)
    detector = fit(make, table)
    view = detector.view()
    context = view.context_of(5)[None]
    np.testing.assert_array_equal(view.expected(context, excluded=5), detector.percentiles(table.iloc[[5]]))
    assert not np.array_equal(view.expected(context, excluded=5), view.expected(context))
    new = table.iloc[[5]].assign(pressure=None, pulse=None)
    np.testing.assert_array_equal(view.expected(context), detector.percentiles(new))


@for_both
def test_an_excluded_row_does_not_stand_for_other_contexts(make: DetectorClass) -> None:
    """Tests that what is expected follows the given context, not that of the row that is left out."""
    x = np.linspace(0.0, 100.0, 300)
    table = pd.DataFrame({"x": x, "y": 3.0 * x + np.random.default_rng(0).normal(size=300)})
    view = quick(make, ["x"], ["y"]).fit(table).view()
    medians = view.expected(np.array([[10.0], [50.0], [90.0]]), excluded=150)[:, 0, 50]
    np.testing.assert_allclose(medians, [30.0, 150.0, 270.0], atol=20.0)


@for_both
def test_without_a_fit_there_are_no_results(make: DetectorClass) -> None:
    """Tests that each way to results raises scikit-learn's error before a fit."""
    detector = make(CONTEXT, BEHAVIOR)
    for ask in (detector.to_frame, detector.view, detector.results, detector.groups, detector.explain_all):
        with pytest.raises(NotFittedError):
            ask()
