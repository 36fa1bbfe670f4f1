"""Summaries of columns."""

from __future__ import annotations

import numpy as np
import pytest

from paribus.tables.row_store import MAX_SORTED, ColumnSummary


@pytest.mark.parametrize("n", [MAX_SORTED + 1, 2 * MAX_SORTED])
def test_many_numbers_are_represented_by_some(n: int) -> None:
    """Tests that few values stand for many: the ends are the same, and shares nearly so."""
    values = np.random.default_rng(0).permutation(np.append(np.random.default_rng(1).normal(size=n), [np.nan] * 9))
    summary = ColumnSummary.of(values)
    assert (summary.n_rows, summary.n_missing) == (n + 9, 9)
    assert len(summary.order_statistics) < 5000
    assert (summary.lowest, summary.highest) == (np.nanmin(values), np.nanmax(values))
    assert abs((values < summary.median).sum() / n - 0.5) <= 1 / n
    for low, high in ((-1.0, 0.5), (1.0, 9.0), (0.1, 0.2)):
        exact = ((values >= low) & (values <= high)).sum() / n
        assert abs(summary.share_between(low, high) - exact) < 2 / 4096


def test_few_numbers_and_all_categories_are_kept() -> None:
    """Tests that up to some number all values are there, in ascending order, and that categories are counted."""
    values = np.random.default_rng(0).normal(size=MAX_SORTED)
    np.testing.assert_array_equal(ColumnSummary.of(values).order_statistics, np.sort(values))
    codes = np.random.default_rng(0).integers(3, size=2 * MAX_SORTED).astype(float)
    codes[::7] = np.nan
    summary = ColumnSummary.of(codes, 4)
    np.testing.assert_array_equal(summary.order_statistics, np.sort(codes[~np.isnan(codes)]))
    assert summary.category_shares is not None
    counts = [np.mean(codes == code) for code in range(4)]
    np.testing.assert_allclose(summary.category_shares, [*counts, np.isnan(codes).mean()])
