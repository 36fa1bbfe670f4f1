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
