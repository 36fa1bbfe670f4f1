"""Leaves that are stored while rows are judged: what they say later is what the trees would say again."""

from __future__ import annotations

import gc
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise
from paribus._core import FeatureTable, Forest, FoundLeaves, Samples, Smoothing, column_evidence, second_means
from paribus.methods.surprise import mixture
from tests.support.forests import grow_forest, make_forest, make_table, make_target, weights_of

Array = np.ndarray[Any, Any]

SMOOTHING = Smoothing("plain", 0.0, 1.0, 0.5, 0.6, 0.0, 0.1)
ONE, NUMBERS = np.zeros(1, dtype=np.uint16), np.zeros(1, dtype=np.uint8)


def judge(forests: list[Forest], rows: Array, leaves: FoundLeaves, n_threads: int = 1, tick: Any = None) -> None:
    """Judges all fitted rows, and stores their leaves."""
    views = [(forest, None, 1.0 / len(forests), 1.0, 1.0) for forest in forests]
    column_evidence(views, SMOOTHING, rows, np.arange(len(rows)), np.zeros(len(rows)), n_threads, tick, leaves)


def second_target(n_rows: int) -> Array:
    return np.random.default_rng(n_rows).integers(1, 256, size=n_rows).astype(np.uint8)


@pytest.mark.parametrize("ends", [(0, 40), (40, 40), (0, 0)])
def test_leaves_of_trees_without_rows_are_not_mistaken_for_others(ends: tuple[int, int]) -> None:
    """Tests a first tree, a second one, and both without rows, which say 0: means are those of the oracle's weights."""
    random = np.random.default_rng(0)
    rows, target = random.normal(size=(40, 2)), random.normal(size=40)
    of_pairs = [np.arange(20), np.arange(20, 40), np.arange(ends[1])]
    samples = Samples.stored(
        40, np.concatenate(of_pairs).astype(np.uint32), np.array([20, 40, 40 + ends[0], 40 + ends[1]], dtype=np.uint32)
    )
    table, features = FeatureTable(rows, np.zeros(2, dtype=np.uint8)), np.arange(2, dtype=np.uint16)
    forest = Forest(table, samples, make_target(target), features, 2, 3, 0, keeps_leaves=True)
    leaves, second = FoundLeaves([forest], 40), second_target(40)
    judge([forest], rows, leaves)
    forest.set_second_target(second)
    found = leaves.second_means(second) if leaves.can_store() else second_means([forest], rows, np.arange(40))
    weights = weights_of(forest, rows, np.arange(40))
    np.testing.assert_allclose(found, weights @ second, atol=0.5 / 256)


def test_a_column_with_values_in_one_block_of_time_is_judged_by_its_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests hourly rows with a column that has values in the last 29 hours and one before, so that most trees have no
    rows: scores are those of a fit that stores no leaves.
    """
    random = np.random.default_rng(0)
    n = 1_920
    x, number = random.normal(size=n), np.arange(n)
    late = np.where((number >= n - 31) & (number < n - 1), x + random.normal(size=n) ** 3, np.nan)
    moments = pd.date_range("2024-01-01", periods=n, freq="h")
    table = pd.DataFrame({"when": moments, "x": x, "late": late, "other": x + random.normal(size=n)})
    detector = ConditionalSurprise(["when", "x"], ["late", "other"], n_trees=4, n_jobs=1)
    found = detector.fit(table).anomaly_scores_
    monkeypatch.setattr(mixture, "FoundLeaves", lambda _, n_rows: FoundLeaves([], n_rows))
    np.testing.assert_array_equal(found, detector.fit(table).anomaly_scores_)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_many_rows_and_large_leaves_have_the_bits_of_the_trees(n_threads: int) -> None:
    """Tests more rows than are added up at once, and leaves of which 256 rows are kept."""
    random = np.random.default_rng(0)
    n = 20_000
    columns = np.array([random.integers(2, size=n), random.normal(size=n)])
    target = np.where(columns[0] == 0, 0.0, columns[1] + random.normal(size=n))
    forest = make_forest(columns, np.array([1, 0], dtype=np.uint8), target, n_pairs=3)
    rows, second = np.ascontiguousarray(columns.T), second_target(n)
    assert np.count_nonzero(forest.weights(rows[np.argmin(columns[0])], -1)) >= 256
    leaves = FoundLeaves([forest], n)
    judge([forest], rows, leaves, n_threads)
    forest.set_second_target(second)
    expected = second_means([forest], rows, np.arange(n))
    np.testing.assert_array_equal(leaves.second_means(second, n_threads), expected)


def test_leaves_outlive_their_forests() -> None:
    """Tests that the means are the same when the forest, its samples and its table are gone, and their memory is used
    for something else.
    """
    columns, categorical, target = make_table(0, 2_000)
    rows, second = np.ascontiguousarray(columns.T), second_target(2_000)

    def stored() -> tuple[FoundLeaves, Array]:
        forest = make_forest(columns, categorical, target)
        leaves = FoundLeaves([forest], 2_000)
        judge([forest], rows, leaves)
        return leaves, leaves.second_means(second)

    leaves, expected = stored()
    gc.collect()
    others = [np.full(size, 0x7FFFFFFF, dtype=np.uint32) for _ in range(2_000) for size in (500, 1_000)]
    np.testing.assert_array_equal(leaves.second_means(second), expected)
    assert len(others) == 4_000


def test_forests_of_different_tables_are_refused() -> None:
    """Tests that leaves of a small and a large table, which differ in what a second target is, cannot be mixed."""
    random = np.random.default_rng(0)
    large, small = (
        grow_forest(random.normal(size=(1, n)), NUMBERS, random.normal(size=n), ONE, 1, 3, 2, n // 2, 0)
        for n in (200, 20)
    )
    with pytest.raises(ValueError, match="forests: of the same table"):
        FoundLeaves([large, small], 5)


def test_leaves_are_stored_once_and_completely() -> None:
    """Tests that after an interruption none count as stored, that they can be stored then, and only once."""
    columns, categorical, target = make_table(0, 3_000)
    forest, rows = make_forest(columns, categorical, target), np.ascontiguousarray(columns.T)
    leaves, second = FoundLeaves([forest], 3_000), second_target(3_000)

    def interrupt(_: int) -> None:
        with pytest.raises(ValueError, match="none were stored"):
            leaves.second_means(second)
        with pytest.raises(ValueError, match="once only"):
            judge([forest], rows, leaves)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge([forest], rows, leaves, 1, interrupt)
    with pytest.raises(ValueError, match="none were stored"):
        leaves.second_means(second)
    judge([forest], rows, leaves)
    found = leaves.second_means(second)
    with pytest.raises(ValueError, match="once only"):
        judge([forest], rows, leaves)
    forest.set_second_target(second)
    np.testing.assert_array_equal(found, second_means([forest], rows, np.arange(3_000)))


def test_the_memory_for_leaves_is_limited() -> None:
    """Tests that 128 bytes a row are stored and no more, and that forests that do not keep their leaves have none."""
    columns, target = np.arange(20.0)[None], np.arange(20.0)
    most, more = (grow_forest(columns, NUMBERS, target, ONE, 1, 3, n_pairs, 10, 0) for n_pairs in (32, 33))
    assert FoundLeaves([most, most], 20).can_store()
    assert not FoundLeaves([most, more], 20).can_store()
    other = grow_forest(columns, NUMBERS, target, ONE, 1, 3, 1, 10, 0, keeps_leaves=False)
    assert not FoundLeaves([other], 20).can_store()


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizer ends the process instead")
def test_without_memory_for_leaves_none_are_stored() -> None:
    """Tests so many rows that a process cannot have the memory: there is another way, and no error."""
    forest = grow_forest(np.arange(20.0)[None], NUMBERS, np.arange(20.0), ONE, 1, 3, 1, 10, 0)
    assert not FoundLeaves([forest], 2**48).can_store()
