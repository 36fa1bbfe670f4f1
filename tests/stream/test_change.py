"""The tests for changes: their wealth, their false alarms, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr

from paribus._common.arrays import Floats
from paribus.stream.bets import BETS, N_PLACES, PATIENCE, PAYOFFS, SIZES
from paribus.stream.change import N_BINS, ChangeTests
from paribus.stream.dependence import (
    block_lengths,
    cycle_length,
    dependence_time,
    one_by_one,
    variance_bound,
)
from paribus.stream.randomness import uniform_rows
from tests.oracles.change import PlainChangeTests


def watch(
    levels: Floats,
    alpha: float = 0.05,
    groups: npt.NDArray[np.int64] | None = None,
    n_groups: int = 1,
    seed: int = 0,
    begin: int = 300,
    length: int = 1,
    variance: float = 1.0,
) -> tuple[Any, Any]:
    """The first change that is found in the levels of one column, and the row that settled it."""
    tests = ChangeTests(alpha, np.array([length]), np.array([variance]), 1, n_groups, seed)
    n = len(levels)
    groups = np.zeros((n, 1), dtype=np.int64) if groups is None else groups
    known = np.random.default_rng(seed).uniform(size=(begin, 1))
    tests.begin(known, np.zeros(begin, dtype=np.int64), groups[:begin])
    found = tests.update(levels[:, None], np.zeros(n, dtype=np.int64), groups, 0)
    return found[0] if found else (None, None)


@pytest.mark.parametrize(
    ("length", "variance", "n_known", "change", "n"),
    [(1, 1.0, 40, 90, 180), (1, 1.7, 40, 90, 180), (7, 1.0, 210, 230, 380)],
)
def test_agrees_with_the_plain_tests(length: int, variance: float, n_known: int, change: int, n: int) -> None:
    """Tests that wealth, beginnings and findings are those of tests that keep every bet on its own."""
    random = np.random.default_rng(3)
    limit = 20.0
    levels = random.uniform(size=(n, 2))
    levels[change:, 1] = levels[change:, 1] ** 0.2
    levels[50, 0] = np.nan
    cells = random.integers(0, 2, n)
    groups = np.column_stack([np.zeros(n, dtype=np.int64), random.integers(-1, 3, n)])
    groups[:, 1] = np.where(groups[:, 1] > 0, groups[:, 1], -1)
    tests = ChangeTests(2 / limit, np.full(2, length), np.array([1.0, variance]), 2, 3, 5)
    plain = PlainChangeTests([length, length], [1.0, variance], 3, N_BINS, PAYOFFS, SIZES.tolist(), PATIENCE, limit)
    drawn = uniform_rows(5, 0, n, 2)
    tests.begin(levels[:n_known], cells[:n_known], groups[:n_known])
    changes = tests.update(levels[n_known:], cells[n_known:], groups[n_known:], n_known)
    found = []
    for row in range(n):
        own = [group for group in groups[row].tolist() if group >= 0]
        of_row = levels[row], int(cells[row]), own, drawn[row], row
        if row == n_known:
            plain.blocks.clear()
        found += [(row - n_known, column) for column in plain.update(*of_row, is_known=row < n_known)]
    assert [(row, change.column) for row, change in changes] == found != []
    np.testing.assert_allclose(tests.evidence, [plain.evidence(0), plain.evidence(1)], rtol=1e-9)
    first = changes[0][1]
    bet = int(np.argmax(tests.wealth[1, first.group] * (tests.begun[1, first.group] == first.since)))
    assert first.since == plain.since(1, first.group, bet)


def test_bets_are_fair() -> None:
    """Tests that no bet gains or loses on uniform p-values, and that none can lose everything."""
    np.testing.assert_allclose(PAYOFFS.mean(axis=1), 1.0, rtol=1e-12)
    assert PAYOFFS.shape == (3, N_PLACES, len(BETS))
    assert PAYOFFS.min() > 0.04


def test_false_alarms_are_as_rare_as_asked() -> None:
    """Tests that at most about alpha of the streams in which nothing changes ever cause an alarm."""
    alarms = 0
    for seed in range(120):
        random = np.random.default_rng(1000 + seed)
        # Levels are not uniform: the ranks are, whatever the model is worth.
        alarms += watch(random.uniform(size=1000) ** 1.5, alpha=0.1, seed=seed, begin=0)[0] is not None
    # With a probability of 0.1, more than 21 of 120 turn up in 1 of 200 cases.
    assert alarms <= 21


def autoregressive(random: np.random.Generator, n: int, correlation: float) -> Floats:
    """Normal values, each of which depends on the one before."""
    return np.asarray(lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], random.normal(size=n + 200))[200:])


def test_rows_that_depend_on_each_other_cause_no_alarms() -> None:
    """Tests that blocks, as long as the known rows say, keep the rate of false alarms where single rows do not."""
    alarms = {1: 0, 0: 0}
    for seed in range(50):
        levels = ndtr(autoregressive(np.random.default_rng(seed), 4000, 0.8))[:, None]
        for length in alarms:
            known = block_lengths([dependence_time(levels[:2000, 0])], 2000) if length == 0 else np.array([length])
            tests = ChangeTests(0.05, known, np.ones(1), 1, 1, seed)
            everywhere = np.zeros((2000, 1), dtype=np.int64)
            tests.begin(levels[:2000], everywhere[:, 0], everywhere)
            alarms[length] += bool(tests.update(levels[2000:], everywhere[:, 0], everywhere, 0))
    # With a probability of 0.05, more than 7 of 50 turn up in 1 of 500 cases.
    assert alarms[0] <= 7
    assert alarms[1] > 30


def test_slow_errors_of_a_model_make_bets_smaller() -> None:
    """Tests that rows that are independent but for a slow error cause no false alarms, and that changes are found."""
    alarms, delays, without = 0, [], 0
    for seed in range(50):
        random = np.random.default_rng(seed)
        values = 0.4 * autoregressive(random, 5000, 0.9) + random.normal(size=5000)
        values[4500:] += 1.0
        levels = ndtr(values / np.sqrt(1.16))[:, None]
        variance = variance_bound(levels[:2000, 0], 19.0)
        assert 2.0 < variance < 10.0
        for each in (variance, 1.0):
            tests = ChangeTests(0.05, np.ones(1, dtype=np.int64), np.array([each]), 1, 1, seed)
            everywhere = np.zeros((5000, 1), dtype=np.int64)
            tests.begin(levels[:2000], everywhere[:2000, 0], everywhere[:2000])
            found = tests.update(levels[2000:], everywhere[2000:, 0], everywhere[2000:], 2000)
            row = found[0][0] + 2000 if found else 5000
            if each == 1.0:
                without += row < 4500
            else:
                alarms += row < 4500
                delays += [row - 4500] if row >= 4500 else []
    # With a probability of 0.05, more than 7 of 50 turn up in 1 of 500 cases.
    assert alarms <= 7 < without
    # With blocks of 57 rows, it is about 290.
    assert np.median(delays) < 200


def test_what_comes_again_with_the_contexts_is_no_dependence() -> None:
    """Tests that cycles are found, and that errors of a model that follow them do not count as dependence."""
    random = np.random.default_rng(10)
    hours, days = np.arange(3000) % 24, np.arange(3000) // 24 % 7
    assert (cycle_length(hours / 24.0), cycle_length(days / 7.0)) == (24, 168)
    for slow in (random.uniform(size=3000), autoregressive(random, 3000, 0.99), np.full(3000, 0.5), np.arange(3000.0)):
        assert cycle_length(slow) == 0
    wrong = random.normal(size=24)[hours] / 2.0
    levels = ndtr((wrong + random.normal(size=3000)) / np.sqrt(1.25))
    assert dependence_time(levels) > 100
    assert dependence_time(levels, cycle=24) < 10
    assert variance_bound(levels, 8.0) < 3.0


def test_rows_are_tested_one_by_one_where_that_is_sooner() -> None:
    """Tests that slow contexts alone do not make blocks long, but dependent levels do."""
    random = np.random.default_rng(9)
    slow, fast = ndtr(autoregressive(random, 2000, 0.9)), random.uniform(size=2000)
    lengths = np.array([60, 60])
    variances = np.array([variance_bound(each, 19.0) for each in (slow, fast)])
    assert one_by_one(lengths, variances).tolist() == [60, 1]
    assert variance_bound(fast, 1.0) == 1.0


def test_what_a_model_gets_wrong_in_a_group_is_no_change() -> None:
    """Tests that groups of one cell whose levels always differed cause no alarm."""
    random = np.random.default_rng(6)
    group = random.integers(1, 3, 4000)
    levels = random.uniform(size=4000) ** np.where(group == 1, 0.7, 1.4)
    groups = np.column_stack([np.zeros(4000, dtype=np.int64), group])
    assert watch(levels, groups=groups, n_groups=3, begin=0)[0] is None


@pytest.mark.parametrize("correlation", [0.5, 0.8, 0.9])
def test_dependence_is_measured(correlation: float) -> None:
    """Tests that the dependence time is about that of an autoregressive process, and 1 for independent rows."""
    random = np.random.default_rng(7)
    found = dependence_time(ndtr(autoregressive(random, 8000, correlation)))
    assert 0.7 < found / ((1.0 + correlation) / (1.0 - correlation)) < 1.6


def test_dependence_may_hide() -> None:
    """Tests that calm and restless times, what comes again after a day, and slow swings count as dependence."""
    random = np.random.default_rng(8)
    calm = np.repeat(random.uniform(0.2, 3.0, size=80), 50) * random.normal(size=4000)
    assert dependence_time(ndtr(calm)) > 10
    daily = random.normal(size=4000)
    daily[24:] += daily[:-24]
    assert block_lengths([dependence_time(ndtr(daily))], 4000)[0] >= 25
    # Of a slow swing below much noise, the autocorrelations of single rows add up to little.
    swing = autoregressive(random, 16_000, 0.99) + 3.0 * random.normal(size=16_000)
    assert dependence_time(swing) > 70
    times = [dependence_time(random.uniform(size=1500)) for _ in range(40)]
    assert times.count(1.0) >= 39


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda z: z + 0.8, "higher"),
        (lambda z: z - 0.8, "lower"),
        (lambda z: 1.8 * z, "more spread out"),
        (lambda z: 0.5 * z, "less spread out"),
    ],
)
def test_changes_are_found_and_described(change: Callable[[Floats], Floats], how: str) -> None:
    """Tests that a change is found soon, with its beginning and what it is."""
    values = np.random.default_rng(1).normal(size=3000)
    values[2000:] = change(values[2000:])
    row, found = watch(ndtr(values))
    assert found.how == how
    assert 2000 <= row < 2500
    assert abs(found.since - 2000) < 150


def test_a_change_in_one_group_is_placed_there() -> None:
    """Tests that a change in one group of rows names this group."""
    random = np.random.default_rng(2)
    values, group = random.normal(size=3000), random.integers(1, 5, 3000)
    values[(np.arange(3000) >= 1500) & (group == 3)] += 1.5
    groups = np.column_stack([np.zeros(3000, dtype=np.int64), group])
    _, found = watch(ndtr(values), groups=groups, n_groups=5)
    assert found.group == 3


def test_a_change_after_a_million_rows_is_found_nearly_as_soon() -> None:
    """Tests that tests do not tire: a late change needs only a few more rows."""
    delays = []
    for n_before in (1_000, 1_000_000):
        tests = ChangeTests(0.01, np.ones(1, dtype=np.int64), np.ones(1), 1, 1, 0)
        values = ndtr(np.random.default_rng(4).normal(size=1_000))
        # What a stable stream leaves behind: counts of levels, and wealth that is not bet any more.
        tests.begin(values[:, None], np.zeros(1_000, dtype=np.int64), np.zeros((1_000, 1), dtype=np.int64))
        tests.counts *= n_before // 1_000
        tests.n_in_group[:] = n_before
        later = ndtr(np.random.default_rng(5).normal(size=1_000) + 1.0)
        found = tests.update(later[:, None], np.zeros(1_000, dtype=np.int64), np.zeros((1_000, 1), dtype=np.int64), 0)
        delays.append(found[0][0])
    assert delays[1] < delays[0] + 40
