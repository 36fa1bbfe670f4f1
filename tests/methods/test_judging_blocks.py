"""Rows are judged some at a time, on several threads: how many, and that it changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from paribus.methods.surprise import cells as cells_module
from paribus.methods.surprise.cells import CellEvidence
from paribus.methods.surprise.verdict import Verdict


def make_cells(n_rows: int, n_features: int) -> CellEvidence:
    """Evidence and surprises of ordinary values, a tenth of which are missing."""
    random = np.random.default_rng(n_rows)
    found = random.exponential(size=(4, n_rows, n_features))
    found[:, random.random((n_rows, n_features)) < 0.1] = np.nan
    return CellEvidence(found[0], found[1], found[2] - 1.0, found[3] - 1.0, np.zeros((n_rows, n_features)))


@pytest.mark.parametrize("n_features", [1, 3, 17])
def test_blocks_and_threads_change_nothing(n_features: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that verdicts on rows in blocks, on one and on four threads, are the bits of those on all rows at once."""
    verdict, cells = Verdict.fit(make_cells(2_000, n_features)), make_cells(950, n_features)
    expected, expected_odds = verdict.judge(cells), verdict.log_odds(cells)
    monkeypatch.setattr(cells_module, "BLOCK_SIZE", 100)
    assert len(list(cells.blocks())) == 10
    for n_threads in (1, 4):
        found = verdict.judge(cells, n_threads)
        np.testing.assert_array_equal(found.parts, expected.parts)
        np.testing.assert_array_equal(found.kinds, expected.kinds)
        np.testing.assert_array_equal(verdict.log_odds(cells, n_threads), expected_odds)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "sizes"),
    [(0, 3, [0]), (70_000, 1, [65_536, 4_464]), (70_000, 40, [26_214, 26_214, 17_572]), (2_000, 9_999, [1_024, 976])],
)
def test_blocks_have_no_more_values_than_fit_into_memory(n_rows: int, n_features: int, sizes: list[int]) -> None:
    """Tests a million values a block, whatever the number of columns, but not too few rows."""
    nothing = np.broadcast_to(0.0, (n_rows, n_features))
    cells = CellEvidence(nothing, nothing, nothing, nothing, nothing)
    assert [len(block.given_context) for block in cells.blocks()] == sizes
