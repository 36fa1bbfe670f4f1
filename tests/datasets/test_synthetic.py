"""Generated tables: clusters, rounding, and formulas that regression recovers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from paribus.datasets import load, synthetic

Array = np.ndarray[Any, Any]

SHAPES: dict[str, list[Callable[[Array], Array]]] = {
    "S1": [lambda c: c],
    "S2": [lambda c: c * c * c],
    "S3": [lambda c: np.sin(c)],
    "S4": [lambda c: np.log(1 + np.abs(c))],
    "S5": [lambda c: c, lambda c: c * c * c, lambda c: np.sin(c), lambda c: np.log(1 + np.abs(c))],
}


@pytest.mark.parametrize("scheme", SHAPES)
def test_behavior_follows_the_formula_of_the_scheme(scheme: str) -> None:
    """Tests that least squares recover coefficients in [0, 1], a third of them zero, and noise in [0, 0.05]."""
    coefficients: list[float] = []
    for seed in range(2):
        # On [0, 1], the four shapes of S5 are too similar to be distinguished; on category codes they are not.
        data = synthetic(scheme, 6, 6 if scheme == "S5" else 2, 20, 4000, seed)
        context = [np.array(data.table[name], dtype=float) for name in data.contextual]
        design = np.column_stack([shape(column) for column in context for shape in SHAPES[scheme]])
        values = np.column_stack([data.table[name] for name in data.behavioral]) - 0.025
        found, *_ = np.linalg.lstsq(design, values, rcond=None)
        coefficients.extend(found.T.ravel())
        residuals = values - design @ found
        assert np.abs(residuals).max() < 0.035
        assert residuals.mean(axis=0) == pytest.approx(0, abs=0.003)
        assert residuals.std(axis=0) == pytest.approx(0.05 / np.sqrt(12), rel=0.05)
    # The precision that the noise allows: lower where shapes are similar.
    error = 0.06 if scheme == "S5" else 0.02
    zero = np.abs(coefficients) < error
    assert np.mean(zero) == pytest.approx(1 / 3 + 2 / 3 * error, abs=0.1)
    others = np.array(coefficients)[~zero]
    assert others.min() > 0
    assert others.max() < 1 + error
    assert others.mean() == pytest.approx(0.5, abs=0.06)


def test_contexts_are_mixtures_of_five_clusters() -> None:
    """Tests rounding, and the mean and variance of features over many tables, compared with those of the mixture."""
    numeric, codes = [], []
    for seed in range(400):
        data = synthetic("S1", 2, 1, 1, 200, seed)
        numeric.append(np.array(data.table["c1"]))
        codes.append(np.array(data.table["c2"]))
    assert all(column.dtype.kind == "i" for column in codes)
    # Centers uniform on [0, 1]: mean 1/2, and variance 1/12 less what the five share (a fifth), plus a quarter of the
    # mean distance, which is 1/3. For codes: 5, 10, 40/11 and 1/12 for the rounding.
    assert np.mean(numeric) == pytest.approx(0.5, abs=0.03)
    assert np.mean([column.var() for column in numeric]) == pytest.approx(0.8 / 12 + 1 / 12, rel=0.1)
    assert np.mean(codes) == pytest.approx(5, abs=0.3)
    assert np.mean([column.var() for column in codes]) == pytest.approx(0.8 * 10 + 10 / 11 + 1 / 12, rel=0.1)


def test_a_rows_features_come_from_one_cluster() -> None:
    """Tests that features are correlated through the clusters, as in a mixture."""
    related = []
    for seed in range(30):
        data = synthetic("S1", 3, 0, 1, 500, seed)
        correlation = np.corrcoef([data.table[name] for name in data.contextual])
        related.append(np.abs(correlation[np.triu_indices(3, 1)]).max())
    # Independent features of 500 rows have correlations of about 0.05.
    assert np.mean(related) > 0.15


def test_the_seed_decides() -> None:
    """Tests that the same seed gives the same table, and another seed another table with other coefficients."""
    assert synthetic("S2", seed=5).table == synthetic("S2", seed=5).table
    assert synthetic("S2", seed=5).table != synthetic("S2", seed=6).table


def test_syn1_is_the_same_in_the_next_version() -> None:
    """Tests the first values of Syn1, because published results must stay reproducible."""
    table = load("Syn1").table
    assert table["c1"][:2] == pytest.approx([0.8030325496570625, 1.081343413921398])
    assert table["c4"][:5] == [10, 2, 9, 3, 7]
    assert table["b1"][:2] == pytest.approx([4.235108456877548, 4.4661014506599])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scheme": "S6"}, "scheme is 'S6': it must be one of S1, S2, S3, S4, S5"),
        ({"scheme": 1}, "scheme is 1"),
        ({"n_contextual": 0}, "n_contextual is 0: it must be a whole number from 1 up"),
        ({"n_categorical": 6}, "n_categorical is 6: it must be a whole number from 0 to 5"),
        ({"n_behavioral": 0}, "n_behavioral is 0"),
        ({"n_rows": 2.5}, "n_rows is 2.5"),
        ({"seed": None}, "seed is None"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    """Tests that each wrong argument gives one sentence that says what is allowed."""
    with pytest.raises(ValueError, match=message):
        synthetic(**({"scheme": "S1"} | arguments))
