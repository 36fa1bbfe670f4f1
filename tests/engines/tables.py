"""Tables and detectors for the tests of engines."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd

from paribus import QCAD, ConditionalSurprise

CONTEXT = ["month", "elevation"]
BEHAVIOR = ["rain", "wind"]
N_ROWS = 600
N_SAMPLE = 250


@functools.cache
def stations() -> pd.DataFrame:
    """Rows of numbers, text and missing values; some are equal, one value is far off."""
    random = np.random.default_rng(5)
    month = random.choice(["May", "June", "July"], N_ROWS)
    elevation = random.integers(0, 2000, N_ROWS).astype(float)
    rain = elevation / 100 + random.normal(size=N_ROWS)
    table = pd.DataFrame({"month": month, "elevation": elevation, "rain": rain, "wind": random.gamma(2.0, 3.0, N_ROWS)})
    table.loc[7, "wind"] = 480.0
    table.loc[40:60, "rain"] = np.nan
    # A row that occurs very often, and copies of another one.
    table.loc[100:180, CONTEXT + BEHAVIOR] = ["May", 0.0, 0.0, 0.0]
    table.loc[200:203, CONTEXT + BEHAVIOR] = ["June", 10.0, 1.0, 1.0]
    table["id"] = [f"S{row}" for row in range(N_ROWS)]
    return table


def shuffled(seed: int) -> pd.DataFrame:
    """The same rows in another order."""
    return stations().sample(frac=1.0, random_state=seed).reset_index(drop=True)


def surprise(**options: Any) -> ConditionalSurprise:
    """A detector that is quick to fit."""
    return ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=4, **options)


def qcad() -> QCAD:
    """The same."""
    return QCAD(CONTEXT, BEHAVIOR, n_trees=3, n_neighbors=20)
