"""Gross values, far beyond all others of a column: how improbable they are, regardless of the context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.tables.placeholders import hardly_any

Flags = npt.NDArray[np.bool_]

# The tail begins where this share of the values lies farther out, or this many values in a short column, but no more
# than this share. Its power is measured from where ten times as many do; in a short column, from where a quarter does,
# or three times as many.
FAR, MIN_FAR_ROWS, MAX_FAR = 0.005, 4, 0.125
NEAR_BY_FAR, MIN_NEAR_BY_FAR = 10.0, 3.0
MAX_NEAR = 0.25
# Values whose logarithms differ by less count as this far apart.
MIN_REACH = 1e-9
# The maximum power of a tail: a lighter tail is treated as this heavy.
MAX_POWER = 20.0
# That of a tail that too few values tell, such as the counts of 1 where few are higher; but where hardly any is, and
# Poisson's distribution would have so many higher ones, the column ends there.
UNKNOWN_POWER, MANY_EXPECTED = 2.0, 20.0
# A value is gross if, among this many ordinary rows, one as far out has a probability of about e to the minus this.
MARGIN = 4.0
# So is one value that up to this share of the rows have, if it is so many times as far out as any of at least so many
# others: a placeholder.
MIN_PLACEHOLDERS, MAX_SHARE_OF_PLACEHOLDERS = 3, 0.04
MIN_RATIO, MIN_OTHERS, MIN_ROWS_FOR_PLACEHOLDERS = 4.0, 10, 100
# A column ends where at least this share of its values is, at least as many as at the next value inwards, and hardly
# any lie beyond: as at 0 for counts, or at 5 for a scale. Short columns do not show where they end.
SHARE_AT_END = 0.1
MIN_ROWS_FOR_ENDS = 300

UNLIMITED = (-np.inf, np.inf)


@dataclass(frozen=True)
class ColumnTails:
    """The two tails of a column, modeled as power laws in the distance from its median.

    A power law is heavy: most columns have lighter tails. A value that is gross by this measure is gross by any, even
    where its context allows nearly everything. More than `FAR` gross values on one side hide each other, unless they
    are one and the same.
    """

    middle: float
    distances: tuple[float, float]
    """Below and above the median: where the tail begins; 0 if values do not vary."""
    powers: tuple[float, float]
    start: float
    """The evidence where the tails begin: minus the logarithm of the share of values beyond."""
    least: float
    """Evidence below this is ignored."""
    ends: tuple[float, float] = UNLIMITED
    """What is beyond is gross, however near and however often it is there: a count of -1."""
    placeholders: tuple[float, float] = UNLIMITED
    """These and what is beyond are gross, however often they are there, and nothing is learned from them."""

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
        # A placeholder says nothing about the values that are not missing.
        n_low, n_high = _n_placeholders(ascending), _n_placeholders(-ascending[::-1])
        placeholders = ascending[n_low - 1] if n_low else -np.inf, ascending[-n_high] if n_high else np.inf
        ascending = ascending[n_low : len(ascending) - n_high]
        n = len(ascending)
        middle = float(ascending[n // 2])
        sides = [_Tail.of(middle - ascending), _Tail.of((ascending - middle)[::-1])]
        # A side with hardly any values is as wide as the other, or as its own if that has hardly any, too.
        low, high = (side.begin for side in sides)
        distances = low or high or sides[0].of_few, high or low or sides[1].of_few
        return cls(
            middle,
            distances,
            (sides[0].power, sides[1].power),
            float(np.log(n / _n_far(n))),
            float(np.log(n)) + MARGIN,
            (_lower_end(ascending), -_lower_end(-ascending[::-1])),
            (float(placeholders[0]), float(placeholders[1])),
        )

    def is_beyond_end(self, values: Floats) -> Flags:
        """Whether values are beyond an end, however near it."""
        return (values < self.ends[0]) | (values > self.ends[1])

    @property
    def has_placeholders(self) -> bool:
        """Whether there is a placeholder; if not, values need not be looked at."""
        return self.placeholders != UNLIMITED

    def are_placeholders(self, values: Floats) -> Flags:
        """Whether values are placeholders, or beyond one."""
        return (values <= self.placeholders[0]) | (values >= self.placeholders[1])

    def without_placeholders(self, values: Floats) -> Floats:
        """The same values, NaN where one is a placeholder; the array itself if there are none."""
        return np.where(self.are_placeholders(values), np.nan, values) if self.has_placeholders else values

    def evidence(self, values: Floats) -> Floats:
        """Minus the logarithm of the probability of values as far out; 0 for those that are not gross, or missing."""
        away = np.nan_to_num(np.abs(values - self.middle))
        is_high = values > self.middle
        begin = np.where(is_high, self.distances[1], self.distances[0])
        power = np.where(is_high, self.powers[1], self.powers[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.start + power * (np.log(away) - np.log(begin))
        found = np.where((begin > 0) & (found > self.least), found, 0.0)
        is_gross = self.is_beyond_end(values) | self.are_placeholders(values)
        return np.where(is_gross, np.maximum(found, self.least), found)


def _n_far(n: int) -> int:
    """The number of n values that lie in a tail."""
    return max(1, min(max(int(FAR * n), MIN_FAR_ROWS), int(MAX_FAR * n)))


def _n_placeholders(ascending: Floats) -> int:
    """The number of lowest values up to a placeholder, with it; 0 if there is none.

    >>> _n_placeholders(np.append(np.full(30, -98.0), np.linspace(-20, 20, 970)))
    30
    >>> _n_placeholders(np.append(np.full(30, -78.0), np.linspace(-20, 20, 970)))
    0
    """
    n = len(ascending)
    if n < MIN_ROWS_FOR_PLACEHOLDERS:
        return 0
    # Hardly any other values may be gross, too, below it or above.
    n_left_out = hardly_any(n)
    first, last = (int(np.searchsorted(ascending, ascending[n_left_out], side)) for side in ("left", "right"))
    if not MIN_PLACEHOLDERS <= last - first <= MAX_SHARE_OF_PLACEHOLDERS * n:
        return 0
    middle, others = ascending[n // 2], ascending[last + n_left_out : n - n_left_out]
    reach = max(middle - others[0], others[-1] - middle)
    is_alone = middle - ascending[first] >= MIN_RATIO * reach and (np.diff(others) > 0).sum() + 1 >= MIN_OTHERS
    return last if is_alone else 0


@dataclass(frozen=True)
class _Tail:
    """One side of a column: a power law."""

    begin: float
    """The distance at which the tail begins; 0 if no more values than that are on this side."""
    power: float
    of_few: float = 0.0
    """Where it may begin if there are no more."""

    @classmethod
    def of(cls, away: Floats) -> _Tail:
        """From the distances of all values from the median to this side, the farthest first."""
        n = len(away)
        n_far, n_positive = _n_far(n), int((away > 0).sum())
        # Few values determine the weight of a tail: it is assumed to be heavier by two standard errors.
        doubt = 1.0 + 2.0 / float(np.sqrt(n_far))
        unknown = UNKNOWN_POWER / doubt
        if n_positive == 0:
            # An end.
            return cls(0.0, MAX_POWER / doubt)
        of_few = float(away[min(n_far, n_positive // 4)])
        if n_positive <= n_far:
            return cls(0.0, unknown, of_few)
        begin = float(away[n_far])
        n_begin = int((away >= begin).sum())
        n_near = int(np.clip(MAX_NEAR * n, MIN_NEAR_BY_FAR * n_far, NEAR_BY_FAR * n_far))
        if n_near >= n_positive:
            # Where fewer values are off the median, the power is measured from the middle of these.
            n_near = n_positive // 2
        if n_far < MIN_FAR_ROWS or n_near < MIN_NEAR_BY_FAR * n_far:
            return cls(of_few, unknown)
        if (at_near := max(float(away[n_near]), begin / NEAR_BY_FAR)) < begin:
            return cls(begin, float(min(np.log(n_near / n_far) / np.log(begin / at_near) / doubt, MAX_POWER)))
        # One value, as of counts, is both: what lies beyond it tells how the tail falls, unless it is far beyond.
        n_last = max(MIN_FAR_ROWS, hardly_any(n))
        last = float(away[min(n_last, n) - 1])
        if not begin < last <= NEAR_BY_FAR * begin:
            n_beyond = int((away > begin).sum())
            ends_there = n_beyond <= hardly_any(n) and n_begin * n_begin / n / 2.0 >= MANY_EXPECTED
            return cls(begin, MAX_POWER / doubt if ends_there else unknown)
        n_last = int((away >= last).sum())
        reach = max(np.log(last) - np.log(begin), MIN_REACH)
        power = float(min(np.log(n_begin / n_last) / reach / (1.0 + 2.0 / np.sqrt(n_last)), MAX_POWER))
        # The law goes through the last value: the tail begins where it has `n_far` values beyond.
        return cls(begin * float(max(np.exp(reach + np.log(n_last / n_far) / power), 1.0)), power)


def _lower_end(ascending: Floats) -> float:
    """The value below which a column has no values, or a few that are errors; minus infinity if there is none."""
    n = len(ascending)
    if n < MIN_ROWS_FOR_ENDS:
        return -np.inf
    end = ascending[hardly_any(n)]
    first, last = (int(np.searchsorted(ascending, end, side)) for side in ("left", "right"))
    if n - last <= max(FAR * n, MIN_FAR_ROWS):
        # One value and a few exceptions: nothing says on which side these should be.
        return -np.inf
    n_next = int(np.searchsorted(ascending, ascending[last], "right")) - last
    return float(end) if last - first >= max(SHARE_AT_END * n, n_next) else -np.inf
