"""CAD: the mixture model, its search, and its scores."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus.baselines import CAD
from paribus.baselines.cad import Gaussians, Model
from tests.oracles import baselines as oracles
from tests.oracles.baselines import Array

MAPPING = np.array([[0.7, 0.3, 0.0], [0.0, 0.2, 0.8], [0.5, 0.0, 0.5]])


def planted(n: int = 1500, seed: int = 0) -> tuple[pd.DataFrame, Array, Array]:
    """Contexts around 0, 10 and 20, behavior around 0, 5 and 10, and which goes with which."""
    random = np.random.default_rng(seed)
    u = random.choice(3, n, p=[0.5, 0.3, 0.2])
    v = np.array([random.choice(3, p=MAPPING[i]) for i in u])
    frame = pd.DataFrame({"x1": 10.0 * u, "x2": -10.0 * u, "y1": 5.0 * v, "y2": 5.0 * v})
    return frame + random.normal(size=frame.shape) * [1.0, 2.0, 0.5, 0.5], u, v


def random_rows(seed: int, n: int, duplicates: bool) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(n, 2)), random.normal(size=(n, 2)) + random.integers(0, 3, (n, 1))
    if duplicates:
        x[: n // 2], y[:, 1] = x[0], 0.0
    return x, y


def test_a_planted_mapping_is_recovered() -> None:
    """Tests that it learns which behavior goes with which contexts, and the weights of the contexts."""
    frame, _, _ = planted()
    model = CAD(["x1", "x2"], n_components=3).fit(frame).model_
    u, v = np.argsort(model.contexts.means[:, 0]), np.argsort(model.behaviors.means[:, 0])
    np.testing.assert_allclose(model.mapping[np.ix_(u, v)], MAPPING, atol=0.05)
    np.testing.assert_allclose(model.weights[u], [0.5, 0.3, 0.2], atol=0.05)


def test_behavior_of_the_wrong_context_scores_highest() -> None:
    """Tests that a row that is ordinary in context and in behavior, but not in their combination, stands out."""
    frame, u, v = planted()
    row = int(np.flatnonzero((u == 0) & (v == 0))[0])
    frame.loc[row, ["y1", "y2"]] = [10.0, 10.0]
    scores = CAD(["x1", "x2"], n_components=3).fit(frame).anomaly_scores_
    assert row in np.argsort(-scores)[:15]
    ordinary = np.flatnonzero((u == 0) & (v == 1))
    assert np.median(scores[ordinary]) > np.median(scores[(u == 0) & (v == 0)]), "the rarer of two is the stranger"


@given(seed=st.integers(0, 10_000), k=st.integers(1, 3))
@settings(max_examples=15)
def test_a_step_is_that_of_the_plain_method(seed: int, k: int) -> None:
    """Tests one iteration, and the scores after it, against a plain computation by row and pair."""
    x, y = random_rows(seed, 30, duplicates=False)
    model = Model.start(x, y, k, 0.05, np.random.RandomState(seed))
    # The first model has zeros in its mapping; the next one is the general case.
    model, _ = model.step(x, y)
    found, _ = model.step(x, y)
    expected = oracles.cad_step(model, x, y)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)
    np.testing.assert_allclose(found.mapping, expected.mapping, atol=1e-9)
    for ours, plain in ((found.contexts, expected.contexts), (found.behaviors, expected.behaviors)):
        np.testing.assert_allclose(ours.means, plain.means, atol=1e-8)
        np.testing.assert_allclose(ours.covariances, plain.covariances, atol=1e-8)
    scores = [oracles.cad_score(model, a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(-model.log_conditional(x, y), scores, atol=1e-7)


@given(seed=st.integers(0, 10_000), duplicates=st.booleans(), k=st.integers(1, 6))
@settings(max_examples=20)
def test_the_likelihood_never_decreases(seed: int, duplicates: bool, k: int) -> None:
    """Tests the guarantee of expectation maximization, also with duplicates and constant columns."""
    x, y = random_rows(seed, 60, duplicates)
    detector = CAD([0, 1], n_components=k, n_restarts=1, max_iterations=50, tolerance=1e-9).fit(np.hstack([x, y]))
    path = np.array(detector.log_likelihoods_)
    assert np.all(np.diff(path) >= -1e-7 * (1 + np.abs(path[1:])))
    assert np.isfinite(detector.anomaly_scores_).all()


def test_pairs_that_never_meet_are_weighed_in_logarithms() -> None:
    """Tests a row whose context and behavior are likely alone, but whose joint density underflows."""
    components = Gaussians(np.array([[0.0], [100.0]]), np.ones((2, 1, 1)))
    mapping = np.array([[1.0, 1e-300], [1e-300, 1.0]])
    model = Model(np.array([0.5, 0.5]), components, components, mapping, 0.1)
    together = model.log_conditional(np.array([[0.0], [0.0]]), np.array([[0.0], [100.0]]))
    density = -0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(together, [density, density + np.log(1e-300)], rtol=1e-12)
    following, objective = model.step(np.array([[0.0], [0.0]]), np.array([[0.0], [100.0]]))
    np.testing.assert_allclose(following.mapping[0], [0.5, 0.5])
    assert np.isfinite(objective)


def test_more_restarts_are_never_worse() -> None:
    """Tests that the model with the highest likelihood of several searches is kept."""
    frame, _, _ = planted(400)
    ends = [CAD(["x1", "x2"], n_components=4, n_restarts=n).fit(frame).log_likelihoods_[-1] for n in (1, 2, 4, 8)]
    assert ends == sorted(ends)
    assert ends[-1] > ends[0], "this table has a bad optimum for the first start"


def test_units_do_not_matter() -> None:
    """Tests that other units change the scores only by a constant."""
    frame, _, _ = planted(400)
    scores = CAD(["x1", "x2"]).fit(frame).anomaly_scores_
    others = CAD(["x1", "x2"]).fit(frame * [1000.0, 0.01, 1e-6, 7.0] + 5).anomaly_scores_
    np.testing.assert_allclose(others, scores, atol=1e-6)


def test_ten_thousand_rows_take_seconds() -> None:
    """Tests that a large table takes seconds rather than the days that the paper reports."""
    frame, _, _ = planted(10_000)
    start = time.process_time()
    CAD(["x1", "x2"]).fit(frame)
    assert time.process_time() - start < 60


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components is 0"),
        ({"n_restarts": 1.5}, "n_restarts is 1.5"),
        ({"tolerance": 0}, "tolerance is 0: it must be a number above 0"),
        ({"regularization": -1.0}, "regularization is -1.0"),
        ({"n_components": 50}, "CAD needs at least 50 rows, but the table has 40"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, float], message: str) -> None:
    """Tests that each wrong parameter raises an error of one sentence."""
    frame, _, _ = planted(40)
    with pytest.raises(ValueError, match=message):
        CAD(["x1", "x2"], **parameters).fit(frame)  # type: ignore[arg-type]
