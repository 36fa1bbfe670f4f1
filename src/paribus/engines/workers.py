"""Work on the workers of an engine with data that are too large for a task: they are in a file on every worker."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from paribus.engines.interface import Engine, SharedFile
from paribus.engines.payload import read_payload, write_payload

MAX_SHARED_BYTES = 4 * 2**30
"""The maximum size of a file that is sent to every worker."""
_CHUNK = 2**20


@dataclass(frozen=True)
class SharedWork:
    """Work with objects that every worker has."""

    work: Callable[[tuple[Any, ...], Any, int], Any]
    shared: tuple[SharedFile, ...]
    n_threads: int

    def __call__(self, task: Any) -> Any:
        """Does a task."""
        return self.work(tuple(read_payload(each.path()) for each in self.shared), task, self.n_threads)


@dataclass(frozen=True)
class EngineWorkers:
    """The workers of an engine, for a method that can split a fit into tasks."""

    engine: Engine

    @property
    def n_slots(self) -> int:
        """The number of tasks that run at the same time."""
        return self.engine.n_slots

    @contextmanager
    def share(self, value: Any) -> Iterator[SharedFile]:
        """Sends a value to all workers, as a file."""
        path = os.path.join(shared_folder(), "payload")
        write_payload(path, value)
        handle = self.engine.share(as_shared(path, "payload"))
        try:
            yield handle
        finally:
            self.engine.release(handle)

    def run(
        self, work: Callable[[tuple[Any, ...], Any, int], Any], shared: Sequence[SharedFile], tasks: Sequence[Any]
    ) -> Iterator[Any]:
        """Calls `work(values, task, n_threads)` for each task on a worker; the results are in their order."""
        return self.engine.run(SharedWork(work, tuple(shared), self.engine.threads_per_task), tasks)


@lru_cache(maxsize=1)
def shared_folder() -> str:
    """A folder for files that workers fetch. It exists until this process ends, because workers may start later."""
    folder = tempfile.mkdtemp(prefix="paribus-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def as_shared(path: str, what: str) -> str:
    """Renames a file by its contents, so that it is sent only once, and returns its path."""
    size = os.path.getsize(path)
    if size > MAX_SHARED_BYTES:
        raise ValueError(
            f"the fitted rows take {size / 2**30:.1f} GB, and at most {MAX_SHARED_BYTES // 2**30} GB are sent to "
            "each worker: fit to fewer rows, with n_rows=..."
        )
    digest = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    named = os.path.join(shared_folder(), f"paribus-{what}-{digest.hexdigest()}")
    os.replace(path, named)
    return named
