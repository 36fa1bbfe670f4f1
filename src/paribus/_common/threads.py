"""The number of threads, and work on some of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from paribus._common import control_groups
from paribus._common.validation import check_n_jobs

Item = TypeVar("Item")
Halfway = TypeVar("Halfway")
Result = TypeVar("Result")

# Each thread has scratch memory of its own.
MAX_THREADS = 256
# Each thread needs scratch arrays of its own, and a few threads use up the memory bandwidth.
MAX_THREADS_OF_NUMPY = 4


def resolve_n_jobs(n_jobs: int | None) -> int:
    """The number of threads: -1 (or None) means all cores that this process may use, -2 all but one, and so on."""
    if n_jobs is None:
        n_jobs = -1
    check_n_jobs(n_jobs)
    if n_jobs > 0:
        return min(int(n_jobs), MAX_THREADS)
    return max(1, available_cores() + 1 + int(n_jobs))


def available_cores() -> int:
    """The number of cores that this process may use, as joblib counts them.

    A tenth of the time of a short command would be the import of joblib.
    """
    return max(1, min(_limits()))


def _limits() -> Iterator[int]:
    yield os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        yield len(os.sched_getaffinity(0))
    for words in control_groups.settings("cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        # "max", and in the older version a negative number, mean that there is no limit.
        if len(words) == 2 and all(word.isdecimal() and int(word) > 0 for word in words):
            quota, period = map(int, words)
            yield math.ceil(quota / period)
    # Who limits joblib limits its users, too.
    asked = os.environ.get("LOKY_MAX_CPU_COUNT", "")
    if asked.isdecimal():
        yield int(asked)


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> list[Result]:
    """The results for some items, in their order, on some threads. The work should be NumPy's, on large arrays.

    If the threads cannot be started, the calling one does the work. Some of it may then be done twice.

    >>> in_threads(lambda item: 10 * item, [1, 2, 3], 2)
    [10, 20, 30]
    """
    n_threads = min(n_threads, MAX_THREADS_OF_NUMPY)
    listed = list(items)
    if n_threads == 1 or len(listed) < 2:
        return [work(item) for item in listed]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(n_threads) as threads:
        try:
            results = threads.map(work, listed)
        except RuntimeError:
            # The system has no more of them; errors of the work come later.
            threads.shutdown(cancel_futures=True)
        else:
            return list(results)
    return [work(item) for item in listed]


def in_two_steps(
    items: Iterable[Item], first: Callable[[Item], Halfway], second: Callable[[Item, Halfway], Result]
) -> Iterator[Result]:
    """Takes each item through two steps, the second one in another thread while the first one takes up the next item.

    The first step should be compiled code, which lets go of the interpreter. No more than two items are under way.

    >>> list(in_two_steps([1, 2, 3], lambda item: 10 * item, lambda item, product: f"{item}: {product}"))
    ['1: 10', '2: 20', '3: 30']
    """
    # Not needed for a few rows, which should not wait for the import.
    from concurrent.futures import Future, ThreadPoolExecutor

    last: Future[Result] | None = None
    with ThreadPoolExecutor(1) as thread:
        for item in items:
            halfway = first(item)
            if last is not None:
                yield last.result()
            last = thread.submit(second, item, halfway)
        if last is not None:
            yield last.result()
