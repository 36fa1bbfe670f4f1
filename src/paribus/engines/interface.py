"""The interface of an engine: everything that fits, scores and lists need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol


class SharedFile(Protocol):
    """A file that every worker has."""

    def path(self) -> str:
        """Its path on the current worker."""


class Engine(Protocol):
    """An adapter of an engine. Batches are tables of any kind that `Table` reads."""

    @property
    def name(self) -> str:
        """The name of the engine in messages."""

    @property
    def module(self) -> str:
        """The public module for frames of this engine."""

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""

    @property
    def threads_per_task(self) -> int:
        """The number of threads that a task may use."""

    def check(self) -> None:
        """Raises an error if the workers lack what they need."""

    def names(self, frame: Any) -> list[str]:
        """The names of the columns."""

    def select(self, frame: Any, names: Sequence[str]) -> Any:
        """Some of the columns."""

    def empty(self, frame: Any) -> Any:
        """A batch of the frame without rows."""

    def n_rows(self, frame: Any) -> int:
        """The number of rows."""

    def in_parts(self, frame: Any, most: int) -> tuple[Any, int]:
        """The frame in at most this many partitions, without a shuffle, and an upper bound of their number."""

    def gather(self, frame: Any, work: Callable[[Iterator[Any]], Any]) -> Iterator[Any]:
        """Does work on the batches of each partition, and returns the results in the order of partitions."""

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Runs each task on a worker, and returns the results in the order of tasks."""

    def share(self, path: str) -> SharedFile:
        """Sends a file to all workers, including those that start later. It must not be moved."""

    def release(self, shared: SharedFile) -> None:
        """Removes a file that no task needs any more from the workers, if the engine can."""

    def transform(self, frame: Any, work: Callable[[Any], Any], result: Any, kept: Sequence[str]) -> Any:
        """A lazy frame of the results of work on each batch: columns that are kept, and new ones of numbers and text.

        `result` is the result for a batch without rows.
        """

    def highest(
        self,
        frame: Any,
        n: int,
        by: Sequence[str],
        counted: Callable[[Any], dict[str, Any]],
        out: tuple[Callable[[Any], Any], str] | None = None,
    ) -> tuple[Any, dict[str, int]]:
        """The rows with the highest values in some columns, in descending order, as a local table.

        And by name, the number of rows for which a condition on columns of the frame holds. With `out`, what a function
        makes of the frame is also written to a folder of Parquet files. The frame is computed only once.
        """
