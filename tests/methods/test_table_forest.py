"""Forests over whole tables, against plain oracles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import _core
from paribus._core import FeatureTable, Forest, Samples
from tests.oracles import forest as oracle
from tests.oracles.forest import student
from tests.support.forests import grow_forest, make_target

Array = np.ndarray[Any, Any]


def make_table(seed: int, n_rows: int, n_values: int | None = None) -> tuple[Array, Array, Array]:
    """Columns [feature][row] of numbers, numbers with gaps and categories, which are categorical, and a target.

    The target is one of numbers that differ, by fractions too, so that no two splits or categories are worth the same
    by chance.
    """
    random = np.random.default_rng(seed)
    columns = random.normal(size=(4, n_rows))
    if n_values is not None:
        columns = random.integers(n_values, size=(4, n_rows)).astype(float)
    columns[1, random.random(n_rows) < 0.2] = np.nan
    columns[3] = random.integers(5, size=n_rows)
    columns[3, random.random(n_rows) < 0.1] = np.nan
    target = random.permutation(n_rows) + random.integers(2**20, size=n_rows) / 2.0**21
    target += np.where(columns[0] > 0, n_rows, 0.0)
    return columns, np.array([0, 0, 0, 1], dtype=np.uint8), target


def make_forest(columns: Array, categorical: Array, target: Array, **changes: Any) -> Forest:
    n_usable = int((~np.isnan(target)).sum())
    settings: dict[str, Any] = {
        "features": np.arange(len(columns), dtype=np.uint16),
        "max_features": len(columns),
        "min_samples_leaf": 3,
        "n_pairs": 6,
        "n_sample": n_usable // 2,
        "seed": 0,
    }
    return grow_forest(columns, categorical, target, **(settings | changes))


def weights_of(forest: Forest, rows: Array, fitted: Array) -> Array:
    return np.array([forest.weights(row, int(which)) for row, which in zip(rows, fitted, strict=True)])


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
        leaf = oracle.find(tree, row)
        assert np.flatnonzero(weights).tolist() == leaf
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
        leaf = oracle.find(tree, row)
        assert np.flatnonzero(weights).tolist() == leaf
        np.testing.assert_allclose(weights[leaf], 1 / len(leaf))


def test_large_nodes_are_split_like_small_ones() -> None:
    """Tests that counting into bins finds the best split as well, as long as each value has a bin of its own."""
    columns, categorical, target = make_table(3, 900, 40)
    forest = make_forest(columns, categorical, target, n_pairs=1, min_samples_leaf=30)
    rows = np.ascontiguousarray(columns.T)
    found = weights_of(forest, rows[:200], np.full(200, -1))
    sample = np.flatnonzero(weights_of(forest, rows, np.full(900, -1)).any(axis=0)).tolist()
    tree = oracle.grow(sample, columns, categorical, target, 30)
    for row, weights in zip(rows, found, strict=False):
        assert np.flatnonzero(weights).tolist() == oracle.find(tree, row)


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
        assert np.flatnonzero(weights).tolist() == oracle.find(tree, row)


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


@pytest.mark.parametrize("n_values", [None, 6])
def test_packed_and_unpacked_forests_give_the_same_bits(n_values: int | None) -> None:
    """Tests a forest as it grew, packed, unpacked again, and from its bytes, for rows with and without gaps."""
    columns, categorical, target = make_table(6, 900, n_values)
    columns[0] = 1e15 + np.arange(900)
    rows, fitted = np.ascontiguousarray(columns.T), np.where(np.arange(900) % 3 == 0, -1, np.arange(900))
    forest = make_forest(columns, categorical, target)
    grown = forest.surprises(rows, fitted, target, 0.5, 1.0)
    forest.release()
    np.testing.assert_array_equal(forest.surprises(rows, fitted, target, 0.5, 1.0), grown)
    few = [forest.surprises(rows[i : i + 1], fitted[i : i + 1], target[i : i + 1], 0.5, 1.0)[0] for i in range(900)]
    np.testing.assert_array_equal(few, grown)


@pytest.mark.parametrize("n_columns", [3, 4])
def test_new_rows_alone_get_the_same_bits_from_unpacked_forests(n_columns: int) -> None:
    """Tests rows of which none is fitted, for which half of the trees are unpacked, with and without categories."""
    columns, categorical, target = make_table(8, 900)
    # The last column is categorical; nodes of numbers alone are smaller.
    columns, categorical = columns[:n_columns], categorical[:n_columns]
    rows, new = np.ascontiguousarray(columns.T), np.full(900, -1)
    forest = make_forest(columns, categorical, target)
    grown = forest.surprises(rows, new, target, 0.5, 1.0)
    forest.release()
    np.testing.assert_array_equal(forest.surprises(rows, new, target, 0.5, 1.0), grown)
    few = [forest.surprises(rows[i : i + 1], new[i : i + 1], target[i : i + 1], 0.5, 1.0)[0] for i in range(0, 900, 9)]
    np.testing.assert_array_equal(few, grown[::9])


@pytest.mark.parametrize("n_more", [0, 40])
def test_large_leaves_have_the_same_bits_in_all_forms(n_more: int) -> None:
    """Tests leaves of more rows than represent them, of targets with ties, and questions about many features."""
    columns, categorical, target = make_table(10, 4000)
    columns = np.vstack([columns, np.random.default_rng(0).normal(size=(n_more, 4000))])
    categorical = np.append(categorical, np.zeros(n_more, dtype=np.uint8))
    target = np.floor(target / 100.0)
    rows, fitted = np.ascontiguousarray(columns.T), np.where(np.arange(4000) % 3 == 0, -1, np.arange(4000))
    forest = make_forest(columns, categorical, target, min_samples_leaf=300)
    grown = forest.surprises(rows, fitted, target, 0.5, 1.0)
    forest.release()
    np.testing.assert_array_equal(forest.surprises(rows, fitted, target, 0.5, 1.0), grown)
    few = [forest.surprises(rows[i : i + 1], fitted[i : i + 1], target[i : i + 1], 0.5, 1.0)[0] for i in range(99)]
    np.testing.assert_array_equal(few, grown[:99])
    assert (weights_of(forest, rows[:9], fitted[:9]) > 0).sum(axis=1).max() > 256


def test_threads_that_ask_at_once_get_the_same_answers() -> None:
    """Tests rows whose leaves have to be sorted first, asked about by several threads at the same time."""
    columns, categorical, target = make_table(11, 20_000)
    forest, reopen = stored(columns, categorical, target)
    rows, fitted = np.ascontiguousarray(columns.T), np.arange(20_000)
    expected = forest.atoms(rows, fitted)
    packed, barrier = forest.packed(), Barrier(4)

    def ask(fresh: Forest, seed: int) -> None:
        some = np.random.default_rng(seed).choice(20_000, 9, replace=False)
        barrier.wait(60)
        np.testing.assert_array_equal(fresh.atoms(rows[some], fitted[some]), expected[some])

    with ThreadPoolExecutor(4) as threads:
        for start in range(0, 60, 4):
            fresh = reopen(packed)
            list(threads.map(partial(ask, fresh), range(start, start + 4)))


@given(lists=st.lists(st.sets(st.integers(0, 3000), max_size=30), min_size=1, max_size=5), n_more=st.integers(1, 9))
def test_samples_are_packed_without_loss(lists: list[set[int]], n_more: int) -> None:
    """Tests the differences between rows, in bytes, against their definition; and too many or too few bytes."""
    rows = np.concatenate([np.array(sorted(each), dtype=np.uint32) for each in lists])
    ends = np.cumsum([len(each) for each in lists]).astype(np.uint32)
    gaps = [np.diff(sorted(each), prepend=0).tolist() for each in lists if each]
    expected = [byte for each in gaps for gap in each for byte in [255] * (gap // 255) + [gap % 255]]
    packed = Samples.pack(rows, ends)
    assert packed.tolist() == expected
    assert Samples.unpack(packed, ends).tolist() == rows.tolist()
    for wrong in (np.append(packed, np.zeros(n_more, dtype=np.uint8)), packed[: len(packed) - n_more]):
        if len(wrong) != len(packed):
            with pytest.raises(ValueError, match=r"ends|packed"):
                Samples.unpack(wrong.copy(), ends)


def test_samples_beyond_all_rows_are_refused() -> None:
    """Tests numbers of more than 32 bits, and lists that end before they begin."""
    far = np.append(np.full(2**24 + 2**17, 255, dtype=np.uint8), np.uint8(0))
    with pytest.raises(ValueError, match="packed"):
        Samples.unpack(far, np.array([1], dtype=np.uint32))
    with pytest.raises(ValueError, match="ends"):
        Samples.unpack(np.zeros(3, dtype=np.uint8), np.array([3, 1], dtype=np.uint32))
    with pytest.raises(ValueError, match="ends"):
        Samples.pack(np.zeros(3, dtype=np.uint32), np.array([2], dtype=np.uint32))


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


def stored(columns: Array, categorical: Array, target: Array) -> tuple[Forest, Any]:
    """A forest, and a function that opens other bytes in its place."""
    rows = np.ascontiguousarray(columns.T)
    table = FeatureTable(rows, categorical)
    samples = Samples((~np.isnan(target)).astype(np.uint8), None, 1, len(target) // 2, 0)
    features = np.arange(len(columns), dtype=np.uint16)
    forest = Forest(table, samples, make_target(target), features, len(columns), 3, 0)
    again = Samples.stored(len(target), *samples.arrays())
    return forest, lambda packed: Forest(table.kinds(), again, make_target(target), rows, packed)


def test_no_byte_of_a_forest_can_be_changed() -> None:
    """Tests a bit of each byte of a small forest, and bytes that are cut off: refused, or the same answers."""
    columns, categorical, target = make_table(7, 40)
    forest, reopen = stored(columns, categorical, target)
    # The second tree of the pair is for fitted rows.
    rows, fitted = np.ascontiguousarray(columns.T), np.where(np.arange(40) % 3 == 0, -1, np.arange(40))
    packed = forest.packed()
    expected = forest.deviations(rows, fitted)
    np.testing.assert_array_equal(reopen(packed.copy()).deviations(rows, fitted), expected)
    for place in range(len(packed)):
        changed = packed.copy()
        changed[place] ^= 1 << (place % 8)
        try:
            found = reopen(changed).deviations(rows, fitted)
        except ValueError:
            continue
        np.testing.assert_array_equal(found, expected)
    for length in range(0, len(packed), 8):
        with pytest.raises(ValueError, match="damaged"):
            reopen(packed[:length].copy()).deviations(rows, np.arange(40))


@pytest.mark.parametrize("which", [0, 1])
def test_forests_that_were_made_by_hand_do_no_harm(which: int) -> None:
    """Tests trees with any numbers in them and right checksums: refused, or answered, but never out of bounds."""
    columns, categorical, target = make_table(8, 40)
    forest, reopen = stored(columns, categorical, target)
    rows, packed = np.ascontiguousarray(columns.T), forest.packed()
    directory = 40 + 8
    entry, described = directory + 24 * which, directory + 2 * 24
    begin, size, _ = (int(each) for each in packed[entry : entry + 24].view(np.uint64))
    random, refused = np.random.default_rng(0), 0
    fitted = np.where(np.arange(40) % 3 == 0, -1, np.arange(40))
    for _ in range(1500):
        changed = packed.copy()
        changed[begin + int(random.integers(size))] = random.integers(256)
        tree = changed[begin : begin + size]
        changed[entry + 16 : entry + 24] = np.array([_core.checksum(tree)], dtype=np.uint64).view(np.uint8)
        changed[:8] = np.array([_core.checksum(changed[8:described].copy())], dtype=np.uint64).view(np.uint8)
        try:
            opened = reopen(changed)
            opened.deviations(rows, fitted)
            weights_of(opened, rows[:5], fitted[:5])
            opened.hold()
            opened.deviations(rows, fitted)
        except ValueError:
            refused += 1
    assert refused > 400
