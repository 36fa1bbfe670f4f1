"""A robust linear trend of one column given others."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from paribus._common.arrays import Floats
from paribus._common.statistics import reach

# The maximum number of rows of the fit: more do not improve the trend.
MAX_ROWS = 50_000
# Columns of more categories are left to the forests.
MAX_CATEGORIES = 50
# Huber's bound: residuals beyond this many deviations are downweighted. Little efficiency is lost at a normal
# distribution.
HUBER = 1.345
N_ROUNDS = 8
# A ridge penalty of one row: it determines the slopes where columns are copies of each other.
RIDGE = 1.0
# A category of this many rows that lie far from the trend, so that they count less than this share on average, has a
# level of its own. With a larger penalty, the few that they count would not determine it; with a much smaller one, the
# equations are nearly singular where two columns name the same category.
MIN_FAR_ROWS, MAX_FAR_WEIGHT = 6, 0.5
FAR_RIDGE = 1e-3
# Standard deviations per median absolute deviation, at a normal distribution.
NORMAL_MAD = 1.4826
# The maximum leverage that is corrected for.
MAX_LEVERAGE = 0.9

# The number of threads is that of the whole process: a fit that ends must not raise it for one that goes on.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class LinearTrend:
    """The sum of a constant and a term for each column.

    A number adds its slope times its distance from the center, a category its own amount, and what is missing nothing.
    Sums run column by column, so that a row's prediction does not depend on the rows around it.
    """

    constant: float
    centers: Floats
    """By column."""
    lowest: Floats
    """By column: smaller numbers are clipped to it, so that a gross value does not affect the trend."""
    highest: Floats
    """By column: larger numbers are clipped to it."""
    slopes: Floats
    """By column: per unit of a number; 0 for categories."""
    amounts: list[Floats | None]
    """By column: that of each category's code; None for numbers."""

    def predict(self, rows: Floats) -> Floats:
        """The prediction for each row, from its columns."""
        expected = np.full(len(rows), self.constant)
        for column, amounts in enumerate(self.amounts):
            values = rows[:, column]
            known = ~np.isnan(values)
            if amounts is None:
                near = np.clip(values, self.lowest[column], self.highest[column])
                expected += np.where(known, (near - self.centers[column]) * self.slopes[column], 0.0)
            else:
                code = np.where(known & (values < len(amounts)), values, len(amounts)).astype(np.int64)
                expected += np.append(amounts, 0.0)[code]
        return expected


@dataclass(frozen=True)
class Leverage:
    """The leverage of the rows that a trend was fitted to: their residuals are smaller than those of other rows.

    Divided by `divisors`, they are the leave-one-out residuals.
    """

    rows: npt.NDArray[np.uint32]
    """Those that the trend was fitted to, ascending."""
    divisors: Floats


def fit_trend(rows: Floats, categorical: npt.NDArray[np.uint8], target: Floats) -> tuple[LinearTrend, Leverage]:
    """The trend of a target, and the leverage of the rows that it was fitted to.

    Examples
    --------
    >>> rows = np.arange(400.0)[:, None]
    >>> target = 3.0 * rows[:, 0] + 1.0
    >>> target[7] = 500.0
    >>> trend, leverage = fit_trend(rows, np.zeros(1, dtype=np.uint8), target)
    >>> trend.predict(np.array([[100.0]])).round(-1)
    array([300.])
    """
    known = np.flatnonzero(~np.isnan(target))
    used = known[:MAX_ROWS]
    some = rows[used]
    design = _Design(some, categorical)
    with _ONE_AT_A_TIME, threadpool_limits(1):
        # One thread: sums must not depend on the number of cores.
        matrix = design.matrix(some)
        inverse, coefficients, counts = _huber(matrix, design.is_indicator, target[used])
        leverage = (matrix @ inverse * matrix).sum(axis=1) * counts
    divisors = 1.0 - np.minimum(leverage, MAX_LEVERAGE)
    return design.trend(coefficients), Leverage(used.astype(np.uint32), divisors)


def _huber(matrix: Floats, is_indicator: npt.NDArray[np.bool_], target: Floats) -> tuple[Floats, Floats, Floats]:
    """The inverse of the normal equations, the coefficients, and the weight of each row."""
    penalties = np.full(matrix.shape[1], RIDGE)
    # The first column is the constant, which is free.
    penalties[0] = 1e-9
    n_rows = matrix.sum(axis=0)
    may_be_far = is_indicator & (n_rows >= MIN_FAR_ROWS)
    counts = np.ones(len(target))
    for _ in range(N_ROUNDS):
        # Once its level is found, a category counts as any other, but stays free.
        penalties[may_be_far & (counts @ matrix < MAX_FAR_WEIGHT * n_rows)] = FAR_RIDGE
        ridge = np.diag(penalties)
        weighted = matrix * counts[:, None]
        inverse: Floats = np.asarray(np.linalg.inv(weighted.T @ matrix + ridge), dtype=np.float64)
        coefficients = inverse @ (weighted.T @ target)
        distances = np.abs(target - matrix @ coefficients)
        deviation = NORMAL_MAD * float(np.median(distances))
        if deviation <= 0.0:
            break
        last, counts = counts, HUBER / np.maximum(distances / deviation, HUBER)
    else:
        counts = last
    return inverse, coefficients, counts


class _Design:
    """The design matrix of a regression: standardized numbers, and 0 or 1 for each category."""

    def __init__(self, rows: Floats, categorical: npt.NDArray[np.uint8]) -> None:
        n_columns = rows.shape[1]
        self.centers, self.deviations = np.zeros(n_columns), np.zeros(n_columns)
        self.lowest, self.highest = np.zeros(n_columns), np.zeros(n_columns)
        self.n_codes = np.zeros(n_columns, dtype=np.int64)
        self.is_category = categorical.astype(bool)
        for column in range(n_columns):
            values = rows[:, column]
            values = values[~np.isnan(values)]
            if values.size == 0:
                continue
            if self.is_category[column]:
                n_codes = int(values.max()) + 1
                self.n_codes[column] = n_codes if n_codes <= MAX_CATEGORIES else 0
            else:
                low, high = self.lowest[column], self.highest[column] = reach(values)
                near = np.clip(values, low, high)
                with np.errstate(over="ignore", invalid="ignore"):
                    center, deviation = float(near.mean()), float(near.std())
                # Numbers whose squares overflow are left to the forests.
                if np.isfinite(center) and np.isfinite(deviation):
                    self.centers[column], self.deviations[column] = center, deviation

    def matrix(self, rows: Floats) -> Floats:
        """Rows x coefficients, the constant first."""
        parts = [np.ones((len(rows), 1))]
        for column in range(rows.shape[1]):
            values = rows[:, column, None]
            if self.is_category[column]:
                parts.append((values == np.arange(self.n_codes[column])).astype(np.float64))
            elif self.deviations[column] > 0:
                near = np.clip(values, self.lowest[column], self.highest[column])
                parts.append(np.nan_to_num((near - self.centers[column]) / self.deviations[column]))
        return np.hstack(parts)

    @property
    def is_indicator(self) -> npt.NDArray[np.bool_]:
        """By column of the matrix: whether it is that of a category."""
        found = [np.array([False])]
        for column in range(len(self.centers)):
            if self.is_category[column]:
                found.append(np.full(self.n_codes[column], True))
            elif self.deviations[column] > 0:
                found.append(np.array([False]))
        return np.concatenate(found)

    def trend(self, coefficients: Floats) -> LinearTrend:
        """Coefficients in the units of the columns."""
        slopes = np.zeros(len(self.centers))
        amounts: list[Floats | None] = []
        place = 1
        for column in range(len(self.centers)):
            if self.is_category[column]:
                amounts.append(coefficients[place : place + self.n_codes[column]].copy())
                place += self.n_codes[column]
                continue
            amounts.append(None)
            if self.deviations[column] > 0:
                slopes[column] = coefficients[place] / self.deviations[column]
                place += 1
        return LinearTrend(float(coefficients[0]), self.centers, self.lowest, self.highest, slopes, amounts)
