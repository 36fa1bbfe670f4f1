"""What a command says about the scores of a table, however it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.cli.large import ScoredRows
from paribus.output.frame import RowScores


@dataclass(frozen=True)
class Summary:
    """The scores of all rows in a few numbers, and the rows with the highest ones, in descending order of score."""

    heading: str
    """The heading of the labels."""
    n_rows: int
    n_scored: int
    n_flagged: int
    threshold: float
    lowest: float
    highest: float
    labels: list[Any]
    positions: npt.NDArray[np.int64]
    ranks: npt.NDArray[Any]
    scores: Floats

    @classmethod
    def of(cls, scores: RowScores, top: int) -> Summary:
        """Of a table in memory."""
        known = scores.total[~np.isnan(scores.total)]
        best = scores.highest(top)
        return cls(
            scores.row_heading,
            len(scores.total),
            len(known),
            int(scores.is_anomaly.sum()),
            scores.threshold,
            float(known.min()) if known.size else np.nan,
            float(known.max()) if known.size else np.nan,
            [scores.row_label(int(row)) for row in best],
            best,
            scores.rank[best],
            scores.total[best],
        )

    @classmethod
    def of_stream(cls, found: ScoredRows) -> Summary:
        """Of a table that was read in batches."""
        return cls(
            found.heading,
            found.n_rows,
            found.n_scored,
            found.n_flagged,
            found.threshold,
            found.lowest,
            found.highest,
            found.labels,
            found.positions,
            found.ranks,
            found.scores,
        )
