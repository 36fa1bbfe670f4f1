"""Learns from answers which anomalies are of interest, and ranks rows accordingly.

A score measures how strange a row is. Whether a strange row is of interest depends on what is strange about it, and
only people know that. The odds that a row is of interest, if it is strange at all, are a product of weights: one for
each behavioral feature and condition (given the context, given all other values), by its share in the row's evidence,
and one for each kind of anomaly. All weights are 1 before there are answers. Answers change them by a logistic
regression of "real" against "false alarm" whose logarithms are shrunk to 0, which is convex: one answer is a hint, ten
are a rule. A false alarm about a row that may well be ordinary says little about strange rows, and counts by the
probability that it is strange. Predictions are averaged over the weights that are plausible given the answers: what few
answers suggest by chance hardly changes the order.

This is in the manner of active anomaly discovery (Das et al., 2016), which puts weights on the leaves of an isolation
forest. Here there are far fewer weights and each has a name, so that few answers teach much and can be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.methods.interface import KIND_NAMES, Judged

GIVEN_CONTEXT, GIVEN_ALL = CONDITIONS = ("given the context", "given all")
# Beyond this score a row is certainly strange, and a higher score has little effect.
CERTAIN = 3.0
# The ridge penalties of the logarithms of the weights of features, of kinds, which are uncertain themselves, and of the
# overall odds, which are the same for all rows.
SHRINKAGE, SHRINKAGE_OF_KINDS, SHRINKAGE_OF_ODDS = 0.1, 1.0, 0.5
# Newton's method ends where no derivative exceeds the tolerance, usually after five steps.
MAX_STEPS, TOLERANCE = 100, 1e-9
# Rows at a time for which probabilities are computed.
BLOCK = 65_536
# The open rows with the highest scores among which the next question is chosen.
MAX_CANDIDATES = 500
NATS_PER_DIGIT = float(np.log(10.0))
SMALLEST_P = 1e-300


@dataclass(frozen=True)
class EvidenceShares:
    """The composition of each row's score."""

    names: tuple[tuple[str, str], ...]
    """The behavioral feature and the condition of each share."""
    shares: npt.NDArray[np.float32] = field(repr=False)
    """[row][feature and condition]: the shares of the score; they sum to 1."""
    kinds: npt.NDArray[np.int8] | None = field(repr=False)
    """The kind of anomaly of each row, by its position in `KIND_NAMES`; None if the method has no kinds."""

    @classmethod
    def of(cls, judged: Judged, features: Sequence[str]) -> EvidenceShares:
        """The shares of the rows that a method has judged."""
        parts = np.maximum(np.nan_to_num(judged.partial), 0.0)
        conditions: tuple[str, ...] = CONDITIONS[:1]
        if judged.cell_p_values is not None and judged.cell_p_values_given_all is not None:
            conditions = CONDITIONS
            alone, together = _nats(judged.cell_p_values), _nats(judged.cell_p_values_given_all)
            both = alone + together
            share = np.where(both > 0, alone / np.maximum(both, 1e-300), 0.5)
            parts = np.hstack([parts * share, parts * (1.0 - share)])
        totals = parts.sum(axis=1, keepdims=True)
        shares = np.where(totals > 0, parts / np.maximum(totals, 1e-300), 1.0 / parts.shape[1]).astype(np.float32)
        kinds = None
        if judged.kinds is not None:
            kinds = np.full(len(parts), -1, dtype=np.int8)
            for place, name in enumerate(KIND_NAMES):
                kinds[judged.kinds == name] = place
        names = tuple((feature, condition) for condition in conditions for feature in features)
        return cls(names, shares, kinds)

    @property
    def shrinkage(self) -> Floats:
        """By weight: the penalty of its logarithm; the last one is that of the overall odds."""
        n_kinds = 0 if self.kinds is None else len(KIND_NAMES)
        parts = (len(self.names), SHRINKAGE), (n_kinds, SHRINKAGE_OF_KINDS), (1, SHRINKAGE_OF_ODDS)
        return np.concatenate([np.full(n, penalty) for n, penalty in parts])

    def features(self, rows: Any = slice(None)) -> Floats:
        """[row][weight]: what the logarithms of the weights are multiplied by."""
        shares: Floats = self.shares[rows].astype(np.float64)
        if self.kinds is None:
            return shares
        return np.hstack([shares, self.kinds[rows][:, None] == np.arange(len(KIND_NAMES))])


@dataclass(frozen=True)
class Answers:
    """The answers about some rows."""

    rows: Positions
    is_real: npt.NDArray[np.bool_]
    """Whether each of these rows is a real anomaly, rather than a false alarm."""
    weights: Floats
    """The weight of each answer: those about one group have the weight of one answer together."""


@dataclass(frozen=True)
class Lesson:
    """What was learned from answers."""

    scores: Floats = field(repr=False)
    """Minus the decimal logarithm of the probability that an ordinary row scores as high, without answers."""
    evidence: EvidenceShares = field(repr=False)
    answers: Answers = field(repr=False)
    logarithms: Floats = field(repr=False)
    """The logarithms of the weights, and at the end that of the overall odds."""

    @classmethod
    def learn(cls, scores: Floats, evidence: EvidenceShares, answers: Answers) -> Lesson:
        """Learns the weights from answers.

        >>> judged = Judged(np.array([[5.0, 0.0], [4.0, 0.0], [0.0, 3.9]]))
        >>> evidence = EvidenceShares.of(judged, ["rain", "wind"])
        >>> answers = Answers(np.array([0]), np.array([False]), np.ones(1))
        >>> taught = Lesson.learn(np.array([5.0, 4.0, 3.9]), evidence, answers)
        >>> round(taught.weights["rain", "given the context"], 2), taught.taught_scores[1:].round(1)
        (0.23, array([3.2, 4. ]))
        """
        strange = np.where(answers.is_real, 1.0, chance_strange(scores)[answers.rows])
        answers = replace(answers, weights=answers.weights * strange)
        rows = evidence.features(answers.rows)
        x = np.hstack([rows, np.ones((len(rows), 1))])
        return cls(scores, evidence, answers, _minimum(x, answers, evidence.shrinkage))

    @property
    def weights(self) -> dict[tuple[str, str], float]:
        """By behavioral feature and condition: the factor of the odds if all evidence is of it; 1 before answers."""
        values = np.exp(self.logarithms[: len(self.evidence.names)])
        return dict(zip(self.evidence.names, values.tolist(), strict=True))

    @property
    def kind_weights(self) -> dict[str, float]:
        """By kind of anomaly: the factor of its odds; empty if the method has no kinds."""
        values = np.exp(self.logarithms[len(self.evidence.names) : -1])
        return dict(zip(KIND_NAMES, values.tolist(), strict=False))

    @cached_property
    def interest(self) -> Floats:
        """By row: the probability that it is of interest if it is strange at all."""
        n = len(self.evidence.names)
        # By weight: its logarithm, and a square root of the covariance; the last row is that of the overall odds.
        root = np.column_stack([self.logarithms, np.linalg.cholesky(self._covariance)]).astype(np.float32)
        base = np.vstack([root[n:-1], np.zeros_like(root[:1])]) + root[-1]
        found = np.empty(len(self.scores))
        for start in range(0, len(found), BLOCK):
            block = slice(start, start + BLOCK)
            # Rows without a kind get the last row, which has no weight of a kind.
            kinds = -1 if self.evidence.kinds is None else self.evidence.kinds[block]
            parts = self.evidence.shares[block] @ root[:n] + base[kinds]
            found[block] = _averaged(parts[:, 0], np.einsum("ij,ij->i", parts[:, 1:], parts[:, 1:]))
        return found

    @cached_property
    def _covariance(self) -> Floats:
        """The covariance of the logarithms of the weights, by a normal approximation of their posterior."""
        asked = self._with_odds(self.answers.rows)
        chance = _logistic(asked @ self.logarithms)
        return np.asarray(np.linalg.inv(_hessian(asked, self.answers, chance, self.evidence.shrinkage)), dtype=float)

    def _variance(self, x: Floats) -> Floats:
        """The variance of the log odds of rows, from their features."""
        return np.asarray(np.einsum("ij,ij->i", x @ self._covariance, x))

    @cached_property
    def taught_scores(self) -> Floats:
        """The adjusted scores: unchanged where the weights are 1, and before there are answers."""
        if len(self.answers.rows) == 0:
            return self.scores
        # That of a row without any evidence.
        usual = _averaged(self.logarithms[-1], self._covariance[-1, -1])
        return _stretched(_compressed(self.scores) + np.log(self.interest / usual))

    def most_telling(self, is_open: npt.NDArray[np.bool_]) -> int | None:
        """The open row with the most informative answer, among those with the highest scores; None if none is open.

        An answer is most informative where it and the weights are least certain: the expected information gain
        about the weights, by a normal approximation of their posterior.
        """
        scores = np.where(is_open, self.taught_scores, np.nan)
        n = min(MAX_CANDIDATES, int((~np.isnan(scores)).sum()))
        if n == 0:
            return None
        candidates = np.argsort(-scores, kind="stable")[:n]
        # Rows that are hardly strange are not informative about strange ones.
        candidates = candidates[scores[candidates] >= min(CERTAIN, float(scores[candidates[0]]))]
        x = self._with_odds(candidates)
        chance = _logistic(x @ self.logarithms)
        return int(candidates[np.argmax(chance * (1.0 - chance) * self._variance(x))])

    def _with_odds(self, rows: Positions) -> Floats:
        return np.hstack([self.evidence.features(rows), np.ones((len(rows), 1))])


def chance_strange(scores: Floats) -> Floats:
    """By row: the probability that it is strange at all, from how many rows score as high and how many would by chance.

    >>> chance_strange(np.array([6.0, 2.0, 0.1, 0.0, np.nan])).round(2)
    array([1.  , 0.98, 0.  , 0.  , 0.  ])
    """
    order = np.argsort(-scores, kind="stable")
    n = int((~np.isnan(scores)).sum())
    ordinary = n * 10.0 ** -scores[order[:n]] / np.arange(1, n + 1)
    found = np.zeros(len(scores))
    # A higher score is no less strange.
    found[order[:n]] = 1.0 - np.minimum(np.minimum.accumulate(ordinary[::-1])[::-1], 1.0)
    return found


def _minimum(x: Floats, answers: Answers, shrinkage: Floats) -> Floats:
    """The logarithms of the weights with the least loss, by Newton's method: few weights, and a convex loss."""
    sign = np.where(answers.is_real, 1.0, -1.0)

    def loss(weights: Floats) -> float:
        margins = sign * (x @ weights)
        return float(answers.weights @ np.logaddexp(0.0, -margins) + 0.5 * shrinkage @ weights**2)

    weights = np.zeros(x.shape[1])
    for _ in range(MAX_STEPS):
        chance = _logistic(x @ weights)
        slope = x.T @ (answers.weights * (chance - answers.is_real)) + shrinkage * weights
        if np.abs(slope).max() < TOLERANCE:
            break
        step = np.linalg.solve(_hessian(x, answers, chance, shrinkage), slope)
        # A whole step may go too far where the loss is far from quadratic.
        now = loss(weights)
        while loss(weights - step) > now and np.abs(step).max() > TOLERANCE:
            step = step / 2.0
        weights = weights - step
    return weights


def _hessian(x: Floats, answers: Answers, chance: Floats, shrinkage: Floats) -> Floats:
    """The second derivatives of the loss, from the features of the answered rows and their probabilities."""
    curvature = answers.weights * chance * (1.0 - chance)
    return np.asarray(np.diag(shrinkage) + (x * curvature[:, None]).T @ x)


def _logistic(logits: Floats) -> Floats:
    """The probability of log odds."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -logits)))


def _averaged(mean: Floats, variance: Floats) -> Floats:
    """The probability averaged over normal log odds: MacKay's approximation of the integral."""
    return _logistic(np.asarray(mean, dtype=np.float64) / np.sqrt(1.0 + np.pi / 8.0 * variance))


def _nats(p_values: Floats) -> Floats:
    return -np.log(np.clip(np.nan_to_num(p_values, nan=1.0), SMALLEST_P, 1.0))


def _compressed(scores: Floats) -> Floats:
    """Scores as log odds of being strange: beyond certainty they grow slowly.

    >>> _stretched(_compressed(np.array([1.0, 3.0, 30.0])))
    array([ 1.,  3., 30.])
    """
    with np.errstate(invalid="ignore"):
        beyond = np.log1p(np.maximum(scores - CERTAIN, 0.0))
    return NATS_PER_DIGIT * np.minimum(scores, CERTAIN) + beyond


def _stretched(odds: Floats) -> Floats:
    certain = NATS_PER_DIGIT * CERTAIN
    beyond = np.expm1(np.maximum(odds - certain, 0.0))
    return np.minimum(odds, certain) / NATS_PER_DIGIT + beyond
