"""A fitted table, ready to be looked at: its columns, its scores, what is usual in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paribus.formatting import ColumnFormat
from paribus.profile import ContextColumn
from paribus.table import Table, find_key
from paribus.values import Floats


@dataclass(frozen=True)
class FittedView:
    """What explanations and pictures need to know of a fitted table."""

    table: Table
    context: list[ContextColumn]
    behavior_names: list[str]
    behavior_formats: list[ColumnFormat]
    behavior: Floats = field(repr=False)
    scores: Floats = field(repr=False)
    partial_scores: Floats = field(repr=False)
    sorted_scores: Floats = field(repr=False)
    """Those that there are."""
    reach: Floats = field(repr=False)
    """[fitted row][2]: the distances of the nearest and of the farthest neighbour."""
    threshold: float

    def behavior_place(self, feature: str | int) -> int:
        """Which of the behavioural features this is."""
        return find_key(feature, self.behavior_names, "behavioural feature")

    def context_place(self, feature: str | int) -> int:
        """Which of the contextual features this is."""
        return find_key(feature, [column.name for column in self.context], "contextual feature")

    def highest(self, n: int) -> npt.NDArray[np.int64]:
        """The positions of the highest scores, from the highest downwards."""
        return highest(self.scores, n)

    def strongest_features(self, n: int) -> list[int]:
        """The behavioural features, from the one that contributes most to the n highest scores downwards."""
        contributions = np.nan_to_num(self.partial_scores[self.highest(n)]).mean(axis=0)
        return [int(place) for place in np.argsort(-contributions, kind="stable")]

    def typical_context(self) -> Floats:
        """The median of each number and the most frequent of each category, as the engine has them."""
        return np.array([column.typical for column in self.context])

    def context_of(self, row: int) -> Floats:
        """The context of a fitted row, as the engine has it."""
        return np.array([column.values[row] for column in self.context])


def highest(scores: Floats, n: int) -> npt.NDArray[np.int64]:
    """The positions of the n highest scores, from the highest downwards; those that are missing are left out.

    >>> highest(np.array([1.0, np.nan, 3.0]), 5)
    array([2, 0])
    """
    return np.argsort(-scores, kind="stable")[: min(n, int((~np.isnan(scores)).sum()))]
