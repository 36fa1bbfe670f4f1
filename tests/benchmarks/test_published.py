"""What benchmarks/published.py reproduces of the authors' scripts."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import QCAD
from tests.oracles.qcad import partial_score

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def published() -> Iterator[Any]:
    """The script, which is not part of the package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("published")


def test_for_categories_it_is_qcad(published: Any) -> None:
    """Tests that for categorical contexts, where the distances agree, the scores are QCAD's."""
    random = np.random.RandomState(0)
    codes = random.randint(4, size=(120, 3))
    behavior = codes[:, :2] + random.normal(size=(120, 2))
    table = np.column_stack([codes, behavior])
    roles: dict[str, Any] = {"contextual": [0, 1, 2], "behavioral": [3, 4], "categorical": [0, 1, 2], "random_state": 5}
    expected = QCAD(n_trees=10, **roles).fit(table).anomaly_scores_
    np.testing.assert_allclose(published.PublishedQCAD(**roles).fit(table).anomaly_scores_, expected, rtol=1e-9)
    numeric = roles | {"categorical": []}
    assert not np.allclose(QCAD(n_trees=10, **numeric).fit(table).anomaly_scores_, expected)


def test_percentiles_are_interpolated(published: Any) -> None:
    """Tests that a value is at the midpoint of its weight, that values without weight do not count, and the ends."""
    values, weights = np.array([4.0, 0.0, 9.0, 2.0]), np.array([0.5, 0.25, 0.0, 0.25])
    # The midpoints of 0, 2 and 4 are at 1/8, 3/8 and 3/4.
    np.testing.assert_allclose(published.interpolate(values, weights, 8), [0, 0, 1, 2, 8 / 3, 10 / 3, 4, 4, 4])


@given(seed=st.integers(0, 2**20), n_values=st.sampled_from([2, 3, 30]))
def test_partial_scores_are_those_of_the_method(published: Any, seed: int, n_values: int) -> None:
    """Tests the score of a value given percentiles against the oracle, inside and outside them."""
    random = np.random.RandomState(seed)
    percentiles = np.sort(random.randint(n_values, size=101)).astype(float)
    for value in (*random.uniform(-2, n_values + 2, 4), percentiles[50], percentiles[0] - 1):
        quartiles = (percentiles[25], percentiles[75])
        expected = partial_score(percentiles.tolist(), quartiles, float(value), scale_tails=True)
        assert published.interval_width(percentiles, value) == pytest.approx(expected)
