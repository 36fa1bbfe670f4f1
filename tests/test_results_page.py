"""The results page: what it says follows from the result files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import matplotlib as mpl
import pytest

from paribus.evaluation import experiments, figures, page
from paribus.evaluation.results import Mean, Result, ResultFile, Task

mpl.use("Agg")


def result(dataset: str, method: str, trial: int, value: float, **parameters: object) -> Result:
    experiment = "ablation" if parameters else "accuracy"
    return Result(Task(experiment, dataset, method, trial, parameters), 1.0, value, value, value)


def test_misses_are_marked_and_counted(tmp_path: Path) -> None:
    """Tests the rule: below the paper by more than 0.02 and more than its deviation. Yacht has 0.90 +- 0.04 there."""
    for value, is_miss in ((0.87, False), (0.85, True), (0.99, False)):
        lines = page.beside_the_paper([result("Yacht", "QCAD", 0, value)], tmp_path)
        row = next(line for line in lines if line.startswith("| Yacht"))
        assert row.split(" | ")[1] == f"{value:.2f}" + (" ▼" if is_miss else "")
        assert row.split(" | ")[2] == "0.90 ± 0.04"
        assert f"PRC AUC {0 if is_miss else 1}" in lines[-1]


def test_the_best_of_a_row_is_bold_and_ranks_are_averaged(tmp_path: Path) -> None:
    """Tests bold type with ties, means, ranks, and that a method which missed a data set does not spoil the ranks."""
    values = {"QCAD": 0.9, "CAD": 0.9, "HBOS": 0.1}
    results = [result(name, m, t, v) for name in ("Yacht", "Boston", "Syn1") for m, v in values.items() for t in (0, 1)]
    results += [result("Energy", "QCAD", 0, 0.5)]
    lines = page.all_methods(results, tmp_path)
    assert "| Yacht | **0.90** | **0.90** | 0.10 |" in lines
    assert "| Energy | **0.50** |  |  |" in lines
    assert "| **average rank** | 1.50 | 1.50 | 3.00 |" in lines
    assert "| **mean, generated** | 0.900 | 0.900 | 0.100 |" in lines
    assert any("over the 3 data sets that every method has finished" in line for line in lines)
    assert (tmp_path / "ranks-prc_auc.png").exists()
    assert "Fewer injections than elsewhere, QCAD: Boston 2, Energy 1, Yacht 2, Syn1 2." in lines


def test_failures_are_on_the_page(tmp_path: Path) -> None:
    """Tests that a cell which failed is named with its error."""
    failed = Result(Task("accuracy", "Yacht", "LOF", 0), 1.0, error="ValueError: no")
    lines = page.all_methods([result("Yacht", "QCAD", 0, 0.5), failed], tmp_path)
    assert "Failed: LOF on Yacht: ValueError: no." in lines


def test_what_scaling_adds(tmp_path: Path) -> None:
    """Tests that gains are differences within a trial, averaged."""
    results = [result("Yacht", "QCAD", t, 0.8 + 0.1 * t, scale_tails=True) for t in (0, 1)]
    results += [result("Yacht", "QCAD", t, 0.5, scale_tails=False) for t in (0, 1, 2)]
    assert "| Yacht | +0.350 | +0.350 | +0.350 |" in page.scaling(results, tmp_path)


def test_curves_are_in_the_order_of_the_parameter(tmp_path: Path) -> None:
    """Tests that no cap comes last, and that 2 comes before 10."""
    results = [result("Yacht", "QCAD", 0, 0.5, clip=clip) for clip in (None, 10, 2, 0.5)]
    assert list(page._curves(results, "clip")["Yacht"]["prc_auc"]) == ["0.5", "2", "10", "none"]
    assert page.clipping(results, tmp_path)
    assert (tmp_path / "clipping.png").stat().st_size > 1000


def test_runtime_is_a_ratio(tmp_path: Path) -> None:
    """Tests that the table has the median of trials, and how many times longer the plain forests take."""
    shape = (500, 5, 5)
    results = [Result(Task("runtime", "S1", "QCAD", t, {}, shape), s) for t, s in enumerate((1.0, 2.0, 9.0))]
    results.append(Result(Task("runtime", "S1", experiments.PLAIN, 0, {}, shape), 400.0))
    assert "| 500 | 5 | 5 | 2.00 |  |  | 400.00 | 200 |" in page.runtime(results, tmp_path)


def test_parts_go_between_their_marks(tmp_path: Path) -> None:
    """Tests that what people wrote stays, that writing twice is writing once, and that a missing mark is said."""
    target = tmp_path / "page.md"
    marks = "<!-- accuracy beside the paper: begin -->\n<!-- accuracy beside the paper: end -->"
    text = f"# Results\n\nBefore.\n\n{marks}\n\nAfter.\n"
    target.write_text(text, encoding="utf-8")
    ResultFile(tmp_path / "accuracy.jsonl").append(result("Yacht", "QCAD", 0, 0.95))
    assert page.write_page(tmp_path, target, tmp_path) == ["accuracy beside the paper"]
    once = target.read_text(encoding="utf-8")
    page.write_page(tmp_path, target, tmp_path)
    assert target.read_text(encoding="utf-8") == once
    assert once.startswith("# Results\n\nBefore.\n")
    assert once.endswith("\n\nAfter.\n")
    assert "| Yacht | 0.95 |" in once
    with pytest.raises(ValueError, match="the page has no place for 'runtime'"):
        page.replace_part(once, "runtime", [])


def test_names_on_the_diagram_do_not_overlap() -> None:
    """Tests that eleven methods with close ranks stay legible, and bars join the right ones."""
    names = [f"method number {i}" for i in range(11)]
    figure = figures.critical_difference_diagram(names, [1.0, 1.1, 1.2, 5, 5.1, 5.2, 5.3, 8, 8, 8.1, 10.9], 2.0)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts if "method" in text.get_text()]
    assert len(boxes) == 11
    for i, one in enumerate(boxes):
        assert one.x0 >= 0
        assert one.x1 <= figure.bbox.x1
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])


def test_every_experiment_has_its_cells() -> None:
    """Tests the plans: numbers of trials as in the paper, fewer for slow rivals, no cap where nothing is cut."""
    tasks = list(experiments.accuracy_tasks(["QCAD", "LoPAD"], ["Yacht", "Abalone", "ElNino"]))
    counts = Counter((task.dataset, task.method) for task in tasks)
    assert counts["Yacht", "QCAD"] == 10
    assert counts["Abalone", "QCAD"] == counts["ElNino", "QCAD"] == 5
    assert 1 <= counts["ElNino", "LoPAD"] < 5
    assert len({task.key for task in tasks}) == len(tasks)
    ablation = list(experiments.ablation_tasks(["Yacht", "Energy"], trials=1))
    assert not any("clip" in task.parameters for task in ablation if task.dataset == "Yacht")
    assert {task.parameters["clip"] for task in ablation if "clip" in task.parameters} == set(experiments.CLIPS)
    assert all(task.parameters["n_neighbors"] < 308 for task in experiments.sensitivity_tasks(["Yacht"], trials=1))
    assert len(experiments.paper_sets()) == 30


def test_a_detector_that_fails_is_a_result() -> None:
    """Tests that an exception becomes a line, with what was wrong."""
    outcome = experiments.run_task(Task("accuracy", "Syn1", "KNN", 0, {"n_neighbors": -1}))
    assert outcome.prc_auc is None
    assert outcome.error is not None
    assert outcome.error.startswith("ValueError: n_neighbors is -1")


def test_a_cell_gives_the_same_result_every_time() -> None:
    """Tests that trial and seed decide everything, and that another seed is another injection."""
    task = Task("accuracy", "Syn1", "HBOS", 1)
    first, again, other = experiments.run_task(task), experiments.run_task(task), experiments.run_task(task, seed=5)
    assert (first.prc_auc, first.roc_auc) == (again.prc_auc, again.roc_auc)
    assert first.prc_auc != other.prc_auc
    assert first.versions["numpy"]


def test_time_left_is_learnt() -> None:
    """Tests that the same cell is expected to take as long again, and a larger table longer."""
    clock = experiments.Clock([Result(Task("accuracy", "Yacht", "CAD", 0), 3.0)])
    assert clock.expect(Task("accuracy", "Yacht", "CAD", 1)) == 3.0
    assert clock.expect(Task("accuracy", "ElNino", "CAD", 1)) > 100.0
    assert Mean.of([1.0, 3.0]).mean == 2.0
