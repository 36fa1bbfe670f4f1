"""gower_neighbors, compared with distances computed by hand and with the plain oracle."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import gower_neighbors
from tests.oracles import qcad as oracles


def test_distances_computed_by_hand() -> None:
    """Tests that the distance is the mean over columns without missing values."""
    table = pd.DataFrame({"age": [20.0, 30.0, np.nan], "sex": ["f", "m", "m"], "town": ["a", "a", None]})
    positions, distances = gower_neighbors(table, 2)
    assert positions.tolist() == [[1, 2], [2, 0], [1, 0]]
    np.testing.assert_allclose(distances, [[2 / 3, 1.0], [0.0, 2 / 3], [0.0, 1.0]])


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), k=st.integers(1, 70))
def test_neighbors_are_those_of_a_full_sort(seed: int, n: int, k: int) -> None:
    """Tests that the search gives the result of sorting all distances, with ties in the seeded order."""
    random = np.random.default_rng(seed)
    table = np.column_stack([random.integers(0, 5, n), random.normal(size=n).round(1), random.integers(0, 3, n)])
    table[random.random(table.shape) < 0.1] = np.nan
    k = min(k, n - 1)
    positions, distances = gower_neighbors(table, k, categorical=[2], random_state=seed % 2**31)
    tie_order = np.random.RandomState(seed % 2**31).permutation(n)
    for row in range(n):
        codes = np.unique(table[~np.isnan(table[:, 2]), 2], return_inverse=True)[1]
        coded = table.copy()
        coded[~np.isnan(table[:, 2]), 2] = codes
        group, expected = oracles.reference_group(coded, coded[row], row, k, np.array([0, 0, 1]), tie_order)
        assert positions[row].tolist() == group
        assert distances[row].tolist() == expected


def test_a_large_table_needs_several_chunks() -> None:
    """Tests the search in several chunks of rows, between which candidates are pruned."""
    random = np.random.default_rng(1)
    table = random.normal(size=(9000, 2)).round(2)
    positions, distances = gower_neighbors(table[:, :], 5, rows=table[:20])
    scaled = table / (table.max(axis=0) - table.min(axis=0))
    for row in range(20):
        expected = np.sort(np.abs(scaled - scaled[row]).mean(axis=1))[:5]
        np.testing.assert_allclose(distances[row], expected, atol=1e-12)
        np.testing.assert_allclose(
            np.abs(scaled[positions[row]] - scaled[row]).mean(axis=1), distances[row], atol=1e-12
        )


def test_ties_do_not_follow_the_order_of_the_rows() -> None:
    """Tests that ties between rows at the same distance are broken by the seed."""
    table = {"x": [0.0] * 500}
    first, _ = gower_neighbors(table, 10, rows={"x": [0.0]}, random_state=1)
    again, _ = gower_neighbors(table, 10, rows={"x": [0.0]}, random_state=1)
    other, _ = gower_neighbors(table, 10, rows={"x": [0.0]}, random_state=2)
    assert first.tolist() == again.tolist()
    assert sorted(first[0]) != list(range(10))
    assert set(first[0]) != set(other[0])


def test_new_rows_far_outside_find_the_nearest_edge() -> None:
    """Tests that distances of rows outside the fitted range are ordered correctly."""
    positions, distances = gower_neighbors({"x": [0.0, 1.0, 2.0]}, 3, rows={"x": [1e6]})
    assert positions.tolist() == [[2, 1, 0]]
    assert distances[0, 0] > 1


def test_unseen_categories_are_at_distance_one() -> None:
    """Tests that a category that is not in the table matches none in it."""
    table = pl.DataFrame({"town": ["a", "b", "b"]})
    _, distances = gower_neighbors(table, 3, rows=pl.DataFrame({"town": ["z"]}))
    assert distances.tolist() == [[1.0, 1.0, 1.0]]


def test_more_neighbors_than_rows_is_a_warning() -> None:
    """Tests that all other rows are found, with a warning."""
    with pytest.warns(UserWarning, match="only 2 rows"):
        positions, _ = gower_neighbors({"x": [0.0, 1.0, 2.0]}, 9)
    assert positions.shape == (3, 2)


def test_memory_stays_far_below_a_distance_matrix() -> None:
    """Tests that 20,000 rows (a matrix of 3.2 GB) are searched in a fraction of that."""
    import resource

    random = np.random.default_rng(0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gower_neighbors(random.normal(size=(20_000, 3)), 5)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200_000  # kilobytes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 2.5}, "whole number"),
        ({"k": 3, "columns": ["agee"]}, "did you mean 'age'"),
        ({"k": 3, "categorical": ["town"]}, "not in the table"),
        ({"k": 3, "n_jobs": 0}, "n_jobs"),
        ({"k": 3, "rows": {"sex": ["f"]}}, "'age' was there at fit"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    """Tests that a wrong argument gives one sentence about it."""
    with pytest.raises(ValueError, match=message):
        gower_neighbors({"age": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]}, **arguments)  # type: ignore[arg-type]
