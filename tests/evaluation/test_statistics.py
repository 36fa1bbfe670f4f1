"""Ranks, Friedman's test and Nemenyi's, compared with scipy and a published example."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from paribus.evaluation.statistics import cliques, critical_difference, friedman, nemenyi, ranks

# AUC of C4.5 without and with tuning of m, of cf and of both, on 14 data sets: Demsar (2006), table 6. Two values that
# are equal to three digits have ranks 2 and 3 there, so one of them has one more digit here.
PUBLISHED = [
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
]  # fmt: skip


def test_the_published_example() -> None:
    """Tests average ranks, both statistics and the critical difference that Demsar works out."""
    average = ranks(PUBLISHED).mean(axis=0)
    np.testing.assert_allclose(average, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    test = friedman(PUBLISHED)
    # He does not correct for ties; the correction divides by less than 1.
    uncorrected = 12 * 14 / (4 * 5) * (np.square(average).sum() - 4 * 25 / 4)
    assert round(uncorrected, 2) == 9.28
    assert round(13 * uncorrected / (14 * 3 - uncorrected), 2) == 3.69
    assert test.statistic > uncorrected
    assert test.f_p_value < 0.05
    assert round(critical_difference(4, 14), 2) == 1.25
    assert round(critical_difference(4, 14, 0.10), 2) == 1.12


@given(seed=st.integers(0, 2**20), n=st.integers(2, 12), k=st.integers(3, 8), n_values=st.sampled_from([2, 3, 5, 1000]))
def test_friedman_is_scipys_with_ties(seed: int, n: int, k: int, n_values: int) -> None:
    """Tests the statistic and its probability on random results, many of them tied."""
    results = np.random.RandomState(seed).randint(n_values, size=(n, k)) / n_values
    if all(len(set(row)) == 1 for row in results.tolist()):
        assert friedman(results).p_value == 1.0
        return
    expected = stats.friedmanchisquare(*results.T)
    test = friedman(results)
    assert math.isclose(test.statistic, expected.statistic, abs_tol=1e-9)
    assert math.isclose(test.p_value, expected.pvalue, abs_tol=1e-9)


@given(seed=st.integers(0, 2**20), n=st.integers(1, 12), k=st.integers(2, 8))
def test_ranks_with_ties_average_all_orders(seed: int, n: int, k: int) -> None:
    """Tests that a rank is 1 plus the number of better results plus half of the equal ones."""
    results = np.random.RandomState(seed).randint(4, size=(n, k))
    for row, ranked in zip(results, ranks(results), strict=True):
        for value, rank in zip(row, ranked, strict=True):
            assert rank == 1 + (row > value).sum() + ((row == value).sum() - 1) / 2


def test_nemenyi_agrees_with_the_critical_difference() -> None:
    """Tests that exactly the pairs farther apart than the critical difference have a p-value below 5 %."""
    random = np.random.RandomState(3)
    results = random.rand(20, 6) + np.linspace(0, 0.9, 6)
    average = ranks(results).mean(axis=0)
    limit = critical_difference(6, 20)
    p_values = nemenyi(results)
    np.testing.assert_array_equal(p_values, p_values.T)
    verdicts = set()
    for one, other in combinations(range(6), 2):
        assert (p_values[one, other] < 0.05) == (abs(average[one] - average[other]) > limit)
        verdicts.add(bool(p_values[one, other] < 0.05))
    assert verdicts == {True, False}


@given(average=st.lists(st.floats(1, 9), min_size=2, max_size=9), difference=st.floats(0, 5))
def test_cliques_are_the_largest_groups(average: list[float], difference: float) -> None:
    """Tests that two methods share a group if and only if they are within the difference, and that none is part of
    another."""
    groups = cliques(average, difference)
    for one, other in combinations(range(len(average)), 2):
        together = any(one in group and other in group for group in groups)
        assert together == (abs(average[one] - average[other]) <= difference)
    for first, second in combinations([set(group) for group in groups], 2):
        assert not first <= second
        assert not second <= first


def test_bad_results_raise_an_error() -> None:
    """Tests that a missing result, a single method and a wrong significance raise an error."""
    with pytest.raises(ValueError, match="results has no value for data set 0, method 1"):
        ranks([[0.5, np.nan], [0.1, 0.2]])
    with pytest.raises(ValueError, match="at least 2 methods"):
        friedman([[0.5], [0.1]])
    with pytest.raises(ValueError, match="significance is 5"):
        critical_difference(4, 14, 5)
