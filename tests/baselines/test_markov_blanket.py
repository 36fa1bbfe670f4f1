"""Fast-IAMB, on networks whose blankets are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, pearsonr

from paribus.baselines.markov_blanket import Dependence, fast_iamb
from tests.oracles import baselines as oracles
from tests.oracles.baselines import Array

# A network of eight numbers: each variable's parents.
PARENTS: dict[int, list[int]] = {0: [], 1: [], 2: [0, 1], 3: [2], 4: [2], 5: [4, 6], 6: [], 7: []}


def blankets_of(parents: dict[int, list[int]]) -> dict[int, list[int]]:
    """Parents, children, and the children's other parents."""
    result = {}
    for v in parents:
        children = [c for c in parents if v in parents[c]]
        spouses = {p for c in children for p in parents[c]}
        result[v] = sorted((set(parents[v]) | set(children) | spouses) - {v})
    return result


def sample(parents: dict[int, list[int]], n: int, seed: int) -> Array:
    """A linear Gaussian network; parents come before children but for variable 6."""
    random = np.random.default_rng(seed)
    columns: dict[int, Array] = {}
    for v in sorted(parents, key=lambda v: (v == 5, v)):
        columns[v] = sum((columns[p] for p in parents[v]), np.zeros(n)) + random.normal(size=n)
    return np.column_stack([columns[v] for v in sorted(columns)])


def numbers(table: Array) -> Dependence:
    return Dependence.of(table, np.zeros(table.shape[1], dtype=bool))


@pytest.mark.parametrize("seed", range(5))
def test_known_blankets_are_found(seed: int) -> None:
    """Tests parents, children and spouses of every variable of a Gaussian network."""
    test = numbers(sample(PARENTS, 3000, seed))
    # A strict level, since at 5 % one test in twenty is a false positive.
    found = {v: fast_iamb(test, v, significance=1e-4) for v in PARENTS}
    assert found == blankets_of(PARENTS)


def test_strangers_get_in_as_often_as_the_level_says() -> None:
    """Tests that about one in twenty independent variables is called dependent."""
    taken = sum(len(fast_iamb(numbers(np.random.default_rng(s).normal(size=(200, 6))), 0)) for s in range(200))
    assert 25 <= taken <= 80, "1,000 chances at 5 %"


@given(seed=st.integers(0, 10_000), n_given=st.integers(0, 3))
@settings(max_examples=25)
def test_numbers_are_tested_by_fishers_z(seed: int, n_given: int) -> None:
    """Tests the p-value of a dependence against the residuals of two regressions."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(60, 5)) @ random.normal(size=(5, 5))
    given_ones = [2, 3, 4][:n_given]
    r = oracles.partial_correlation(table, 0, 1, given_ones)
    z = np.arctanh(r) * np.sqrt(60 - n_given - 3)
    found = numbers(table).p_values(0, [1], given_ones)
    np.testing.assert_allclose(found, 2 * norm.sf(abs(z)), rtol=1e-6, atol=1e-12)
    if n_given == 0:
        np.testing.assert_allclose(r, pearsonr(table[:, 0], table[:, 1]).statistic)


def test_the_codes_of_categories_do_not_matter() -> None:
    """Tests that renamed categories give the same p-values, and that a category without an order is found."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 600)
    # It is highest in the middle, so the codes themselves are not correlated with it.
    y = np.array([0.0, 1.0, 0.0])[codes] + random.normal(size=600)
    noise = random.normal(size=600)
    categorical = np.array([True, False, False])
    test = Dependence.of(np.column_stack([codes, y, noise]), categorical)
    renamed = Dependence.of(np.column_stack([np.array([7, 0, 3])[codes], y, noise]), categorical)
    assert abs(np.corrcoef(codes, y)[0, 1]) < 0.1
    assert fast_iamb(test, 0) == [1]
    assert fast_iamb(test, 1) == [0]
    np.testing.assert_allclose(test.p_values(0, [1, 2], []), renamed.p_values(0, [1, 2], []), rtol=1e-8)


def test_probabilities_of_categories_are_uniform_under_independence() -> None:
    """Tests that an independent category and number are called dependent at the significance level."""
    found = []
    for seed in range(300):
        random = np.random.default_rng(seed)
        table = np.column_stack([random.integers(0, 4, 150), random.normal(size=(150, 2))])
        found.append(Dependence.of(table, np.array([True, False, False])).p_values(0, [1], [2])[0])
    assert 0.02 < np.mean(np.array(found) < 0.05) < 0.09
    assert 0.42 < np.mean(found) < 0.58


def test_what_is_known_twice_is_known_once() -> None:
    """Tests that copies and constants raise no error, and that determined variables are independent."""
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    table = np.column_stack([x, 3 * x, x + random.normal(size=200), np.ones(200)])
    test = numbers(table)
    assert fast_iamb(test, 3) == []
    assert fast_iamb(test, 2) in ([0], [1])
    assert test.p_values(2, [1], [0])[0] == 1.0


def test_few_rows_and_many_columns_end() -> None:
    """Tests that a blanket never needs more rows than the table has."""
    random = np.random.default_rng(0)
    hidden = random.normal(size=(12, 1))
    table = hidden + 0.5 * random.normal(size=(12, 30))
    for v in range(30):
        assert len(fast_iamb(numbers(table), v)) < 9


def test_rare_categories_share_one_indicator() -> None:
    """Tests that a category of many rare values does not use up all degrees of freedom."""
    random = np.random.default_rng(0)
    table = np.column_stack([np.arange(300) // 2, random.normal(size=300)])
    test = Dependence.of(table, np.array([True, False]))
    assert len(test.groups[0]) <= 1
    assert fast_iamb(test, 1) in ([], [0])
