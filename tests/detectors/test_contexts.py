"""Tests of contexts per behavior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paribus import QCAD, ConditionalSurprise, load


def table(n: int = 1500) -> dict[str, np.ndarray]:
    """Two behaviors, each with a circumstance of its own."""
    rng = np.random.default_rng(0)
    month, height = rng.integers(0, 12, n).astype(float), rng.uniform(0, 2000, n)
    return {
        "month": month,
        "height": height,
        "warm": 10 * np.sin(month / 12 * 2 * np.pi) + rng.normal(size=n),
        "thin": height / 200 + rng.normal(size=n),
    }


CONTEXTS = {"warm": ["month"], "thin": ["height"]}


def test_behavior_is_judged_by_its_own_context() -> None:
    """Tests that a column outside a behavior's context does not change what is expected of it."""
    rows = table()
    here = ConditionalSurprise(CONTEXTS, n_trees=16).fit(rows)
    # New rows, which all trees may judge.
    new = {name: values[:20] for name, values in dict(rows, height=rows["height"] + 0.5).items()}
    percentiles = here.percentiles(new)
    other = here.percentiles(dict(new, height=2000 - new["height"]))
    assert here.behavioral_features_ == ["warm", "thin"]
    assert here.contextual_features_ == ["month", "height"]
    assert np.allclose(percentiles[:, 0], other[:, 0])
    assert not np.allclose(percentiles[:, 1], other[:, 1])


def test_equal_contexts_are_one_context() -> None:
    """Tests that the same context for each behavior gives the bits of one list."""
    both = ["month", "height"]
    by_behavior = ConditionalSurprise({"warm": both, "thin": both}, n_trees=16).fit(table())
    assert (
        by_behavior.anomaly_scores_
        == ConditionalSurprise(both, ["warm", "thin"], n_trees=16).fit(table()).anomaly_scores_
    ).all()


def test_models_and_explanations_know_the_contexts(tmp_path: Path) -> None:
    """Tests that a stored model gives the same bits, and that a sentence names the leading behavior's own context."""
    rows = table()
    rows["thin"][7] = 30.0
    fitted = ConditionalSurprise(CONTEXTS, n_trees=16).fit(rows)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.anomaly_score(rows) == fitted.anomaly_scores_).all()
    assert loaded.contextual == CONTEXTS
    sentence = str(fitted.explain(7))
    assert "height" in sentence
    assert "month" not in sentence.split("Compared")[1]


@pytest.mark.parametrize(
    ("contexts", "behavioral", "words"),
    [
        ({}, None, "names no behavior"),
        ({"warm": []}, None, "has no contextual column"),
        ({"warm": ["month"]}, ["warm", "thin"], "'thin' has no context"),
        ({"warm": ["month"], "thin": ["height"]}, ["warm"], "is not behavioral"),
        ({"warm": ["thin"], "thin": ["height"]}, None, "both contextual and behavioral"),
        ({"warn": ["month"]}, None, "did you mean 'warm'"),
    ],
)
def test_what_does_not_fit_is_refused(contexts: dict[str, list[str]], behavioral: list[str] | None, words: str) -> None:
    """Tests that one sentence names the column."""
    with pytest.raises(ValueError, match=words):
        ConditionalSurprise(contexts, behavioral).fit(table())


def test_qcad_has_one_context() -> None:
    """Tests that the published method refuses contexts per behavior."""
    with pytest.raises(TypeError, match="is for ConditionalSurprise"):
        QCAD(CONTEXTS).fit(table())  # type: ignore[arg-type]
