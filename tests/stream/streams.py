"""Generated streams for the tests."""

from __future__ import annotations

from functools import cache

import numpy as np

from paribus import ConditionalSurprise


def make_rows(seed, n, *, shift=0.0, where=None, drift=0.0, context=None):
    """Rows with two numbers and a category as context, and two behaviors, the first of which may change."""
    random = np.random.default_rng(seed)
    a, b = random.uniform(size=n), random.uniform(size=n)
    if context is not None:
        a = context(random, n)
    k = random.integers(0, 3, n)
    x = 3.0 * a + (0.3 + 0.4 * b) * random.normal(size=n) + drift * np.arange(n)
    x = x + (shift if where is None else shift * where(a, b))
    y = 2.0 * b - a + 0.5 * random.normal(size=n)
    return {"a": a, "b": b, "k": np.array(["u", "v", "w"])[k], "x": x, "y": y}


@cache
def fitted(n=1500, seed=0):
    """A small detector."""
    return ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=12, n_jobs=1, random_state=0).fit(
        make_rows(seed, n)
    )


def some(rows, begin, end=None):
    """Some of the rows."""
    return {name: values[begin:end] for name, values in rows.items()}


def one(rows, place):
    """One row as a dict of plain values."""
    return {name: values[place].item() for name, values in rows.items()}
