"""What a forest around a trend predicts: the distances of a column from its trend."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import SMALLEST_RANGE, Floats, Positions
from paribus._common.statistics import reach
from paribus._core import Target
from paribus.methods.surprise.trend import MAX_ROWS, Leverage, LinearTrend, fit_trend

# A deviation this much smaller than the target's is rounding error.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class TrendColumn:
    """A column of a table, and those that its trend is made of."""

    rows: Floats
    """[row][column of the table]."""
    column: int
    limits: tuple[float, float]
    """Values of the column are clipped to this range."""
    features: npt.NDArray[np.uint16]
    placeholders: tuple[float, float] | None = None
    """Values up to the first one, and from the second one on, count as missing."""


@dataclass(frozen=True)
class TrendTarget:
    """The trend of a column, and how far from it values are pulled in."""

    trend: LinearTrend
    leverage: Leverage
    limits: tuple[float, float] = (-np.inf, np.inf)
    """Distances are clipped to this range."""

    @classmethod
    def fit(cls, of: TrendColumn, categorical: npt.NDArray[np.uint8]) -> TrendTarget | None:
        """The trend of a column; None if the column follows it exactly, so that there are no distances to predict.

        `categorical` says of each column of the table whether it holds categories.
        """
        target = Target(of.rows, of.column, -np.inf, np.inf, of.placeholders).values()
        known = np.flatnonzero(~np.isnan(target))
        near = np.clip(target, *of.limits)
        used = known[:MAX_ROWS]
        line, leverage = fit_trend(of.rows[used][:, of.features], categorical[of.features], near[used])
        fitted = cls(line, Leverage(used[leverage.rows].astype(np.uint32), leverage.divisors))
        distances = fitted.distances(of).values()[known]
        if np.ptp(distances) <= max(NEGLIGIBLE * np.ptp(near[known]), SMALLEST_RANGE):
            return None
        return replace(fitted, limits=reach(distances))

    def moved(self, of: TrendColumn, numbers: Positions, known: Positions) -> TrendTarget:
        """The same trend for a table with other row numbers.

        Parameters
        ----------
        of : TrendColumn
            The column in the new table.
        numbers : array
            By row of the table so far: its number in the new one; -1 if it is not there.
        known : array
            Rows of the new table with a value, from which limits are estimated.
        """
        numbers = numbers[self.leverage.rows]
        kept = numbers >= 0
        order = np.argsort(numbers[kept])
        leverage = Leverage(numbers[kept][order].astype(np.uint32), self.leverage.divisors[kept][order])
        unlimited = TrendTarget(self.trend, leverage)
        return replace(unlimited, limits=reach(unlimited.distances(of).values()[known]))

    def distances(self, of: TrendColumn) -> Target:
        """The distances of a column from the trend, computed on demand."""
        line, leverage = self.trend, self.leverage
        parts = [
            (int(feature), line.lowest[place], line.highest[place], line.centers[place], line.slopes[place], amounts)
            for place, (feature, amounts) in enumerate(zip(of.features, line.amounts, strict=True))
        ]
        return Target(
            of.rows,
            of.column,
            *of.limits,
            line.constant,
            parts,
            leverage.rows,
            leverage.divisors,
            *self.limits,
            of.placeholders,
        )
