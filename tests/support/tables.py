"""Tables for tests: as users have them, and random ones with ties, duplicates, missing values and categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from paribus import _core

Array = np.ndarray[Any, Any]

# The roles of the columns of `mixed_table`.
CONTEXT = ["age", "load", "site"]
BEHAVIOR = ["pressure", "pulse"]

# A value far outside the range of the others.
GLITCH = 2.0**30


@dataclass
class Case:
    """A table as the engine takes it, with the random draws of the forest."""

    context: Array
    categorical: Array
    behavior: Array
    tie_order: Array
    multiplicities: Array
    feature_order: Array | None
    max_features: int
    min_samples_split: int
    n_quantiles: int
    scale_tails: bool

    @property
    def k(self) -> int:
        return int(self.multiplicities.shape[0])

    def engine(self) -> _core.QcadEngine:
        return _core.QcadEngine(
            np.ascontiguousarray(self.context.T),
            self.categorical,
            np.ascontiguousarray(self.behavior.T),
            self.tie_order,
            self.multiplicities,
            self.feature_order,
            self.max_features,
            self.min_samples_split,
            self.n_quantiles,
            self.scale_tails,
        )

    def score(self, n_threads: int = 1) -> tuple[Array, Array]:
        rows = np.arange(len(self.context))
        scores, _, percentiles = self.engine().score(self.context, self.behavior, rows, True, n_threads)
        assert percentiles is not None
        return scores, percentiles


def _column(random: np.random.Generator, n: int, kind: str) -> Array:
    if kind == "whole":
        column = random.integers(0, random.integers(1, 12), n).astype(float)
    elif kind == "dyadic":
        column = random.integers(-64, 64, n) / 16.0
    elif kind == "glitch":
        # An extreme value makes the grid of its group wide.
        column = random.integers(0, 20, n).astype(float)
        column[random.integers(n)] = GLITCH
    elif kind == "constant":
        column = np.full(n, 3.0)
    else:
        column = random.normal(size=n)
    return column


@st.composite
def cases(draw: st.DrawFn, behavior: tuple[str, ...] = ("whole", "dyadic", "glitch", "constant")) -> Case:
    """A small table. By default, behavior is on a grid, so that the engine must agree with the oracle's fractions."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 40))
    kinds = draw(
        st.lists(st.sampled_from(["whole", "dyadic", "normal", "constant", "category"]), min_size=1, max_size=4)
    )
    missing = draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))
    context = np.column_stack([_column(random, n, "whole" if kind == "category" else kind) for kind in kinds])
    behaviors = np.column_stack(
        [_column(random, n, kind) for kind in draw(st.lists(st.sampled_from(behavior), min_size=1, max_size=2))]
    )
    for table in (context, behaviors):
        table[random.random(table.shape) < missing] = np.nan
    if draw(st.booleans()):
        # Duplicate rows.
        copies = random.integers(0, n, n // 3)
        context[: len(copies)], behaviors[: len(copies)] = context[copies], behaviors[copies]
    k = draw(st.integers(1, n - 1))
    n_trees = draw(st.sampled_from([1, 3, 16, 17]))
    if draw(st.booleans()):
        multiplicities = random.multinomial(k, np.full(k, 1 / k), size=n_trees).T.astype(np.uint8)
    else:
        multiplicities = np.ones((k, n_trees), dtype=np.uint8)
    feature_order, max_features = None, 0
    if draw(st.booleans()):
        max_features = draw(st.integers(1, len(kinds)))
        orders = [random.permutation(len(kinds)) for _ in range(n_trees * 3)]
        feature_order = np.array(orders, dtype=np.uint16).reshape(n_trees, 3, len(kinds))
    return Case(
        context,
        np.array([kind == "category" for kind in kinds], dtype=np.uint8),
        behaviors,
        random.permutation(n).astype(np.uint32),
        np.ascontiguousarray(multiplicities),
        feature_order,
        max_features,
        draw(st.integers(2, 12)),
        draw(st.sampled_from([2, 7, 100])),
        draw(st.booleans()),
    )


def mixed_table(n: int = 120, seed: int = 0, missing: float = 0.05) -> pd.DataFrame:
    """A table with two numeric and one categorical context, two behavioral columns, and some missing values."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(20, 80, n).astype(float),
            "load": random.normal(size=n),
            "site": random.choice(["north", "south", "east"], n),
        }
    )
    frame["pressure"] = frame["age"] * 0.5 + random.normal(size=n)
    frame["pulse"] = frame["load"] * 3 + (frame["site"] == "north") * 10 + random.normal(size=n)
    for name in frame.columns:
        frame.loc[random.random(n) < missing, name] = None
    return frame
