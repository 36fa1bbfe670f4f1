"""The null distribution of scores: calibrated p-values, even if the table has anomalies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats

# Tail probabilities of the body of the distribution, which anomalies hardly reach, and of the knots beyond it.
BODY = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25)
STEP = 0.7
# The minimum number of rows beyond a knot, for its position to be reliable.
MIN_ROWS = 12
# If anomalies were counted, the tail is extrapolated from this probability on, or from that of so many times as many
# rows: anomalies that were not counted hardly matter there.
END, ORDINARY_PER_STRANGE = 0.1, 10.0
# Anomalies are counted beyond the score that ordinary rows would exceed with this probability, if their tail continued
# as the body ends.
FAR = 0.002
MIN_EXPECTED = 3.0
# The tail of ordinary rows may be this many times as long as extrapolated from the body, as in heavy-tailed columns.
TOLERANCE = 1.2
N_ROUNDS = 10
# A gap after the k highest scores is one if it is k times as wide, in units of the body's slope. In an exponential tail
# this has an exponential distribution of rate 1, in heavier ones of half that rate. Gaps are looked for in the
# highest scores, this share of all, unless more than half of these are the same.
MIN_GAP = 20.0
MAX_BEYOND_GAP = 0.05
# The number of intervals between knots from which the tail is extrapolated.
N_BEFORE = 4
# The least growth of a score per nat, so that it can be divided by.
LEAST_SCALE = 1e-9
# With few rows, the tail is extrapolated from where a large share of them lies. The tails of most columns become
# heavier from there on: the shape of a generalized Pareto distribution is this multiple of the root of the share of
# `MIN_ROWS` in all rows, from where it exceeds a minimum. The tail is read off that distribution at these distances, in
# units of the scale.
HEAVIER, ENOUGH = 0.6, 0.1
DISTANCES = np.geomspace(0.5, 64.0, 15)


@dataclass(frozen=True)
class ScoreNull:
    """Minus the natural logarithm of the probability that an ordinary row scores as high.

    If more rows have extreme scores than extrapolated from the body, the excess are considered anomalies, and the rest
    ordinary. Tail probabilities are estimated from the latter, and beyond them the tail is exponential.
    """

    knots: Floats
    """Scores, ascending."""
    evidence: Floats
    """Minus the logarithm of the tail probability at each knot, ascending."""
    scale: float
    """The growth of scores beyond the last knot for which the probability falls by a factor of e."""

    @classmethod
    def fit(cls, scores: Floats, *, unit: float = LEAST_SCALE) -> ScoreNull:
        """Learns from the scores of the fitted rows, judged out of sample; missing ones are left out.

        `unit` is the scale if so many scores are equal that they have none.

        >>> scores = np.random.default_rng(0).exponential(size=10_000)
        >>> null = ScoreNull.fit(np.append(scores, np.full(500, 60.0)))
        >>> np.exp(-null(np.array([6.9]))).round(3)
        array([0.001])
        """
        return cls._of_ordinary(*_split_off_strange(scores), unit)

    @classmethod
    def fit_cautiously(cls, scores: Floats, *, unit: float = LEAST_SCALE) -> ScoreNull:
        """The same, but a tail that begins early, because there are few rows, is assumed to become heavier."""
        ordinary, n_strange = _split_off_strange(scores)
        return cls._of_ordinary(ordinary, n_strange, unit)._with_heavier_tail(len(ordinary))

    @classmethod
    def _of_ordinary(cls, descending: Floats, n_strange: int, unit: float) -> ScoreNull:
        """Learns from the scores of ordinary rows, given how many others there were."""
        end = min(END, ORDINARY_PER_STRANGE * n_strange / len(descending))
        levels = levels_down_to(max(MIN_ROWS / len(descending), end))
        evidence, knots = -np.log(levels), quantiles(descending, levels)
        scale = slope_of_tail(knots, evidence)
        if scale <= LEAST_SCALE:
            scale = unit
        distinct, first = np.unique(knots, return_index=True)
        return cls(distinct, evidence[first], scale)

    def _with_heavier_tail(self, n_rows: int) -> ScoreNull:
        shape = HEAVIER * (np.sqrt(MIN_ROWS / n_rows) - ENOUGH)
        if shape <= 0:
            return self
        return ScoreNull(
            np.append(self.knots, self.knots[-1] + self.scale * DISTANCES),
            np.append(self.evidence, self.evidence[-1] + np.log1p(shape * DISTANCES) / shape),
            float(self.scale * (1.0 + shape * DISTANCES[-1])),
        )

    def __call__(self, scores: Floats) -> Floats:
        """The evidence of scores against being ordinary; NaN where one is missing."""
        evidence = np.interp(scores, self.knots, self.evidence)
        # Scores of QCAD may be arbitrarily large, and the probability would underflow.
        with np.errstate(over="ignore"):
            beyond = self.evidence[-1] + (scores - self.knots[-1]) / self.scale
        return np.asarray(np.where(scores > self.knots[-1], beyond, evidence))

    def scores(self, evidence: Floats) -> Floats:
        """The inverse: the scores that have this evidence.

        >>> null = ScoreNull.fit(np.random.default_rng(0).exponential(size=1_000))
        >>> null(null.scores(np.array([0.5, 3.0, 20.0]))).round(9)
        array([ 0.5,  3. , 20. ])
        """
        beyond = self.knots[-1] + (evidence - self.evidence[-1]) * self.scale
        return np.asarray(
            np.where(evidence > self.evidence[-1], beyond, np.interp(evidence, self.evidence, self.knots))
        )


def _split_off_strange(scores: Floats) -> tuple[Floats, int]:
    """The scores of ordinary rows, descending, and the number of others."""
    descending = -np.sort(-scores[~np.isnan(scores)])
    n_strange = _count_strange(descending)
    return descending[n_strange:], n_strange


def _count_strange(descending: Floats) -> int:
    """The number of rows with a far higher score than ordinary rows would have."""
    # A few anomalies are no excess beyond where many ordinary rows lie, but they are one farther out.
    return max(*(_count_excess(descending, far) for far in (FAR, 0.0)), _count_beyond_gap(descending))


def _count_excess(descending: Floats, far: float) -> int:
    n_strange = 0
    for _ in range(N_ROUNDS):
        found = excess_beyond(descending, n_strange, far)
        if found == n_strange:
            break
        n_strange = found
    return n_strange


def excess_beyond(descending: Floats, n_strange: int, far: float = FAR) -> int:
    """The number of rows with higher scores than the body of the distribution explains, beyond chance; at most half.

    They are counted where ordinary rows have the tail probability `far`, or 3 of them lie. `n_strange` of the highest
    scores are left out of the body.
    """
    ordinary = descending[n_strange:]
    n = len(ordinary)
    level = max(far, MIN_EXPECTED / n)
    body = np.array([each for each in BODY if each <= 0.7])
    places = quantiles(ordinary, body)
    if places[-1] <= places[0] or level >= body[-1]:
        # Scores that are nearly all alike: there is no scale to say what is far.
        return 0
    slope = TOLERANCE * (places[-1] - places[0]) / np.log(body[0] / body[-1])
    begin = float(places[-1] + slope * np.log(body[-1] / level))
    expected = level * n
    excess = float((descending > begin).sum()) - expected
    return min(int(excess), len(descending) // 2) if excess > 3.0 * np.sqrt(expected) + 1.0 else 0


def _count_beyond_gap(descending: Floats) -> int:
    """The number of highest scores that a gap separates from all others: no tail of ordinary rows has one.

    >>> tail = -np.log((np.arange(2000) + 0.5) / 2000)
    >>> _count_beyond_gap(tail), _count_beyond_gap(np.append(10.0 - 0.01 * np.arange(15), tail))
    (0, 15)
    """
    n = len(descending)
    places = quantiles(descending, np.array([0.7, 0.25]))
    slope = float(places[1] - places[0]) / np.log(0.7 / 0.25)
    n_highest = int(MAX_BEYOND_GAP * n)
    highest = descending[: n_highest + 1]
    if slope <= 0 or len(np.unique(highest)) < 0.5 * len(highest):
        return 0
    with np.errstate(over="ignore"):
        gaps = np.arange(1, len(highest)) * (highest[:-1] - highest[1:]) / slope
    found = np.flatnonzero(gaps > MIN_GAP)
    return int(found[-1]) + 1 if len(found) else 0


def levels_down_to(lowest: float) -> Floats:
    """The tail probabilities at which a distribution is read off, descending: those of the body, and some beyond."""
    levels = list(BODY)
    while levels[-1] * STEP >= lowest:
        levels.append(levels[-1] * STEP)
    return np.array(levels)


def quantiles(descending: Floats, levels: Floats) -> Floats:
    """The scores with these tail probabilities."""
    n = len(descending)
    return descending[np.minimum((levels * n).astype(np.int64), n - 1)]


def slope_of_tail(knots: Floats, evidence: Floats) -> float:
    """The growth of the score per nat at the end of the tail."""
    first = max(0, len(knots) - 1 - N_BEFORE)
    reach = float(evidence[-1] - evidence[first])
    # If all scores are equal, there is no scale: any higher one is extraordinary.
    return max(float(knots[-1] - knots[first]) / reach if reach > 0 else 0.0, LEAST_SCALE)
