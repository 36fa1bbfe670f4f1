"""Folders for temporary files: those that killed processes leave behind are removed by the next one.

A folder has a lock file, which its process holds: a folder whose lock can be taken is stray. This holds
even if the process was killed, if its id was reused, or if the clock was changed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Windows has no such locks: nothing is removed there.
fcntl: Any = import_module("fcntl") if find_spec("fcntl") is not None else None

PREFIX, SUFFIX = "paribus-", ".part"
LOCK = "lock"
N_TRIES = 100


class Scratch:
    """A folder of this process.

    Parameters
    ----------
    parent : Path
        Where it is.
    hidden : bool
        Whether its name starts with a dot.
    """

    def __init__(self, parent: Path, *, hidden: bool = False) -> None:
        self._parent, self._start = parent, f".{PREFIX}" if hidden else PREFIX
        self._lock: int | None = None
        self.folder = self._named()

    def create(self) -> Path:
        """Makes the folder, after the removal of those that killed processes left in the same place."""
        remove_stray(self._parent, self._start)
        for _ in range(N_TRIES):
            self.folder = self._named()
            os.mkdir(self.folder, 0o700)
            # Until it is locked, another process may consider the folder stray and remove it.
            with contextlib.suppress(FileNotFoundError):
                self._lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                if _take(self._lock) is not False and os.path.samestat(
                    os.fstat(self._lock), os.stat(self.folder / LOCK)
                ):
                    return self.folder
            self.remove()
        raise OSError(f"cannot create a folder in {self._parent}")

    def remove(self) -> None:
        """Removes the folder, if it is there."""
        _remove(self.folder)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _named(self) -> Path:
        return self._parent / f"{self._start}{secrets.token_hex(8)}{SUFFIX}"


@contextmanager
def scratch_folder(beside: Path | None = None) -> Iterator[Path]:
    """Yields a folder for temporary files, and removes it in the end. `beside` names the folder that it is in, hidden.

    >>> with scratch_folder() as folder:
    ...     (folder / "notes.txt").write_text("here")
    4
    >>> folder.exists()
    False
    """
    scratch = Scratch(Path(tempfile.gettempdir()) if beside is None else beside, hidden=beside is not None)
    try:
        yield scratch.create()
    finally:
        scratch.remove()


def remove_stray(parent: Path, start: str) -> None:
    """Removes folders that killed processes of this user have left. Errors are ignored."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(start) and entry.name.endswith(SUFFIX):
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False) and entry.stat().st_uid == os.getuid():
                        _remove_if_stray(Path(entry.path))


def _remove_if_stray(folder: Path) -> None:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        # Its process was killed before the lock was there, or after it was removed: the folder is empty. If it is not,
        # its process has made the lock just now.
        os.rmdir(folder)
        return
    try:
        if _take(lock):
            _remove(folder)
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    """Removes a folder, its lock last: a folder without a lock is empty. Errors are ignored."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            elif entry.name != LOCK:
                os.unlink(entry.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(folder / LOCK)
        os.rmdir(folder)


def _take(lock: int) -> bool | None:
    """Whether a lock could be taken; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
