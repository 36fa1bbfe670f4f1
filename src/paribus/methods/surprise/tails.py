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
# That of a tail of which one value is known, such as the counts of 1 where hardly any is higher; but where Poisson's
# distribution would have so many higher ones, the column ends there.
UNKNOWN_POWER, MANY_EXPECTED = 3.0, 20.0
# A value is gross if, among this many ordinary rows, one as far out has a probability of about e to the minus this.
MARGIN = 4.0
# So are the values beyond a gap that has a probability of about e to the minus MARGIN in the tail, and is this wide, as
# the logarithm of the ratio of distances: a placeholder repeats.
MIN_GAP = float(np.log(4.0))
# A column ends where at least this share of its values is, at least as many as at the next value inwards, and hardly
# any lie beyond: as at 0 for counts, or at 5 for a scale. Short columns do not show where they end.
SHARE_AT_END = 0.1
MIN_ROWS_FOR_ENDS = 300
# How many are hardly any: this share of a column, or one value beyond an end.
HARDLY_ANY = 0.0005


@dataclass(frozen=True)
class ColumnTails:
    """The two tails of a column, modeled as power laws in the distance from its median.

    A power law is heavy: most columns have lighter tails. A value that is gross by this measure is gross by any, even
    where its context allows nearly everything. More than `FAR` gross values on one side hide each other.
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
    """What is beyond is gross, however near and however often it is there: a count of -1, or a placeholder."""

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
        middle = float(ascending[n // 2])
        sides = [_Tail.of(middle - ascending), _Tail.of((ascending - middle)[::-1])]
        low, high = (side.begin for side in sides)
        # A side without values is as wide as the other.
        distances = low or high, high or low
        ends = (
            max(_lower_end(ascending), float(np.nextafter(middle - sides[0].beyond_gap(), np.inf))),
            min(-_lower_end(-ascending[::-1]), float(np.nextafter(middle + sides[1].beyond_gap(), -np.inf))),
        )
        powers = sides[0].power, sides[1].power
        return cls(middle, distances, powers, float(-np.log(_far(n))), float(np.log(n)) + MARGIN, ends)

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


def _far(n: int) -> float:
    """The share of n values that lie in a tail."""
    return min(max(FAR, MIN_FAR_ROWS / n), 0.5)


@dataclass(frozen=True)
class _Tail:
    """One side of a column: a power law."""

    away: Floats
    """The distances of all values from the median to this side, the farthest first."""
    begin: float
    """The distance at which the tail begins."""
    power: float

    @classmethod
    def of(cls, away: Floats) -> _Tail:
        n = len(away)
        far = _far(n)
        near = min(NEAR_BY_FAR * far, MAX_NEAR)
        # Few values determine the weight of a tail: it is assumed to be heavier by two standard errors.
        doubt = 1.0 + 2.0 / np.sqrt(max(far * n, 1.0))
        begin, at_near = (max(float(away[min(int(share * n), n - 1)]), 0.0) for share in (far, near))
        if begin == 0.0:
            return cls(away, begin, MAX_POWER / doubt)
        if (at_near or float(away[away > 0][-1])) < begin:
            power = np.log(near / far) / np.log(begin / max(at_near, begin / NEAR_BY_FAR)) / doubt
            return cls(away, begin, float(min(power, MAX_POWER)))
        # One value, as of counts, is both: what lies beyond it tells how the tail falls, unless it is far beyond.
        n_begin = int((away >= begin).sum())
        last = float(away[min(max(MIN_FAR_ROWS, int(HARDLY_ANY * n)), n) - 1])
        if not begin < last <= NEAR_BY_FAR * begin:
            ends_there = n_begin * n_begin / n / 2.0 >= MANY_EXPECTED
            return cls(away, begin, (MAX_POWER if ends_there else UNKNOWN_POWER) / doubt)
        n_last = int((away >= last).sum())
        reach = max(np.log(last) - np.log(begin), MIN_REACH)
        power = float(min(np.log(n_begin / n_last) / reach / (1.0 + 2.0 / np.sqrt(n_last)), MAX_POWER))
        return cls(away, begin * float(max(np.exp(reach + np.log(n_last / n / far) / power), 1.0)), power)

    def beyond_gap(self) -> float:
        """The distance of the first value beyond a gap that the tail would not have; infinity if there is none.

        Under a power law, the logarithm of the ratio of the k-th and the next farthest distance is exponential, with a
        mean of 1 / (k power).

        >>> waits = np.append(np.random.default_rng(0).exponential(size=2_000), np.full(5, 999.0))
        >>> _Tail.of(np.sort(waits)[::-1]).beyond_gap()
        999.0
        """
        n_far = int(_far(len(self.away)) * len(self.away))
        if self.begin == 0.0:
            return np.inf
        distances = np.log(self.away[: n_far + 1])
        gaps = distances[:-1] - distances[1:]
        evidence = self.power * np.arange(1, n_far + 1) * gaps
        (wide,) = np.nonzero((gaps > MIN_GAP) & (evidence > MARGIN + np.log(n_far)))
        return float(self.away[wide[-1]]) if wide.size else np.inf


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
