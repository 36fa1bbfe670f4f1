"""Generated tables of which the distribution is known: one or more behavioral columns that follow the context."""

from __future__ import annotations

import numpy as np
import pandas as pd

from paribus._common.arrays import Floats

CONTEXTUAL = ["x", "g"]


def generated_table(n_rows: int, seed: int, kind: str, n_behavioral: int = 1) -> pd.DataFrame:
    """A table with columns x and g as context, and y0, y1, ... that are independent of each other given these."""
    random = np.random.default_rng(seed)
    x, g = random.uniform(-2, 2, n_rows), random.choice(["a", "b", "c"], n_rows)
    level = np.sin(x) + np.where(g == "b", 1.0, 0.0)
    table = pd.DataFrame({"x": x, "g": g})
    for column in range(n_behavioral):
        table[f"y{column}"] = _column(random, level, kind)
    return table


def _column(random: np.random.Generator, level: Floats, kind: str) -> Floats:
    noise = random.normal(size=len(level))
    if kind == "skewed":
        return np.asarray(np.exp(level + 0.8 * noise))
    if kind == "heavy-tailed":
        return np.asarray(level + 0.5 * random.standard_t(2, size=len(level)))
    if kind == "count":
        return random.poisson(np.exp(1 + 0.5 * level)).astype(float)
    if kind == "two-branched":
        return np.asarray(np.where(random.random(len(level)) < 0.5, 1, -1) * (3 + level) + 0.3 * noise)
    return np.asarray(level + 0.5 * noise)
