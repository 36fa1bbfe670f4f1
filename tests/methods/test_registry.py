"""The registry of methods: a new method is one folder, one estimator and one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import paribus
from paribus import datasets
from paribus.detectors.base import ContextualDetector
from paribus.methods import registry
from paribus.methods.interface import Method
from tests.support.pages import words_of
from tests.support.running import ROLES
from tests.support.toy_method import ENTRY, Toy

ROOT = Path(__file__).parents[2]
# Adds the line to the registry before the command line is imported, as if it had been written there, and runs commands.
WITH_TOY = """
import contextlib, io, json, sys
from paribus.methods import registry
from tests.support.toy_method import ENTRY
registry.REGISTRY += (ENTRY,)
from paribus.cli.running import main
results = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["paribus", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
    results.append([status, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry with a third method."""
    monkeypatch.setattr(registry, "REGISTRY", (*registry.REGISTRY, ENTRY))
    # The package remembers the names that were asked for.
    monkeypatch.setattr(paribus, "Toy", None, raising=False)
    monkeypatch.delattr(paribus, "Toy")


def fit_toy() -> Toy:
    weather = datasets.load("weather")
    return Toy(weather.contextual, weather.behavioral).fit(weather.table)


def run_with_toy(*commands: list[str], cwd: Path) -> list[tuple[int, str, str]]:
    """The exit status, the output and the messages of each command, in a process that knows the toy."""
    result = subprocess.run(
        [sys.executable, "-c", WITH_TOY, json.dumps(commands)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return [tuple(each) for each in json.loads(result.stdout)]


@pytest.mark.parametrize("entry", registry.REGISTRY, ids=lambda entry: entry.option)
def test_each_entry_leads_to_a_method_and_its_estimator(entry: registry.Entry) -> None:
    """Tests that an entry's modules exist, that its names agree, and that it is found by each of them."""
    assert isinstance(entry.method, Method)
    assert issubclass(entry.estimator, ContextualDetector)
    assert entry.estimator.method is entry.method
    assert entry.method.name == entry.estimator_name == entry.estimator.__name__
    assert {"contextual", "behavioral", "categorical", "contamination", "n_jobs", "progress"} <= set(
        signature(entry.estimator).parameters
    )
    assert registry.find_by_option(entry.option) is entry
    assert registry.find_by_name(entry.estimator_name) is entry
    assert getattr(paribus, entry.estimator_name) is entry.estimator


def test_unknown_names_are_not_found() -> None:
    """Tests that a name without an entry is not found, whatever its type."""
    assert registry.find_by_name("Toy") is None
    assert registry.find_by_name(None) is None
    with pytest.raises(AttributeError, match="module 'paribus' has no attribute 'Toy'"):
        _ = paribus.Toy  # type: ignore[attr-defined]


@pytest.mark.usefixtures("with_toy")
def test_a_new_method_is_part_of_the_package() -> None:
    """Tests that the estimator can be imported from the package by its name."""
    assert paribus.Toy is Toy  # type: ignore[attr-defined]


@pytest.mark.usefixtures("with_toy")
def test_a_new_method_can_be_saved_and_loaded(tmp_path: Path) -> None:
    """Tests that a saved toy gives the same scores and explanations, and is not mistaken for another detector."""
    detector, path = fit_toy(), tmp_path / "toy.paribus"
    detector.save(path)
    loaded = paribus.load(path)
    assert isinstance(loaded, Toy)
    np.testing.assert_array_equal(loaded.anomaly_scores_, detector.anomaly_scores_)
    rows = {name: column[:5] for name, column in datasets.load("weather").table.items()}
    np.testing.assert_array_equal(loaded.anomaly_score(rows), detector.anomaly_scores_[:5])
    assert str(loaded.explain(3)) == str(detector.explain(3))
    with pytest.raises(ValueError, match=r"toy\.paribus holds a Toy, not a QCAD: read it with paribus\.load"):
        paribus.QCAD.load(path)


def test_a_model_of_a_method_that_is_not_registered_is_refused(tmp_path: Path) -> None:
    """Tests that without the entry the model file cannot be read."""
    fit_toy().save(tmp_path / "toy.paribus")
    with pytest.raises(ValueError, match=r"toy\.paribus is damaged: method"):
        paribus.load(tmp_path / "toy.paribus")


def test_a_new_method_has_a_report_pictures_and_a_frame(tmp_path: Path) -> None:
    """Tests that the report uses the toy's own words, and that pictures and frames need nothing else."""
    detector = fit_toy()
    words = words_of(detector.report(tmp_path / "report.html", n_rows=3).read_text())
    assert "Each of 2,000 rows was compared with the first 10 rows in" in words
    assert "100 is a hundred standard deviations" in words
    assert "The method is a toy." in words
    assert detector.explain_all(1)[0].sentence in words
    assert len(detector.explain(3).plot().axes_) == 3
    assert detector.to_frame()["rank"].min() == 1


def test_the_command_line_offers_a_new_method(tmp_path: Path, days: Path) -> None:
    """Tests that help, detection, a report, a saved model and scoring with it know the toy by its entry alone."""
    roles = [str(days), *ROLES, "--method", "toy"]
    shown, found, refused, fitted, scored = run_with_toy(
        ["detect", "--help"],
        ["detect", *roles, "--json", "--report", "report.html"],
        ["detect", *roles, "--n-trees", "5"],
        ["fit", *roles, "--model", "toy.paribus"],
        ["score", "toy.paribus", str(days), "--out", "scores.csv"],
        cwd=tmp_path,
    )
    assert "toy: distances from the mean" in " ".join(shown[1].replace("│", " ").split())
    assert found[0] == 0, found[2]
    assert json.loads(found[1])
    assert "the first 10 rows" in found[2]
    assert "The method is a toy." in (tmp_path / "report.html").read_text()
    assert refused[0] != 0
    assert "--n-trees is for --method" in refused[2]
    assert fitted[0] == 0, fitted[2]
    assert scored[0] == 0, scored[2]
    assert (tmp_path / "scores.csv").read_text().startswith("row,score,p_value,rank,label,")
