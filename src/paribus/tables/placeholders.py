"""Numbers that stand for missing values, such as -999."""

from __future__ import annotations

import re

import numpy as np

from paribus._common.arrays import Floats

# Numbers that look like one: all nines, and a digit with zeros.
NINES, ROUND = re.compile(r"9{2,}"), re.compile(r"[1-9]0{2,}")
# It is at least this many times as far from the median as hardly any other number, unless it is all nines and the only
# negative one.
MIN_RATIO_OF_NINES, MIN_RATIO_OF_ROUND = 4.0, 10.0
# A number is one if at least so many rows have it, and at most so large a share of them.
MIN_ROWS, MAX_SHARE = 3, 0.5
# How many are hardly any: this share of a column, or one number.
HARDLY_ANY = 0.0005


def hardly_any(n: int) -> int:
    """How many of n numbers are so few that they may be errors of any kind."""
    return max(1, int(HARDLY_ANY * n))


def is_all_nines(value: float) -> bool:
    """Whether a number is 99, 999, and so on, or minus that.

    >>> [is_all_nines(each) for each in (-999.0, 99.0, 9.0, 99.9, 1999.0)]
    [True, True, False, False, False]
    """
    return NINES.fullmatch(_digits(value)) is not None


def _digits(value: float) -> str:
    """The digits of a number without its sign; none beyond 2^53, where numbers are not exact."""
    return f"{abs(value):.15g}" if abs(value) <= 2**53 else ""


def find_placeholder(values: Floats) -> tuple[int, int] | None:
    """The number that probably stands for missing values in a column, and how many rows have it; None if there is none.

    It is a round number or all nines, repeats, and is far from all other numbers of the column; or all nines and alone
    negative.

    >>> find_placeholder(np.append(np.arange(100.0), np.full(5, -999.0)))
    (-999, 5)
    >>> find_placeholder(np.append(np.arange(1000.0), np.full(5, 1000.0))) is None
    True
    """
    known = values[~np.isnan(values)]
    for end in (known.min(), known.max()) if known.size else ():
        has_nines = is_all_nines(end)
        if not (has_nines or ROUND.fullmatch(_digits(end))):
            continue
        others = known[known != end]
        n_rows = len(known) - len(others)
        if n_rows < MIN_ROWS or n_rows > MAX_SHARE * len(known):
            continue
        middle = float(np.median(known))
        # Hardly any others may be as wrong.
        to_others = float(np.sort(np.abs(others - middle))[: -hardly_any(len(known))].max(initial=0.0))
        min_ratio = MIN_RATIO_OF_NINES if has_nines else MIN_RATIO_OF_ROUND
        if (has_nines and end < 0 <= others.min()) or abs(end - middle) >= min_ratio * to_others > 0:
            return int(end), n_rows
    return None
