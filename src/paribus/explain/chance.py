"""How probable it is that ordinary rows look like a group: by their p-values, or by repeating one value.

The p-values of a table hold for the table as a whole, but not in each of its corners: at the end of a column, where
rows are compared with less extreme ones, or where values scatter most, more of the ordinary rows have small p-values,
and elsewhere fewer. Rows there would seem to have a common cause, the more so the larger the table is. Therefore the
p-values of the other rows there, most of which are ordinary, say how small a p-value must be to count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# The shares of rows with p-values up to these, which hardly depend on a few anomalies, are extrapolated by a power law.
LOW, HIGH = 0.03, 0.3
# This many rows whose p-values hold are added to the rows of each slice: a few rows cannot say that they do not.
ADDED = 50.0
# The number of slices of a numeric column of equal size, and the minimum size of those at its ends, which are finer.
N_SLICES, MIN_SLICE = 16, 50
# A value lies apart if its distance from all others is at least this many times the median distance between neighbors.
MIN_GAP = 5.0
# The minimum size of a group.
MIN_ROWS = 3

Flags = npt.NDArray[np.bool_]


def slices(values: Floats, *, is_category: bool) -> npt.NDArray[np.int32]:
    """The slice of each row: its category, or an interval of a numeric column; missing values are a slice of their own.

    Intervals have equal numbers of rows, but double in size from each end of the column on.

    >>> np.bincount(slices(np.arange(1600.0), is_category=False)).tolist()
    [50, 50, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 50, 50]
    >>> slices(np.array([2.0, np.nan, 0.0]), is_category=True)
    array([1, 2, 0], dtype=int32)
    """
    known = np.sort(values[~np.isnan(values)])
    if is_category:
        edges = np.unique(known)
    else:
        n = len(known)
        ends = MIN_SLICE * 2 ** np.arange(max(0, int(np.log2(max(n, 1) / MIN_SLICE / N_SLICES)) + 1))
        ranks = np.unique([0, *(n * np.arange(1, N_SLICES) // N_SLICES), *ends, *(n - ends)])
        edges = np.unique(known[ranks[(ranks >= 0) & (ranks < n)]])
    places = np.searchsorted(edges, values, "right") - 1
    return np.where(np.isnan(values), len(edges), places).astype(np.int32)


def ordinary_share(
    p_values: Floats, weights: Floats, slicings: Sequence[npt.NDArray[np.int32]]
) -> Callable[[float], float]:
    """Says which share of the ordinary rows among some rows have a p-value of at most p: p, or more than that.

    The p-values are those of all rows there, and `slicings` divide them in several ways: the largest share counts.

    >>> everywhere = [np.zeros(1000, dtype=np.int32)]
    >>> share = ordinary_share(np.linspace(0, 1, 1000), np.ones(1000), everywhere)
    >>> too_small = ordinary_share(np.linspace(0, 1, 1000) ** 2, np.ones(1000), everywhere)
    >>> round(share(0.001), 3), round(too_small(0.001), 3)
    (0.001, 0.03)
    """
    laws = []
    for places in slicings:
        n, low, high = (
            np.bincount(places, weights * is_counted)
            for is_counted in (p_values <= 1.0, p_values <= LOW, p_values <= HIGH)
        )
        low, high = ((count + ADDED * p) / (n + ADDED) for count, p in ((low, LOW), (high, HIGH)))
        slope = np.log(high / low) / np.log(HIGH / LOW)
        laws.append((n / n.sum(), low, slope))

    def share(p: float) -> float:
        return float(max(p, *(n @ np.minimum(low * (p / LOW) ** slope, 1.0) for n, low, slope in laws)))

    return share


def chance(p_values: Floats, n_rows: int, n_tries: int, share: Callable[[float], float] = float) -> float:
    """The probability that as many of `n_rows` ordinary rows are as unusual, for the most significant quarters of them.

    `share` says which share of ordinary rows have a p-value of at most p.

    >>> chance(np.array([1e-9, 1e-8, 1e-7]), 1000, 1) < 1e-9, chance(np.array([9e-4, 8e-4, 7e-4]), 3000, 1)
    (True, 1.0)
    """
    from scipy.stats import binom

    ranked = np.sort(p_values)
    numbers = sorted({-(-len(ranked) * quarter // 4) for quarter in (1, 2, 3, 4)})
    lowest = min(float(binom.sf(number - 1, n_rows, share(ranked[number - 1]))) for number in numbers)
    return min(1.0, lowest * len(numbers) * n_tries)


def log_chance_of_share(k: Floats, n: int, share: Floats) -> Floats:
    """Upper bounds of the logarithms of the probabilities that at least k of n rows are in a share of all (Chernoff).

    Unlike a probability, which becomes 0, it distinguishes the improbable from the even more improbable.

    >>> log_chance_of_share(np.array([5.0, 900.0, 1000.0]), 1000, np.array([0.5, 0.01, 0.01])).round()
    array([   -0., -3821., -4605.])
    """
    share = np.clip(share, 1e-300, 1.0 - 1e-16)
    inside, outside = np.maximum(k / n, share), np.minimum(1.0 - k / n, 1.0 - share)
    terms = inside * np.log(inside / share) + outside * np.log(np.maximum(outside, 1e-300) / (1.0 - share))
    return np.asarray(-n * terms)


def tie_chance(column: Floats, value: float, n_rows: int, weights: Floats | None = None) -> float:
    """The probability that as many of `n_rows` rows share a value by chance, if it lies apart from all others; else 1.

    Values next to others, such as the highest counts, are frequent among flagged rows anyway. `weights` are the numbers
    of rows that values represent.

    >>> column = np.append(np.linspace(0, 1, 1000), [-99.0] * 4)
    >>> tie_chance(column, -99.0, 6) < 1e-6, tie_chance(column, 1.0, 6)
    (True, 1.0)
    """
    from scipy.stats import binom

    is_there = ~np.isnan(column)
    known, places = np.unique(column[is_there], return_inverse=True)
    counts = np.bincount(places, None if weights is None else weights[is_there], minlength=len(known))
    is_own = known == value
    count, others = round(float(counts[is_own].sum())), known[~is_own]
    if count < MIN_ROWS or len(others) < MIN_ROWS:
        return 1.0
    if np.abs(others - value).min() < MIN_GAP * np.median(np.diff(others)):
        return 1.0
    # Where none of n rows lies, it is improbable that more than 3 / n of all do.
    tie = min(1.0, 3.0 / float(counts[~is_own].sum()))
    return float(binom.sf(min(count, n_rows) - 2, max(n_rows - 1, 1), tie))
