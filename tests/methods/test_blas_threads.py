"""What is learned does not depend on how linear algebra is computed, although `make test` gives it one thread."""

from __future__ import annotations

import os
import subprocess
import sys

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


TREND_OF_A_FAR_CATEGORY = """
import sys
import numpy as np
from paribus.methods.surprise.trend import fit_trend

random = np.random.default_rng(0)
code, x = random.integers(0, 9, 2_000).astype(float), random.normal(size=2_000)
code[:8] = 9
target = x + random.normal(size=2_000) + np.where(code == 9, 500.0, 0.0)
rows = np.column_stack([code, 9 - code, x])
trend, leverage = fit_trend(rows, np.array([1, 1, 0], dtype=np.uint8), target)
np.concatenate([trend.predict(rows), leverage.divisors]).tofile(sys.stdout.buffer)
"""


def test_a_far_category_that_is_there_twice_makes_no_trend_depend_on_the_processor() -> None:
    """Tests two kinds of processors, for which OpenBLAS adds up in different orders: the equations must be regular."""
    found = []
    for processor in ("Prescott", "Haswell"):
        command, environment = [sys.executable, "-c", TREND_OF_A_FAR_CATEGORY], {"OPENBLAS_CORETYPE": processor}
        output = subprocess.run(command, env=os.environ | environment, capture_output=True, check=True).stdout
        found.append(np.frombuffer(output))
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-9)
    assert found[0][:8].min() > 490.0
