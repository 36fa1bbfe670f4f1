"""What is learned does not depend on the threads of linear algebra, although `make test` sets them to one."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from paribus.methods.surprise.trend import fit_trend


def test_a_trend_has_the_same_bits_on_two_threads_of_linear_algebra() -> None:
    """Tests so many columns that two threads would share out the sums. Scores are rounded, and would seldom tell."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 100))
    target = rows.sum(axis=1) + random.normal(size=400)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            trend, leverage = fit_trend(rows, np.zeros(100, dtype=np.uint8), target)
        found.append((trend.predict(rows), leverage.divisors))
    for first, second in zip(*found, strict=True):
        np.testing.assert_array_equal(first, second)
