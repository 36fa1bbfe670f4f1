"""What goes to standard error: notes, and what went wrong, each on one line."""

from __future__ import annotations

import shutil
import sys
import textwrap
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
    line = f"paribus: {one_line(text)}"
    if sys.stderr.isatty():
        # A terminal would break it anywhere.
        line = textwrap.fill(line, shutil.get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr)


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
