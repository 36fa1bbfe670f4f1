"""Calibration of a statistic: the probability that an ordinary row has a value as large."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

# Tail probabilities at which the distribution of a statistic is estimated from its fitted values.
LEVELS = np.array([1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1])
# The scale of an exponential tail is kept within these bounds. An evidence that is right as it is has a scale of 1.
MIN_SCALE, MAX_SCALE = 0.2, 20.0
# The minimum number of rows beyond a quantile from which the weight of a tail is estimated.
MIN_FAR_ROWS = 8
# Where nearly all rows have the same value, others are ordinary, too, if there are this many, and this share of all.
MIN_OTHERS, MIN_SHARE_OF_OTHERS = 3, 0.005
# The cap, in nats, of the evidence from which the difficulty of the surroundings is estimated: anomalies
# must not make theirs look hard. It is stored as bytes, in this many steps per nat.
MAX_LEVEL = 5.0
STEPS_PER_NAT = 51.0
# The mean evidence around a row varies by chance. Up to this multiple of the usual one, it is not corrected.
CHANCE = 1.25
# The weight of the usual mean evidence, in leaves of a row.
PRIOR_LEAVES = 25
NO_LIMIT = 1e200
# The median of the evidence of ordinary values.
USUAL_EVIDENCE = float(np.log(2.0))


@dataclass(frozen=True)
class TailMap:
    """Minus the logarithm of the probability that an ordinary row has a statistic as large.

    In the bulk it is read off the quantiles of the fitted rows. Beyond the last of them the tail is exponential, with
    the scale of the bulk: the extreme values may be anomalies, which must not make themselves ordinary. Evidence that
    the number of rows cannot confirm, beyond `limit`, counts as its square root.
    """

    knots: Floats
    """Values of the statistic, ascending."""
    evidence: Floats
    """Minus the logarithm of the tail probability at each knot."""
    scale: float
    """The growth of the statistic for which the tail probability falls by a factor of e."""
    limit: float

    @classmethod
    def fit(
        cls,
        values: Floats,
        limit: float,
        *,
        tail: float = 0.1,
        body: float = 0.5,
        far: float | None = None,
        max_growth: float = np.inf,
    ) -> TailMap:
        """Learns the map from the values of the fitted rows; missing ones are left out.

        `tail` is the tail probability at which the exponential tail begins, `body` the one from which its scale is
        measured. If the tail is heavier from there to the probability `far`, the scale is the one measured there, but
        no more than `max_growth` times that of the body.

        >>> values = np.random.default_rng(0).exponential(size=5000)
        >>> TailMap.fit(values, limit=8.5)(np.array([0.5, 1.0, 5.0, 50.0])).round(1)
        array([ 0.5,  1. ,  5. , 19.5])
        """
        descending = -np.sort(-values[~np.isnan(values)])
        n = len(descending)
        levels = LEVELS[tail <= LEVELS]
        knots = descending[np.minimum((levels * n).astype(np.int64), n - 1)]
        start, middle = knots[-1], descending[min(int(body * n), n - 1)]
        scale = (start - middle) / np.log(body / tail)
        if start <= middle:
            # Most rows share one value: the others have a distribution of their own.
            scale = 1.0
            others = descending[descending > start]
            if len(others) >= max(MIN_OTHERS, MIN_SHARE_OF_OTHERS * n):
                shares, places, scale = _read_off(others)
                levels, knots = np.append(levels, shares * len(others) / n), np.append(knots, places)
        elif far is not None and far * n >= MIN_FAR_ROWS:
            scale = max(scale, min((descending[int(far * n)] - start) / np.log(tail / far), max_growth * scale))
        distinct, first = np.unique(knots, return_index=True)
        return cls(distinct, -np.log(levels[first]), float(np.clip(scale, MIN_SCALE, MAX_SCALE)), limit)

    def __call__(self, values: Floats) -> Floats:
        """The evidence of values; NaN where one is missing."""
        evidence = np.interp(values, self.knots, self.evidence)
        beyond = values > self.knots[-1]
        evidence = np.where(beyond, self.evidence[-1] + (values - self.knots[-1]) / self.scale, evidence)
        excess = np.maximum(evidence - self.limit, 0.0)
        return np.asarray(np.where(excess > 0, self.limit + 2.0 * (np.sqrt(1.0 + excess) - 1.0), evidence))


def _read_off(descending: Floats) -> tuple[Floats, Floats, float]:
    """Some tail probabilities, descending; where they are; and the scale of the tail beyond."""
    levels = np.array([1.0, 0.5, 0.1])
    levels = levels[(levels == 1.0) | (levels * len(descending) >= MIN_FAR_ROWS)]
    places = descending[(levels * len(descending)).astype(np.int64) - 1]
    if len(levels) == 1:
        return levels, places, 1.0
    return levels, places, float((places[-1] - places[-2]) / np.log(levels[-2] / levels[-1]))


@dataclass(frozen=True)
class CellCalibration:
    """Calibration of raw evidence, given how hard values are to predict in the surroundings of the row.

    Where a forest has few rows, or behavior is erratic, all values look strange. The evidence of a value is
    therefore measured against that of the fitted rows in its leaves, which has to be as if it were drawn from the
    same distribution everywhere.
    """

    overall: TailMap
    """The calibration of raw evidence, regardless of the surroundings."""
    usual: float
    """The mean evidence around a usual row."""
    trust: float
    """The weight of the mean evidence around a row, beside the usual one; it grows with the number of leaves."""
    final: TailMap
    """The calibration of evidence relative to the difficulty of the surroundings."""
    levels: npt.NDArray[np.uint8] = field(repr=False)
    """By fitted row: its evidence as bytes (`evidence_levels`), which is averaged over the leaves of a row."""

    @property
    def is_of_steps(self) -> bool:
        """Whether nearly all rows have the value that is expected of them, so that most have the same evidence."""
        return not math.isclose(self.overall.evidence[-1], -math.log(LEVELS[-1]))

    def factors(self, around: Floats) -> Floats:
        """How many times as hard as usual values are to predict, from the mean evidence around them; at least 1."""
        relative = 1.0 + self.trust * (around / self.usual - 1.0)
        return np.asarray(np.maximum(relative / CHANCE, 1.0))

    def __call__(self, raw: Floats, around: Floats) -> Floats:
        """The evidence of values; NaN where one is missing."""
        return self.final(self.overall(raw) / self.factors(around))

    def surprises(self, above_usual: Floats, evidence: Floats, around: Floats) -> Floats:
        """What surprises above the usual count in their surroundings, given the evidence of the values."""
        if self.is_of_steps:
            # All that is not the usual value lies where the density is next to nothing, however many rows are there.
            return evidence - USUAL_EVIDENCE
        return np.where(above_usual > 0, above_usual / self.factors(around), above_usual)


def evidence_levels(evidence: Floats) -> npt.NDArray[np.uint8]:
    """Evidence as bytes, to be averaged over leaves. Missing values have none.

    >>> evidence_levels(np.array([0.0, 1.0, 70.0, np.nan]))
    array([  0,  51, 255,   0], dtype=uint8)
    """
    return np.round(np.clip(np.nan_to_num(evidence), 0.0, MAX_LEVEL) * STEPS_PER_NAT).astype(np.uint8)
