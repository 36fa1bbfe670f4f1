"""How long successive rows depend on each other: the length of blocks that hardly do."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# A block is so many times as long as rows depend on each other.
TIMES = 2.0
# Without so many blocks among the known rows, nothing can be said about others.
MIN_BLOCKS = 16
# Single autocorrelations up to this are taken for none, and those of so many standard errors.
MIN_CORRELATION, N_ERRORS = 0.1, 4.0
# Lags are summed up until there are so many times as many as their sum says (Sokal's window).
WINDOW = 5


def dependence_time(values: Floats) -> float:
    """By how much successive rows count less than independent ones: 1 for these, infinite if there is no telling.

    It is one plus twice the sum of the autocorrelations, the larger of that of the values and that of their distances
    from the middle: a stream may be calm for a while, and then restless.

    >>> random = np.random.default_rng(0)
    >>> dependence_time(random.uniform(size=4000)), dependence_time(np.repeat(random.uniform(size=800), 5)) > 4
    (1.0, True)
    """
    return max(_integrated(values), _integrated(np.abs(values - np.nanmedian(values)))) if len(values) else 1.0


def _integrated(values: Floats) -> float:
    n = len(values)
    away = np.nan_to_num(values - np.nanmean(values))
    total, n_lags = float(away @ away), n // 4
    if n_lags < 1 or total <= 1e-12 * n:
        return 1.0
    correlations = np.fft.irfft(np.abs(np.fft.rfft(away, 2 * n)) ** 2)[1 : n_lags + 1] / total
    # The highest sum so far, so that cycles, whose sums come back to nothing, are not overlooked.
    sums = np.maximum.accumulate(1.0 + 2.0 * np.cumsum(correlations))
    enough = np.flatnonzero(np.arange(1, n_lags + 1) >= WINDOW * np.maximum(sums, 1.0))
    if not enough.size:
        return math.inf
    found = float(sums[enough[0]])
    # What independent rows have by chance.
    found = found if found > 1.0 + 2.0 * N_ERRORS * math.sqrt(WINDOW / n) else 1.0
    # Single lags that stand out, such as the same hour of the day before.
    errors = np.sqrt((1.0 + 2.0 * np.append(0.0, np.cumsum(correlations[:-1] ** 2))) / n)
    high = np.flatnonzero(np.abs(correlations) > np.maximum(MIN_CORRELATION, N_ERRORS * errors))
    return max(found, (int(high[-1]) + 2) / TIMES) if high.size else found


def block_lengths(times: list[float], n_rows: int) -> npt.NDArray[np.int64]:
    """The lengths of blocks, by dependence times, of which there must be some among so many rows.

    >>> block_lengths([1.0, 4.2, 1000.0], 1600).tolist()
    [1, 9, 100]
    """
    longest = max(n_rows // MIN_BLOCKS, 1)
    return np.array([1 if each <= 1.0 else min(math.ceil(TIMES * min(each, longest)), longest) for each in times])
