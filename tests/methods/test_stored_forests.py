"""Forests as they are stored: packed, opened again, damaged and made by hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import _core
from paribus._core import FeatureTable, Forest, Samples
from tests.support.forests import make_forest, make_table, make_target, weights_of

Array = np.ndarray[Any, Any]


def stored(columns: Array, categorical: Array, target: Array) -> tuple[Forest, Any]:
    """A forest, and a function that opens other bytes in its place."""
    rows = np.ascontiguousarray(columns.T)
    table = FeatureTable(rows, categorical)
    samples = Samples((~np.isnan(target)).astype(np.uint8), None, 1, len(target) // 2, 0)
    features = np.arange(len(columns), dtype=np.uint16)
    forest = Forest(table, samples, make_target(target), features, len(columns), 3, 0)
    again = Samples.stored(len(target), *samples.arrays())
    return forest, lambda packed: Forest(table.kinds(), again, make_target(target), rows, packed)


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
