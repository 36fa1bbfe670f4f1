"""The scores, ranks and labels of all rows, as columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.explain.view import highest


@dataclass(frozen=True)
class RowScores:
    """The scores of the rows of a table."""

    total: Floats
    """The score of each row; NaN for a row without a score."""
    partial: dict[str, Floats]
    """The partial scores of each row, by behavioral feature."""
    threshold: float
    """The score above which a row is an anomaly."""
    row_labels: npt.NDArray[Any] | None = None
    """The labels of the rows; None for their positions."""
    row_heading: str = "row"
    """The name of the column that holds the labels."""

    @property
    def is_anomaly(self) -> npt.NDArray[np.bool_]:
        """Whether each row has a score above the threshold."""
        return np.asarray(self.total > self.threshold)

    @property
    def rank(self) -> Floats:
        """The rank of each row: 1 is the highest score, equal scores share a rank; NaN for a row without a score."""
        known = np.sort(self.total[~np.isnan(self.total)])
        rank = (len(known) - np.searchsorted(known, self.total, "right") + 1).astype(np.float64)
        rank[np.isnan(self.total)] = np.nan
        return rank

    def highest(self, n: int) -> npt.NDArray[np.int64]:
        """The positions of the n highest scores, in descending order of score."""
        return highest(self.total, n)

    def row_label(self, row: int) -> Any:
        """The label of a row, or its position."""
        return row if self.row_labels is None else self.row_labels[row]

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of the table, by name."""
        rows = np.arange(len(self.total)) if self.row_labels is None else self.row_labels
        return {
            self.row_heading: rows,
            "score": self.total,
            "rank": self.rank,
            "label": self.label,
            **self.named_parts(),
        }

    @property
    def label(self) -> npt.NDArray[Any]:
        """Of each row: "anomaly", "normal" or "not scored"."""
        label = np.where(self.is_anomaly, "anomaly", "normal").astype(object)
        label[np.isnan(self.total)] = "not scored"
        return label

    def named_parts(self) -> dict[str, Floats]:
        """The partial scores, by the names of their columns."""
        return {f"partial_{name}": values for name, values in self.partial.items()}
