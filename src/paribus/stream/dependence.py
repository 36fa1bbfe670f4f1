"""How long successive rows depend on each other: the length of blocks that hardly do."""

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


def dependence_time(values: Floats) -> float:
    """The number of successive rows that count as one independent row: 1 if rows are independent, infinite if unknown.

    It is one plus twice the sum of the autocorrelations, the larger of that of the values and that of their distances
    from the middle: the variance of a stream may change over time. A slow swing below much noise is found in the means
    of successive rows, of which the noise is smaller.

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
            found = max(found, 1.0 + scale * (_integrated(means) - 1.0))
    return found


def _integrated(values: Floats) -> float:
    n = len(values)
    away = np.nan_to_num(values - np.nanmean(values))
    total, n_lags = float(away @ away), n // 4
    if n_lags < 1 or total <= 1e-12 * n:
        return 1.0
    correlations = np.fft.irfft(np.abs(np.fft.rfft(away, 2 * n)) ** 2)[1 : n_lags + 1] / total
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
    return max(found, (int(high[-1]) + 2) / TIMES) if high.size else found


def block_lengths(times: list[float], n_rows: int) -> npt.NDArray[np.int64]:
    """The lengths of blocks for dependence times; 0 if `n_rows` would not have enough blocks.

    >>> block_lengths([1.0, 4.2, 1000.0, math.inf], 1600).tolist()
    [1, 13, 0, 0]
    """
    longest = max(n_rows // MIN_BLOCKS, 1)
    return np.array([0 if TIMES * each > longest else 1 if each <= 1.0 else math.ceil(TIMES * each) for each in times])
