"""Messages on standard error: notes and errors, each on one line."""

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

MAX_MESSAGE_LENGTH = 2000  # characters
# The password in a URL: between the user's name and the server's.
_PASSWORD = re.compile(r"(\b[A-Za-z][\w+.-]*://[^\s:@/]*):\S*@")
# The surrogates by which Python represents undecodable bytes of file names.
_ODD_BYTE = re.compile("[\udc80-\udcff]")


def one_line(text: object) -> str:
    """A message on one line, without control characters that could come from names and values in it."""
    from paribus._common.text import clipped

    return clipped(without_password(with_odd_bytes(str(text))), MAX_MESSAGE_LENGTH)


def without_password(text: str) -> str:
    """Text in which the password of a database's URL is hidden.

    >>> without_password("no server at postgresql://ada:s3cret@db/weather")
    'no server at postgresql://ada:***@db/weather'
    """
    return _PASSWORD.sub(r"\1:***@", text)


def with_odd_bytes(text: str) -> str:
    r"""Text in which undecodable bytes of a file name are visible.

    >>> with_odd_bytes("caf\udce9.csv")
    'caf\\xe9.csv'
    """
    return _ODD_BYTE.sub(lambda byte: f"\\x{ord(byte[0]) - 0xDC00:02x}", text)


def as_typed(text: str) -> str:
    r"""A word quoted for a shell. Invisible characters and undecodable bytes are escaped.

    >>> as_typed("two words.csv"), as_typed("caf\udce9.csv"), as_typed("a\tb")
    ("'two words.csv'", "$'caf\\xe9.csv'", "$'a\\x09b'")
    """
    if all(map(_is_visible, text)):
        return shlex.quote(text)
    letters = (f"\\{each}" if each in "\\'" else each if _is_visible(each) else _as_bytes(each) for each in text)
    return f"$'{''.join(letters)}'"


def file_as_typed(path: str) -> str:
    """A path quoted for a shell, with ./ before a name that looks like an option, and a URL without its password.

    >>> file_as_typed("-"), file_as_typed("--top.csv")
    ('-', './--top.csv')
    """
    path = without_password(path)
    return as_typed(f"./{path}" if path.startswith("-") and path != "-" else path)


def _is_visible(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _as_bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def in_shell_words(text: str) -> str:
    """A message of the library with its parameters replaced by command-line options.

    >>> in_shell_words("clip is -1: it must be a number from 1e-9 to 1e9, or None for no cap")
    '--clip is -1: it must be a number from 1e-9 to 1e9, or none for no cap'
    >>> in_shell_words("the table has n_samples = 1; try a larger n_neighbors")
    'the table has 1 row(s); try a larger --n-neighbors'
    >>> in_shell_words("if it stands for a missing value, replace -999 by NaN")
    'if it stands for a missing value, add --missing -999'
    """
    from paribus.cli.options import parameters

    names = list(inspect.signature(parameters).parameters)
    if text.startswith(tuple(f"{name} is " for name in names)):
        text = f"--{text}".replace("None", "none")
    for name in names:
        if "_" in name:
            # Not where the name of a parameter is that of a column, which is quoted.
            text = re.sub(rf"(?<!['\w-])(--)?{name}(?!['\w])", f"--{name.replace('_', '-')}", text)
    text = re.sub(r"\breplace (\S+) by NaN$", r"add --missing \1", text)
    return re.sub(r"\bn_samples = (\d+)", r"\1 row(s)", text)


def note(text: object) -> None:
    """Prints a note on standard error."""
    line = f"paribus: {one_line(text)}"
    if sys.stderr.isatty():
        # A terminal would break the line inside words.
        line = textwrap.fill(line, shutil.get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        # Standard error cannot be written to, which must not stop the command.
        forget(sys.stderr)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Shows warnings of the library as notes, without their location in the code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        if issubclass(category, UserWarning):
            note(in_shell_words(str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
