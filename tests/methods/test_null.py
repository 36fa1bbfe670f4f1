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


def test_a_few_gross_errors_do_not_change_what_ordinary_rows_are_worth() -> None:
    """Tests that the tail is read off the ordinary rows if a gap separates the others, and not extrapolated early."""
    scores = np.random.default_rng(0).exponential(size=20_000) ** 1.1
    far = np.quantile(scores, 0.999)
    with_errors = np.append(scores, 200.0 + np.arange(5.0))
    p_value = float(np.exp(-ScoreNull.fit(with_errors)(np.array([far]))[0]))
    assert p_value == pytest.approx(0.001, rel=0.3)
