"""Generated streams for the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus import ConditionalSurprise
from paribus._common.arrays import Floats

Columns: TypeAlias = dict[str, npt.NDArray[Any]]


def make_rows(
    seed: int,
    n: int,
    *,
    shift: float = 0.0,
    where: Callable[[Floats, Floats], npt.NDArray[np.bool_]] | None = None,
    drift: float = 0.0,
    context: Callable[[np.random.Generator, int], Floats] | None = None,
) -> Columns:
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
def fitted(n: int = 1500, seed: int = 0) -> ConditionalSurprise:
    """A small detector."""
    return ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=12, n_jobs=1, random_state=0).fit(
        make_rows(seed, n)
    )


def some(rows: Columns, begin: int, end: int | None = None) -> Columns:
    """Some of the rows."""
    return {name: values[begin:end] for name, values in rows.items()}


def one(rows: Columns, place: int) -> dict[str, Any]:
    """One row as a dict of plain values."""
    return {name: values[place].item() for name, values in rows.items()}
