"""Runs tasks in parallel processes: results are saved at once, and a failure does not stop the other tasks."""

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
    """The tasks without a result in the file; with `retry_failed`, failed tasks are included."""
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
    """Runs tasks and appends their results to a file.

    Parameters
    ----------
    todo : list of Task
        The tasks, in the order in which they start.
    file : ResultFile
        The file for the results.
    work : callable
        Runs a task and returns its result; it must be picklable if there are several processes.
    n_jobs : int
        The number of processes; with 1, tasks run in the current process.
    on_result : callable
        Called with each new result.
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
            # A process died and its tasks were lost. Each is run alone, to find the one that kills its process.
            for task in todo[:n_jobs]:
                if _run_in_pool([task], work, 1, keep):
                    keep(Result(task, 0.0, error=DIED))
            todo = todo[n_jobs:]


def _run_in_pool(todo: list[Task], work: Work, n_jobs: int, keep: Callable[[Result], None]) -> list[Task]:
    """Runs tasks until all are done or a process dies; returns the unfinished tasks, interrupted ones first."""
    waiting = list(todo)
    running: dict[Future[Result], Task] = {}
    # Not "fork", which copies locks that threads of numerical libraries may hold.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_jobs, mp_context=context, initializer=_follow_parent)
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                # The task is removed only after it was submitted, because the pool may break in between.
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
    """Submits a task. A process that is started for it ignores Ctrl-C, which the parent process handles."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(work, task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """Ends this process when its parent process ends, even if the parent is killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _stop(pool: ProcessPoolExecutor) -> None:
    """Terminates the processes of a pool at once."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
