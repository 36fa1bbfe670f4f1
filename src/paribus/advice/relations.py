"""Columns that are derived from other columns: copies, other scales, and categories that are ranges of a quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# Timestamps with a higher correlation are copies of each other.
COPY = 0.9999
# With fewer rows, any relation may be chance.
MIN_ROWS = 50
# This share of the rows at either end of a category's range may be wrong.
MAX_WRONG = 0.005
# Twice the step between neighboring values that this share of the steps does not exceed is a gap.
USUAL_STEPS = 0.9


def are_nearly_equal(first: Floats, second: Floats) -> bool:
    """Whether two columns of timestamps are nearly the same."""
    known = ~(np.isnan(first) | np.isnan(second))
    if known.sum() < 3 or np.ptp(first[known]) == 0 or np.ptp(second[known]) == 0:
        return False
    return bool(np.corrcoef(first[known], second[known])[0, 1] > COPY)


def is_other_scale(first: Floats, second: Floats) -> bool:
    """Whether two columns of numbers are the same on different scales, such as a price and its logarithm.

    >>> numbers = np.arange(60.0) % 17
    >>> is_other_scale(numbers, np.exp(-numbers)), is_other_scale(numbers, (numbers - 5) ** 2)
    (True, False)
    """
    known = ~(np.isnan(first) | np.isnan(second))
    if known.sum() < MIN_ROWS:
        return False
    order = np.lexsort((second[known], first[known]))
    along, across = np.diff(first[known][order]), np.diff(second[known][order])
    # Rows with the same pair of numbers say nothing.
    differs = (along > 0) | (across > 0)
    along, across = along[differs], across[differs]
    return len(along) > 1 and bool((along > 0).all() and ((across > 0).all() or (across < 0).all()))


def is_cut_from(categories: npt.NDArray[Any], quantity: Floats) -> bool:
    """Whether each category has a range of a quantity to itself, as a low birth weight has those of the weight.

    Where the ranges lie apart, the category counts as a cause of the quantity, as the position of a lever is the cause
    of a speed: a quantity that is cut into ranges has no gaps at the cuts. Ranges may share their ends, which may be
    rounded, and a few rows may be in a wrong one. Categories may be any values, also numbers; None and NaN are missing.

    >>> weights = np.arange(60.0)
    >>> is_cut_from(np.where(weights < 20, "low", "not low"), weights), is_cut_from(weights % 2, weights)
    (True, False)
    """
    known = np.array([value is not None and value == value for value in categories]) & ~np.isnan(quantity)
    names = {value: code for code, value in enumerate(dict.fromkeys(categories[known].tolist()))}
    if known.sum() < MIN_ROWS or len(names) < 2:
        return False
    codes = np.array([names[value] for value in categories[known].tolist()])
    values = quantity[known]
    ends = np.array([np.quantile(values[codes == code], [MAX_WRONG, 1 - MAX_WRONG]) for code in names.values()])
    ends = ends[np.argsort(ends[:, 0])]
    rises = bool((np.diff(ends, axis=0) > 0).all())
    if not rises or (ends[1:, 0] < ends[:-1, 1]).any():
        return False
    steps = np.diff(np.unique(values))
    return bool(np.median(ends[1:, 0] - ends[:-1, 1]) <= 2 * np.quantile(steps, USUAL_STEPS))
