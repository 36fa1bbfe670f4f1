"""Opens files, pipes and standard input, and recognizes files that are not tables."""

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

from paribus._common.scratch import scratch_folder
from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.limits import DEFAULT_LIMITS, Limits, rounded_up

# In bytes: input from a pipe is read twice, so it is kept in memory up to this size, and then in a temporary file.
MAX_SPOOL_SIZE = 64 * 2**20
HEAD_SIZE = 4096  # bytes


@dataclass
class Source:
    """An open file: seekable, and decompressed."""

    name: str
    """The name of the file in messages."""
    stream: BinaryIO
    head: bytes
    """The first bytes, from which the format is recognized."""
    file: str | None
    """The path of an uncompressed file on disk; None for a pipe or a compressed file."""
    is_compressed: bool = False

    def path(self, stack: ExitStack) -> Path:
        """The path of a file on disk with these bytes, which is a temporary copy if there is no other."""
        if self.file is not None:
            return Path(self.file)
        with _no_room_explained():
            path = stack.enter_context(scratch_folder()) / "copy"
            with damage_explained(self.name), path.open("wb") as copy:
                shutil.copyfileobj(self.stream, copy)
        return path

    def size(self) -> int | None:
        """The size in bytes; None if it is unknown before decompression."""
        return None if self.is_compressed else _size(self.stream)


class _BoundedGzip(gzip.GzipFile):
    """A gzipped file with a limit on its expansion."""

    def __init__(self, name: str, stream: BinaryIO, limits: Limits) -> None:
        self._named, self._compressed, self._limits = name, _size(stream), limits
        super().__init__(fileobj=stream, mode="rb")

    def read(self, size: int | None = -1) -> bytes:
        """Reads this many bytes, or as many as the limit allows."""
        most = self._limits.max_decompressed(self._compressed) + 1 - self.tell()
        return self._checked(super().read(most if size is None or size < 0 else min(size, most)))

    def read1(self, size: int = -1) -> bytes:
        """Reads what can be decompressed in one step."""
        return self._checked(super().read1(size))

    def _checked(self, data: bytes) -> bytes:
        if self.tell() > self._limits.max_decompressed(self._compressed):
            factor = rounded_up(10 * self._limits.expansion)
            raise ValueError(
                f"{self._named}: it becomes more than {self._limits.expansion:,} times as large when it is "
                f"decompressed: raise the limit with --limit expansion={factor} if that is right"
            )
        return data


def _size(stream: BinaryIO) -> int:
    place = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(place)
    return size


def open_source(source: str, stack: ExitStack, limits: Limits = DEFAULT_LIMITS) -> Source:
    """Opens a file or standard input, and reads its first bytes."""
    name = "standard input" if source == "-" else os.path.basename(source) or source
    stream = _standard_input(stack) if source == "-" else _open_file(source, stack)
    file = source if source != "-" and os.path.isfile(source) else None
    head, is_compressed = _head(stream), False
    if head.startswith(b"\x1f\x8b"):
        stream = stack.enter_context(cast(BinaryIO, _BoundedGzip(name, stream, limits)))
        with damage_explained(name):
            head = _head(stream)
        file, is_compressed = None, True
        if head.startswith(b"\x1f\x8b"):
            raise ValueError(f"{name}: it is compressed twice: decompress it once first")
    _refuse(head, name, source)
    return Source(name, stream, head, file, is_compressed)


@contextmanager
def damage_explained(name: str) -> Iterator[None]:
    """Turns errors about a damaged compressed file into one sentence."""
    try:
        yield
    except EOFError:
        raise ValueError(f"{name}: the compressed file is truncated") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{name}: the compressed file is damaged ({error})") from None


@contextmanager
def _no_room_explained() -> Iterator[None]:
    """Turns errors about a temporary file into one sentence."""
    try:
        yield
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(
            f"cannot write the temporary file for the input ({reason}): set TMPDIR to another folder"
        ) from None


def _open_file(source: str, stack: ExitStack) -> BinaryIO:
    if not source:
        raise ValueError("the file name is empty: give one, or - for standard input")
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
    # Not a regular file: a named pipe, or process substitution such as <(command).
    return stream if stat.S_ISREG(mode) else _spooled(stream, stack)


def _standard_input(stack: ExitStack) -> BinaryIO:
    if sys.stdin is None or sys.stdin.isatty():
        raise ValueError("nothing is piped into standard input: use something like  cat table.csv | paribus detect -")
    return _spooled(sys.stdin.buffer, stack)


def _spooled(stream: BinaryIO, stack: ExitStack) -> BinaryIO:
    spooled = stack.enter_context(tempfile.SpooledTemporaryFile(MAX_SPOOL_SIZE, prefix="paribus-"))  # noqa: SIM115
    with _no_room_explained():
        shutil.copyfileobj(stream, spooled)
        spooled.seek(0)
    return cast(BinaryIO, spooled)


def _head(stream: BinaryIO) -> bytes:
    head = stream.read(HEAD_SIZE)
    stream.seek(0)
    return head


def _refuse(head: bytes, name: str, source: str) -> None:
    """Raises an error for files of well-known types that are not supported."""
    if not head:
        raise ValueError(f"{name} is empty")
    if head.startswith(b"SQLite format 3\x00"):
        raise ValueError(f"{name} is an SQLite database: use sqlite:///{source} --sql TABLE")
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{name} is a zip archive or a spreadsheet: unpack it, or save the sheet as CSV")
    if head.startswith(b"%PDF-"):
        raise ValueError(f"{name} is a PDF document: save the table in it as CSV")
    if head.startswith((b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")):
        raise ValueError(f"{name} is compressed in an unsupported format: decompress it, or use gzip")
    start = head.decode(evident_encoding(head) or "latin-1", "ignore").lstrip()
    if start[:100].lower().startswith(("<!doctype html", "<html")):
        raise ValueError(f"{name} is a web page: save the table in it as CSV")
    if start.startswith("[") and ".json" in name.lower():
        raise ValueError(f"{name} is a JSON list: use JSON lines instead, with one object on each line")


def _similar(source: str) -> str:
    from difflib import get_close_matches

    folder, name = os.path.split(source)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return f": there is no folder {folder}" if folder else ""
    # The suffix is left out, because many names share it; of files with the same stem, one with this suffix is named.
    stem, suffix = os.path.splitext(name.lower())
    names.sort(key=lambda each: (each.lower().endswith(suffix), each))
    stems = {os.path.splitext(each)[0].lower(): each for each in names}
    close = [stems[each] for each in get_close_matches(stem, stems, n=1, cutoff=0.7)]
    return f": did you mean {os.path.join(folder, close[0])}?" if close else ""
