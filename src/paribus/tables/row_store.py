"""Access to the rows of a fitted table, wherever they are stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus.tables.table import Table

Rows: TypeAlias = Positions | slice

# More values than this are represented by some of them, which takes less time where a model is opened and is as good
# for a share of the table.
MAX_SORTED, N_REPRESENTED = 65_536, 4_097


@dataclass(frozen=True)
class ColumnSummary:
    """A summary of all values of a column, for explanations and reports."""

    n_rows: int
    n_missing: int
    order_statistics: Floats = field(repr=False)
    """The values that are not missing in ascending order: all of them, or an evenly spaced part."""
    category_shares: Floats | None = field(default=None, repr=False)
    """The share of rows with each category code, then of rows without a value; None for a numeric column."""

    @classmethod
    def of(cls, values: Floats, n_categories: int | None = None) -> ColumnSummary:
        """Summarizes a numeric column, or a column of codes if the number of categories is given."""
        missing = np.isnan(values)
        n_missing = int(missing.sum())
        if n_categories is not None:
            codes = np.where(missing, n_categories, values).astype(np.int64)
            weights = np.full(len(values), 1.0 / len(values))
            shares = np.asarray(np.bincount(codes, weights, minlength=n_categories + 1), dtype=np.float64)
            counts = np.bincount(codes, minlength=n_categories + 1)[:-1]
            return cls(len(values), n_missing, np.repeat(np.arange(float(n_categories)), counts), shares)
        ascending = np.sort(values[~missing])
        if len(ascending) > MAX_SORTED:
            # The lowest, the highest and the median are among them.
            ascending = ascending[np.arange(N_REPRESENTED) * (len(ascending) - 1) // (N_REPRESENTED - 1)]
        return cls(len(values), n_missing, ascending)

    @property
    def has_values(self) -> bool:
        """Whether any value is not missing."""
        return self.n_missing < self.n_rows

    @property
    def lowest(self) -> float:
        """The smallest value."""
        return float(self.order_statistics[0])

    @property
    def highest(self) -> float:
        """The largest value."""
        return float(self.order_statistics[-1])

    @cached_property
    def median(self) -> float:
        """The median of the values."""
        return float(np.median(self.order_statistics))

    @property
    def typical(self) -> float:
        """The median of numbers, or the code of the most frequent category; NaN if there are no values."""
        if not self.has_values:
            return np.nan
        return self.median if self.category_shares is None else float(np.argmax(self.category_shares[:-1]))

    def share_between(self, low: float | Floats, high: float | Floats) -> Floats:
        """The share of the values that lie in a closed interval, or in each of several."""
        values = self.order_statistics
        return np.asarray((values.searchsorted(high, "right") - values.searchsorted(low, "left")) / len(values))


class RowStore(Protocol):
    """Rows of the fitted table by position, and summaries of its columns.

    Code that uses it must not assume that the whole table is in memory.
    """

    @property
    def n_rows(self) -> int:
        """The number of fitted rows."""

    @property
    def original(self) -> Table:
        """The table as the caller gave it."""

    def context(self, rows: Rows) -> Floats:
        """Contextual features of some rows: [row][feature], categories as codes."""

    def behavior(self, rows: Rows) -> Floats:
        """Behavioral features of some rows: [row][feature]."""

    def context_summary(self, feature: int) -> ColumnSummary:
        """A summary of one contextual feature."""

    def behavior_summary(self, feature: int) -> ColumnSummary:
        """A summary of one behavioral feature."""
