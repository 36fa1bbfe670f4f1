"""Standard input, output and error, where one of them is closed or full."""

from __future__ import annotations

import os
import sys
from typing import TextIO


def open_closed_streams() -> None:
    """Puts something in the place of streams that the caller has closed.

    Or the next file that is opened would be taken for one of them, and Python has None where it has no stream. What is
    written to a closed output is an error as soon as it gets there; what is written to a closed standard error is gone.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, and those below it are taken by now.
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def forget(stream: TextIO) -> None:
    """Lets a stream that cannot be written to go nowhere: Python would complain again when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
