"""Files on the workers of a Dask cluster, also on those that start later."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from distributed import WorkerPlugin


class FilePlugin(WorkerPlugin):  # type: ignore[misc]
    """Writes a file into the folder of each worker.

    Parameters
    ----------
    file_name : str
        The name of the file.
    data : bytes
        Its contents.
    """

    def __init__(self, file_name: str, data: bytes) -> None:
        self.name = file_name
        """Identifies the plugin, so that Dask does not register it twice."""
        self._data = data

    def setup(self, worker: Any) -> None:
        """Writes the file, unless it exists."""
        path = os.path.join(worker.local_directory, self.name)
        if not os.path.exists(path):
            with open(path + ".part", "wb") as file:
                file.write(self._data)
            os.replace(path + ".part", path)

    def teardown(self, worker: Any) -> None:
        """Removes the file. Processes that have it mapped into memory can still use it."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(worker.local_directory, self.name))
