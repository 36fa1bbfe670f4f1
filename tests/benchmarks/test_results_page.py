"""The results page: what it says follows from the result files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from paper import accuracy_page, figures, page
from paper.markdown import replace_part

from paribus.evaluation import experiments
from paribus.evaluation.results import MEASURES, Mean, Result, ResultFile, Task, paper_means

mpl.use("Agg")


def result(dataset: str, method: str, trial: int, value: float, **parameters: object) -> Result:
    experiment = "ablation" if parameters else "accuracy"
    return Result(Task(experiment, dataset, method, trial, parameters), 1.0, value, value, value)


def test_misses_are_marked_and_counted(tmp_path: Path) -> None:
    """Tests marks for differences from the paper of more than 0.02 and its deviation. Yacht: 0.90 +- 0.04."""
    for value, mark in ((0.87, ""), (0.85, " ▼"), (0.94, ""), (0.95, " ▲")):
        results = [result("Yacht", "QCAD", 0, value), result("Yacht", "QCAD, 100 trees", 0, 0.5)]
        lines = accuracy_page.beside_the_paper(results, tmp_path)
        row = next(line for line in lines if line.startswith("| Yacht"))
        assert row.split(" | ")[1:4] == [f"{value:.2f}{mark}", "0.50", "0.90 ± 0.04"]
        assert f"- PRC AUC below the paper's range on {'1: Yacht -0.05' if mark == ' ▼' else '0: none'}." in lines
        short = accuracy_page.in_short(results, tmp_path)
        assert f"on {0 if mark == ' ▼' else 1} of 1 data sets (required: 26 of 30, not met)" in short[0]
        assert f"{value:.3f}, in the paper 0.900" in short[1]
        assert ("at least that, met" in short[1]) == (value >= 0.9)


def test_the_check_is_met_by_the_papers_own_numbers(tmp_path: Path) -> None:
    """Tests that all 30 count as reached, and both means, when every value is the paper's."""
    results = [result(name, "QCAD", 0, each.mean) for (name, method), each in paper_means().items() if method == "QCAD"]
    lines = accuracy_page.in_short(results, tmp_path)
    assert "on 30 of 30 data sets (required: 26 of 30, met)" in lines[0]
    assert "0.821, in the paper 0.821" in lines[1]
    assert "0.974, in the paper 0.974" in lines[2]
    assert all("at least that, met)" in line for line in lines[1:3])


def test_ranks_are_averaged_and_tested(tmp_path: Path) -> None:
    """Tests ranks with ties, that 100 trees replace 10, and that only complete data sets are ranked."""
    values = dict.fromkeys(experiments.COMPARED, 0.1) | {"QCAD": 0.8, "QCAD, 100 trees": 0.9, "CAD": 0.8, "RIF": 0.85}
    results = [result(name, m, 0, v) for name in ("Yacht", "Boston", "Syn1") for m, v in values.items()]
    results += [result("Energy", "QCAD", 0, 0.5)]
    lines = accuracy_page.ranking(results, tmp_path)
    # In the paper, QCAD has the first rank of nine on all three, and CAD the second.
    assert "| QCAD | 0.800 | 0.800 | 2.50 | 2.50 | 2.50 | 1.50 | 1.00 |" in lines
    assert "| QCAD, 100 trees | 0.900 | 0.900 | 1.00 | 1.00 | 1.00 |  |  |" in lines
    assert "| CAD | 0.800 | 0.800 | 2.50 | 2.50 | 2.50 | 1.50 | 2.00 |" in lines
    assert "| RIF | 0.850 | 0.850 | 1.00 | 1.00 | 1.00 |  |  |" in lines
    # The other seven share ranks 4 to 10.
    assert "| HBOS | 0.100 | 0.100 | 7.00 | 7.00 | 7.00 | 6.00 |" in "\n".join(lines)
    assert any("PRC AUC over 3 data sets" in line for line in lines)
    assert {path.name for path in tmp_path.iterdir()} == {f"ranks-{measure}.png" for measure in MEASURES}


def test_every_number_is_there(tmp_path: Path) -> None:
    """Tests deviations, bold type with ties, the number of trials if it is low, and failures."""
    results = [result("Yacht", "QCAD", t, v) for t, v in enumerate([0.8, 0.9] * 5)]
    results += [result("Yacht", "CAD", 0, 0.85), result("Energy", "QCAD", 0, 0.5)]
    results += [Result(Task("accuracy", "Yacht", "LOF", 2), 1.0, error="ValueError: no")]
    lines = accuracy_page.every_number(results, tmp_path)
    assert "| data set | QCAD | CAD | LOF |" in lines
    assert "| Yacht | **0.85 ± 0.05** | **0.85** (1) |  |" in lines
    assert "| Energy | **0.50** (1) |  |  |" in lines
    assert lines[-1] == "Failed: LOF on Yacht, trial 2: ValueError: no."


def test_baselines_are_judged(tmp_path: Path) -> None:
    """Tests that a baseline is compared with the paper in its best setting and in the paper's. ROCOD on Yacht: 0.29."""
    results = [result("Yacht", "ROCOD", 0, 0.64), result("Yacht", "ROCOD, as in the paper", 0, 0.2)]
    results += [result("Yacht", "RIF", 0, 0.99), result("Energy", "RIF", 0, 0.98)]
    lines = accuracy_page.baseline_tables(results, tmp_path)
    assert "| ROCOD (1 sets) | 0.640 | 0.290 | 0 | 1 | 0 | none |" in lines
    assert "| ROCOD, as in the paper (1 sets) | 0.200 | 0.290 | 0 | 0 | 1 | Yacht 0.09 |" in lines
    assert "| Yacht |  | 0.64 / 0.29 ▲ |  | 0.99 |" in lines
    assert not any(line.startswith("| RIF") for line in lines)


def test_what_scaling_adds(tmp_path: Path) -> None:
    """Tests that gains are differences within a trial, averaged."""
    results = [result("Yacht", "QCAD", t, 0.8 + 0.1 * t, scale_tails=True) for t in (0, 1)]
    results += [result("Yacht", "QCAD", t, 0.5, scale_tails=False) for t in (0, 1, 2)]
    assert "| Yacht | +0.350 | +0.350 | +0.350 |" in page.scaling(results, tmp_path)


def test_curves_are_in_the_order_of_the_parameter(tmp_path: Path) -> None:
    """Tests that "none" comes last, and that 2 comes before 10."""
    results = [result("Yacht", "QCAD", 0, 0.5, clip=clip) for clip in (None, 10, 2, 0.5)]
    assert list(page._curves(results, "clip")["Yacht"]["prc_auc"]) == ["0.5", "2", "10", "none"]
    lines = page.clipping(results, tmp_path)
    assert "| PRC AUC, eta = | 0.5 | 2 | 10 | none |" in lines
    assert (tmp_path / "clipping.png").stat().st_size > 1000


def test_the_ends_of_a_parameter_have_names() -> None:
    """Tests that the first and the last value are labeled, however many there are, and that labels fit."""
    for n in (1, 2, 7, 12, 20):
        values = [*map(str, range(n - 1)), "none"]
        curve = {measure: {value: Mean(0.5, None, 1) for value in values} for measure in MEASURES}
        figure = figures.parameter_curves({"Yacht": curve}, "cap")
        labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert (labels[0], labels[-1]) == (values[0], "none")
        assert len(labels) <= 12
        assert len(set(labels)) == len(labels)
        plt.close(figure)


def test_runtime_is_a_ratio(tmp_path: Path) -> None:
    """Tests that the table has the median of trials, and the ratio of the plain forests to QCAD."""
    shape = (500, 5, 5)
    results = [Result(Task("runtime", "S1", "QCAD", t, {}, shape), s) for t, s in enumerate((1.0, 2.0, 9.0))]
    results.append(Result(Task("runtime", "S1", experiments.PLAIN, 0, {}, shape), 400.0))
    results.append(Result(Task("runtime", "S1", "QCAD", 0, {}, (1000, 5, 5)), 4.0))
    lines = page.runtime(results, tmp_path)
    assert "| 500 | 5 | 5 | 2.00 |  |  | 400.00 | 200 |" in lines
    # Twice the rows take twice as long, so the exponent is 1.
    assert "| QCAD | 1.00 |  |  |" in lines
    assert "Medians of 3 runs on one core." in lines
    machine = {"cores": 2, "processor": "x", "kernel": "avx2"}
    measured = Result(results[0].task, 1.0, versions={"python": "3.11"}, machine=machine)
    line = "Medians of 1 runs on one core of a machine of 2 cores (x, kernel avx2, Python 3.11)."
    assert line in page.runtime([measured], tmp_path)


def test_parts_go_between_their_marks(tmp_path: Path) -> None:
    """Tests that other text stays, that writing twice changes nothing, and that missing marks raise an error."""
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
    assert "| Yacht | 0.95 ▲ |" in once
    with pytest.raises(ValueError, match="the page has no place for 'runtime'"):
        replace_part(once, "runtime", [])


def test_names_on_the_diagram_do_not_overlap() -> None:
    """Tests that the names of eleven methods with close ranks are within the figure and do not overlap."""
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
    """Tests the plans: numbers of trials as in the paper, fewer for slow baselines, no cap where nothing is capped."""
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
    quick = list(experiments.runtime_tasks(["CAD"], 1, max_rows=1000))
    assert [task.shape for task in quick] == [(500, 5, 5), (1000, 5, 5)]


def test_a_detector_that_fails_is_a_result() -> None:
    """Tests that an exception becomes a result with its message."""
    outcome = experiments.run_task(Task("accuracy", "Syn1", "KNN", 0, {"n_neighbors": -1}))
    assert outcome.prc_auc is None
    assert outcome.error is not None
    assert outcome.error.startswith("ValueError: n_neighbors is -1")


def test_a_task_gives_the_same_result_every_time() -> None:
    """Tests that trial and seed determine the result, and that another seed gives another injection."""
    task = Task("accuracy", "Syn1", "HBOS", 1)
    first, again, other = experiments.run_task(task), experiments.run_task(task), experiments.run_task(task, seed=5)
    assert (first.prc_auc, first.roc_auc) == (again.prc_auc, again.roc_auc)
    assert first.prc_auc != other.prc_auc
    assert first.versions["numpy"]


def test_remaining_time_is_learned() -> None:
    """Tests that the same task is expected to take as long again, and a larger table longer."""
    clock = experiments.Clock([Result(Task("accuracy", "Yacht", "CAD", 0), 3.0)])
    assert clock.expect(Task("accuracy", "Yacht", "CAD", 1)) == 3.0
    assert clock.expect(Task("accuracy", "ElNino", "CAD", 1)) > 100.0


def test_remaining_time_accounts_for_extrapolation() -> None:
    """Tests that the peer is expected to take as long as its sample of 40 forests, not as long as all of them."""
    clock = experiments.Clock([Result(Task("runtime", "S1", "plain forests", 0, {}, (2000, 5, 5)), 250.0)])
    assert clock.expect(Task("runtime", "S1", "plain forests", 1, {}, (2000, 5, 5))) == pytest.approx(1.0)


def test_means_are_means() -> None:
    """Tests the mean of two values."""
    assert Mean.of([1.0, 3.0]).mean == 2.0
