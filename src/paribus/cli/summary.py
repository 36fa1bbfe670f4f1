"""The summary of a table's scores that commands print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.cli.large import ScoredRows
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
        """Of a table in memory, without its highest rows."""
        scores = results.rows.scores
        known = scores[~np.isnan(scores)]
        return cls(
            results.rows.heading,
            len(scores),
            len(known),
            int(results.is_above.sum()),
            results.view.threshold,
            results.expected_false_alarms,
            float(known.min()) if known.size else np.nan,
            float(known.max()) if known.size else np.nan,
        )

    @classmethod
    def of_stream(cls, found: ScoredRows, expected: float) -> Summary:
        """Of a table that was read in batches; `expected` is the expected share of flagged rows among ordinary ones."""
        return cls(
            found.heading,
            found.n_rows,
            found.n_scored,
            found.n_flagged,
            found.threshold,
            expected * found.n_scored,
            found.lowest,
            found.highest,
            found.labels,
            found.positions,
            found.ranks,
            found.scores,
        )
