"""Tests of what detectors have in common with scikit-learn's estimators, and of the command that does without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import check_random_state

from paribus import ConditionalSurprise
from paribus.detectors.estimator import random_numbers

# Runs the command as the shell does, and lists what it imported.
SCORE = """
import json, runpy, sys
sys.argv = ["paribus", "score", sys.argv[1], sys.argv[2], "--json"]
try:
    runpy.run_module("paribus", run_name="__main__")
finally:
    print(json.dumps([name for name in ("sklearn", "scipy.stats", "pandas") if name in sys.modules]), file=sys.stderr)
"""


def test_the_command_scores_without_importing_scikit_learn(tmp_path: Path) -> None:
    """Tests that `paribus score` gives the detector's scores, and imports neither scikit-learn nor what it needs."""
    random = np.random.default_rng(0)
    table = {"x": random.normal(size=60), "y": random.normal(size=60)}
    detector = ConditionalSurprise(["x"], n_trees=8).fit(table)
    detector.save(tmp_path / "model")
    new = {"x": [0.1, 0.2], "y": [0.3, 9.0]}
    (tmp_path / "rows.csv").write_text("x,y\n0.1,0.3\n0.2,9.0\n")
    command = [sys.executable, "-c", SCORE, str(tmp_path / "model"), str(tmp_path / "rows.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stderr.splitlines()[-1]) == []
    found = {each["row"]: each["score"] for each in json.loads(done.stdout)["top"]}
    expected = detector.anomaly_score(new)
    assert found == {row: pytest.approx(expected[row]) for row in found}
    assert found


def test_in_python_detectors_are_estimators_of_scikit_learn() -> None:
    """Tests that detectors derive from scikit-learn's classes, so that its tools take them."""
    assert issubclass(ConditionalSurprise, BaseEstimator)
    assert issubclass(ConditionalSurprise, OutlierMixin)


@pytest.mark.parametrize("seed", [0, 7, np.int64(3), np.random.RandomState(5)])
def test_random_numbers_are_those_of_scikit_learn(seed: object) -> None:
    """Tests that a seed means the same as everywhere in scikit-learn."""
    if isinstance(seed, np.random.RandomState):
        assert random_numbers(seed) is seed
        return
    assert random_numbers(seed).randint(2**31) == check_random_state(seed).randint(2**31)
