"""How long successive rows depend on each other, and what follows for tests: longer blocks, or smaller bets."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# The length of a block, in multiples of the dependence time.
TIMES = 3.0
# The minimum number of blocks among the known rows: with fewer, others can hardly be told from them.
MIN_BLOCKS = 8
# Single autocorrelations up to this value, or up to this many standard errors, count as 0.
MIN_CORRELATION, N_ERRORS = 0.1, 4.0
# Autocorrelations are those of the means of so many rows, if there are enough of these.
SCALES, MIN_MEANS = (1, 4, 16, 64), 200
# Autocorrelations are summed up to a lag of this multiple of their sum (Sokal's window).
WINDOW = 5
# A cycle: values that come again after a lag with this correlation, after they had at most that one.
CYCLE_CORRELATION, BETWEEN_CORRELATION = 0.8, 0.5
# The bound of a variance: lags up to this multiple of the dependence time, but at least so many; standard errors.
LAGS, MIN_LAGS, N_BOUND_ERRORS = 3.0, 5, 2.0
# Rows are tested one by one if the bound of the variance is at most this, and at most this share of a block.
MAX_VARIANCE, SHARE_OF_BLOCK = 10.0, 0.2


def dependence_time(values: Floats, cycle: int = 0) -> float:
    """The number of successive rows that count as one independent row: 1 if rows are independent, infinite if unknown.

    It is one plus twice the sum of the autocorrelations, the larger of that of the values and that of their distances
    from the middle: the variance of a stream may change over time. A slow swing below much noise is found in the means
    of successive rows, of which the noise is smaller.

    Parameters
    ----------
    values : array
        Successive values.
    cycle : int
        The number of rows after which contexts come again: then, so does what depends on them, and values that come
        again after as long are no sign that rows depend on each other. 0 if there is no cycle.

    >>> random = np.random.default_rng(0)
    >>> dependence_time(random.uniform(size=4000)), dependence_time(np.repeat(random.uniform(size=800), 5)) > 4
    (1.0, True)
    """
    found = 1.0
    for each in (values, np.abs(values - np.nanmedian(values))) if len(values) else ():
        for scale in SCALES:
            n = len(each) // scale
            if scale > 1 and n < MIN_MEANS:
                break
            means = np.nan_to_num(each[: n * scale] - np.nanmean(each)).reshape(n, scale).mean(axis=1)
            found = max(found, 1.0 + scale * (_integrated(means, cycle // scale if cycle else n) - 1.0))
    return found


def cycle_length(values: Floats) -> int:
    """The number of rows after which values come again, such as those of the hours of a day; 0 if they do not.

    >>> cycle_length(np.arange(2000) % 24), cycle_length(np.random.default_rng(0).uniform(size=2000))
    (24, 0)
    """
    correlations = _autocorrelations(values, len(values) // MIN_BLOCKS)
    below = np.flatnonzero(correlations <= BETWEEN_CORRELATION)
    if not below.size or correlations[below[0] :].max() < CYCLE_CORRELATION:
        return 0
    return int(below[0] + np.argmax(correlations[below[0] :])) + 1


def _autocorrelations(values: Floats, n_lags: int) -> Floats:
    """Those of lags from 1 on; none if values are too few, or all the same."""
    n = len(values)
    away = np.nan_to_num(values - np.nanmean(values)) if n else values
    if n_lags < 1 or float(away @ away) <= 1e-12 * n:
        return np.empty(0)
    products = np.fft.irfft(np.abs(np.fft.rfft(away, 2 * n)) ** 2)
    return np.asarray(products[1 : n_lags + 1] / products[0])


def _integrated(values: Floats, cycle: int) -> float:
    n = len(values)
    n_lags = n // 4
    correlations = _autocorrelations(values, n_lags)
    if not correlations.size:
        return 1.0
    # The highest sum so far, so that cycles, whose sums return to 0, are not overlooked.
    sums = np.maximum.accumulate(1.0 + 2.0 * np.cumsum(correlations))
    enough = np.flatnonzero(np.arange(1, n_lags + 1) >= WINDOW * np.maximum(sums, 1.0))
    if not enough.size:
        return math.inf
    last = int(enough[0])
    # Smaller sums occur by chance in independent rows.
    found = float(sums[last]) if sums[last] > 1.0 + 2.0 * N_ERRORS * math.sqrt((last + 1) / n) else 1.0
    # Single lags that stand out, such as the same hour of the day before.
    errors = np.sqrt((1.0 + 2.0 * np.append(0.0, np.cumsum(correlations[:-1] ** 2))) / n)
    high = np.flatnonzero(np.abs(correlations) > np.maximum(MIN_CORRELATION, N_ERRORS * errors))
    high = high[high + 1 < cycle]
    return max(found, (int(high[-1]) + 2) / TIMES) if high.size else found


def variance_bound(values: Floats, time: float) -> float:
    """How many times as much a sum of successive values varies as that of independent ones, at most.

    That of sums of any number of rows up to some lags, of the values or of their distances from the middle, whichever
    is largest; and so much more that it would be two standard errors too small. Infinite if there are too few values.

    Parameters
    ----------
    values : array
        Successive values, between 0 and 1.
    time : float
        The longest dependence time of anything that they may depend on.

    >>> random = np.random.default_rng(0)
    >>> round(variance_bound(random.uniform(size=4000), 10.0), 1)
    1.4
    >>> round(variance_bound(np.repeat(random.uniform(size=800), 5), 5.0), 1)
    5.5
    """
    n = len(values)
    n_lags = int(min(max(LAGS * time, MIN_LAGS), n // 4))
    if time <= 1.0:
        return 1.0
    ratio = 1.0
    for each in (values, np.abs(values - 0.5)):
        correlations = _autocorrelations(each, n_lags)
        lags = np.arange(1, len(correlations) + 1)
        # The variance of a sum of m rows is m + 2 (m - 1) c(1) + 2 (m - 2) c(2) + ..., for a variance of 1.
        of_sums = 1.0 + 2.0 * (np.cumsum(correlations) - np.cumsum(lags * correlations) / (lags + 1))
        ratio = max(ratio, float(of_sums.max(initial=1.0)))
    error = N_BOUND_ERRORS * math.sqrt(4.0 * n_lags / (3.0 * n))
    return ratio / (1.0 - error) if error < 1.0 else math.inf


def one_by_one(lengths: npt.NDArray[np.int64], variances: Floats) -> npt.NDArray[np.int64]:
    """The lengths of blocks, and 1 where a change is found sooner if dependent rows are tested one by one.

    >>> one_by_one(np.array([0, 60, 60, 6]), np.array([2.0, 2.0, 20.0, 2.0])).tolist()
    [0, 1, 60, 6]
    """
    is_sooner = (variances <= MAX_VARIANCE) & (variances <= SHARE_OF_BLOCK * lengths)
    return np.where(is_sooner, 1, lengths)


def block_lengths(times: list[float], n_rows: int) -> npt.NDArray[np.int64]:
    """The lengths of blocks for dependence times; 0 if `n_rows` would not have enough blocks.

    >>> block_lengths([1.0, 4.2, 1000.0, math.inf], 1600).tolist()
    [1, 13, 0, 0]
    """
    longest = max(n_rows // MIN_BLOCKS, 1)
    return np.array([0 if TIMES * each > longest else 1 if each <= 1.0 else math.ceil(TIMES * each) for each in times])
