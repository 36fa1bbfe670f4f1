"""The C++ engine, compared with the plain oracle and with itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from paribus import _core
from tests.oracles import qcad as oracles
from tests.support.tables import GLITCH, Array, Case, cases


def expect_oracle(case: Case, rows: list[int]) -> None:
    for row in rows:
        expect_answer(case, case.context[row], case.behavior[row], row)


def expect_answer(case: Case, point: Array, value: Array, excluded: int) -> None:
    found = case.engine().explain(point[None], value[None], np.array([excluded]))
    scores, percentiles, weights, positions, distances = (array[0] for array in found)
    group, expected_distances = oracles.reference_group(
        case.context, point, excluded, case.k, case.categorical, case.tie_order
    )
    assert positions.tolist() == group
    assert distances.tolist() == expected_distances
    for feature in range(case.behavior.shape[1]):
        if np.isnan(case.behavior[:, feature]).all():
            continue
        answer = oracles.judge(
            case.context,
            case.behavior[:, feature],
            case.categorical,
            group,
            point,
            value[feature],
            case.multiplicities,
            feature_order=case.feature_order,
            max_features=case.max_features,
            min_samples_split=case.min_samples_split,
            n_quantiles=case.n_quantiles,
            scale_tails=case.scale_tails,
        )
        # With an extreme value in the node, the engine does not distinguish splits closer than a grid step.
        if np.nanmax(case.behavior[:, feature]) >= GLITCH and answer.closest_call < 1e-6:
            continue
        np.testing.assert_array_equal(percentiles[feature], answer.percentiles)
        # The engine sums whole numbers: rounded shares of a leaf.
        np.testing.assert_allclose(weights[feature], answer.weights, rtol=0, atol=1e-9)
        np.testing.assert_allclose(scores[feature], answer.partial_score, rtol=1e-12, atol=0)


@given(case=cases(), row=st.integers(0, 39))
def test_the_engine_agrees_with_the_oracle(case: Case, row: int) -> None:
    """Tests that neighbors, distances, percentiles and scores of any mixed table are those of the oracle."""
    expect_oracle(case, [row % len(case.context)])


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_new_rows_agree_with_the_oracle(case: Case, seed: int) -> None:
    """Tests new rows: outside the range of the table, between its values, with unseen categories or missing values."""
    random = np.random.default_rng(seed)
    point = np.nan_to_num(case.context[random.integers(len(case.context))]) + random.integers(
        -3, 4, case.context.shape[1]
    )
    # Codes start at 0; no fitted row has 99.
    point = np.where(case.categorical == 1, random.choice([0.0, 1.0, 99.0, np.nan], point.shape), point)
    value = random.integers(-5, 25, case.behavior.shape[1]).astype(float)
    expect_answer(case, point, value, -1)


@given(case=cases(), row=st.integers(0, 39))
@settings(max_examples=20)
def test_every_kernel_agrees_with_the_oracle(case: Case, row: int) -> None:
    """Tests that each build of the kernel is right."""
    before = _core.kernel()
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            expect_oracle(case, [row % len(case.context)])
    finally:
        _core.use_kernel(before)


@given(seed=st.integers(0, 2**32 - 1), n_trees=st.sampled_from([1, 17]))
@settings(max_examples=5)
def test_large_groups_agree_with_the_oracle(seed: int, n_trees: int) -> None:
    """Tests groups that span many blocks of the scan, with real-valued behavior, except for near ties."""
    random = np.random.default_rng(seed)
    n, k = 160, 120
    context = np.column_stack([random.normal(size=n), random.integers(0, 30, n), random.integers(0, 4, n)]).astype(
        float
    )
    behavior = context[:, :1] * 2 + context[:, 2:] + random.normal(size=(n, 1))
    multiplicities = random.multinomial(k, np.full(k, 1 / k), size=n_trees).T.astype(np.uint8)
    case = Case(
        context,
        np.array([0, 0, 1], dtype=np.uint8),
        behavior,
        random.permutation(n).astype(np.uint32),
        np.ascontiguousarray(multiplicities),
        None,
        0,
        10,
        100,
        True,
    )
    scores, percentiles = case.score()
    group, _ = oracles.reference_group(context, context[0], 0, k, case.categorical, case.tie_order)
    answer = oracles.judge(context, behavior[:, 0], case.categorical, group, context[0], behavior[0, 0], multiplicities)
    assume(answer.closest_call > 1e-4)
    np.testing.assert_array_equal(percentiles[0, 0], answer.percentiles)
    np.testing.assert_allclose(scores[0, 0], answer.partial_score, rtol=1e-12)


def test_an_extreme_value_does_not_stop_the_trees_from_splitting() -> None:
    """Tests that a group is split by its context although one value makes its range a billion times wider."""
    random = np.random.default_rng(0)
    n = 200
    context = np.arange(n, dtype=float)[:, None]
    behavior = np.where(context[:, 0] < n / 2, 0.0, 1.0)[:, None] + random.integers(0, 8, (n, 1)) / 64
    behavior[0] = 1e9
    case = Case(
        context,
        np.zeros(1, dtype=np.uint8),
        behavior,
        random.permutation(n).astype(np.uint32),
        np.ones((n - 1, 1), dtype=np.uint8),
        None,
        0,
        10,
        100,
        True,
    )
    _, percentiles = case.score()
    assert percentiles[10, 0, -1] < 0.2
    assert percentiles[190, 0, 0] >= 1.0
    expect_oracle(case, [10, 60, 190])


def test_splits_of_equal_merit_are_tied_for_any_sizes() -> None:
    """Tests that of two splits of the same merit but different sizes the lower threshold wins."""
    m, unit = 7, 1089739
    n = 10 * m + 1
    context = np.concatenate([np.zeros(m), np.full(m, 10.0), np.arange(8 * m) + 20.0, [6.0]])[:, None]
    behavior = np.concatenate([np.full(m, 6.0), np.full(m, 2.0), np.full(8 * m, -1.0), [0.0]])[:, None] * unit
    case = Case(
        context,
        np.zeros(1, dtype=np.uint8),
        behavior,
        np.arange(n, dtype=np.uint32),
        np.ones((n - 1, 1), dtype=np.uint8),
        None,
        0,
        9 * m + 1,
        100,
        True,
    )
    expect_oracle(case, [n - 1])


def test_adjacent_numbers_can_be_separated() -> None:
    """Tests a threshold between two adjacent doubles."""
    low, high = 1.0, float(np.nextafter(1.0, 2.0))
    context = np.array([low] * 10 + [high] * 10)[:, None]
    behavior = np.array([0.0] * 10 + [1.0] * 10)[:, None]
    case = Case(
        context,
        np.zeros(1, dtype=np.uint8),
        behavior,
        np.arange(20, dtype=np.uint32),
        np.ones((19, 1), dtype=np.uint8),
        None,
        0,
        2,
        4,
        True,
    )
    expect_oracle(case, [0, 19])


@given(case=cases(behavior=("whole", "normal", "glitch")), data=st.data())
def test_scores_do_not_depend_on_threads_batches_or_kernels(case: Case, data: st.DataObject) -> None:
    """Tests that scores have the same bits for any threads, batches, order of rows and instruction set."""
    n = len(case.context)
    rows = np.arange(n)
    engine = case.engine()
    scores, percentiles = case.score()
    many, _, many_percentiles = engine.score(case.context, case.behavior, rows, True, 3)
    np.testing.assert_array_equal(many, scores)
    np.testing.assert_array_equal(many_percentiles, percentiles)
    explained = engine.explain(case.context, case.behavior, rows, 3)
    np.testing.assert_array_equal(explained[0], scores)
    np.testing.assert_array_equal(explained[1], percentiles)

    order = np.array(data.draw(st.permutations(range(n))))
    cut = data.draw(st.integers(0, n))
    for part in (order[:cut], order[cut:]):
        some, _, _ = engine.score(case.context[part], case.behavior[part], part.astype(np.int64), False, 2)
        np.testing.assert_array_equal(some, scores[part])

    before = _core.kernel()
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            np.testing.assert_array_equal(case.engine().score(case.context, case.behavior, rows)[0], scores)
    finally:
        _core.use_kernel(before)


@given(case=cases())
def test_the_reach_is_the_first_and_the_last_distance(case: Case) -> None:
    """Tests that scoring returns the distances of the nearest and the farthest reference row."""
    rows = np.arange(len(case.context))
    _, reach, _ = case.engine().score(case.context, case.behavior, rows)
    _, distances = case.engine().neighbors(case.context, rows)
    np.testing.assert_array_equal(reach, distances[:, [0, -1]])


def test_the_environment_chooses_the_kernel() -> None:
    """Tests that PARIBUS_KERNEL chooses the build, and that an unknown name is an error that lists the known ones."""
    import os
    import subprocess
    import sys

    def kernel(name: str) -> subprocess.CompletedProcess[str]:
        code = "from paribus import _core; print(_core.kernel())"
        return subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PARIBUS_KERNEL": name}, capture_output=True, text=True
        )

    for name in _core.kernels():
        assert kernel(name).stdout.strip() == name
    wrong = kernel("sse9")
    assert wrong.returncode != 0
    assert "sse9" in wrong.stderr
    assert "baseline" in wrong.stderr


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("shape", "as many rows"),
        ("tie_order", "a permutation"),
        ("rows", "no more than rows"),
        ("features", "an unknown feature"),
        ("negative category", "a category that is no code"),
        ("huge category", "a category that is no code"),
    ],
)
def test_the_engine_rejects_invalid_arrays(bad: str, message: str) -> None:
    """Tests that arrays with a wrong shape or content are errors."""
    context, behavior = np.zeros((2, 6)), np.zeros((1, 6))
    tie_order = np.arange(6, dtype=np.uint32)
    multiplicities = np.ones((3, 2), dtype=np.uint8)
    feature_order = None
    if bad == "shape":
        behavior = np.zeros((1, 5))
    if bad == "tie_order":
        tie_order[0] = 3
    if bad == "rows":
        multiplicities = np.ones((7, 2), dtype=np.uint8)
    if bad == "features":
        feature_order = np.full((2, 1, 2), 9, dtype=np.uint16)
    if bad.endswith("category"):
        context[0, 0] = -1.0 if bad == "negative category" else 1e300
    with pytest.raises(ValueError, match=message):
        _core.QcadEngine(context, np.ones(2, np.uint8), behavior, tie_order, multiplicities, feature_order, 1)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1.7e308])
def test_behavior_has_a_finite_range(value: float) -> None:
    """Tests that numbers that no grid can hold are refused by the engine itself; NaN is a missing one."""
    tie_order, multiplicities = np.arange(6, dtype=np.uint32), np.ones((2, 1), np.uint8)
    behavior = np.array([[0.0, 1.0, np.nan, value, 2.0, 3.0]])
    with pytest.raises(ValueError, match="behavior: not too large"):
        _core.QcadEngine(np.zeros((1, 6)), np.zeros(1, np.uint8), behavior, tie_order, multiplicities)
    behavior[0, 3] = 1e300
    _core.QcadEngine(np.zeros((1, 6)), np.zeros(1, np.uint8), behavior, tie_order, multiplicities)


def test_asked_rows_have_codes_too() -> None:
    """Tests that a category below 0, which would be outside the engine's memory, is an error."""
    tie_order, multiplicities = np.arange(6, dtype=np.uint32), np.ones((3, 2), dtype=np.uint8)
    engine = _core.QcadEngine(np.zeros((1, 6)), np.ones(1, np.uint8), np.zeros((1, 6)), tie_order, multiplicities)
    asked, nobody = np.array([[-1.0]]), np.array([-1])
    with pytest.raises(ValueError, match="a category that is no code"):
        engine.neighbors(asked, nobody)
    with pytest.raises(ValueError, match="a category that is no code"):
        engine.score(asked, np.zeros((1, 1)), nobody)
