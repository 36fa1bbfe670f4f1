"""The detectors as their users see them."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from paribus import QCAD, datasets
from paribus.datasets.weather import PLANTED
from tests.oracles import qcad as oracles
from tests.support.detectors import DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

Array = np.ndarray[Any, Any]


def plain_scores(frame: pd.DataFrame, detector: QCAD, row: int) -> tuple[Array, list[oracles.Answer]]:
    """The partial scores of one row by the oracle."""
    codes = {name: i for i, name in enumerate(sorted(frame["site"].dropna().unique()))}
    context = np.column_stack([frame["age"], frame["load"], frame["site"].map(codes).astype(float)])
    random = np.random.RandomState(0)
    tie_order = random.permutation(len(frame))
    k = detector.n_neighbors_
    bags = [np.bincount(random.randint(k, size=k), minlength=k) for _ in range(detector.n_trees)]
    group, _ = oracles.reference_group(context, context[row], row, k, np.array([0, 0, 1]), tie_order)
    answers = [
        oracles.judge(
            context,
            frame[name].to_numpy(),
            np.array([0, 0, 1]),
            group,
            context[row],
            frame[name].iloc[row],
            np.column_stack(bags),
        )
        for name in BEHAVIOR
    ]
    return np.minimum([a.partial_score for a in answers], 0.1) * 1000, answers


@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_scores_are_those_of_the_oracle(seed: int) -> None:
    """Tests a whole fit, from the dataframe to clipped partial scores, against the oracle."""
    frame = mixed_table(60, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        detector = QCAD(CONTEXT, BEHAVIOR, n_trees=5).fit(frame)
    for row in (0, 17, 42):
        expected, answers = plain_scores(frame, detector, row)
        if min(a.closest_call for a in answers) < 1e-4:
            continue
        np.testing.assert_allclose(detector.partial_scores_.iloc[row], expected, rtol=1e-10)


def test_the_mean_of_the_partial_scores_is_the_score() -> None:
    """Tests that the score is the mean of the partial scores that are not missing."""
    frame = mixed_table(missing=0.2)
    with pytest.warns(UserWarning, match="no score"):
        detector = QCAD(CONTEXT, BEHAVIOR).fit(frame)
    np.testing.assert_allclose(detector.partial_scores_.mean(axis=1), detector.anomaly_scores_)
    assert list(detector.partial_scores_.columns) == BEHAVIOR
    assert np.nanmax(detector.partial_scores_) <= 100


@for_both
def test_a_planted_anomaly_stands_out(make: DetectorClass) -> None:
    """Tests that a row that is ordinary overall but unusual in its context gets a high score for the right feature."""
    frame = mixed_table(400, missing=0.0)
    row = 200
    frame.loc[row, ["age", "pressure"]] = [50.0, 37.0]
    detector = make(CONTEXT, BEHAVIOR).fit(frame)
    assert frame["pressure"].quantile(0.7) < 37.0 < frame["pressure"].quantile(0.9)
    assert row in np.argsort(-detector.anomaly_scores_)[:10]
    assert detector.partial_scores_.iloc[row].idxmax() == "pressure"


@for_both
@pytest.mark.parametrize(
    "convert", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "pyarrow", "dict"]
)
def test_every_kind_of_table_gives_the_same_scores(make: DetectorClass, convert: Any) -> None:
    """Tests that scores do not depend on the type of the table, and that partial scores have this type."""
    frame = mixed_table(missing=0.0)
    columns = {name: frame[name].tolist() for name in frame.columns}
    expected = quick(make, CONTEXT, BEHAVIOR).fit(frame).anomaly_scores_
    table = convert(columns)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(table)
    np.testing.assert_array_equal(detector.anomaly_scores_, expected)
    assert type(detector.partial_scores_) is type(table)
    np.testing.assert_array_equal(detector.anomaly_score(table), expected)


@for_both
def test_arrays_are_used_by_position(make: DetectorClass) -> None:
    """Tests arrays of any memory order, strides and data type, compared with the same table with names."""
    frame = mixed_table(missing=0.0).drop(columns="site").round(2)
    expected = quick(make, ["age", "load"]).fit(frame).anomaly_scores_
    array = frame.to_numpy()
    for variant in (
        array,
        np.asfortranarray(array),
        np.repeat(array, 2, axis=0)[::2],
        array[::-1][::-1],
        array.tolist(),
    ):
        np.testing.assert_array_equal(quick(make, [0, 1]).fit(variant).anomaly_scores_, expected)
    whole = array.round().astype(np.int16)
    scores = quick(make, [0, 1]).fit(whole.astype(float)).anomaly_scores_
    for dtype in (np.int16, np.int64, np.float32, object, ">f8"):
        np.testing.assert_array_equal(quick(make, [0, 1]).fit(whole.astype(dtype)).anomaly_scores_, scores)


def test_scoring_the_fitted_table_gives_the_fitted_scores() -> None:
    """Tests that a row is never its own reference, for duplicates and for any part of the table in any order."""
    frame = pd.concat([mixed_table(80), mixed_table(80).head(30)], ignore_index=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        detector = QCAD(CONTEXT, BEHAVIOR).fit(frame)
        part = frame.sample(frac=0.6, random_state=1)
        np.testing.assert_array_equal(detector.anomaly_score(frame), detector.anomaly_scores_)
        np.testing.assert_array_equal(detector.anomaly_score(part), detector.anomaly_scores_[part.index])
    # Rows 30 to 79 have no duplicate, rows 0 to 29 have one.
    positions, _ = detector.reference_group(frame)
    assert all(row not in positions[row] for row in range(30, 80))
    assert all((row in positions[row]) != (row + 80 in positions[row]) for row in range(30))


@for_both
def test_columns_found_by_name_may_come_in_any_order(make: DetectorClass) -> None:
    """Tests that later tables may have additional columns and another order of columns."""
    frame = mixed_table(missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    shuffled = frame.assign(note="x")[["pulse", "note", "site", "age", "pressure", "load"]]
    np.testing.assert_array_equal(detector.anomaly_score(shuffled), detector.anomaly_scores_)


@for_both
def test_behavior_defaults_to_every_other_number(make: DetectorClass) -> None:
    """Tests that text, booleans and dates are not behavioral by default."""
    frame = mixed_table(missing=0.0).assign(flag=True, note="x", day=pd.Timestamp("2020-01-01"))
    detector = quick(make, ["age", "site"]).fit(frame)
    assert detector.behavioral_features_ == ["load", "pressure", "pulse"]


@for_both
def test_dates_are_context(make: DetectorClass) -> None:
    """Tests that a date works as context: to QCAD as a number, to ConditionalSurprise the same for each library."""
    frame = mixed_table(missing=0.0)
    dated = frame.assign(age=pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["age"].round(), unit="D"))
    microseconds = frame.assign(age=(dated["age"] - pd.Timestamp(0)) / pd.Timedelta("1us"))
    expected = quick(make, CONTEXT, BEHAVIOR).fit(microseconds if make is QCAD else dated).anomaly_scores_
    polars = pl.from_dict({name: dated[name].tolist() for name in dated.columns})
    for table in (dated, polars):
        np.testing.assert_allclose(quick(make, CONTEXT, BEHAVIOR).fit(table).anomaly_scores_, expected)


@for_both
def test_named_numbers_count_as_categories(make: DetectorClass) -> None:
    """Tests that numbers in `categorical` columns are compared as categories."""
    frame = mixed_table(missing=0.0)
    coded = frame.assign(site=frame["site"].map({"east": 1000, "north": 1001, "south": 7001}))
    as_codes = quick(make, CONTEXT, BEHAVIOR, categorical=["site"]).fit(coded).anomaly_scores_
    as_text = coded.assign(site=coded["site"].astype(str))
    np.testing.assert_array_equal(as_codes, quick(make, CONTEXT, BEHAVIOR).fit(as_text).anomaly_scores_)
    assert not np.array_equal(as_codes, quick(make, CONTEXT, BEHAVIOR).fit(coded).anomaly_scores_)


@for_both
def test_unseen_categories_and_missing_context_are_scored(make: DetectorClass) -> None:
    """Tests that new rows that have nothing in common with the table get a score, at distance 1."""
    frame = mixed_table(missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    row = pd.DataFrame({"age": [None], "load": [None], "site": ["west"], "pressure": [1e3], "pulse": [0.0]}).astype(
        {"age": float, "load": float}
    )
    assert np.isfinite(detector.anomaly_score(row)).all()
    assert set(detector.reference_group(row)[1].ravel()) == {1.0}


def test_percentiles_are_in_original_units() -> None:
    """Tests that percentiles are values of fitted rows in ascending order."""
    frame = mixed_table(missing=0.0)
    detector = QCAD(CONTEXT, BEHAVIOR, n_quantiles=20).fit(frame)
    percentiles = detector.percentiles(frame.head(7))
    assert percentiles.shape == (7, 2, 21)
    assert set(percentiles[:, 0].ravel()) <= set(frame["pressure"])
    assert (np.diff(percentiles, axis=2) >= 0).all()


@for_both
def test_rows_without_behavior_are_not_scored(make: DetectorClass) -> None:
    """Tests that such a row gets NaN, is not flagged, and is named in a warning."""
    frame = mixed_table(missing=0.0)
    frame.loc[3, BEHAVIOR] = np.nan
    with pytest.warns(UserWarning, match="1 row has no score, .* row 3$"):
        detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    assert np.isnan(detector.anomaly_scores_).nonzero()[0].tolist() == [3]
    assert detector.labels_[3] == 1


@for_both
def test_contamination_is_the_share_that_is_flagged(make: DetectorClass) -> None:
    """Tests the share of flagged rows, the signs of scikit-learn, and that predict gives the labels."""
    frame = mixed_table(200, missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR, contamination=0.1).fit(frame)
    assert (detector.labels_ == -1).sum() == 20
    np.testing.assert_array_equal(detector.predict(frame), detector.labels_)
    np.testing.assert_array_equal(detector.fit_predict(frame), detector.labels_)
    np.testing.assert_array_equal(detector.score_samples(frame), -detector.anomaly_scores_)
    np.testing.assert_array_equal(detector.decision_function(frame) < 0, detector.labels_ == -1)


def test_scores_are_not_clipped_without_clip_or_with_one_feature() -> None:
    """Tests that partial scores are clipped only if `clip` is set and there are several behavioral features."""
    frame = mixed_table(missing=0.0)
    frame.loc[0, "pressure"] = 1e4
    assert QCAD(CONTEXT, ["pressure"]).fit(frame).anomaly_scores_[0] > 100
    assert QCAD(CONTEXT, BEHAVIOR, clip=None).fit(frame).anomaly_scores_[0] > 100
    assert QCAD(CONTEXT, BEHAVIOR).fit(frame).anomaly_scores_.max() <= 100


@for_both
def test_a_constant_feature_scores_zero(make: DetectorClass) -> None:
    """Tests that a constant behavioral feature contributes nothing, or is left out, with a warning."""
    frame = mixed_table(missing=0.0).assign(pulse=5.0)
    with pytest.warns(UserWarning, match="'pulse' is 5 in every row"):
        detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    if make is QCAD:
        assert (detector.partial_scores_["pulse"] == 0).all()
    else:
        assert "pulse" not in detector.partial_scores_


def test_more_neighbors_than_rows_is_a_warning() -> None:
    """Tests that `n_neighbors` is limited to the number of other rows, with a warning."""
    frame = mixed_table(30, missing=0.0)
    with pytest.warns(UserWarning, match="only 29 other rows"):
        detector = QCAD(CONTEXT, BEHAVIOR, n_neighbors=100).fit(frame)
    assert detector.n_neighbors_ == 29


@pytest.mark.parametrize("parameters", [{"max_features": 1}, {"max_features": "sqrt"}, {"max_features": 0.5}])
def test_max_features_changes_the_trees(parameters: dict[str, Any]) -> None:
    """Tests that `max_features` changes the scores, and that the same seed gives the same ones again."""
    frame = mixed_table(missing=0.0)
    scores = QCAD(CONTEXT, BEHAVIOR, **parameters).fit(frame).anomaly_scores_
    np.testing.assert_array_equal(QCAD(CONTEXT, BEHAVIOR, **parameters).fit(frame).anomaly_scores_, scores)
    assert not np.array_equal(QCAD(CONTEXT, BEHAVIOR).fit(frame).anomaly_scores_, scores)


@for_both
def test_scores_depend_on_the_seed_and_not_on_threads(make: DetectorClass) -> None:
    """Tests that the number of threads does not change a bit, and that another seed does."""
    frame = mixed_table(missing=0.0)
    one = quick(make, CONTEXT, BEHAVIOR, n_jobs=1).fit(frame).anomaly_scores_
    np.testing.assert_array_equal(quick(make, CONTEXT, BEHAVIOR, n_jobs=3).fit(frame).anomaly_scores_, one)
    assert not np.array_equal(quick(make, CONTEXT, BEHAVIOR, random_state=1).fit(frame).anomaly_scores_, one)


def test_parameters_set_after_the_fit_apply_to_the_next_fit() -> None:
    """Tests that a fitted detector, and a pickled copy of it, use the parameters of the fit."""
    frame = mixed_table(missing=0.0)
    detector = QCAD(CONTEXT, BEHAVIOR, n_trees=5).fit(frame)
    detector.set_params(min_samples_split=2, clip=1.0, n_quantiles=7, scale_tails=False)
    for one in (detector, pickle.loads(pickle.dumps(detector))):
        np.testing.assert_array_equal(one.anomaly_score(frame), detector.anomaly_scores_)


@for_both
def test_an_interrupted_fit_does_not_change_the_detector(make: DetectorClass) -> None:
    """Tests that an interrupted first fit leaves the detector unfitted, and a later one leaves it as it was."""

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    frame = mixed_table(missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR, progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        detector.fit(frame)
    with pytest.raises(NotFittedError):
        detector.predict(frame)
    detector.set_params(progress=False).fit(frame)
    before = detector.anomaly_scores_
    detector.set_params(progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        detector.fit(mixed_table(50, seed=1, missing=0.0))
    detector.set_params(progress=False)
    np.testing.assert_array_equal(detector.anomaly_score(frame), before)


def test_an_interquartile_range_of_zero_is_replaced_by_half_the_range() -> None:
    """Tests the tail of a distribution whose quartiles coincide, computed by hand."""
    # The context is constant, so the distribution is that of all 40 others: 36 zeros and four ones.
    behavior = np.array([0.0] * 36 + [1.0] * 4 + [3.0])
    table = np.column_stack([np.zeros(41), behavior])
    detector = QCAD([0], n_neighbors=40, n_trees=1, bootstrap=False).fit(table)
    # The widest interval is 1, d is 2, half the range 0.5; the feature's range is 3.
    assert detector.anomaly_scores_[-1] == pytest.approx((1 + 2 / 0.5) * 1 / 3 * 1000)
    flat = QCAD([0], n_neighbors=40, n_trees=1, bootstrap=False, scale_tails=False).fit(table)
    assert flat.anomaly_scores_[-1] == pytest.approx(1 / 3 * 1000)


@for_both
def test_missing_values_may_come_masked_or_as_objects(make: DetectorClass) -> None:
    """Tests masked arrays, decimals and columns of None."""
    random = np.random.default_rng(0)
    plain = random.normal(size=(40, 3)).round(3)
    plain[5, 1] = np.nan
    expected = quick(make, [0]).fit(plain).anomaly_scores_
    masked = np.ma.masked_invalid(plain)
    masked.data[5, 1] = 1e6
    np.testing.assert_array_equal(quick(make, [0]).fit(masked).anomaly_scores_, expected)
    decimals = [[None if np.isnan(cell) else Decimal(str(cell)) for cell in row] for row in plain]
    np.testing.assert_array_equal(quick(make, [0]).fit(decimals).anomaly_scores_, expected)
    frame = mixed_table(missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    assert np.isfinite(detector.anomaly_score(pd.DataFrame([frame.iloc[0].to_dict() | {"age": None, "pulse": None}])))


@for_both
def test_dates_of_any_type_are_the_same_timestamps(make: DetectorClass) -> None:
    """Tests time zones, date objects and numpy's timestamps, compared with those of pandas."""
    frame = mixed_table(60, missing=0.0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["age"], unit="D")
    expected = quick(make, CONTEXT, BEHAVIOR).fit(frame.assign(age=days)).anomaly_scores_
    for variant in (days.dt.tz_localize("UTC"), days.dt.date, days.to_numpy()):
        np.testing.assert_array_equal(
            quick(make, CONTEXT, BEHAVIOR).fit(frame.assign(age=variant)).anomaly_scores_, expected
        )


@for_both
def test_roles_may_be_given_as_an_index_or_array(make: DetectorClass) -> None:
    """Tests that columns can be given as an index, an array or a tuple."""
    frame = mixed_table(missing=0.0)
    expected = quick(make, CONTEXT, BEHAVIOR).fit(frame).anomaly_scores_
    kinds: list[Any] = [pd.Index, np.array, tuple]
    for convert in kinds:
        np.testing.assert_array_equal(
            quick(make, convert(CONTEXT), convert(BEHAVIOR)).fit(frame).anomaly_scores_, expected
        )


@for_both
def test_unused_columns_may_hold_anything(make: DetectorClass) -> None:
    """Tests that columns that are not numeric are not behavioral by default, whatever they hold."""
    frame = mixed_table(40, missing=0.0)
    odd = frame.assign(lists=[[1]] * 40, empty=None, day=pd.Timestamp("2020"), nothing=np.nan)
    assert quick(make, ["age", "load", "site"]).fit(odd).behavioral_features_ == BEHAVIOR


def test_values_far_outside_a_tiny_range_stay_finite() -> None:
    """Tests that distances and scores that would overflow are finite, and that all neighbors are found."""
    random = np.random.default_rng(0)
    table = np.column_stack([np.arange(40) * 1e-240, np.append(random.normal(size=39) * 1e-70, 1e249)])
    detector = QCAD([0], n_trees=5).fit(table)
    assert np.isfinite(detector.anomaly_scores_).all()
    far = np.array([[1e249, 0.5]])
    positions, distances = detector.reference_group(far)
    assert len(set(positions[0])) == detector.n_neighbors_
    assert np.isfinite(distances).all()
    assert np.isfinite(detector.anomaly_score(far)).all()


@for_both
def test_no_rows_give_no_scores(make: DetectorClass) -> None:
    """Tests that an empty table gives empty results."""
    frame = mixed_table(missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    assert detector.anomaly_score(frame.head(0)).shape == (0,)
    assert detector.percentiles(frame.head(0)).shape == (0, 2, 101)


@for_both
def test_progress_moves_and_ends_at_the_number_of_rows(make: DetectorClass) -> None:
    """Tests that the progress function is called with increasing numbers, up to the number of rows."""
    calls: list[tuple[int, int]] = []
    quick(make, [0], n_trees=20, n_jobs=1, progress=lambda done, total: calls.append((done, total))).fit(
        np.random.default_rng(0).normal(size=(3000, 4))
    )
    assert calls[-1] == (3000, 3000)
    assert len(calls) >= 3
    assert calls == sorted(calls)


@for_both
def test_an_error_in_the_progress_function_stops_the_work(make: DetectorClass) -> None:
    """Tests that an exception in the progress function is raised by `fit`."""

    def fail(done: int, total: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        quick(make, [0], progress=fail).fit(np.random.default_rng(0).normal(size=(5000, 4)))


@for_both
def test_the_progress_bar_is_drawn(make: DetectorClass, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that progress=True shows a bar with the number of rows on standard error."""
    quick(make, [0], progress=True).fit(np.random.default_rng(0).normal(size=(50, 3)))
    captured = capsys.readouterr()
    assert "50/50" in captured.err
    assert captured.out == ""


def test_ctrl_c_stops_within_a_second() -> None:
    """Tests that an interrupt ends a long fit at once with KeyboardInterrupt."""
    code = """
import sys, numpy as np
from paribus import QCAD
table = np.random.default_rng(0).normal(size=(60_000, 12))
def tick(done, total):
    print("working", flush=True)
try:
    QCAD(list(range(8)), progress=tick).fit(table)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "working\n"
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        process.wait()
    *later, last = rest.splitlines()
    assert last == "stopped"
    # Progress is reported twenty times a second. Unlike a clock, the count does not depend on other processes.
    assert len(later) <= 20


@for_both
def test_the_bundled_tables(make: DetectorClass) -> None:
    """Tests that anomalies in the bundled tables are found: Emmen among the cities, and the planted days of weather."""
    cities = datasets.load("cities")
    detector = make(cities.contextual, cities.behavioral).fit(cities.table)
    assert cities.table["City"].index("Emmen") in np.argsort(-detector.anomaly_scores_, kind="stable")[:3]
    weather = datasets.load("weather")
    labels = make(weather.contextual, weather.behavioral).fit(weather.table).labels_
    assert [labels[row] for row, _, _ in PLANTED].count(-1) >= 4
    with pytest.raises(ValueError, match="no data set 'towns'"):
        datasets.load("towns")


def test_the_papers_injection_is_found_in_its_data(paper_data: Path) -> None:
    """Tests that anomalies injected into Concrete as in the paper are found about as well as it reports (0.63)."""
    from sklearn.metrics import average_precision_score

    frame = pd.read_csv(paper_data / "RawData" / "Concrete.csv", index_col=0)
    random = np.random.default_rng(0)
    strength = (frame["Strength"] - frame["Strength"].min()) / (frame["Strength"].max() - frame["Strength"].min())
    anomalies = random.choice(len(frame), 50, replace=False)
    values = strength.to_numpy().copy()
    values[anomalies] += random.uniform(0.1, 0.5, 50) * random.choice([-1, 1], 50)
    detector = QCAD(list(frame.columns[:8]), ["Strength"]).fit(frame.assign(Strength=values))
    truth = np.zeros(len(frame))
    truth[anomalies] = 1
    assert average_precision_score(truth, detector.anomaly_scores_) > 0.55
