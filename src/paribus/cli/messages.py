"""What goes to standard error: notes, and what went wrong, each on one line."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paribus.cli.streams import forget

LONGEST = 2000
# How Python writes a byte of a file name that is no letter.
_ODD_BYTE = re.compile("[\udc80-\udcff]")


def one_line(text: object) -> str:
    """A message on one line. Names and values in it cannot steer the terminal."""
    from paribus._common.text import clipped

    return clipped(with_odd_bytes(str(text)), LONGEST)


def with_odd_bytes(text: str) -> str:
    r"""A text in which bytes of a file name that are no letters can be seen.

    >>> with_odd_bytes("caf\udce9.csv")
    'caf\\xe9.csv'
    """
    return _ODD_BYTE.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)


def as_typed(text: str) -> str:
    r"""A word as a person types it in a shell. What cannot be seen, or is no letter at all, stands there as bytes.

    >>> as_typed("two words.csv"), as_typed("caf\udce9.csv"), as_typed("a\tb")
    ("'two words.csv'", "$'caf\\xe9.csv'", "$'a\\x09b'")
    """
    if all(map(_can_be_seen, text)):
        return shlex.quote(text)
    letters = (f"\\{each}" if each in "\\'" else each if _can_be_seen(each) else _as_bytes(each) for each in text)
    return f"$'{''.join(letters)}'"


def file_as_typed(path: str) -> str:
    """The same for a file: a name that starts as an option does gets its folder in front.

    >>> file_as_typed("-"), file_as_typed("--top.csv")
    ('-', './--top.csv')
    """
    return as_typed(f"./{path}" if path.startswith("-") and path != "-" else path)


def _can_be_seen(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _as_bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def in_shell_words(text: str) -> str:
    """What the library says of its parameters, as one who types options says it.

    >>> in_shell_words("clip is -1: it must be a number from 1e-9 to 1e9, or None for no cap")
    '--clip is -1: it must be a number from 1e-9 to 1e9, or none for no cap'
    >>> in_shell_words("the table has n_samples = 1; try a larger n_neighbors")
    'the table has 1 row(s); try a larger --n-neighbors'
    """
    from paribus.cli.options import parameters

    names = list(inspect.signature(parameters).parameters)
    if text.startswith(tuple(f"{name} is " for name in names)):
        text = f"--{text}".replace("None", "none")
    for name in names:
        if "_" in name:
            # Not where it is the name of a column.
            text = re.sub(rf"(?<!['\w-])(--)?{name}(?!['\w])", f"--{name.replace('_', '-')}", text)
    return re.sub(r"\bn_samples = (\d+)", r"\1 row(s)", text)


def note(text: object) -> None:
    """Something that a person should know."""
    line = f"paribus: {one_line(text)}"
    if sys.stderr.isatty():
        # A terminal would break it anywhere.
        line = textwrap.fill(line, shutil.get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # Nobody can be told, and that is no reason to stop.
        forget(sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Shows warnings of the library as notes, without the place in the code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning):
            note(in_shell_words(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
