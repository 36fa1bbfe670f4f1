"""The null distribution of scores."""

from __future__ import annotations

import numpy as np
import pytest

from paribus.methods.null import ScoreNull


@pytest.mark.parametrize("n_rows", [30, 100, 500])
def test_caution_makes_tails_of_few_scores_heavier(n_rows: int) -> None:
    """Tests that cautious evidence rises with the score, is never above the other, and is far below it far out."""
    scores = np.random.default_rng(n_rows).exponential(size=n_rows)
    asked = np.linspace(0.0, 100.0, 1001)
    plain, cautious = ScoreNull.fit(scores)(asked), ScoreNull.fit_cautiously(scores)(asked)
    assert (cautious <= plain + 1e-12).all()
    assert (np.diff(cautious) >= 0).all()
    assert cautious[-1] < 0.8 * plain[-1]


def test_many_scores_need_no_caution() -> None:
    """Tests that the tail of a long table is what its rows say."""
    scores = np.random.default_rng(0).exponential(size=2000)
    asked = np.linspace(0.0, 100.0, 1001)
    assert ScoreNull.fit(scores)(asked).tolist() == ScoreNull.fit_cautiously(scores)(asked).tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_strange", [12, 16, 40])
def test_a_few_strange_scores_do_not_make_each_other_ordinary(n_strange: int, seed: int) -> None:
    """Tests that all of a few scores are beyond what ordinary rows reach, with stragglers between them and the rest."""
    random = np.random.default_rng(seed)
    ordinary = random.exponential(size=6_000)
    strange = 12.0 + 3.0 * random.random(n_strange)
    scores = np.concatenate([ordinary, strange, np.linspace(8.0, 12.0, 8)])
    assert ScoreNull.fit(scores)(strange).min() > np.log(1_000)


@pytest.mark.parametrize("n_rows", [6_000, 50_000])
def test_ordinary_scores_are_not_set_aside(n_rows: int) -> None:
    """Tests that scores with an exponential tail have the probability that they state, on average over tables."""
    beyond = []
    for seed in range(20):
        scores = np.random.default_rng(seed).exponential(size=n_rows)
        beyond.append((ScoreNull.fit(scores)(scores) > np.log(1_000)).mean())
    assert 0.0006 <= np.mean(beyond) <= 0.0014


def test_a_few_strange_scores_do_not_hide_the_tail_of_many_others() -> None:
    """Tests that a heavy tail of a hundred thousand scores is read off these, although ten more are strange."""
    random = np.random.default_rng(0)
    ordinary = random.exponential(size=300_000)
    ordinary += 0.4 * np.maximum(ordinary - 4.0, 0.0)
    scores = np.append(ordinary, 40.0 + random.random(10))
    beyond = ScoreNull.fit(scores)(ordinary) > np.log(1_000)
    assert 0.0008 <= beyond.mean() <= 0.0012
