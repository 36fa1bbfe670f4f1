"""Forests over whole tables, against plain oracles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import _core
from paribus._core import FeatureTable
from tests.oracles import forest as oracle
from tests.oracles.forest import student
from tests.support.forests import make_forest, make_table, weights_of

Array = np.ndarray[Any, Any]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(8, 60),
    n_values=st.sampled_from([None, 2, 6]),
    min_samples_leaf=st.integers(1, 6),
)
def test_a_tree_is_the_oracles(seed: int, n_rows: int, n_values: int | None, min_samples_leaf: int) -> None:
    """Tests that each split is the best there is: the leaves of known and of new rows are those of exact fractions."""
    columns, categorical, target = make_table(seed, n_rows, n_values)
    forest = make_forest(columns, categorical, target, n_pairs=1, min_samples_leaf=min_samples_leaf)
    rows = np.ascontiguousarray(columns.T)
    new, _, _ = make_table(seed + 1, 20, n_values)
    new[3, :3] = 17.0
    asked = np.vstack([rows, new.T])
    found = weights_of(forest, asked, np.full(len(asked), -1))
    sample = np.flatnonzero(found.any(axis=0)).tolist()
    assert len(sample) == n_rows // 2
    tree = oracle.grow(sample, columns, categorical, target, min_samples_leaf)
    for row, weights in zip(asked, found, strict=True):
        leaf = np.flatnonzero(weights).tolist()
        assert leaf in oracle.find(tree, row)
        np.testing.assert_allclose(weights[leaf], 1 / len(leaf))


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(8, 60), min_samples_leaf=st.integers(1, 6))
def test_the_second_tree_of_a_pair_is_the_oracles(seed: int, n_rows: int, min_samples_leaf: int) -> None:
    """Tests the tree that only fitted rows reach, whose members are not stored: they are those of exact fractions."""
    columns, categorical, target = make_table(seed, n_rows)
    forest = make_forest(columns, categorical, target, n_pairs=1, min_samples_leaf=min_samples_leaf)
    rows = np.ascontiguousarray(columns.T)
    first = np.flatnonzero(weights_of(forest, rows, np.full(n_rows, -1)).any(axis=0))
    found = weights_of(forest, rows, np.full(n_rows, first[0]))
    sample = np.flatnonzero(found.any(axis=0)).tolist()
    assert len(sample) == n_rows // 2
    assert not set(sample) & set(first.tolist())
    tree = oracle.grow(sample, columns, categorical, target, min_samples_leaf)
    for row, weights in zip(rows, found, strict=True):
        leaf = np.flatnonzero(weights).tolist()
        assert leaf in oracle.find(tree, row)
        np.testing.assert_allclose(weights[leaf], 1 / len(leaf))


def test_a_category_that_no_tree_has_seen_is_compared_with_all_rows() -> None:
    """Tests that each tree draws a side for it, in proportion to the rows there, whatever the majority is."""
    random = np.random.default_rng(0)
    columns = random.integers(0, 8, size=(1, 4_000)).astype(float)
    target = columns[0] + 0.01 * random.normal(size=4_000)
    forest = make_forest(columns, np.ones(1, dtype=np.uint8), target, n_pairs=300, min_samples_leaf=4)
    weights = weights_of(forest, np.array([[77.0]]), np.array([-1]))[0]
    shares = np.bincount(columns[0].astype(int), weights)
    np.testing.assert_allclose(shares, np.bincount(columns[0].astype(int)) / 4_000, atol=0.06)


@pytest.mark.parametrize("n_rows", [300, 6_000])
def test_a_feature_that_cannot_split_does_not_end_a_tree(n_rows: int) -> None:
    """Tests that another feature is drawn in place of one with too few other values, in large nodes and small ones."""
    random = np.random.default_rng(0)
    place = random.integers(0, 8, size=n_rows).astype(float)
    columns = np.array([place, np.zeros(n_rows)])
    columns[1, :3] = 1.0
    target = place + 0.01 * random.normal(size=n_rows)
    categorical = np.ones(2, dtype=np.uint8)
    forest = make_forest(columns, categorical, target, n_pairs=40, max_features=1, min_samples_leaf=4)
    asked = np.array([[each, 0.0] for each in range(8)])
    for each, weights in enumerate(weights_of(forest, asked, np.full(8, -1))):
        assert weights[place == each].sum() > 0.99 * weights.sum()


def test_large_nodes_are_split_like_small_ones() -> None:
    """Tests that counting into bins finds the best split as well, as long as each value has a bin of its own."""
    columns, categorical, target = make_table(3, 900, 40)
    forest = make_forest(columns, categorical, target, n_pairs=1, min_samples_leaf=30)
    rows = np.ascontiguousarray(columns.T)
    found = weights_of(forest, rows[:200], np.full(200, -1))
    sample = np.flatnonzero(weights_of(forest, rows, np.full(900, -1)).any(axis=0)).tolist()
    tree = oracle.grow(sample, columns, categorical, target, 30)
    for row, weights in zip(rows, found, strict=False):
        assert np.flatnonzero(weights).tolist() in oracle.find(tree, row)


def test_bins_lose_little() -> None:
    """Tests that a column of very many values is cut nearly where it should be."""
    random = np.random.default_rng(0)
    column = random.normal(size=(1, 20_000))
    target = np.where(column[0] > 0.3, 1.0, 0.0)
    forest = make_forest(column, np.zeros(1, dtype=np.uint8), target, n_pairs=1, min_samples_leaf=2000)
    step = forest.quantiles(np.array([[0.28], [0.32]]), np.array([-1, -1]), 3)
    np.testing.assert_array_equal(step[:, 1], [0.0, 1.0])


def test_the_rarest_of_many_categories_share_a_place() -> None:
    """Tests that of 300 categories the 254 most common are distinguished, and the others count as one."""
    codes = np.concatenate([np.repeat(np.arange(254.0), 8), np.arange(254.0, 300.0)])
    columns = np.random.default_rng(0).permutation(codes)[None, :]
    target = np.where(columns[0] < 254, columns[0], 5000.0 + columns[0])
    forest = make_forest(columns, np.ones(1, dtype=np.uint8), target, min_samples_leaf=1, n_pairs=1)
    everybody = np.arange(300.0)[:, None]
    common, rare = np.split(weights_of(forest, everybody, np.full(300, -1)), [254])
    assert (rare == rare[0]).all()
    assert set(columns[0, rare[0] > 0]) <= set(range(254, 300))
    # A few are not in the sample.
    assert sum(set(columns[0, weights > 0]) == {code} for code, weights in enumerate(common)) > 240


def test_no_tree_that_has_seen_a_row_is_asked_about_it() -> None:
    """Tests that a fitted row never counts for itself, that every row is judged by one tree of each pair, and that
    samples are as large as they should be."""
    columns, categorical, target = make_table(0, 101)
    target[:7] = np.nan
    rows = np.ascontiguousarray(columns.T)
    forest = make_forest(columns, categorical, target, n_pairs=1)
    found = weights_of(forest, rows, np.arange(101))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (np.diag(found) == 0).all()
    assert (found[:, :7] == 0).all()
    first = np.asarray(weights_of(forest, rows, np.full(101, -1)).any(axis=0))
    assert first.sum() == 47
    # The trees of a pair have no row in common.
    for row in range(101):
        assert found[row, first].any() == (not first[row])


@given(seed=st.integers(0, 2**32 - 1), width=st.floats(0.05, 2.0), least=st.floats(0.01, 100.0))
def test_surprise_is_the_oracles(seed: int, width: float, least: float) -> None:
    """Tests the smooth density, for known and new rows, near and far."""
    columns, categorical, target = make_table(seed, 40)
    rows = np.ascontiguousarray(columns.T)
    forest = make_forest(columns, categorical, target, seed=seed % 1000)
    values = target + np.random.default_rng(seed).normal(size=40) * np.repeat([0.1, 1000.0], 20)
    fitted = np.where(np.arange(40) % 3 == 0, -1, np.arange(40))
    found = forest.surprises(rows, fitted, values, width, least)
    for row in range(40):
        weights = forest.weights(rows[row], int(fitted[row]))
        expected = oracle.surprise(weights, target, float(values[row]), width, least)
        assert found[row] == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_quantiles_and_deviations_are_those_of_the_weights() -> None:
    """Tests the other summaries of the same distribution."""
    columns, categorical, target = make_table(1, 50)
    rows, fitted = np.ascontiguousarray(columns.T), np.arange(50)
    forest = make_forest(columns, categorical, target)
    quantiles = forest.quantiles(rows, fitted, 7)
    deviations = forest.deviations(rows, fitted)
    order = np.argsort(target)
    for row in range(50):
        weights = forest.weights(rows[row], row)
        reached = np.cumsum(weights[order])
        expected = [target[order][np.argmax(reached >= (i + 0.5) / 7 - 1e-9)] for i in range(7)]
        np.testing.assert_allclose(quantiles[row], expected, rtol=1e-6)
        mean = weights @ target
        assert deviations[row] == pytest.approx(weights @ np.abs(target - mean), rel=1e-6)


def test_threads_and_batches_change_nothing() -> None:
    """Tests that answers are the same bits on two threads, and for each row alone."""
    columns, categorical, target = make_table(2, 3000)
    rows, fitted = np.ascontiguousarray(columns.T), np.arange(3000)
    once = make_forest(columns, categorical, target).surprises(rows, fitted, target, 0.5, 1.0)
    forest = make_forest(columns, categorical, target, n_threads=2)
    np.testing.assert_array_equal(forest.surprises(rows, fitted, target, 0.5, 1.0, 2), once)
    for row in range(0, 3000, 500):
        one = slice(row, row + 1)
        alone = forest.surprises(np.ascontiguousarray(rows[one]), fitted[one], target[one], 0.5, 1.0)
        assert alone[0] == once[row]


def test_every_build_gives_the_same_bits() -> None:
    """Tests that the answers do not depend on the processor's vectors."""
    columns, categorical, target = make_table(3, 400)
    rows, fitted = np.ascontiguousarray(columns.T), np.arange(400)
    forest = make_forest(columns, categorical, target)
    is_own = np.zeros(400, dtype=np.uint8)

    def answers() -> Array:
        column = _core.column_surprises(np.sort(target)[:37], 2.0, target, is_own)
        return np.array([forest.surprises(rows, fitted, target, 0.5, 1.0), forest.deviations(rows, fitted), column])

    before = _core.kernel()
    first = answers()
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            np.testing.assert_array_equal(answers(), first)
    finally:
        _core.use_kernel(before)


@pytest.mark.parametrize(("n_values", "max_features"), [(None, 3), (None, 1), (40, 4), (6, 1)])
@pytest.mark.parametrize("n_levels", [None, 5])
def test_every_build_grows_the_same_forest(n_values: int | None, max_features: int, n_levels: int | None) -> None:
    """Tests that the bytes of forests do not depend on the processor's vectors: with gaps, categories, equal values and
    equal gains, and nodes that inherit their counts or not."""
    columns, categorical, target = make_table(9, 3000, n_values)
    if n_levels is not None:
        target = np.floor(target * n_levels / (target.max() + 1))
    before, grown = _core.kernel(), []
    try:
        for name in _core.kernels():
            _core.use_kernel(name)
            forest = make_forest(columns, categorical, target, max_features=max_features, n_pairs=2)
            grown.append(np.asarray(forest.packed()).tobytes())
    finally:
        _core.use_kernel(before)
    assert len(set(grown)) == 1


@pytest.mark.parametrize("n_features", [4, 10])
def test_subtrees_and_counts_find_the_best_splits(n_features: int) -> None:
    """Tests a tree of large and small nodes with more features than are looked at side by side, against the oracle;
    the values have bins of their own."""
    random = np.random.default_rng(n_features)
    n_rows = 700
    columns = random.integers(30, size=(n_features, n_rows)).astype(float)
    columns[1, random.random(n_rows) < 0.2] = np.nan
    target = random.permutation(n_rows) + random.integers(2**20, size=n_rows) / 2.0**21
    target += np.where(columns[0] > 20, n_rows, 0.0) + np.where(columns[2] > 5, n_rows / 3, 0.0)
    categorical = np.zeros(n_features, dtype=np.uint8)
    forest = make_forest(columns, categorical, target, n_pairs=1, min_samples_leaf=12)
    rows = np.ascontiguousarray(columns.T)
    found = weights_of(forest, rows, np.full(n_rows, -1))
    sample = np.flatnonzero(found.any(axis=0)).tolist()
    tree = oracle.grow(sample, columns, categorical, target, 12)
    for row, weights in zip(rows, found, strict=True):
        assert np.flatnonzero(weights).tolist() in oracle.find(tree, row)


@given(away=st.floats(0.0, 1e14))
def test_far_is_far_to_any_distance(away: float) -> None:
    """Tests that single precision is left where it would end: the density is right however small it is."""
    columns, categorical, target = make_table(4, 40)
    rows = np.ascontiguousarray(columns.T)[:1]
    forest = make_forest(columns, categorical, target)
    weights = forest.weights(rows[0], -1)
    value = float(target.max() + away)
    found = forest.surprises(rows, np.array([-1]), np.array([value]), 0.5, 1.0)[0]
    assert found == pytest.approx(oracle.surprise(weights, target, value, 0.5, 1.0), rel=1e-6, abs=1e-6)


def test_one_far_value_does_not_blur_the_others() -> None:
    """Tests that distances are taken before they are rounded: near values are distinguished in a range of a million."""
    columns, categorical, target = make_table(5, 60)
    target[0] = 1e6
    rows, fitted = np.ascontiguousarray(columns.T), np.arange(60)
    forest = make_forest(columns, categorical, target)
    found = forest.surprises(rows, fitted, target, 0.1, 0.1)
    for row in range(1, 60):
        weights = forest.weights(rows[row], row)
        if weights[0] == 0.0:
            expected = oracle.surprise(weights, target, float(target[row]), 0.1, 0.1)
            assert found[row] == pytest.approx(expected, abs=0.01)


@given(
    atoms=st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=40, unique=True),
    value=st.floats(-300.0, 300.0),
    scale=st.floats(0.5, 50.0),
)
def test_the_whole_column_is_the_oracles(atoms: list[float], value: float, scale: float) -> None:
    """Tests the density around all values, with and without the value itself."""
    values = np.array([value, atoms[0], np.nan])
    found = _core.column_surprises(np.array(atoms), scale, values, np.array([0, 1, 0], dtype=np.uint8))
    for place, others in ((0, atoms), (1, atoms[1:])):
        kernels = [student(values[place] - atom, scale) for atom in others]
        assert found[place] == pytest.approx(-np.log(np.mean(kernels)), abs=1e-6)
    assert np.isnan(found[2])


def test_extremes_stay_finite() -> None:
    """Tests values that are as far off as numbers go, and values that are missing."""
    columns, categorical, target = make_table(0, 40)
    rows = np.ascontiguousarray(columns.T[:4])
    forest = make_forest(columns, categorical, target)
    found = forest.surprises(rows, np.full(4, -1), np.array([1e200, -1e300, np.nan, 5.0]), 0.5, 1e-9)
    assert np.isfinite(found[[0, 1, 3]]).all()
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_sample": 60}, "n_sample"),
        ({"n_sample": 0}, "n_sample"),
        ({"features": np.array([9], dtype=np.uint16)}, "unknown feature"),
        ({"n_pairs": 0}, "pairs"),
        ({"max_features": 0}, "max_features"),
    ],
)
def test_wrong_arguments_are_refused(changes: Any, message: str) -> None:
    """Tests that the engine does not trust its caller with memory."""
    columns, categorical, target = make_table(0, 100)
    with pytest.raises(ValueError, match=message):
        make_forest(columns, categorical, target, **changes)


def test_wrong_rows_are_refused() -> None:
    """Tests that rows of another shape and categories that are no codes are not taken."""
    columns, categorical, target = make_table(0, 100)
    forest = make_forest(columns, categorical, target)
    with pytest.raises(ValueError, match="as fitted"):
        forest.deviations(np.zeros((2, 3)), np.array([-1, -1]))
    with pytest.raises(ValueError, match="unknown fitted row"):
        forest.deviations(np.zeros((1, 4)), np.array([100]))
    columns[3, 0] = -1.0
    with pytest.raises(ValueError, match="no code"):
        FeatureTable(np.ascontiguousarray(columns.T), categorical)


def test_large_leaves_are_represented_by_evenly_spaced_rows() -> None:
    """Tests that a leaf of more than 256 rows counts 256 of them, at even levels of the target."""
    random = np.random.default_rng(0)
    codes = random.integers(2, size=(1, 6000)).astype(float)
    target = random.permutation(6000).astype(float)
    target[codes[0] == 1] += 100_000.0
    forest = make_forest(codes, np.ones(1, dtype=np.uint8), target, n_pairs=1, min_samples_leaf=1200)
    for code in (0.0, 1.0):
        weights = forest.weights(np.array([code]), -1)
        counted = np.flatnonzero(weights)
        assert len(counted) == 256
        np.testing.assert_allclose(weights[counted], 1 / 256)
        levels = np.searchsorted(np.sort(target[codes[0] == code]), np.sort(target[counted])) / (codes[0] == code).sum()
        np.testing.assert_allclose(levels, (np.arange(256) + 0.5) / 256, atol=0.03)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), n_categories=st.sampled_from([2, 30, 31, 70, 290]))
def test_rows_side_by_side_end_where_they_end_alone(seed: int, n_categories: int) -> None:
    """Tests categories of one and of several words, never seen ones, gaps anywhere, huge values, gaps told from values,
    and thresholds of more than 32 bits: many rows at once have the same leaves as each has by itself.
    """
    random = np.random.default_rng(seed)
    n_rows = 300
    columns = np.array([
        random.integers(n_categories, size=n_rows),
        random.normal(size=n_rows) * 10.0 ** random.choice([0, 30, 40, 200]),
        np.where(random.random(n_rows) < 0.4, np.nan, 7.0),
        random.integers(3, size=n_rows),
        (1e15 if seed % 2 else 0) + np.arange(n_rows),
    ])  # fmt: skip
    categorical = np.array([1, 0, 0, 1, 0], dtype=np.uint8)
    target = np.where(np.isnan(columns[2]), 50.0, 0.0) + columns[0] % 7 + random.normal(size=n_rows)
    forest = make_forest(columns, categorical, target, min_samples_leaf=1, max_features=2, n_pairs=12, seed=seed % 1000)
    rows = np.ascontiguousarray(columns.T)
    random.shuffle(rows[:, 2])
    rows[random.random(rows.shape) < 0.1] = np.nan
    rows[::3, 0], rows[1::3, 3] = n_categories + 5, 3.0
    rows[::11, 1], rows[1::11, 1], rows[2::11, 2] = 1e300, -1e300, 1e39
    fitted = np.where(random.random(n_rows) < 0.5, np.arange(n_rows), -1)
    together = forest.atoms(rows, fitted)
    forest.release()
    some = range(0, n_rows, 5)
    # Of so few rows, each is followed through the packed trees.
    alone = [forest.atoms(rows[i : i + 1], fitted[i : i + 1])[0] for i in some]
    np.testing.assert_array_equal(together[some], alone)
