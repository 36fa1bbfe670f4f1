"""Where the bytes come from, and what they are."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from paribus.io.reading.encodings import evident_encoding

# What comes through a pipe is kept in memory up to this size, then in a temporary file: it is read twice.
SPOOL = 64 * 2**20
HEAD = 4096


@dataclass
class Source:
    """An open file: seekable, and not compressed any more."""

    name: str
    """What messages call it."""
    stream: BinaryIO
    head: bytes
    """The first bytes, from which the format is recognized."""
    file: str | None
    """The same bytes as a file on disk, if there is one."""

    def path(self, stack: ExitStack) -> Path:
        """A file on disk that holds these bytes; a copy if there is none."""
        if self.file is not None:
            return Path(self.file)
        with _no_room_explained():
            copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="paribus-"))  # noqa: SIM115
            with damage_explained(self.name):
                shutil.copyfileobj(self.stream, copy)
            copy.flush()
        return Path(copy.name)


def open_source(source: str, stack: ExitStack) -> Source:
    """Opens a file or standard input, and looks at its first bytes."""
    name = "standard input" if source == "-" else os.path.basename(source) or source
    stream = _standard_input(stack) if source == "-" else _open_file(source, stack)
    file = source if source != "-" and os.path.isfile(source) else None
    head = _head(stream)
    if head.startswith(b"\x1f\x8b"):
        stream = stack.enter_context(cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb")))
        with damage_explained(name):
            head = _head(stream)
        file = None
        if head.startswith(b"\x1f\x8b"):
            raise ValueError(f"{name}: it is compressed twice, unpack it once first")
    _refuse(head, name, source)
    return Source(name, stream, head, file)


@contextmanager
def damage_explained(name: str) -> Iterator[None]:
    """Says so in one sentence if a compressed file is damaged."""
    try:
        yield
    except EOFError:
        raise ValueError(f"{name}: the compressed file ends too early, it is cut off") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{name}: the compressed file is damaged ({error})") from None


@contextmanager
def _no_room_explained() -> Iterator[None]:
    """Says so in one sentence if what comes through a pipe cannot be kept."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(
            f"what is read is kept in a temporary file, and that failed ({reason}): TMPDIR names a folder"
        ) from None


def _open_file(source: str, stack: ExitStack) -> BinaryIO:
    if not source:
        raise ValueError("the name of the file is empty: name one, or - for standard input")
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise ValueError(f"{source} is a folder: name a file in it")
        stream = stack.enter_context(open(source, "rb"))  # noqa: SIM115
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {source}{_similar(source)}") from None
    except OSError as error:
        raise type(error)(f"cannot read {source}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        if "null" in str(error):
            raise ValueError("a file name cannot hold a null character") from None
        raise
    # A named pipe, or what the shell makes of <(command).
    return stream if stat.S_ISREG(mode) else _spooled(stream, stack)


def _standard_input(stack: ExitStack) -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("nothing is piped into standard input: say something like  cat table.csv | paribus detect -")
    return _spooled(sys.stdin.buffer, stack)


def _spooled(stream: BinaryIO, stack: ExitStack) -> BinaryIO:
    spooled = stack.enter_context(tempfile.SpooledTemporaryFile(SPOOL, prefix="paribus-"))  # noqa: SIM115
    with _no_room_explained():
        shutil.copyfileobj(stream, spooled)
        spooled.seek(0)
    return cast(BinaryIO, spooled)


def _head(stream: BinaryIO) -> bytes:
    head = stream.read(HEAD)
    stream.seek(0)
    return head


def _refuse(head: bytes, name: str, source: str) -> None:
    """Raises an error for files that are known not to be tables of a format that is read."""
    if not head:
        raise ValueError(f"{name} is empty")
    if head.startswith(b"SQLite format 3\x00"):
        raise ValueError(f"{name} is an SQLite database: say sqlite:///{source} --sql TABLE")
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{name} is a zip archive or a spreadsheet: unpack it, or save the sheet as CSV")
    if head.startswith(b"%PDF-"):
        raise ValueError(f"{name} is a PDF document: save the table in it as CSV")
    if head.startswith((b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")):
        raise ValueError(f"{name} is compressed in a way that is not read here: unpack it, or use gzip")
    start = head.decode(evident_encoding(head) or "latin-1", "ignore").lstrip()
    if start[:100].lower().startswith(("<!doctype html", "<html")):
        raise ValueError(f"{name} is a web page: save the table in it as CSV")
    if start.startswith("[") and ".json" in name.lower():
        raise ValueError(f"{name} is one JSON list: JSON lines are read, with one object on each line")


def _similar(source: str) -> str:
    from difflib import get_close_matches

    folder, name = os.path.split(source)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return f": there is no folder {folder}" if folder else ""
    close = get_close_matches(name, names, n=1)
    return f": did you mean {os.path.join(folder, close[0])}?" if close else ""
