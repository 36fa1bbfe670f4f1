"""Cells of comparisons, the files that keep them, and the page that is made of them."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from paribus import baselines, datasets
from paribus.evaluation.experiments import Cell, Mean, append_cell, means, paper_means, read_cells, run_cell

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "rivals.csv"


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The script of `make rivals`, with a result file and a page of its own."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    script = importlib.import_module("rivals")
    shutil.copy(ROOT / "docs" / "results.md", tmp_path / "results.md")
    monkeypatch.setattr(script, "PAGE", tmp_path / "results.md")
    monkeypatch.setattr(script, "RESULTS", tmp_path / "rivals.csv")
    return script


@pytest.mark.parametrize(
    ("dataset", "method"), [("Syn1", "ROCOD"), ("Syn3", "KNN"), ("Yacht", "ROCOD"), ("FishWeight", "HBOS")]
)
def test_committed_results_come_out_again(dataset: str, method: str, request: pytest.FixtureRequest) -> None:
    """Tests that cells of the result file are what the code gives, not what it once gave."""
    if not dataset.startswith("Syn"):
        request.getfixturevalue("paper_data")
    kept = {cell.key: cell for cell in read_cells(RESULTS)}
    for trial in (0, 1):
        cell = run_cell(dataset, method, trial)
        for measure in ("prc_auc", "roc_auc", "precision_at_n"):
            assert getattr(cell, measure) == pytest.approx(getattr(kept[dataset, method, trial], measure), abs=2e-3)


def test_the_result_file_is_whole() -> None:
    """Tests that every rival has been run on every data set of the paper, and nothing twice."""
    cells = read_cells(RESULTS)
    assert len({cell.key for cell in cells}) == len(cells)
    names = [s.name for s in datasets.summaries() if s.n_anomalies is not None]
    assert {(name, rival) for name in names for rival in baselines.names()} <= set(means(cells))


def test_the_page_is_that_of_the_result_file(rivals: Any) -> None:
    """Tests that the tables of docs/results.md are those that the script writes."""
    shutil.copy(RESULTS, rivals.RESULTS)
    rivals.write_page()
    assert rivals.PAGE.read_text(encoding="utf-8") == (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


def test_a_run_goes_on_where_it_was(rivals: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that cells that are there are not run again, and that variants have their own parameters."""
    kept = Cell("Syn1", "KNN", 0, 0.25, 0.5, 0.5, 1.0)
    append_cell(rivals.RESULTS, kept)
    monkeypatch.setattr(rivals, "TRIALS", 2)
    rivals.run(["KNN", "KNN, as in the paper"], ["Syn1"])
    cells = read_cells(rivals.RESULTS)
    assert cells[0] == kept
    assert [cell.key for cell in cells[1:]] == [
        ("Syn1", "KNN, as in the paper", 0),
        ("Syn1", "KNN", 1),
        ("Syn1", "KNN, as in the paper", 1),
    ]
    assert cells[2].prc_auc != cells[3].prc_auc


def test_reach_is_the_larger_of_a_twentieth_and_the_papers_deviation(rivals: Any) -> None:
    """Tests what counts as a difference."""
    assert rivals.judge(Mean(0.55, None), Mean(0.50, 0.01)) == 0
    assert rivals.judge(Mean(0.56, None), Mean(0.50, 0.01)) == 1
    assert rivals.judge(Mean(0.44, None), Mean(0.50, None)) == -1
    assert rivals.judge(Mean(0.44, None), Mean(0.50, 0.10)) == 0


def test_means_and_deviations() -> None:
    """Tests the mean over trials, and that one trial has no deviation."""
    cells = [Cell("A", "X", trial, value, 0.5, 0.5, 1.0) for trial, value in enumerate([0.1, 0.3])]
    found = means([*cells, Cell("B", "X", 0, 0.7, 0.5, 0.5, 1.0)])
    assert found["A", "X"].mean == pytest.approx(0.2)
    assert found["A", "X"].deviation == pytest.approx(0.1414, abs=1e-4)
    assert found["B", "X"] == Mean(0.7, None, 1)
    assert [str(each) for each in found.values()] == ["0.20 ± 0.14", "0.70"]


def test_the_papers_results_cover_its_data() -> None:
    """Tests that there is a number of the paper's for each of its data sets and each rival that it knew."""
    names = [s.name for s in datasets.summaries() if s.n_anomalies is not None]
    for measure in ("prc_auc", "roc_auc", "precision_at_n"):
        reported = paper_means(measure)
        known = {"QCAD", *baselines.names()} - {"RIF"}
        assert set(reported) == {(name, method) for name in names for method in known}
        assert all(0 <= each.mean <= 1 for each in reported.values())
    assert paper_means("roc_auc")["Syn1", "CAD"] == Mean(0.94, 0.16, 10)
    assert paper_means()["Abalone", "CAD"] == Mean(0.27, None, 1)
