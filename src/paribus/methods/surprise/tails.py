"""Gross values, far beyond all others of a column: how improbable they are, regardless of the context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

Flags = npt.NDArray[np.bool_]

# The tail begins where this share of the values lies farther out, or this many values in a short column, and its power
# is measured from where ten times as many do.
FAR, MIN_FAR_ROWS = 0.005, 4
NEAR_BY_FAR = 10.0
MAX_NEAR = 0.4
# Values whose logarithms differ by less count as this far apart.
MIN_REACH = 1e-9
# The maximum power of a tail: a lighter tail is treated as this heavy.
MAX_POWER = 20.0
# A value is gross if, among this many ordinary rows, one as far out has a probability of about e to the minus this.
MARGIN = 4.0
# A column ends where at least this share of its values is, at least as many as at the next value inwards, and hardly
# any lie beyond: as at 0 for counts, or at 5 for a scale. Short columns do not show where they end.
SHARE_AT_END = 0.1
MIN_ROWS_FOR_ENDS = 300
# How many are hardly any: this share of a column, or one value beyond an end, and three far out in a short column.
HARDLY_ANY = 0.0005


@dataclass(frozen=True)
class ColumnTails:
    """The two tails of a column, modeled as power laws in the distance from its median.

    A power law is heavy: most columns have lighter tails. A value that is gross by this measure is gross by any, even
    where its context allows nearly everything. More than `FAR` gross values on one side hide each other, and more than
    `HARDLY_ANY` (or three) where the tail begins at one value, as of counts.
    """

    middle: float
    distances: tuple[float, float]
    """Below and above the median: where the tail begins; 0 if values do not vary."""
    powers: tuple[float, float]
    start: float
    """The evidence where the tails begin: minus the logarithm of the share of values beyond."""
    least: float
    """Evidence below this is ignored."""
    ends: tuple[float, float] = (-np.inf, np.inf)
    """Where most values that are so far out lie. What is beyond is gross, however near: no count is -1."""

    @classmethod
    def of(cls, values: Floats) -> ColumnTails:
        """The tails of a column; no value may be missing.

        >>> normal = np.random.default_rng(0).normal(size=10_000)
        >>> ColumnTails.of(normal).evidence(np.array([0.0, 4.0, 8.0, -1000.0, np.nan])).round(1)
        array([ 0. ,  0. ,  0. , 27.7,  0. ])
        >>> counts = np.random.default_rng(0).poisson(0.5, size=1_000).astype(float)
        >>> ColumnTails.of(np.append(counts, -1.0)).evidence(np.array([-1.0, 0.0, 5.0])).round(1)
        array([10.9,  0. ,  0. ])
        """
        ascending = np.sort(values)
        n = len(ascending)
        far = min(max(FAR, MIN_FAR_ROWS / n), 0.5)
        near = min(NEAR_BY_FAR * far, MAX_NEAR)
        middle = float(ascending[n // 2])
        # Few values determine the weight of a tail: it is assumed to be heavier by two standard errors.
        doubt = 1.0 + 2.0 / np.sqrt(max(far * n, 1.0))
        start = float(-np.log(far))
        found = []
        for one_side in (middle - ascending, (ascending - middle)[::-1]):
            begin = max(float(one_side[min(int(far * n), n - 1)]), 0.0)
            earlier = max(float(one_side[min(int(near * n), n - 1)]), begin / NEAR_BY_FAR)
            power = np.log(near / far) / np.log(begin / earlier) / doubt if begin > earlier > 0 else MAX_POWER / doubt
            last = float(one_side[min(max(MIN_FAR_ROWS, int(HARDLY_ANY * n)), n) - 1])
            if last > begin == earlier > 0:
                # One value, as of counts, is both: what lies beyond it tells how the tail falls.
                n_begin, n_last = (int((one_side >= each).sum()) for each in (begin, last))
                reach = max(np.log(last) - np.log(begin), MIN_REACH)
                power = min(np.log(n_begin / n_last) / reach / (1.0 + 2.0 / np.sqrt(n_last)), MAX_POWER)
                begin *= max(np.exp(reach + (start + np.log(n_last / n)) / power), 1.0)
            found.append((float(begin), float(min(power, MAX_POWER))))
        (low, low_power), (high, high_power) = found
        # A side without values is as wide as the other.
        distances = low or high, high or low
        ends = _lower_end(ascending), -_lower_end(-ascending[::-1])
        return cls(middle, distances, (low_power, high_power), start, float(np.log(n)) + MARGIN, ends)

    def is_beyond_end(self, values: Floats) -> Flags:
        """Whether values are beyond an end, however near it."""
        return (values < self.ends[0]) | (values > self.ends[1])

    def evidence(self, values: Floats) -> Floats:
        """Minus the logarithm of the probability of values as far out; 0 for those that are not gross, or missing."""
        away = np.nan_to_num(np.abs(values - self.middle))
        is_high = values > self.middle
        begin = np.where(is_high, self.distances[1], self.distances[0])
        power = np.where(is_high, self.powers[1], self.powers[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.start + power * (np.log(away) - np.log(begin))
        found = np.where((begin > 0) & (found > self.least), found, 0.0)
        return np.where(self.is_beyond_end(values), np.maximum(found, self.least), found)


def _lower_end(ascending: Floats) -> float:
    """The value below which a column has no values, or a few that are errors; minus infinity if there is none."""
    n = len(ascending)
    if n < MIN_ROWS_FOR_ENDS:
        return -np.inf
    end = ascending[max(1, int(HARDLY_ANY * n))]
    first, last = (int(np.searchsorted(ascending, end, side)) for side in ("left", "right"))
    if n - last <= max(FAR * n, MIN_FAR_ROWS):
        # One value and a few exceptions: nothing says on which side these should be.
        return -np.inf
    n_next = int(np.searchsorted(ascending, ascending[last], "right")) - last
    return float(end) if last - first >= max(SHARE_AT_END * n, n_next) else -np.inf
