"""The metrics, compared with every order of the tied rows and with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from paribus.evaluation import average_precision, precision_at_n, roc_auc

Ranked = list[int]
"""Labels from the highest score to the lowest."""


def ranked_average_precision(ranked: Ranked) -> Fraction:
    precisions = [Fraction(sum(ranked[: i + 1]), i + 1) for i, label in enumerate(ranked) if label]
    return sum(precisions, Fraction(0)) / sum(ranked)


def ranked_roc_auc(ranked: Ranked) -> Fraction:
    pairs = [(i, j) for i, a in enumerate(ranked) for j, b in enumerate(ranked) if a == 1 and b == 0]
    return Fraction(sum(i < j for i, j in pairs), len(pairs))


def ranked_precision(ranked: Ranked, n: int) -> Fraction:
    return Fraction(sum(ranked[:n]), n)


def over_all_orders(measure: Callable[[Ranked], Fraction], labels: list[int], scores: list[float]) -> Fraction:
    """The mean of a measure over each order of the rows in which no score comes before a higher one."""
    right = sorted(scores, reverse=True)
    orders = [rows for rows in permutations(range(len(scores))) if [scores[row] for row in rows] == right]
    return sum((measure([labels[row] for row in rows]) for rows in orders), Fraction(0)) / len(orders)


rows_with_both_labels = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from([-np.inf, -1.5, 0.0, 2.0, np.inf])), min_size=2, max_size=6
).filter(lambda rows: {label for label, _ in rows} == {0, 1})


@given(rows=rows_with_both_labels, n=st.integers(1, 6))
def test_ties_count_as_the_mean_over_their_orders(rows: list[tuple[int, float]], n: int) -> None:
    """Tests each measure against the mean over every order of the tied rows, in exact fractions."""
    labels, scores = [label for label, _ in rows], [score for _, score in rows]
    n = min(n, len(rows))
    expected = over_all_orders(ranked_average_precision, labels, scores)
    assert average_precision(labels, scores) == pytest.approx(float(expected), rel=1e-14)
    assert roc_auc(labels, scores) == float(over_all_orders(ranked_roc_auc, labels, scores))
    expected = over_all_orders(lambda ranked: ranked_precision(ranked, n), labels, scores)
    assert precision_at_n(labels, scores, n) == pytest.approx(float(expected), rel=1e-14)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 300))
def test_without_ties_the_measures_are_those_of_scikit_learn(seed: int, n: int) -> None:
    """Tests that an independent implementation agrees where no two scores are equal."""
    random = np.random.default_rng(seed)
    scores = random.permutation(n) / 7.0
    labels = np.zeros(n, dtype=int)
    labels[random.permutation(n)[: random.integers(1, n)]] = 1
    assert average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores), rel=1e-12)
    assert roc_auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    top = np.argsort(-scores)[: labels.sum()]
    assert precision_at_n(labels, scores) == pytest.approx(labels[top].mean(), rel=1e-12)


@pytest.mark.parametrize("measure", [average_precision, roc_auc, precision_at_n])
def test_the_order_of_the_rows_does_not_matter(measure: Callable[[Any, Any], float]) -> None:
    """Tests that a large table with few distinct scores has the same result, to the last bit, in any order."""
    random = np.random.default_rng(3)
    labels, scores = random.random(20_000) < 0.02, random.integers(0, 40, 20_000)
    orders = [random.permutation(20_000) for _ in range(3)]
    assert len({measure(labels[order], scores[order]) for order in orders}) == 1


def test_equal_scores_are_worth_what_guessing_is() -> None:
    """Tests that equal scores give the share of anomalies, and one half for the ROC AUC."""
    labels = [1] * 10 + [0] * 990
    assert roc_auc(labels, [1.0] * 1000) == 0.5
    assert precision_at_n(labels, [1.0] * 1000) == pytest.approx(0.01)
    # A little more than the share: an anomaly counts at its own rank.
    assert 0.01 < average_precision(labels, [1.0] * 1000) < 0.02


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([1, 0], [0.5, np.nan], "scores is NaN in 1 row, .* row 1"),
        ([1, -1], [0.5, 0.1], "labels is -1 in row 1"),
        ([1, np.nan], [0.5, 0.1], "labels is nan in row 1"),
        ([1, 0], [0.5], "2 labels and 1 scores"),
        ([0, 0], [0.5, 0.1], "labels contains no 1"),
        ([], [], "labels contains no 1|labels must be"),
        ([[1], [0]], [0.5, 0.1], "labels must be an array of numbers"),
        ([1, 0], ["a", "b"], "scores must be an array of numbers"),
    ],
)
@pytest.mark.parametrize("measure", [average_precision, roc_auc, precision_at_n])
def test_what_cannot_be_measured_raises_an_error(
    measure: Callable[[Any, Any], float], labels: Any, scores: Any, message: str
) -> None:
    """Tests that each metric raises an error of one sentence about wrong labels or scores."""
    with pytest.raises(ValueError, match=message):
        measure(labels, scores)


def test_limits_of_single_measures() -> None:
    """Tests that the ROC AUC needs a normal row, and precision at n an n within the table."""
    with pytest.raises(ValueError, match="labels contains no 0"):
        roc_auc([1, 1], [0.5, 0.1])
    with pytest.raises(ValueError, match="n is 3: it must be a whole number from 1 to 2"):
        precision_at_n([1, 0], [0.5, 0.1], n=3)
