"""Long-running work: it runs in a thread, reports its progress, and can be canceled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from paribus._common.text import clipped

STARTS = frozenset(["a", "all", "an", "at", "cannot", "choose", "column", "no", "row", "rows", "the", "there", "these"])
"""First words of messages that are not names."""
MAX_SENTENCE = 1_000  # characters; a message can quote the request


class CancelledError(Exception):
    """Raised when the user has canceled the work."""


class Job:
    """A piece of work with progress.

    Parameters
    ----------
    what : str
        A description of the work, for the user.
    work : function
        Called with the job; calls its `progress` from time to time.
    finish : function
        Called at the end with None, or with an error message.
    """

    def __init__(self, what: str, work: Callable[[Job], None], finish: Callable[[Job, str | None], None]) -> None:
        self.what = what
        self.share: float | None = None
        self._work, self._finish = work, finish
        self._is_cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Starts the work."""
        self._thread.start()

    def cancel(self) -> None:
        """Cancels the work; it stops when it next reports its progress."""
        self._is_cancelled.set()

    def wait(self, seconds: float) -> None:
        """Waits for the end, for at most this many seconds."""
        self._thread.join(seconds)

    def say(self, what: str) -> None:
        """Reports that the next part begins."""
        self.check()
        self.what, self.share = what, None

    def progress(self, done: int, total: int) -> None:
        """Reports the progress. Raises an error if the work was canceled."""
        self.check()
        self.share = done / max(total, 1)

    def check(self) -> None:
        """Raises an error if the work was canceled."""
        if self._is_cancelled.is_set():
            raise CancelledError

    def to_dict(self) -> dict[str, Any]:
        """The progress, for the page."""
        is_cancelled = self._is_cancelled.is_set()
        return {"what": "Canceling" if is_cancelled else self.what, "share": self.share}

    def _run(self) -> None:
        try:
            self._work(self)
        except CancelledError:
            self._finish(self, "Canceled: the earlier result is still there.")
        except MemoryError:
            self._finish(self, "There is not enough memory for this table.")
        except (ValueError, TypeError, OSError) as error:
            self._finish(self, sentence(error))
        except BaseException as error:
            self._finish(self, f"This is a bug ({type(error).__name__}): {error}")
            raise
        else:
            self._finish(self, None)


def sentence(error: Exception) -> str:
    """An error as one sentence."""
    text = str(error).strip()
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.filename}: {error.strerror.lower()}"
    text = clipped(text or type(error).__name__, MAX_SENTENCE)
    # The name of a file or a column stays as it is.
    start = text.split(maxsplit=1)[0]
    text = text[0].upper() + text[1:] if start in STARTS else text
    return text + ("" if text.endswith((".", "?", "…")) else ".")
