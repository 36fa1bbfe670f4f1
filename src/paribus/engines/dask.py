"""Dask: partitions by map_partitions, files by a plugin of its workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from paribus.engines.batch_size import batch_size
from paribus.engines.checks import PACKAGES, check_versions, own_versions
from paribus.engines.interface import SharedFile
from paribus.tables.joining import join_tables


@dataclass(frozen=True)
class DaskFile:
    """A file on each worker, and on the machine that sent it."""

    local: str

    def path(self) -> str:
        """Its path on the current worker; without workers, the original path."""
        try:
            from distributed import get_worker

            return os.path.join(get_worker().local_directory, os.path.basename(self.local))
        except (ImportError, ValueError):
            return self.local


@dataclass(frozen=True)
class InBatches:
    """Work on a partition, a batch of rows at a time."""

    work: Callable[[Any], Any]

    def __call__(self, partition: Any) -> Any:
        """Does the work on all rows of a partition."""
        return join_tables([self.work(batch) for batch in batches_of(partition)])


@dataclass(frozen=True)
class OnPartition:
    """Work on the batches of a partition."""

    work: Callable[[Iterator[Any]], Any]

    def __call__(self, partition: Any) -> Any:
        """Does the work on a partition."""
        return self.work(iter(batches_of(partition)))


def batches_of(partition: Any) -> list[Any]:
    """The rows of a partition in batches; an empty partition is one batch."""
    size = batch_size(partition.shape[1])
    return [partition.iloc[begin : begin + size] for begin in range(0, max(len(partition), 1), size)]


class DaskEngine:
    """Adapts Dask: the cluster of the current client, or the threads of this process if there is none."""

    name = "Dask"
    module = "paribus.dask"
    threads_per_task = 1
    _checked: ClassVar[set[str]] = set()
    """The clusters whose workers have been checked."""

    def __init__(self) -> None:
        try:
            from distributed import get_client

            self._client: Any = get_client()
        except (ImportError, ValueError):
            # The first if distributed is not installed, the second if there is no client.
            self._client = None

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""
        if self._client is None:
            return os.cpu_count() or 1
        return max(1, int(sum(self._client.nthreads().values())))

    def check(self) -> None:
        """Raises an error if a worker lacks a package; checked once per cluster."""
        if self._client is None or (cluster := str(self._client.scheduler_info()["id"])) in self._checked:
            return
        own = own_versions()
        answers = self._client.get_versions(check=False, packages=list(PACKAGES))
        for worker in answers["workers"].values():
            check_versions(worker["packages"], own, "the Dask workers")
        self._checked.add(cluster)

    def names(self, frame: Any) -> list[str]:
        """The names of the columns."""
        return list(frame.columns)

    def select(self, frame: Any, names: Sequence[str]) -> Any:
        """Some of the columns."""
        return frame[list(names)]

    def empty(self, frame: Any) -> Any:
        """A partition of the frame without rows."""
        from dask.dataframe.utils import make_meta

        return make_meta(frame)

    def n_rows(self, frame: Any) -> int:
        """The number of rows."""
        return len(frame)

    def in_parts(self, frame: Any, most: int) -> tuple[Any, int]:
        """The frame in at most this many partitions, and their number."""
        return (frame.repartition(npartitions=most), most) if frame.npartitions > most else (frame, frame.npartitions)

    def gather(self, frame: Any, work: Callable[[Iterator[Any]], Any]) -> Iterator[Any]:
        """Does work on the batches of each partition."""
        from dask import compute, delayed

        act = delayed(OnPartition(work), pure=False)
        return iter(compute(*(act(partition) for partition in frame.to_delayed())))

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Does each task on a worker."""
        from dask import compute, delayed

        act = delayed(work, pure=False)
        return iter(compute(*(act(task) for task in tasks)))

    def share(self, path: str) -> SharedFile:
        """Brings a file to all workers."""
        if self._client is not None:
            from paribus.engines.dask_files import FilePlugin

            with open(path, "rb") as file:
                self._client.register_plugin(FilePlugin(os.path.basename(path), file.read()))
        return DaskFile(path)

    def release(self, shared: SharedFile) -> None:
        """Removes a file from the workers, and from the scheduler, which keeps it for new workers."""
        if self._client is not None and isinstance(shared, DaskFile):
            self._client.unregister_worker_plugin(os.path.basename(shared.local))
        if isinstance(shared, DaskFile):
            os.unlink(shared.local)

    def transform(self, frame: Any, work: Callable[[Any], Any], result: Any, kept: Sequence[str]) -> Any:
        """A lazy frame of what work makes of each partition."""
        return frame.map_partitions(InBatches(work), meta=result, enforce_metadata=False)

    def highest(
        self,
        frame: Any,
        n: int,
        by: Sequence[str],
        counted: Callable[[Any], dict[str, Any]],
        out: tuple[Callable[[Any], Any], str] | None = None,
    ) -> tuple[Any, dict[str, int]]:
        """The rows with the highest values in some columns, and the number of rows for which conditions hold."""
        from dask import compute

        wanted = counted(frame)
        wishes = [frame.nlargest(n, columns=list(by)), *(each.sum() for each in wanted.values())]
        if out is not None:
            written, path = out
            wishes.append(written(frame).to_parquet(path, write_index=False, compute=False))
        # Computed together, so that each row is scored once, and is in memory only until it is written.
        table, *sums = compute(*wishes)
        return table, dict(zip(wanted, map(int, sums[: len(wanted)]), strict=True))
