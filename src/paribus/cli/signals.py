"""What a signal does while code is being loaded."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def loading() -> Iterator[None]:
    """Around imports in the shell: a signal ends the process at once, with one line for Ctrl-C.

    An exception in the middle of an import would become a traceback, or an error of some C library. Nothing is
    half-written while code is loaded. A signal that the caller ignores, as nohup does, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in SIGNALS}
    heard = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    try:
        for number in heard:
            signal.signal(number, _end)
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def _end(number: int, _: object) -> None:
    if number == signal.SIGINT:
        with suppress(OSError):
            os.write(2, b"paribus: interrupted\n")
    os._exit(128 + number)
