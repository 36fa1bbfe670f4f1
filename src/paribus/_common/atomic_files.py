"""Atomic writes: a file is written completely, or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from paribus._common.scratch import Scratch

AnyPath: TypeAlias = str | os.PathLike[str]


def check_writable(path: AnyPath) -> Path:
    """Raises an error if a file cannot be written; otherwise returns its resolved path.

    Meant to be called before a long computation whose result goes into the file.

    >>> check_writable("no such folder/report.html")
    Traceback (most recent call last):
    ...
    FileNotFoundError: cannot write 'no such folder/report.html': there is no folder 'no such folder'
    """
    target = _find_target(path)
    if not _is_special(target):
        try:
            _uninterrupted(lambda: _try(target))
        except OSError as error:
            raise _explained(error, path) from None
    return target


def _find_target(path: AnyPath) -> Path:
    """Resolves a path, and raises an error if no file can be there."""
    try:
        # A symbolic link is kept: the file that it points to is replaced.
        target = Path(path).resolve()
        with suppress(FileNotFoundError):
            # Raises an error if the name is too long, or if one of its folders is a file.
            target.stat()
        if target.is_dir():
            raise IsADirectoryError(f"cannot write '{path}': it is a folder")
        if not target.parent.is_dir():
            raise FileNotFoundError(f"cannot write '{path}': there is no folder '{Path(path).parent}'")
        if not _is_special(target) and target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(f"cannot write '{path}': the file exists and is read-only")
    except ValueError:
        raise ValueError(f"cannot write {str(path)!r}: a file name cannot hold a null character") from None
    except OSError as error:
        raise _explained(error, path) from None
    return target


@contextmanager
def atomic_path(path: AnyPath) -> Iterator[Path]:
    """Yields an empty draft to write to, which replaces the file at `path` when the block ends without an error.

    The draft has the same name, in a hidden folder beside the file. If anything goes wrong, such as a full disk or a
    killed process, the old file is unchanged. The folder of a killed process is removed by the next write.
    """
    target = _find_target(path)
    scratch = None if _is_special(target) else Scratch(target.parent, hidden=True)
    try:
        if scratch is None:
            yield target
            return
        _uninterrupted(scratch.create)
        draft = scratch.folder / target.name
        os.close(_create(draft))
        yield draft
        _flush_to_disk(draft)
        if target.exists():
            os.chmod(draft, target.stat().st_mode & 0o777)
        os.replace(draft, target)
    except BaseException as error:
        raise _explained(error, path) from None
    finally:
        if scratch is not None:
            _uninterrupted(scratch.remove)


@contextmanager
def atomic_write(path: AnyPath) -> Iterator[BinaryIO]:
    """Yields a binary file to write to, which replaces the one at `path` when the block ends: see `atomic_path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/scores.csv") as file:
    ...         _ = file.write(b"score")
    ...     Path(f"{folder}/scores.csv").read_text()
    'score'
    """
    with atomic_path(path) as draft, draft.open("wb") as file:
        yield file


@contextmanager
def errors_named(path: AnyPath) -> Iterator[None]:
    """Turns errors of the system into one sentence that names a file.

    >>> with errors_named("scores.csv"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    OSError: cannot write 'scores.csv': no space left on device
    """
    try:
        yield
    except OSError as error:
        raise _explained(error, path) from None


def _uninterrupted(work: Callable[[], object]) -> None:
    """Does a piece of work that no signal can interrupt.

    It runs in a thread, because Python handles signals only in the main thread, and waits for its threads before it
    exits.
    """
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def _try(target: Path) -> None:
    """Creates a draft and removes it again: the only reliable way to test whether that is possible."""
    scratch = Scratch(target.parent, hidden=True)
    try:
        os.close(_create(scratch.create() / target.name))
    finally:
        scratch.remove()


def _flush_to_disk(draft: Path) -> None:
    """Waits until the content is on disk: it must be there before the file gets its name."""
    handle = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_special(target: Path) -> bool:
    """Whether a path is a pipe or a device, which cannot be replaced."""
    return target.exists() and not target.is_file()


def _create(draft: Path) -> int:
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def _explained(error: BaseException, path: AnyPath) -> BaseException:
    """Turns an error of the system into one sentence that names the file. Other errors are returned unchanged."""
    if isinstance(error, OSError) and error.errno is not None:
        return type(error)(f"cannot write '{path}': {(error.strerror or str(error)).lower()}")
    return error
