"""What all baselines share: the interface, reproducible scores, clear errors, and anomalies found."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from paribus import baselines, datasets
from paribus.baselines.out_of_bag import Bagging
from paribus.evaluation import average_precision
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

QUICK: dict[str, dict[str, int]] = {"LoPAD": {"n_trees": 20}, "RIF": {"n_trees": 20}, "CAD": {"n_restarts": 2}}


def make(name: str, **parameters: Any) -> baselines.Baseline:
    return baselines.get(name)(CONTEXT, BEHAVIOR, **(QUICK.get(name, {}) | parameters))


def planted_table() -> pd.DataFrame:
    """A table in which rows 0 to 9 are unusual in their context, and rare in behavior regardless of it."""
    frame = mixed_table(300, missing=0.0)
    random = np.random.default_rng(9)
    frame.loc[:9, "pressure"] += np.where(frame.loc[:9, "age"] < 50, 1, -1) * random.uniform(20, 60, 10)
    frame.loc[:9, "pulse"] += np.where(frame.loc[:9, "load"] < 0, 1, -1) * random.uniform(20, 60, 10)
    return frame


@pytest.mark.parametrize("name", baselines.names())
def test_planted_anomalies_come_first(name: str) -> None:
    """Tests that each baseline gives high scores to anomalies."""
    scores = make(name).fit(planted_table()).anomaly_scores_
    assert scores.shape == (300,)
    labels = (np.arange(300) < 10).astype(int)
    assert average_precision(labels, scores) > 0.5


@pytest.mark.parametrize("name", baselines.names())
def test_the_same_seed_gives_the_same_scores(name: str) -> None:
    """Tests that a clone with the same seed gives the same scores, for any dataframe and with other columns."""
    frame = planted_table()
    detector = make(name, random_state=3)
    scores = detector.fit(frame).anomaly_scores_
    np.testing.assert_array_equal(clone(detector).fit(frame).anomaly_scores_, scores)
    shuffled = pl.from_pandas(frame[["pulse", "site", "pressure", "load", "age"]].assign(more="text"))
    np.testing.assert_array_equal(clone(detector).fit(shuffled).anomaly_scores_, scores)


@pytest.mark.parametrize("name", baselines.names())
def test_missing_values_raise_an_error(name: str) -> None:
    """Tests that a missing value raises an error that names the baseline, the column and the row."""
    for column in ("load", "site", "pulse"):
        frame = mixed_table(60, missing=0.0)
        frame.loc[3, column] = None
        with pytest.raises(
            ValueError, match=f"{name} needs complete rows, but column '{column}' has no value in row 3"
        ):
            make(name).fit(frame)


@pytest.mark.parametrize("name", baselines.names())
def test_bad_roles_and_small_tables_raise_an_error(name: str) -> None:
    """Tests that roles are validated as for the detectors, and that a table must not be too small."""
    with pytest.raises(ValueError, match="'agee' is not in the table: did you mean 'age'"):
        baselines.get(name)(["agee"]).fit(mixed_table(60, missing=0.0))
    with pytest.raises(ValueError, match=f"{name} needs at least .* rows, but the table has 1"):
        make(name).fit(mixed_table(1, missing=0.0))


@pytest.mark.parametrize("name", baselines.names())
def test_constant_columns_and_duplicates_are_scored(name: str) -> None:
    """Tests that constant columns and identical rows give finite scores and no warning."""
    frame = mixed_table(60, missing=0.0).assign(load=1.0, site="here", pulse=0.0)
    scores = make(name).fit(frame.iloc[[*range(30), *[19] * 30]]).anomaly_scores_
    assert scores.shape == (60,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", ["CAD", "ROCOD", "LoPAD", "RIF", "KNN"])
def test_large_numbers_dates_and_names_are_scored(name: str) -> None:
    """Tests contexts of huge numbers, of timestamps, and of names that are all different."""
    frame = planted_table()
    names = [f"person {row}" for row in range(300)]
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["age"], unit="D")
    frame = frame.assign(load=frame["load"] * 1e240, site=names, age=when)
    scores = make(name).fit(frame).anomaly_scores_
    assert np.isfinite(scores).all()
    assert np.argsort(-scores)[:10].min() < 10


def test_an_unknown_baseline_raises_an_error() -> None:
    """Tests that a misspelled name gets a suggestion."""
    with pytest.raises(ValueError, match="there is no baseline 'Lopad': did you mean 'LoPAD'"):
        baselines.get("Lopad")
    with pytest.raises(ValueError, match="choose one of CAD, ROCOD"):
        baselines.get("xyz")


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("LOF", {"n_neighbors": 0}, ValueError, "n_neighbors is 0"),
        ("KNN", {"scale_context": 1}, TypeError, "scale_context is 1: it must be True, False or None"),
        ("IForest", {"n_trees": -1}, ValueError, "n_trees is -1"),
        ("HBOS", {"n_bins": 1}, ValueError, "n_bins is 1"),
        ("LoPAD", {"significance": 2}, ValueError, "significance is 2"),
        ("LoPAD", {"n_jobs": 0}, ValueError, "n_jobs is 0"),
        ("RIF", {"n_isolation_trees": 0}, ValueError, "n_isolation_trees is 0"),
        ("RIF", {"min_samples_leaf": 0.5}, ValueError, "min_samples_leaf is 0.5"),
    ],
)
def test_wrong_parameters_are_named(
    name: str, parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    """Tests that each wrong parameter raises an error of one sentence before any work."""
    with pytest.raises(error, match=message):
        make(name, **parameters).fit(mixed_table(60, missing=0.0))


def test_without_pyod_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the five detectors that need PyOD say how to install it, and that the others do not need it."""
    monkeypatch.setitem(sys.modules, "pyod", None)
    for module in [name for name in sys.modules if name.startswith("pyod.")]:
        monkeypatch.delitem(sys.modules, module)
    for name in ("IForest", "LOF", "KNN", "SOD", "HBOS"):
        with pytest.raises(ImportError, match=rf"{name} needs PyOD: pip install 'paribus\[bench\]'"):
            make(name).fit(mixed_table(60, missing=0.0))
    make("ROCOD").fit(mixed_table(60, missing=0.0))


def test_pooled_detectors_are_pyods_own() -> None:
    """Tests that PyOD gets the scaled context and the scaled behavior side by side."""
    from pyod.models.knn import KNN

    frame = mixed_table(80, missing=0.0)
    codes = frame["site"].map({"east": 0, "north": 1, "south": 2}).astype(float)
    context = pd.DataFrame({"age": frame["age"], "load": frame["load"], "site": codes})
    behavior = frame[BEHAVIOR]
    for scaled in (True, False):
        features = pd.concat([_scaled(context) if scaled else context, _scaled(behavior)], axis=1)
        expected = KNN().fit(features.to_numpy()).decision_scores_
        np.testing.assert_allclose(make("KNN", scale_context=scaled).fit(frame).anomaly_scores_, expected)


def _scaled(frame: pd.DataFrame) -> pd.DataFrame:
    return (frame - frame.min()) / (frame.max() - frame.min())


def test_trees_that_saw_a_row_do_not_predict_it() -> None:
    """Tests that noise is not predicted, as it would be by trees that have seen it."""
    random = np.random.default_rng(0)
    features, noise = random.normal(size=(200, 2)), random.normal(size=200)
    expected = Bagging(100).expected_values(features, noise, np.random.RandomState(0))
    assert abs(np.corrcoef(expected, noise)[0, 1]) < 0.3
    codes = random.integers(0, 4, 200)
    given = Bagging(100).probability_of_actual(features, codes, np.random.RandomState(0))
    assert 0.15 < given.mean() < 0.35


def test_rows_in_every_bag_are_predicted_by_the_mean() -> None:
    """Tests that with one tree, a row that the tree has seen gets the mean, or its category's share, and no warning."""
    random = np.random.default_rng(0)
    features, target = random.normal(size=(30, 1)), random.normal(size=30) + 100
    expected = Bagging(1).expected_values(features, target, np.random.RandomState(0))
    assert np.isclose(expected, target.mean()).sum() >= 10
    codes = np.array([0] * 20 + [1] * 10)
    given = Bagging(1).probability_of_actual(features, codes, np.random.RandomState(0))
    assert np.isclose(given, np.where(codes == 0, 2 / 3, 1 / 3)).sum() >= 10


def test_rif_isolates_what_the_context_does_not_explain() -> None:
    """Tests that residuals are free of what the context explains, and that the planted rows have the largest."""
    frame = planted_table()
    detector = baselines.RIF(CONTEXT, BEHAVIOR).fit(frame)
    rest = np.arange(10, 300)
    scaled = _scaled(frame[["pressure"]]).to_numpy()[rest, 0]
    left = np.median(np.abs(detector.residuals_[rest, 0]))
    assert left < 0.3 * np.median(np.abs(scaled - np.median(scaled))), "age explains most of pressure"
    assert np.abs(detector.residuals_[:10, 0]).min() > np.median(np.abs(detector.residuals_[:, 0]))


def test_lopad_adds_up_pruned_z_scores() -> None:
    """Tests a table of independent columns, without blankets, in which each variable is predicted by its mean."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(80, 3)), columns=["a", "b", "c"])
    detector = baselines.LoPAD(["a"], ["b", "c"], significance=1e-6).fit(frame)
    assert detector.blankets_ == [[], [], []]
    deviations = (frame - frame.mean()).abs()
    z = (deviations - deviations.mean()) / deviations.std(ddof=0)
    # One tree on a constant feature: rows in its bag get the mean, the others the mean of the bag.
    assert np.corrcoef(detector.anomaly_scores_, z.clip(lower=0).sum(axis=1))[0, 1] > 0.95


def test_lopad_scores_every_variable_and_categories_by_their_probability() -> None:
    """Tests that a row whose category contradicts its other values stands out, whatever the codes are."""
    random = np.random.default_rng(0)
    group = random.choice(["low", "high", "middle"], 300)
    level = pd.Series(group).map({"low": 0.0, "middle": 1.0, "high": 2.0})
    frame = pd.DataFrame(
        {"group": group, "x": level + random.normal(scale=0.1, size=300), "y": random.normal(size=300)}
    )
    row = int(np.flatnonzero(group == "low")[0])
    frame.loc[row, "group"] = "high"
    detector = baselines.LoPAD(["group"], ["x", "y"], n_trees=50).fit(frame)
    assert detector.blankets_[:2] == [[1], [0]]
    assert detector.anomaly_scores_.argmax() == row
    # The same among categories only.
    frame = pd.DataFrame({"group": group, "copy": group, "z": random.normal(size=300)})
    frame.loc[row, "copy"] = "high"
    detector = baselines.LoPAD(["group", "copy"], ["z"], n_trees=50, significance=1e-3).fit(frame)
    assert detector.anomaly_scores_.argmax() == row


def test_an_injected_table_of_the_paper(paper_data: object) -> None:
    """Tests data, injection, baseline and metric together on one of the paper's tables, compared with chance."""
    energy = datasets.load("Energy")
    table, labels = datasets.inject(energy, seed=0)
    for name, minimum in (("ROCOD", 0.7), ("CAD", 0.5), ("RIF", 0.5)):
        detector = baselines.get(name)(energy.contextual, energy.behavioral, **QUICK.get(name, {}))
        assert average_precision(labels, detector.fit(table).anomaly_scores_) > minimum


def test_sod_needs_four_neighbors() -> None:
    """Tests that too few neighbors raise an error by the parameter's own name, before PyOD sees them."""
    with pytest.raises(ValueError, match="n_neighbors is 2: it must be a whole number from 4 up"):
        baselines.SOD(["x"], ["y"], n_neighbors=2).fit({"x": list(range(40)), "y": list(range(40))})
