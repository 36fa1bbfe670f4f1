"""How much memory this process may use: what is too large is rejected before it is tried."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from paribus._common import control_groups

# The memory of a fit, in bytes: of Python and its libraries; of each row, what is known of it while one column is
# judged; of each value; and of the forests of each column, which grow with the rows up to the size of their samples.
# Fits to 400,000 rows and more took 370 bytes a row with 1 contextual and 1 behavioral column, 600 with 1 and 4, 780
# with 5 and 5.
BASE = 300 * 10**6
BYTES_PER_ROW = 280
BYTES_PER_VALUE = 65
BYTES_PER_COLUMN = 30 * 10**6
BYTES_PER_ROW_IN_FORESTS = 2_000


# The bytes that the user allowed; None if that was not said.
_ALLOWED: ContextVar[int | None] = ContextVar("_ALLOWED", default=None)


@contextmanager
def allowed_memory(n_bytes: int | None) -> Iterator[None]:
    """While it lasts, what is only kept to save time is kept as long as this many bytes are enough; None: always."""
    token = _ALLOWED.set(n_bytes)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def room() -> float:
    """How many of the bytes that the user allowed are left.

    >>> with allowed_memory(1000):
    ...     room()
    0.0
    >>> room()
    inf
    """
    allowed = _ALLOWED.get()
    return float("inf") if allowed is None else max(0.0, float(allowed - _held()))


def _held() -> int:
    """The bytes that this process holds, without mapped files, which can be given back at any time."""
    with suppress(OSError):
        found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if found is not None:
            return 1024 * int(found[1])
    try:
        import resource
    except ModuleNotFoundError:
        return 0
    # On systems without the above, the largest number so far: on macOS in bytes, elsewhere in kB.
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if os.uname().sysname == "Darwin" else 1024 * most


def memory_limit() -> int | None:
    """The bytes that this process may use: those of the machine, of its container, or of `ulimit`; None if unknown.

    The memory that other processes use is not subtracted, so that a command always does the same.
    """
    return min(_limits(), default=None)


def check_fits(what: str, n_bytes: float, advice: str) -> None:
    """Raises a MemoryError if this many bytes cannot fit into the memory of this process.

    >>> check_fits("the table", 1e18, "choose fewer columns")
    Traceback (most recent call last):
    ...
    MemoryError: the table needs about 1,000,000,000.0 GB of memory, and this process may use ...: choose fewer columns
    """
    limit = memory_limit()
    if limit is not None and n_bytes > limit:
        raise MemoryError(
            f"{what} needs about {size_in_words(n_bytes)} of memory, and this process may use {size_in_words(limit)}: "
            f"{advice}"
        )


def check_fit(what: str, n_rows: int, n_columns: int, advice: str) -> None:
    """Raises a MemoryError if a fit to this many rows and columns exceeds the memory.

    >>> check_fit("a fit to the table", 10**9, 10_000, "choose fewer columns")
    Traceback (most recent call last):
    ...
    MemoryError: a fit to the table needs about 650,580.3 GB of memory, and this process may use ...
    """
    per_column = min(BYTES_PER_COLUMN, BYTES_PER_ROW_IN_FORESTS * n_rows) + float(BYTES_PER_VALUE) * n_rows
    check_fits(what, BASE + float(BYTES_PER_ROW) * n_rows + per_column * n_columns, advice)


def size_in_words(n_bytes: float) -> str:
    """A size in words.

    >>> size_in_words(2.5e9), size_in_words(480e6)
    ('2.5 GB', '480 MB')
    """
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"


def _limits() -> Iterator[int]:
    with suppress(ValueError, OSError, AttributeError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for words in control_groups.settings("memory", "memory.max", "memory.limit_in_bytes"):
        # "max", and in the older version a number close to the largest one, mean that there is no limit.
        yield from (int(word) for word in words if word.isdecimal() and 0 < int(word) < 2**60)
    try:
        import resource
    except ModuleNotFoundError:
        return
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY:
            yield limit
