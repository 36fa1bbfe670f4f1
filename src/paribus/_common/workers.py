"""Workers of a cluster, as a method sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol


class Workers(Protocol):
    """Runs independent tasks on other machines or processes."""

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""

    def run(self, work: Callable[[Any, Any, int], Any], shared: Any, tasks: Sequence[Any]) -> Iterator[Any]:
        """Calls `work(shared, task, n_threads)` for each task; the results are in the order of tasks.

        `work` is a function of a module, and `shared`, the tasks and the results can be pickled.
        """
