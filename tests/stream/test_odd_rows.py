"""Odd rows: p-values of recent scores, and online control of false discoveries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import lomax

from paribus._common.arrays import Floats
from paribus.stream.false_discoveries import OnlineDiscoveries
from paribus.stream.recent_null import RecentNull
from tests.oracles.online_fdr import lord_plus_plus


@pytest.mark.parametrize("n_scores", [1000, 2048, 8192])
def test_small_p_values_are_as_rare_as_they_say(n_scores: int) -> None:
    """Tests that a p-value far beyond 1 / n is right on average over what scores may be by chance."""
    scores = np.linspace(0.0, 40.0, 2001)
    levels = np.array([1e-2, 1e-3, 1e-4, 1e-5])
    careful: list[Floats] = []
    extrapolated: list[Floats] = []
    for seed in range(1000):
        null = RecentNull.fit(np.random.default_rng(seed).exponential(size=n_scores))
        for found, evidence in ((careful, null(scores)), (extrapolated, null.null(scores))):
            # The probability that the score of an ordinary row has a p-value below a level, which is known here.
            found.append(np.exp(-np.interp(-np.log(levels), evidence, scores)))
    rates = np.mean(careful, axis=0) / levels
    assert rates.max() < 1.15
    assert rates.min() > 0.8
    # As if the slope of the tail were known.
    assert (np.mean(extrapolated, axis=0) / levels)[3] > 1.5


def test_p_values_of_scores_end_at_one() -> None:
    """Tests that the lowest score has a p-value of 1, missing ones have none, and higher ones have lower ones."""
    null = RecentNull.fit(lomax.rvs(4.0, size=1500, random_state=0))
    evidence = null(np.linspace(0.0, 100.0, 5000))
    assert evidence[0] == pytest.approx(0.0, abs=1e-12)
    assert (np.diff(evidence) >= 0.0).all()
    assert np.isnan(null(np.array([np.nan])))[0]


def test_false_ones_are_few_where_anomalies_are_rare() -> None:
    """Tests the rate of a long stream: false ones are at most `fdr` times one per period and all odd rows."""
    random = np.random.default_rng(0)
    n, period, fdr = 400_000, 100, 0.2
    is_strange = random.uniform(size=n) < 0.002
    p_values = np.where(is_strange, random.uniform(size=n) * 1e-3, random.uniform(size=n))
    rows = OnlineDiscoveries(fdr, period)
    odd = np.array([rows.is_odd(p) for p in p_values.tolist()])
    n_false = int((odd & ~is_strange).sum())
    most = fdr * (n / period + odd.sum())
    # Nearly all of what is allowed: most periods have no anomaly.
    assert 0.7 * most < n_false < most + 3.0 * math.sqrt(most)


def test_online_discoveries_are_those_of_lord_plus_plus() -> None:
    """Tests that decisions are those of the published rule with wealth that is spread evenly over a period."""
    random = np.random.default_rng(0)
    p_values = np.where(random.uniform(size=400) < 0.1, random.uniform(size=400) * 1e-3, random.uniform(size=400))
    rows = OnlineDiscoveries(fdr=0.2, period=200)
    found = [rows.is_odd(p) for p in p_values]
    expected = [
        *lord_plus_plus(p_values[:200], 0.2, [1 / 200] * 200),
        *lord_plus_plus(p_values[200:], 0.2, [1 / 200] * 200),
    ]
    assert found == expected
    assert 0 < sum(found) < 80


def test_false_discoveries_are_as_few_as_asked() -> None:
    """Tests that the mean share of ordinary rows among the odd ones of a period is at most `fdr`."""
    shares = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        is_strange = random.uniform(size=500) < 0.05
        p_values = np.where(is_strange, 10.0 ** -random.uniform(2, 8, size=500), random.uniform(size=500))
        rows = OnlineDiscoveries(fdr=0.2, period=500)
        odd = np.array([rows.is_odd(p) for p in p_values])
        shares.append((odd & ~is_strange).sum() / max(odd.sum(), 1))
    assert np.mean(shares) < 0.2
    assert not OnlineDiscoveries(0.1, 10).is_odd(math.nan)
