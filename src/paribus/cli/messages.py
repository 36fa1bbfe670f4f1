"""What goes to standard error: notes, and what went wrong, each on one line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LONGEST = 2000


def one_line(text: object) -> str:
    """A message on one line. Names and values in it cannot steer the terminal."""
    from paribus.formatting import clipped

    return clipped(text, LONGEST)


def note(text: object) -> None:
    """Something that a person should know."""
    print(f"paribus: {one_line(text)}", file=sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Shows warnings of the library as notes, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning):
            note(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
