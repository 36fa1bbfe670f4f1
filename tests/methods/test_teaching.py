"""What answers teach: weights of columns, conditions and kinds."""

from __future__ import annotations

import numpy as np
import pytest

from paribus.methods.cell_codes import encode
from paribus.methods.interface import KIND_NAMES, Judged
from paribus.methods.teaching import (
    SHRINKAGE,
    SHRINKAGE_OF_KINDS,
    SHRINKAGE_OF_ODDS,
    Answers,
    EvidenceShares,
    Lesson,
    chance_strange,
)

N = 400
RAIN, WIND = 0, 1
PENALTY = np.repeat([SHRINKAGE, SHRINKAGE_OF_KINDS, SHRINKAGE_OF_ODDS], [4, 3, 1])


@pytest.fixture(scope="module")
def judged() -> Judged:
    """Rows of which the first half is strange in rain, and the second in wind."""
    random = np.random.default_rng(0)
    strength = np.linspace(8.0, 3.2, N // 2)
    parts = random.uniform(0.0, 0.1, size=(N, 2))
    parts[: N // 2, RAIN] += strength
    parts[N // 2 :, WIND] += strength - 0.05
    kinds = np.array([KIND_NAMES[row % 3] for row in range(N)], dtype=object)
    nats = parts * np.log(10.0)
    return Judged(parts, kinds, encode(nats), encode(nats / 2.0))


@pytest.fixture(scope="module")
def evidence(judged: Judged) -> EvidenceShares:
    return EvidenceShares.of(judged, ["rain", "wind"])


def learn(judged: Judged, evidence: EvidenceShares, rows: list[int], is_real: list[bool]) -> Lesson:
    answers = Answers(np.array(rows, dtype=np.int64), np.array(is_real, dtype=bool), np.ones(len(rows)))
    return Lesson.learn(judged.partial.sum(axis=1), evidence, answers)


def test_nothing_changes_without_answers(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that all weights are 1 and that scores stay to the bit before there are answers."""
    lesson = learn(judged, evidence, [], [])
    assert set(lesson.weights.values()) | set(lesson.kind_weights.values()) == {1.0}
    assert np.array_equal(lesson.taught_scores, judged.partial.sum(axis=1))


def test_false_alarms_lower_what_is_alike(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that rows that are strange in the same column move down after false alarms, and others up to the top."""
    lesson = learn(judged, evidence, [0, 1, 2], [False] * 3)
    ranked = np.argsort(-lesson.taught_scores)
    assert (ranked[:20] >= N // 2).all()
    assert lesson.weights["rain", "given the context"] < 0.8 < lesson.weights["wind", "given the context"]


def test_real_anomalies_raise_what_is_alike(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that the weights of what was real exceed 1, and that a few answers of both sorts separate the columns."""
    lesson = learn(judged, evidence, [0, 200, 1, 201], [False, True, False, True])
    assert lesson.weights["wind", "given the context"] > 1.1 > 0.9 > lesson.weights["rain", "given the context"]
    assert (np.argsort(-lesson.taught_scores)[:50] >= N // 2).all()


def test_more_answers_say_more(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that one answer is a hint and ten are a rule: weights are shrunk to 1."""
    lessons = [learn(judged, evidence, list(range(n)), [False] * n) for n in (1, 3, 10)]
    weights = [lesson.weights["rain", "given the context"] for lesson in lessons]
    assert 1.0 > weights[0] > weights[1] > weights[2] > 0.0
    ratios = [lesson.interest[20] / lesson.interest[N // 2 + 20] for lesson in lessons]
    assert 1.0 > ratios[0] > 0.6 > 0.4 > ratios[2]


def test_kinds_are_learned(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that answers that follow the kind change its weight, and favor no column."""
    rows = [0, 1, 2, 3, 4, 5, 200, 201, 202, 203, 204, 205]
    lesson = learn(judged, evidence, rows, [row % 3 == 2 for row in rows])
    weights = lesson.kind_weights
    assert weights[KIND_NAMES[2]] > 2.0 > 1.0 > weights[KIND_NAMES[0]]
    rain, wind = (lesson.weights[name, "given the context"] for name in ("rain", "wind"))
    assert abs(np.log(rain / wind)) < 0.1


def test_the_minimum_is_found(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that the weights make the convex loss smallest: its gradient vanishes there."""
    rows, is_real = [0, 200, 7, 230, 50], [False, True, True, False, False]
    lesson = learn(judged, evidence, rows, is_real)
    x = np.hstack([evidence.features(np.array(rows)), np.ones((len(rows), 1))])
    sign = np.where(is_real, 1.0, -1.0)
    slopes = lesson.answers.weights * sign / (1.0 + np.exp(sign * (x @ lesson.logarithms)))
    assert np.abs(PENALTY * lesson.logarithms - slopes @ x).max() < 1e-8


def test_probabilities_are_averaged_over_plausible_weights(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests the probability of interest against the mean over weights drawn from their normal approximation."""
    rows, is_real = [0, 200, 7, 230, 50], [False, True, False, True, False]
    lesson = learn(judged, evidence, rows, is_real)
    x = np.hstack([evidence.features(np.arange(N)), np.ones((N, 1))])
    chance = 1.0 / (1.0 + np.exp(-x[rows] @ lesson.logarithms))
    precision = np.diag(PENALTY)
    precision += (x[rows] * (chance * (1.0 - chance))[:, None]).T @ x[rows]
    random = np.random.default_rng(0)
    drawn = random.multivariate_normal(lesson.logarithms, np.linalg.inv(precision), 4000)
    expected = (1.0 / (1.0 + np.exp(-x @ drawn.T))).mean(axis=1)
    assert np.abs(lesson.interest - expected).max() < 0.02


def test_few_answers_hardly_change_the_order(evidence: EvidenceShares, judged: Judged) -> None:
    """Tests that an answer about a column lowers rows of that column less than the most plausible weights alone do."""
    lesson = learn(judged, evidence, [0], [False])
    alone = evidence.features(np.arange(N)) @ lesson.logarithms[:-1] + lesson.logarithms[-1]
    most_plausible = 1.0 / (1.0 + np.exp(-alone))
    assert (lesson.interest[: N // 2] > most_plausible[: N // 2]).all()


def test_the_most_telling_row_is_unlike_those_known(judged: Judged, evidence: EvidenceShares) -> None:
    """Tests that after answers about one column, the other one is asked about; and that known rows never are."""
    lesson = learn(judged, evidence, [0, 1, 2, 3], [False] * 4)
    is_open = np.ones(N, dtype=bool)
    is_open[:4] = False
    found = lesson.most_telling(is_open)
    assert found is not None
    assert found >= N // 2
    assert lesson.most_telling(np.zeros(N, dtype=bool)) is None


def test_rows_without_a_score_stay_without(judged: Judged) -> None:
    """Tests that rows that cannot be scored have no taught score either, and are not asked about."""
    partial = judged.partial.copy()
    partial[5] = np.nan
    scores = partial.sum(axis=1)
    answers = Answers(np.array([0]), np.array([False]), np.ones(1))
    lesson = Lesson.learn(scores, EvidenceShares.of(Judged(partial), ["rain", "wind"]), answers)
    assert np.flatnonzero(np.isnan(lesson.taught_scores)).tolist() == [5]


def test_a_false_alarm_about_an_ordinary_row_says_little() -> None:
    """Tests that it counts by the probability that the row is strange: ordinary rows say nothing about strange ones."""
    random = np.random.default_rng(0)
    scores = -np.log10(random.uniform(size=1000))
    scores[:20] += 6.0
    strange = chance_strange(scores)
    assert strange[:20].min() > 0.99
    ordinary = int(np.argmin(np.abs(scores - 1.0)))
    assert strange[ordinary] < 0.3
    partial = np.zeros((1000, 2))
    partial[:, RAIN] = scores
    evidence = EvidenceShares.of(Judged(partial), ["rain", "wind"])
    weights = {}
    for row in (0, ordinary):
        answers = Answers(np.array([row]), np.array([False]), np.ones(1))
        weights[row] = Lesson.learn(scores, evidence, answers).weights["rain", "given the context"]
    assert weights[0] < 0.5
    assert weights[ordinary] > 0.7
