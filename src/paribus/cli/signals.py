"""Signals while modules are being imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def loading() -> Iterator[None]:
    """Lets a signal end the process at once while modules are imported, with one line for Ctrl-C.

    An exception during an import would become a traceback, or an error of some C library. No file is being written at
    that time. A signal that is ignored, as with nohup, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    handled = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in handled:
            signal.signal(number, _end)
        yield
    finally:
        for number in handled:
            signal.signal(number, before[number])


def _end(number: int, _: object) -> None:
    if number == signal.SIGINT:
        with suppress(OSError):
            os.write(2, b"paribus: interrupted\n")
    os._exit(128 + number)
