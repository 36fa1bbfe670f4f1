"""Tasks over processes: results are kept at once, none is made twice, and what fails does not stop the rest."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait as wait_for

from paribus.evaluation.results import Result, ResultFile, Task

DIED = "the process that ran it died (out of memory?)"

Work = Callable[[Task], Result]


def pending(tasks: Iterable[Task], file: ResultFile, retry_failed: bool = False) -> list[Task]:
    """The tasks that the file has no result of; with `retry_failed`, those that failed among them."""
    done = {result.task.key for result in file.read() if result.error is None or not retry_failed}
    return [task for task in tasks if task.key not in done]


def run(
    todo: list[Task],
    file: ResultFile,
    work: Work,
    *,
    n_jobs: int = 1,
    on_result: Callable[[Result], object] = lambda result: None,
) -> None:
    """Runs tasks.

    Parameters
    ----------
    todo : list of tasks
        In the order in which they start.
    file : ResultFile
        Where results go.
    work : function of a task
        What is done; it must be picklable if there are several jobs.
    n_jobs : int
        Processes; 1 for this one.
    on_result : function of a result
        Called for each new one.
    """

    def keep(result: Result) -> None:
        file.append(result)
        on_result(result)

    if n_jobs == 1:
        for task in todo:
            keep(work(task))
        return
    while todo:
        todo = _run_in_pool(todo, work, n_jobs, keep)
        if todo:
            # A process died, and took these along. Whichever killed it does so again alone.
            for task in todo[:n_jobs]:
                if _run_in_pool([task], work, 1, keep):
                    keep(Result(task, 0.0, error=DIED))
            todo = todo[n_jobs:]


def _run_in_pool(todo: list[Task], work: Work, n_jobs: int, keep: Callable[[Result], None]) -> list[Task]:
    """Runs tasks until all are done, or until a process dies: then those that are not done, the interrupted first."""
    waiting = list(todo)
    running: dict[Future[Result], Task] = {}
    # Not forked: a fork copies locks that threads of numerical libraries may hold.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_follow_parent)
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                # It leaves the line only when it is taken: a pool may break just now.
                future = _submit(pool, work, waiting[0])
                running[future] = waiting.pop(0)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                keep(future.result())
                del running[future]
    except BrokenProcessPool:
        return [*running.values(), *waiting]
    finally:
        _stop(pool)
    return []


def _submit(pool: ProcessPoolExecutor, work: Work, task: Task) -> Future[Result]:
    """Submits a task. A process that starts for it does not hear Ctrl-C, which is for this one to answer."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(work, task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """Ends this process when the one that started it is gone, however that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pool: ProcessPoolExecutor) -> None:
    """Ends a pool at once, whatever its processes are doing."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
