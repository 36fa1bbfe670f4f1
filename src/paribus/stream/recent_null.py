"""p-values of recent scores, whose tail is extrapolated with care."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus.methods.null import N_BEFORE, ScoreNull


@dataclass(frozen=True)
class RecentNull:
    """The same as `ScoreNull`, but p-values are valid on average over what the scores may have been by chance.

    The slope of an exponential tail is estimated from some dozens of scores, and an error of it grows with the
    distance. Extrapolated as if it were known, 1.5 in 10,000 ordinary rows have a p-value of at most 1 in 10,000 if
    there are 2,048 scores, and 2 in 100,000 one of at most 1 in 100,000. With the uncertainty, the tail is that of a
    Pareto distribution.
    """

    null: ScoreNull
    n_scores: int

    @classmethod
    def fit(cls, scores: Floats) -> RecentNull:
        """Learns from scores that rows had when they arrived; missing ones are left out.

        >>> null = RecentNull.fit(np.random.default_rng(0).exponential(size=2048))
        >>> null(np.array([2.3, 11.5])).round(1), null.null(np.array([2.3, 11.5])).round(1)
        (array([ 2.3, 10.3]), array([ 2.3, 11. ]))
        """
        known = scores[~np.isnan(scores)]
        return cls(ScoreNull.fit(known), len(known))

    def __call__(self, scores: Floats) -> Floats:
        """The evidence of scores against being ordinary; NaN where one is missing."""
        evidence, n = self.null(scores), self.n_scores
        last, first = self.null.evidence[-1], self.null.evidence[max(0, len(self.null.evidence) - 1 - N_BEFORE)]
        # Of n scores, k are expected beyond evidence of log(n / k). The distance between the k-th and the j-th highest
        # score of an exponential tail has a variance of 1 / k - 1 / j (Rényi), which relative to its square is that
        # of the mean of m exponential numbers. With a slope that is such a mean, this is the tail of the next score.
        variance = (np.exp(last) - np.exp(first)) / n
        m = (last - first) ** 2 / variance if variance > 0 else np.inf
        if np.isfinite(m):
            reach = np.maximum(evidence, last) - first
            beyond = last + m * (np.log1p(reach / m) - np.log1p((last - first) / m))
            evidence = np.where(evidence > last, beyond, evidence)
        # The next score exceeds the k-th highest with a probability of (k + 1) / (n + 1), not k / n.
        return np.asarray(evidence - np.log1p(np.exp(np.minimum(evidence, last)) / n) + np.log1p(1.0 / n))

    def state(self) -> list[Any]:
        """The same as plain values."""
        return [self.null.knots.tolist(), self.null.evidence.tolist(), self.null.scale, self.n_scores]

    @classmethod
    def of(cls, state: list[Any]) -> RecentNull:
        """Restores what `state` returned."""
        knots, evidence, scale, n_scores = state
        return cls(ScoreNull(np.array(knots), np.array(evidence), scale), n_scores)
