"""ROCOD: neighbors, the regression, and their combination."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus.baselines import ROCOD, rocod
from paribus.baselines.rocod import neighbor_means
from tests.oracles import baselines as oracles


def test_a_case_worked_by_hand() -> None:
    """Tests every number of a table of five rows.

    The context runs from 0 to 10. Rows 0, 1 and 2 are within a tenth of the range of each other but for 0 and 2; row 3
    and 4 are 2 apart and alone. Behavior is already on [0, 1]. The neighbors are 1, 2, 1, 0, 0.
    """
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 8.0, 10.0], "y": [0.0, 0.5, 0.25, 0.75, 1.0]})
    detector = ROCOD(["x"], ["y"], neighbor_distance=0.1).fit(frame)
    assert detector.n_neighbors_.tolist() == [1, 2, 1, 0, 0]
    # Least squares by hand: means 4.2 and 0.5, sum of products 6.5, sum of squares 80.8.
    slope = 6.5 / 80.8
    line = [0.5 + slope * (x - 4.2) for x in frame["x"]]
    a = [np.sqrt(0.5), 1.0, np.sqrt(0.5), 0.0, 0.0]
    local = [0.5, 0.125, 0.5, 0.0, 0.0]
    expected = [share * near + (1 - share) * far for share, near, far in zip(a, local, line, strict=True)]
    squares = [(y - e) ** 2 for y, e in zip(frame["y"], expected, strict=True)]
    # The squared deviations of y from its mean add up to 0.625.
    weight = 1 - sum(squares) / 0.625
    np.testing.assert_allclose(detector.feature_weights_, [weight])
    np.testing.assert_allclose(detector.anomaly_scores_, [weight * square for square in squares])


@given(seed=st.integers(0, 10_000), distance=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
@settings(max_examples=25)
def test_neighbors_are_those_of_gowers_distance(seed: int, distance: float) -> None:
    """Tests counts and means of neighbors, in numbers and categories, against a plain computation by pair."""
    random = np.random.default_rng(seed)
    context = np.column_stack([random.integers(0, 11, 40), random.normal(size=40), random.integers(0, 3, 40)])
    categorical = np.array([False, False, True])
    behavior = random.normal(size=(40, 2))
    counts, means = neighbor_means(context.astype(float), categorical, behavior, distance)
    plain_counts, plain_means = oracles.neighbor_means(context.astype(float), categorical, behavior, distance)
    assert counts.tolist() == plain_counts
    np.testing.assert_allclose(means, plain_means, atol=1e-12)


def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the result does not depend on the number of distances in memory."""
    random = np.random.default_rng(0)
    table = random.normal(size=(50, 4))
    scores = ROCOD([0, 1]).fit(table).anomaly_scores_
    monkeypatch.setattr(rocod, "BLOCK_SIZE", 150)
    np.testing.assert_allclose(ROCOD([0, 1]).fit(table).anomaly_scores_, scores)


def test_without_neighbors_the_regression_decides() -> None:
    """Tests that rows without neighbors are compared with the regression only, and others with their neighbors."""
    random = np.random.default_rng(1)
    x = random.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": 3 * x + random.normal(scale=0.1, size=300)})
    frame.loc[7, "y"] += 3
    detector = ROCOD("x", "y", neighbor_distance=0.0).fit(frame)
    assert detector.n_neighbors_.max() == 0
    assert detector.anomaly_scores_.argmax() == 7


@pytest.mark.parametrize("model", ["linear", "ridge", "tree"])
def test_every_global_model_finds_a_planted_anomaly(model: str) -> None:
    """Tests each regression, with a category that shifts behavior in another order than its codes."""
    random = np.random.default_rng(2)
    group = random.choice(["a", "b", "c"], 300)
    frame = pd.DataFrame({"group": group, "x": random.normal(size=300)})
    frame["y"] = pd.Series(group).map({"a": 5.0, "b": 0.0, "c": 10.0}) + random.normal(scale=0.2, size=300)
    row = int(np.flatnonzero(group == "b")[0])
    frame.loc[row, "y"] = 5.0
    scores = ROCOD(["group", "x"], ["y"], neighbor_distance=0.0, global_model=model).fit(frame).anomaly_scores_
    assert scores.argmax() == row


def test_features_that_nothing_explains_do_not_count() -> None:
    """Tests that a feature of pure noise gets hardly any weight, unless there is nothing else."""
    random = np.random.default_rng(3)
    x = random.normal(size=500)
    frame = pd.DataFrame({"x": x, "y": x + random.normal(scale=0.1, size=500), "noise": random.normal(size=500)})
    weights = ROCOD(["x"], ["y", "noise"]).fit(frame).feature_weights_
    assert weights[0] > 0.8
    assert weights[1] < 0.05
    constant = ROCOD(["x"], ["y"]).fit(pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [1.0, 1.0, 1.0]}))
    assert constant.anomaly_scores_.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"neighbor_distance": 1.5}, "neighbor_distance is 1.5: it must be a distance from 0 to 1"),
        ({"neighbor_distance": "near"}, "neighbor_distance is 'near'"),
        ({"global_model": "forest"}, "global_model is 'forest': it must be one of linear, ridge, tree"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, str], message: str) -> None:
    """Tests that each wrong parameter raises an error of one sentence."""
    with pytest.raises(ValueError, match=message):
        ROCOD([0], **parameters).fit(np.zeros((5, 2)))  # type: ignore[arg-type]
