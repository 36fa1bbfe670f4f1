"""Tests of the null distribution where many rows are anomalies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.verdict import Verdict

N_ROWS, N_FEATURES = 2_000, 4
Floats = npt.NDArray[np.float64]


def make_cells(evidence: Floats, others: Floats) -> CellEvidence:
    """Cells whose surprise follows from their evidence."""
    return CellEvidence(evidence, others, evidence - 0.7, others - 0.7, np.zeros_like(evidence))


def scores_of(cells: CellEvidence) -> Floats:
    """The scores of fitted rows."""
    return np.asarray(np.nansum(Verdict.fit(cells).judge(cells).parts, axis=1))


@pytest.mark.parametrize("share", [0.05, 0.1])
def test_many_anomalous_rows_are_flagged(share: float) -> None:
    """Tests that most rows that are strange in all columns are flagged, up to a tenth of the table, and few others."""
    random = np.random.default_rng(1)
    is_wrong = np.arange(N_ROWS) < share * N_ROWS
    alone, together = random.exponential(size=(2, N_ROWS, N_FEATURES))
    alone[is_wrong] += 4.0
    flagged = scores_of(make_cells(alone, together)) > 3
    assert flagged[is_wrong].mean() > 0.5
    assert flagged[~is_wrong].mean() < 0.005


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_hard_to_predict_are_not_taken_for_anomalies(seed: int) -> None:
    """Tests that few rows are flagged if those of some contexts are stranger than others in all columns at once."""
    random = np.random.default_rng(seed)
    hardness = np.where(random.uniform(size=(N_ROWS, 1)) < 0.1, 1.8, 0.9)
    alone, together = hardness * random.exponential(size=(2, N_ROWS, N_FEATURES))
    assert (scores_of(make_cells(alone, together)) > 3).mean() < 0.005


@pytest.mark.parametrize("seed", range(4))
def test_independent_rows_are_flagged_by_chance_alone(seed: int) -> None:
    """Tests that about 1 in 1,000 ordinary rows is flagged if cells are independent."""
    alone, together = np.random.default_rng(seed).exponential(size=(2, N_ROWS, N_FEATURES))
    assert (scores_of(make_cells(alone, together)) > 3).sum() <= 6


@pytest.mark.parametrize("n_silent", [1, 3])
def test_columns_that_say_nothing_do_not_make_ordinary_rows_strange(n_silent: int) -> None:
    """Tests that few rows are flagged if one column is judged, and the context determines the others."""
    alone, together = np.random.default_rng(0).exponential(size=(2, N_ROWS, 1))
    silent = np.zeros((N_ROWS, n_silent))
    cells = make_cells(np.hstack([alone, silent]), np.hstack([together, silent]))
    assert (scores_of(cells) > 3).sum() <= 6
