"""What an area of a campaign is, and what an answer must be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REFUSED = (ValueError, TypeError, OSError, MemoryError)
"""Errors of the user; any other one is a bug."""
MAX_SENTENCE = 3_000  # characters


class WrongAnswerError(Exception):
    """Raised if an answer is not that of the oracle, or an error is not one sentence."""


@dataclass(frozen=True)
class Area:
    """A part of the program that takes input.

    Parameters
    ----------
    name : str
    seeds : function
        Inputs to begin with.
    check : function
        Gives one input to the program. Returns whether it was accepted (else it was refused in one sentence), and
        raises anything else if the answer is wrong.
    share : float
        The share of a campaign's inputs.
    tokens : tuple of bytes
        What is put into inputs.
    oracle : str
        What answers are compared with, in words.
    """

    name: str
    seeds: Callable[[], list[bytes]]
    check: Callable[[bytes], bool]
    share: float
    tokens: tuple[bytes, ...] = ()
    oracle: str = ""


def expect(is_right: object, what: str) -> None:
    """Raises an error if an answer is wrong."""
    if not is_right:
        raise WrongAnswerError(what)


def sentence(error: BaseException) -> str:
    """The text of an error, which must be one line."""
    text = str(error)
    # Other errors of memory come from a limit that nobody looked at.
    is_told = not isinstance(error, MemoryError) or "of memory, and this process may use" in text
    expect(is_told, f"memory was used up: {text}")
    # Line ends that are part of a name are shown by the command line as one space.
    expect(0 < len(text) <= MAX_SENTENCE, f"the message has {len(text)} characters")
    return text


@cache
def scratch() -> Path:
    """A folder for files, in memory where there is one."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzz-", dir=shared if shared.is_dir() else None))


def as_file(data: bytes, name: str) -> Path:
    """A file with this content."""
    path = scratch() / name
    path.write_bytes(data)
    return path
