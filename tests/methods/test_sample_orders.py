"""The order of the rows of samples, by target and by feature, against plain sorting."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from paribus._core import FeatureTable, Forest, Samples
from tests.support.forests import make_target

Array = np.ndarray[Any, Any]

MAX_LEAF_ROWS = 256


def grow(columns: Array, target: Array, sample: Array, min_samples_leaf: int) -> Forest:
    """A forest of one pair of trees, the first of which has that sample, and the second one the other rows."""
    n_rows = len(target)
    both = np.concatenate([sample, np.setdiff1d(np.arange(n_rows), sample)]).astype(np.uint32)
    samples = Samples.stored(n_rows, both, np.array([len(sample), n_rows], dtype=np.uint32))
    table = FeatureTable(np.ascontiguousarray(columns.T), np.zeros(len(columns), dtype=np.uint8))
    features = np.arange(len(columns), dtype=np.uint16)
    return Forest(table, samples, make_target(target), features, len(columns), min_samples_leaf, 0)


def stored_members(forest: Forest, n_sample: int) -> Array:
    """Positions in the sample of the first tree, as its bytes have them at their end."""
    packed = np.asarray(forest.packed()).tobytes()
    n_features = struct.unpack_from("<I", packed, 16)[0]
    begin, size = struct.unpack_from("<QQ", packed, 40 + (2 * n_features + 7) // 8 * 8)
    n_members, n_bits = struct.unpack_from("<I", packed, begin + 12)[0], (n_sample - 1).bit_length()
    # Each can be read as part of 64 bits.
    n_bytes = ((n_members * n_bits + 7) // 8 + 15) // 8 * 8
    bits = np.unpackbits(np.frombuffer(packed[begin + size - n_bytes : begin + size], np.uint8), bitorder="little")
    return bits[: n_members * n_bits].reshape(-1, n_bits) @ (1 << np.arange(n_bits))


@pytest.mark.parametrize("n_values", [3, 10**6])
@pytest.mark.parametrize("n_sample", [200, 255, 256, 3_000])
def test_rows_of_a_leaf_are_in_the_order_of_the_target(n_sample: int, n_values: int) -> None:
    """Tests one leaf of few or many rows with targets that are equal or not: equal ones are in ascending order."""
    random = np.random.default_rng(n_sample)
    target = random.integers(n_values, size=2 * n_sample).astype(float)
    sample = np.sort(random.permutation(2 * n_sample)[:n_sample])
    forest = grow(random.normal(size=(1, 2 * n_sample)), target, sample, n_sample)
    expected = np.argsort(target[sample], kind="stable")
    if n_sample > MAX_LEAF_ROWS:
        expected = expected[(2 * np.arange(MAX_LEAF_ROWS) + 1) * n_sample // (2 * MAX_LEAF_ROWS)]
    np.testing.assert_array_equal(stored_members(forest, n_sample), expected)


@pytest.mark.parametrize(
    ("n_rows", "share_missing", "n_values"), [(80_000, 0.0, None), (80_000, 0.1, None), (9_000, 0.3, 2_000)]
)
def test_leaves_are_intervals_of_a_feature(n_rows: int, share_missing: float, n_values: int | None) -> None:
    """Tests more ranks and positions than share 32 bits, fewer, gaps and equal values: each row of the sample is in the
    leaf that it ends in, with all rows of the sample between the lowest and the highest there.
    """
    random = np.random.default_rng(0)
    column = random.normal(size=n_rows) if n_values is None else random.integers(n_values, size=n_rows).astype(float)
    column[random.random(n_rows) < share_missing] = np.nan
    sample = np.sort(random.permutation(n_rows)[: n_rows // 2])
    forest = grow(column[None], random.normal(size=n_rows), sample, 3)
    rows = np.ascontiguousarray(column[:, None])
    known, in_sample = np.sort(column[~np.isnan(column)]), np.sort(column[sample])
    # Those around powers of two, where ranks have another digit, and some of those without a value.
    ranks = np.concatenate([np.arange(2**power - 20, 2**power + 20) for power in range(8, 17)])
    asked = np.isin(column, known[ranks[ranks < len(known)]]) | (np.isnan(column) & (np.cumsum(np.isnan(column)) <= 20))
    assert np.isnan(column[sample[asked[sample]]]).any() == (share_missing > 0)
    for row in sample[asked[sample]]:
        leaf = np.flatnonzero(forest.weights(rows[row], -1))
        # All rows without a value are in one leaf, of which 256 stand for it.
        assert row in leaf or np.isnan(column[[row, *leaf]]).sum() > 128
        values = column[leaf][~np.isnan(column[leaf])]
        if len(values) > 0:
            n_between = np.diff(np.searchsorted(in_sample, [values.min(), values.max()], "left"))[0]
            assert len(values) == n_between + np.count_nonzero(values == values.max())
