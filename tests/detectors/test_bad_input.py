"""Invalid input: one sentence that names what is wrong, before the fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from paribus import QCAD, ConditionalSurprise, load
from tests.support.detectors import DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"contextual": ["agee"]}, ValueError, "'agee' is not in the table: did you mean 'age'"),
        ({"contextual": ["age", "age"]}, ValueError, "'age' is named twice"),
        ({"contextual": []}, ValueError, "no contextual column"),
        ({"contextual": [9]}, ValueError, "column 9 is not in the table, which has 5 columns"),
        ({"contextual": [1.5]}, TypeError, "not by float"),
        ({"contextual": 5.0}, TypeError, "a list of names or positions, not as float"),
        ({"contextual": (name for name in CONTEXT)}, TypeError, "not as generator"),
        ({"contextual": None}, ValueError, "no contextual column"),
        ({"behavioral": ["age"]}, ValueError, "both contextual and behavioral"),
        ({"behavioral": []}, ValueError, "no behavioral column"),
        ({"categorical": ["pulse"], "behavioral": ["pressure"]}, ValueError, "'pulse' is named categorical but is not"),
        ({"n_trees": 0}, ValueError, "n_trees is 0"),
        ({"n_trees": 2.5}, ValueError, "whole number"),
        ({"max_features": 0}, ValueError, "max_features is 0"),
        ({"max_features": 1.5}, ValueError, "at most 1"),
        ({"max_features": "most"}, ValueError, "'sqrt'"),
        ({"contamination": np.array([0.1, 0.2])}, ValueError, "contamination"),
        ({"contamination": 0.7}, ValueError, "contamination is 0.7"),
        ({"contamination": "some"}, ValueError, "'auto'"),
        ({"progress": 3}, TypeError, "progress is 3"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ({"random_state": 1.5}, ValueError, "random_state is 1.5: it must be a whole number from 0 to 4,294,967,295"),
        ({"random_state": -1}, ValueError, "random_state is -1: it must be a whole number"),
        ({"random_state": "7"}, ValueError, "random_state is '7': it must be a whole number"),
    ],
)
@for_both
def test_wrong_parameters_are_named(
    make: DetectorClass, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Tests that each wrong parameter gives one sentence with its value and what is allowed."""
    with pytest.raises(error, match=message):
        make(**({"contextual": CONTEXT, "behavioral": BEHAVIOR} | parameters)).fit(mixed_table(30, missing=0.0))


@pytest.mark.parametrize("clip", [-1, 5e-324])
def test_a_wrong_cap_is_named(clip: float) -> None:
    """Tests that a wrong value of the parameter that only QCAD has gives one sentence."""
    with pytest.raises(ValueError, match=f"clip is {clip}: it must be a number from 1e-9"):
        QCAD(CONTEXT, BEHAVIOR, clip=clip).fit(mixed_table(30, missing=0.0))


@pytest.mark.parametrize(
    ("make", "parameters", "error", "message"),
    [
        (QCAD, {"n_neighbors": 0}, ValueError, "n_neighbors is 0"),
        (QCAD, {"n_neighbors": 70_000}, ValueError, "from 1 to 65,535"),
        (QCAD, {"min_samples_split": 1}, ValueError, "min_samples_split is 1"),
        (QCAD, {"n_quantiles": 1}, ValueError, "n_quantiles is 1"),
        (QCAD, {"min_samples_split": 2**40}, ValueError, "min_samples_split"),
        (QCAD, {"bootstrap": "yes"}, TypeError, "bootstrap is 'yes'"),
        (ConditionalSurprise, {"min_samples_leaf": 0}, ValueError, "min_samples_leaf is 0"),
        (ConditionalSurprise, {"max_samples": 0}, ValueError, "max_samples is 0"),
    ],
)
def test_wrong_parameters_of_one_detector_are_named(
    make: DetectorClass, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Tests the parameters that only one detector has."""
    with pytest.raises(error, match=message):
        make(CONTEXT, BEHAVIOR, **parameters).fit(mixed_table(30, missing=0.0))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.assign(pulse=np.inf), ValueError, "'pulse' has an infinite value in row 0"),
        (lambda f: f.assign(age=1e300), ValueError, "too large"),
        (lambda f: f.assign(pulse=np.nan), ValueError, "'pulse' has no values"),
        (lambda f: f.head(1), ValueError, "n_samples = 1"),
        (lambda f: f.head(0), ValueError, "n_samples = 0"),
        (lambda f: f.assign(pulse=pd.Timestamp("2020")), TypeError, "timestamps"),
        (lambda f: f.assign(site=[[1]] * len(f)), TypeError, "string or a number"),
        (lambda f: f.assign(site=["a", 1.0] * (len(f) // 2)), TypeError, "'site' cannot be used: .* float and str"),
        (lambda f: f.rename(columns={"pulse": "age"}), ValueError, "unique"),
        (lambda f: pl.from_dict({"age": [1.0], "pulse": [2.0]}).lazy(), ValueError, "'site' is not in the table"),
        (lambda f: f["age"], ValueError, "2 dimensions"),
        (lambda f: f.rename(columns={"pulse": 7}), ValueError, "column name 7 is not text"),
        (lambda f: f.astype(object).assign(pulse=10**400), ValueError, "'pulse' has .* not a usable number"),
        (
            lambda f: f.assign(pressure=[1.0, np.nan] * 15, pulse=[1.0, np.nan] * 15).iloc[[0, 1, 3]],
            ValueError,
            "n_samples = 3, and 1",
        ),
        (lambda f: [[1, 2], [3]], ValueError, "same length"),
        (lambda f: {"age": [1, 2], "pulse": [1]}, ValueError, "differ in length"),
        (lambda f: f.to_numpy(), ValueError, "no column names"),
    ],
)
@for_both
def test_bad_tables_give_one_sentence(make: DetectorClass, change: Any, error: type[Exception], message: str) -> None:
    """Tests that each kind of invalid table gives one sentence that names the column."""
    with pytest.raises(error, match=message):
        quick(make, ["age", "site"], ["pressure", "pulse"]).fit(change(mixed_table(30, missing=0.0)))


@for_both
def test_missing_or_changed_columns_are_an_error(make: DetectorClass) -> None:
    """Tests new rows without a fitted column, or with another type in it."""
    frame = mixed_table(missing=0.0)
    with pytest.raises(NotFittedError):
        quick(make, CONTEXT, BEHAVIOR).anomaly_score(frame)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    with pytest.raises(ValueError, match="'pulse' was there at fit and is missing"):
        detector.anomaly_score(frame.drop(columns="pulse"))
    with pytest.raises(TypeError, match="'site' held text at fit and holds numbers here"):
        detector.anomaly_score(frame.assign(site=1.0))
    with pytest.raises(TypeError, match="'age' held numbers at fit and holds text here"):
        detector.anomaly_score(frame.assign(age="old"))
    with pytest.raises(ValueError, match="this table has none"):
        detector.anomaly_score(np.zeros((3, 5)))


KINDS: dict[str, Any] = {
    "numbers": lambda n: np.arange(float(n)),
    "timestamps": lambda n: pd.date_range("2026-01-01", periods=n),
    "durations": lambda n: pd.to_timedelta(np.arange(n), unit="h"),
    "text": lambda n: [f"t{row % 3}" for row in range(n)],
    "booleans": lambda n: [row % 2 == 0 for row in range(n)],
}


@for_both
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("held", KINDS)
def test_a_column_must_hold_what_it_held_at_fit(make: DetectorClass, tmp_path: Path, held: str, loaded: bool) -> None:
    """Tests that other values than at fit are an error, for saved detectors too, and missing values are not."""
    frame = mixed_table(30, missing=0.0)[["age", "pulse"]]
    detector = quick(make, ["age"], ["pulse"]).fit(frame.assign(age=KINDS[held](30)))
    if loaded:
        detector.save(tmp_path / "m")
        detector = load(tmp_path / "m")
    for holds, column in KINDS.items():
        new = frame.head(4).assign(age=column(4))
        if holds == held:
            assert np.isfinite(detector.score_samples(new)).all()
            continue
        with pytest.raises(TypeError, match=f"^column 'age' held {held} at fit and holds {holds} here: convert it$"):
            detector.score_samples(new)
    assert np.isfinite(detector.score_samples(frame.assign(age=None))).all()
    if held == "booleans":
        # 1 and 0 are accepted as well.
        flags = frame.assign(age=KINDS[held](30))
        assert (detector.score_samples(flags.astype({"age": float})) == detector.score_samples(flags)).all()


@for_both
def test_a_context_that_names_the_rows_is_a_warning(make: DetectorClass) -> None:
    """Tests dates in text: a category each, so that nothing would be comparable, without a word."""
    frame = mixed_table(60, missing=0.0).assign(
        site=[f"2012/{1 + row // 28:02d}/{1 + row % 28:02d}" for row in range(60)]
    )
    with pytest.warns(UserWarning, match=r"'site' has 60 categories in 60 rows, .* convert it if it holds dates"):
        quick(make, CONTEXT, BEHAVIOR).fit(frame)


@for_both
def test_a_context_without_values_is_a_warning(make: DetectorClass) -> None:
    """Tests that a contextual column without values is accepted, with a warning that names it."""
    frame = mixed_table(30, missing=0.0).assign(load=np.nan)
    with pytest.warns(
        UserWarning, match="^contextual column 'load' has no values at all, so no row is compared by it$"
    ):
        quick(make, CONTEXT, BEHAVIOR).fit(frame)


@for_both
def test_behavior_must_be_numbers_when_rows_are_scored(make: DetectorClass) -> None:
    """Tests that dates in a behavioral column are not mistaken for huge numbers."""
    frame = mixed_table(30, missing=0.0)
    detector = quick(make, CONTEXT, BEHAVIOR).fit(frame)
    with pytest.raises(TypeError, match="'pulse' held numbers at fit and holds timestamps here"):
        detector.score_samples(frame.assign(pulse=pd.Timestamp("2026-01-01")))
