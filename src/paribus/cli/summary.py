"""The summary of a table's scores that commands print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.output.results import Results


@dataclass(frozen=True)
class Summary:
    """The scores of all rows in a few numbers, and the rows with the highest ones, in descending order of score."""

    heading: str
    """The heading of the labels."""
    n_rows: int
    n_scored: int
    n_flagged: int
    threshold: float
    expected: float
    """The expected number of flagged rows if all were ordinary."""
    lowest: float
    highest: float
    labels: list[Any] = field(default_factory=list)
    positions: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ranks: npt.NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    scores: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, results: Results) -> Summary:
        """Of results, without the highest rows."""
        scores, whole = results.rows.scores, results.rows.whole
        known = scores[~np.isnan(scores)]
        lowest = float(known.min()) if known.size else np.nan
        return cls(
            results.rows.heading,
            results.n_total,
            results.n_scored,
            results.n_above,
            results.view.threshold,
            results.expected_false_alarms,
            lowest if whole is None or whole.lowest is None else whole.lowest,
            float(known.max()) if known.size else np.nan,
        )
