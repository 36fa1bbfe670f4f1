"""Workers of a cluster, as a method sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Workers(Protocol):
    """Runs independent tasks on other machines or processes."""

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""

    def share(self, value: Any) -> AbstractContextManager[Any]:
        """Sends a value to all workers, which can be pickled. Returns what stands for it in `run`."""

    def run(
        self, work: Callable[[tuple[Any, ...], Any, int], Any], shared: Sequence[Any], tasks: Sequence[Any]
    ) -> Iterator[Any]:
        """Calls `work(values, task, n_threads)` for each task; the results are in the order of tasks.

        `work` is a function of a module. `values` are those that were shared. Tasks and results can be pickled.
        """
