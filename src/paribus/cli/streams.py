"""Standard streams that are closed or cannot be written to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO


def open_closed_streams() -> None:
    """Replaces streams that the caller has closed.

    Otherwise the next file that is opened would get their file descriptor, and Python has None in place of the stream.
    Writing to a closed standard output raises an error; what is written to a closed standard error is lost.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The file gets the lowest free number, which is this one: those below are open by now.
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def forget(stream: TextIO) -> None:
    """Redirects a stream that cannot be written to: Python would raise an error again when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def terminals() -> list[TextIO]:
    """The standard streams that are a terminal, which may be closed while the command runs."""
    return [stream for stream in (sys.stdout, sys.stderr) if stream.isatty()]


def forget_all(streams: Iterable[TextIO]) -> None:
    """Redirects streams whose terminal is closed: what is still written to them is lost, and no error."""
    for stream in streams:
        # Streams in memory have no file.
        with suppress(OSError):
            forget(stream)
