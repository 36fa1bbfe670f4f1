"""Tasks for the tests of the runner, apart from them: each process that is started imports this module."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from paribus.evaluation.results import Result, ResultFile, Task
from paribus.evaluation.runner import pending, run

TASKS = [Task("accuracy", "Syn1", "QCAD", trial) for trial in range(6)]


def succeed(task: Task) -> Result:
    return Result(task, 0.5, prc_auc=task.trial / 10)


def fail_once(task: Task) -> Result:
    return Result(task, 0.5, error="ValueError: no") if task.trial == 2 else succeed(task)


def die(task: Task) -> Result:
    if task.trial == 2:
        os._exit(1)
    return succeed(task)


def never_end(task: Task) -> Result:
    print(task.trial, flush=True)
    threading.Event().wait()
    return succeed(task)


def kill_at(trial: int) -> None:
    """Runs the pending tasks of a file in this process, which is killed in the middle of one of them."""

    def work(task: Task) -> Result:
        print(task.trial, flush=True)
        if task.trial == trial:
            os.kill(os.getpid(), 9)
        return succeed(task)

    file = ResultFile(Path(sys.argv[1]))
    run(pending(TASKS, file), file, work)


if __name__ == "__main__":
    if sys.argv[2] == "never end":
        # Named as it is imported by the processes that are started.
        from tests.evaluation import tasks

        run(TASKS, ResultFile(Path(sys.argv[1])), tasks.never_end, n_jobs=2)
    else:
        kill_at(int(sys.argv[2]))
