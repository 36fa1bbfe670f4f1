"""Which other features a feature is judged by, where there are many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise, load
from paribus.methods.surprise.screening import MAX_OTHERS, choose_others

Array = np.ndarray[Any, Any]
NUMERIC = np.zeros(1, dtype=np.uint8)


def wide_behavior(n_rows: int, n_features: int, seed: int = 0) -> tuple[Array, Array]:
    """Context, and features that follow it, of which the first three follow three others each."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(n_rows, 1))
    noise = random.normal(size=(n_rows, n_features))
    behavior = 3 * context + noise
    a, b, c = noise[:, -3:].T
    behavior[:, 0] = 3 * context[:, 0] + a + b - c
    behavior[:, 1] = 3 * context[:, 0] + a**2 + np.sin(2 * b) + np.abs(c)
    behavior[:, 2] = 3 * context[:, 0] + (0.2 + np.abs(a)) * random.normal(size=n_rows) + b * (c > 0)
    return context, behavior


def test_small_tables_have_nothing_left_out() -> None:
    """Tests that smaller tables are judged by all others."""
    context, behavior = wide_behavior(100, MAX_OTHERS + 1)
    for feature, others in enumerate(choose_others(context, NUMERIC, behavior)):
        assert others.tolist() == [each for each in range(MAX_OTHERS + 1) if each != feature]


@pytest.mark.parametrize("gross", [False, True])
def test_the_features_that_matter_are_found(gross: bool) -> None:
    """Tests lines, curves and spreads among 60 features, also with gross values in every column."""
    context, behavior = wide_behavior(2_000, 60)
    if gross:
        behavior[np.random.default_rng(1).random(behavior.shape) < 0.01] = 1e9
    found = choose_others(context, NUMERIC, behavior)
    for feature in range(3):
        assert {57, 58, 59} <= set(found[feature].tolist())
        assert len(found[feature]) == MAX_OTHERS
        assert feature not in found[feature]
        assert (np.diff(found[feature]) > 0).all()


def test_copies_of_one_feature_do_not_take_all_places() -> None:
    """Tests that of thirty copies of a feature not all are chosen before another one that adds to it."""
    random = np.random.default_rng(0)
    context = random.normal(size=(1_000, 1))
    first, second = random.normal(size=(2, 1_000))
    copies = first[:, None] + 0.01 * random.normal(size=(1_000, 30))
    behavior = np.column_stack([5 * first + second, copies, second, random.normal(size=(1_000, 10))])
    assert 31 in choose_others(context, NUMERIC, behavior)[0]


def test_gaps_and_constants_are_no_obstacle() -> None:
    """Tests columns without variation, and with nearly no values."""
    context, behavior = wide_behavior(300, 40)
    behavior[:, 5] = 1.0
    behavior[2:, 6] = np.nan
    behavior[np.random.default_rng(0).random(behavior.shape) < 0.3] = np.nan
    assert all(len(others) == MAX_OTHERS for others in choose_others(context, NUMERIC, behavior))


def test_a_wide_model_is_saved_with_its_choice(tmp_path: Path) -> None:
    """Tests that scores of a wide table have the same bits from a file, and that a wrong value is found by the rest."""
    context, behavior = wide_behavior(400, 30)
    behavior[7, 0] += 8.0
    table = np.hstack([context, behavior])
    detector = ConditionalSurprise([0], n_trees=8).fit(table)
    assert detector.partial_scores_[7].argmax() == 0
    detector.save(tmp_path / "m.paribus")
    np.testing.assert_array_equal(load(tmp_path / "m.paribus").anomaly_score(table), detector.anomaly_scores_)
