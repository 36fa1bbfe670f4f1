"""Runs of many tasks: results are saved at once, a killed run is resumed, and a failure does not stop the others."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from paribus.evaluation import runner
from paribus.evaluation.results import Mean, Result, ResultFile, Task, means
from paribus.evaluation.runner import DIED, pending, run
from tests.evaluation import tasks
from tests.evaluation.tasks import TASKS, die, fail_once, succeed
from tests.support.running import invoke


def test_results_survive_the_file(tmp_path: Path) -> None:
    """Tests that a result is read as it was written: parameters, shape, error and versions included."""
    file = ResultFile(tmp_path / "new" / "results.jsonl")
    written = [
        Result(
            Task("ablation", "Yacht", "QCAD", 3, {"clip": None}),
            1.25,
            0.5,
            0.75,
            1.0,
            None,
            3,
            {"clip": None},
            {"numpy": "2.0"},
            {"cores": 2},
        ),
        Result(Task("runtime", "S1", "CAD", 0, {}, (500, 5, 5)), 9.0),
        Result(Task("accuracy", "Yacht", "LOF", 0), 0.1, error="ValueError: 'ü'"),
    ]
    assert file.read() == []
    for result in written:
        file.append(result)
    assert file.read() == written
    assert len({result.task.key for result in written}) == 3


def test_a_torn_line_costs_one_result(tmp_path: Path) -> None:
    """Tests that an incomplete line of a killed run is skipped, and does not damage the next one."""
    file = ResultFile(tmp_path / "results.jsonl")
    file.append(succeed(TASKS[0]))
    with file.path.open("a") as stream:
        stream.write(succeed(TASKS[1]).to_line()[:40])
    assert [result.task.trial for result in file.read()] == [0]
    file.append(succeed(TASKS[2]))
    assert [result.task.trial for result in file.read()] == [0, 2]


def test_a_foreign_line_raises_an_error(tmp_path: Path) -> None:
    """Tests that a line that is not a result is not skipped silently."""
    file = ResultFile(tmp_path / "results.jsonl")
    file.path.write_text('{"some": "thing"}\n')
    with pytest.raises(ValueError, match=r"line 1 of '.*results.jsonl' is not a result"):
        file.read()


def test_a_killed_run_is_resumed(tmp_path: Path) -> None:
    """Tests that a run killed in the middle of a task keeps the results before it, and that no task runs twice."""
    command = [sys.executable, "-m", tasks.__name__, str(tmp_path / "results.jsonl")]
    killed = subprocess.run([*command, "3"], capture_output=True, text=True, check=False)
    assert killed.returncode < 0
    assert killed.stdout.split() == ["0", "1", "2", "3"]
    again = subprocess.run([*command, "-1"], capture_output=True, text=True, check=True)
    assert again.stdout.split() == ["3", "4", "5"]
    assert [result.prc_auc for result in ResultFile(tmp_path / "results.jsonl").read()] == [0, 0.1, 0.2, 0.3, 0.4, 0.5]


def test_a_failure_is_a_result_and_can_be_retried(tmp_path: Path) -> None:
    """Tests that other tasks continue, that a failed task is repeated only on request, and that this replaces it."""
    file = ResultFile(tmp_path / "results.jsonl")
    run(TASKS, file, fail_once)
    assert [result.error for result in file.read()] == [None, None, "ValueError: no", None, None, None]
    assert pending(TASKS, file) == []
    assert pending(TASKS, file, retry_failed=True) == [TASKS[2]]
    run(pending(TASKS, file, retry_failed=True), file, succeed)
    assert all(result.error is None for result in file.read())
    assert len(file.read()) == 6


def test_processes_give_the_same_results(tmp_path: Path) -> None:
    """Tests that two processes finish all tasks, whatever the order."""
    file = ResultFile(tmp_path / "results.jsonl")
    run(TASKS, file, succeed, n_jobs=2)
    assert sorted(result.task.trial for result in file.read()) == list(range(6))


def test_a_process_that_dies_loses_only_its_own_task(tmp_path: Path) -> None:
    """Tests that a crash is recorded for the task that caused it, and that all other tasks finish."""
    file = ResultFile(tmp_path / "results.jsonl")
    run(TASKS, file, die, n_jobs=2)
    errors = {result.task.trial: result.error for result in file.read()}
    assert errors == {0: None, 1: None, 2: DIED, 3: None, 4: None, 5: None}


def test_no_task_is_lost_when_the_pool_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a task is run later if a process dies just before the task is submitted."""
    submit, tried = runner._submit, []

    def break_once(pool: ProcessPoolExecutor, work: runner.Work, task: Task) -> Future[Result]:
        tried.append(task)
        if len(tried) == 3:
            raise BrokenProcessPool
        return submit(pool, work, task)

    monkeypatch.setattr(runner, "_submit", break_once)
    file = ResultFile(tmp_path / "results.jsonl")
    run(TASKS, file, succeed, n_jobs=2)
    assert sorted(result.task.trial for result in file.read()) == list(range(6))


def test_means_are_over_the_trials_that_have_a_measure() -> None:
    """Tests the mean, the deviation, and that failed tasks do not count as zero."""
    results = [succeed(TASKS[1]), succeed(TASKS[3]), Result(TASKS[2], 1.0, error="no")]
    found = means(results)["Syn1", "QCAD"]
    assert (found.mean, found.n_trials) == (0.2, 2)
    assert found.deviation == pytest.approx(0.1414, abs=1e-4)
    assert [str(found), str(Mean.of([0.5]))] == ["0.20 ± 0.14", "0.50"]


def start_bench(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Starts `paribus bench accuracy` in its own process group, as a shell does."""
    command = "from paribus.__main__ import main; main()"
    words = ["bench", "accuracy", "--dataset", "Syn1", "--results", str(folder), *options]
    return subprocess.Popen(
        [sys.executable, "-c", command, *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def test_an_interrupted_run_ends_at_once_and_is_resumed(tmp_path: Path) -> None:
    """Tests that Ctrl-C ends all processes without a traceback, with its own exit code, and keeps what is finished."""
    # The second task takes long enough to be interrupted.
    slow = start_bench(tmp_path, "--detector", 'ROCOD,"QCAD, 100 trees"', "--trials", "40", "--jobs", "2")
    assert slow.stderr is not None
    assert slow.stderr.readline().startswith("80 of 80 cells to run; results go to ")
    assert re.match(r"\[1 of 80, .* left\] Syn1, ", slow.stderr.readline())
    os.killpg(slow.pid, signal.SIGINT)
    _, errors = slow.communicate(timeout=60)
    assert slow.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "paribus: interrupted"
    n_kept = len(ResultFile(tmp_path / "accuracy.jsonl").read())
    options = ["--dataset", "Syn1", "--results", tmp_path, "--detector", "ROCOD", "--trials", 2, "--jobs", 1]
    code, _, errors = invoke("bench", "accuracy", *options)
    assert code == 0
    kept = {result.task.key for result in ResultFile(tmp_path / "accuracy.jsonl").read()}
    assert len(kept) - n_kept == int(errors.split()[0]) < 2


def test_a_killed_run_leaves_no_process_behind(tmp_path: Path) -> None:
    """Tests that the processes of a killed run end by themselves, even in the middle of a long task."""
    command = [sys.executable, "-m", tasks.__name__, str(tmp_path / "results.jsonl"), "never end"]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    assert {killed.stdout.readline(), killed.stdout.readline()} == {"0\n", "1\n"}
    killed.kill()
    # They hold the other end of the pipe, which closes when the last of them ends.
    assert killed.communicate(timeout=60)[0] == ""
