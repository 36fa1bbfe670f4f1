"""Progress of a computation: a bar, or a function of the caller's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TypeAlias, cast

Progress: TypeAlias = bool | Callable[[int, int], object]


def check_progress(progress: Progress) -> None:
    """Raises an error if `progress` is neither a boolean nor a function."""
    if not (isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress is {progress!r}: it must be True, False, or a function")


class _Shown:
    """A stream that cannot fail: a terminal that is closed must not end the computation whose progress it shows."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def reporter(progress: Progress, n_rows: int | None, what: str) -> Iterator[Callable[[int], object] | None]:
    """Yields a function that takes the number of finished rows, or None if progress is not wanted.

    True shows a progress bar. It goes to standard error, because standard output may be piped into another program. If
    the number of rows is not known, the bar shows no end, and a function gets the number of rows so far as the total.
    """
    if callable(progress):
        yield lambda n_done: progress(n_done, n_done if n_rows is None else n_rows)
    elif progress:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(file=cast(IO[str], _Shown(sys.stderr)))) as bar:
            task = bar.add_task(what, total=n_rows)
            yield lambda n_done: bar.update(task, completed=n_done)
    else:
        yield None
