"""The scores of ordinary rows: what a score is worth as a probability, whatever anomalies the table has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats

# Tail probabilities fall by this factor from knot to knot.
STEP = 0.7
# The body of the distribution, which anomalies hardly reach.
BODY = 0.5
# A knot needs so many rows beyond it, or its place says little.
MIN_ROWS = 8
# The tail ends where a stretch of it is so many times as long as the stretches before let expect, beyond chance.
MAX_STRETCH = 1.6
# So many stretches before say how long the next should be.
N_BEFORE = 4


@dataclass(frozen=True)
class ScoreNull:
    """Minus the natural logarithm of the probability that an ordinary row scores as high.

    Tail probabilities are read off the fitted rows, from the body outwards, for as long as the tail goes on as it
    began. Where it suddenly stretches, anomalies begin: from there on it is exponential, as it was.
    """

    knots: Floats
    """Scores, ascending."""
    evidence: Floats
    """Minus the logarithm of the tail probability at each knot, ascending."""
    scale: float
    """By how much scores grow, beyond the last knot, where the probability falls by a factor of e."""

    @classmethod
    def fit(cls, scores: Floats) -> ScoreNull:
        """Learns from the scores of the fitted rows, judged out of sample; missing ones are left out.

        >>> scores = np.random.default_rng(0).exponential(size=10_000)
        >>> null = ScoreNull.fit(np.append(scores, np.full(500, 60.0)))
        >>> np.exp(-null(np.array([6.9]))).round(4)
        array([0.0011])
        """
        descending = -np.sort(-scores[~np.isnan(scores)])
        n = len(descending)
        levels = [1.0, 0.85, 0.7]
        probability = BODY
        while probability * n >= MIN_ROWS:
            levels.append(probability)
            probability *= STEP
        knots = descending[np.minimum((np.array(levels) * n).astype(np.int64), n - 1)]
        last = cls._end(knots, np.array(levels), n)
        knots, evidence = knots[: last + 1], -np.log(np.array(levels[: last + 1]))
        scale = _scale(knots, evidence)
        distinct, first = np.unique(knots, return_index=True)
        return cls(distinct, evidence[first], scale)

    @staticmethod
    def _end(knots: Floats, levels: Floats, n: int) -> int:
        """The last knot before anomalies begin."""
        body = int(np.flatnonzero(levels == BODY)[0]) if (levels == BODY).any() else len(levels) - 1
        for last in range(min(body + 2, len(levels) - 1), len(levels) - 1):
            before = knots[max(0, last - N_BEFORE)], -np.log(levels[max(0, last - N_BEFORE)])
            slope = (knots[last] - before[0]) / (-np.log(levels[last]) - before[1])
            expected = slope * np.log(levels[last] / levels[last + 1])
            chance = 3.0 / np.sqrt(n * (levels[last] - levels[last + 1]))
            if knots[last + 1] - knots[last] > expected * (MAX_STRETCH + chance):
                return last
        return len(levels) - 1

    def __call__(self, scores: Floats) -> Floats:
        """The evidence of scores against being ordinary; NaN where one is missing."""
        evidence = np.interp(scores, self.knots, self.evidence)
        beyond = scores > self.knots[-1]
        return np.asarray(np.where(beyond, self.evidence[-1] + (scores - self.knots[-1]) / self.scale, evidence))

    def quantile(self, probability: float) -> float:
        """The score that ordinary rows exceed with so small a probability."""
        evidence = -np.log(probability)
        if evidence <= self.evidence[-1]:
            return float(np.interp(evidence, self.evidence, self.knots))
        return float(self.knots[-1] + (evidence - self.evidence[-1]) * self.scale)


def _scale(knots: Floats, evidence: Floats) -> float:
    """Of the tail beyond the last knot: that of the last stretches, which have the most to say about it."""
    first = max(0, len(knots) - 1 - N_BEFORE)
    reach = float(evidence[-1] - evidence[first])
    scale = float(knots[-1] - knots[first]) / reach if reach > 0 else 0.0
    # Scores that are all alike have no scale: any higher one is out of the ordinary.
    return max(scale, 1e-9)
