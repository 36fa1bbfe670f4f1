"""Decoding of bytes to lines of text: detects the encoding, and limits the length of lines."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.limits import DEFAULT_LIMITS, Limits, rounded_up
from paribus.io.reading.raw import Note
from paribus.io.reading.source import Source, damage_explained

CHUNK_SIZE = 2**20  # bytes
# The maximum share of non-ASCII letters in Western European text; other alphabets have more.
MAX_NON_ASCII_SHARE = 0.3


# The decimal sign, as it is named by options.
POINT, COMMA = "point", "comma"


@dataclass(frozen=True)
class TextOptions:
    """How to read a file: the layout of text, where None means auto-detected, and limits of any file."""

    separator: str | None = None
    has_header: bool | None = None
    encoding: str | None = None
    missing: frozenset[str] = frozenset()
    """Texts that stand for a missing value, in addition to the usual ones."""
    date_order: str | None = None
    """The order of day, month and year in dates such as 01/02/2020: 'dmy', 'mdy' or 'ymd'."""
    decimal: str | None = None
    """'point' or 'comma': what comes before decimals."""
    limits: Limits = DEFAULT_LIMITS


def find_encoding(source: Source, encoding: str | None, note: Note) -> str:
    """The encoding of a text file: the one that is given, if it exists, or auto-detected."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
            "".encode(encoding)
        except (LookupError, ValueError):
            raise ValueError(f"there is no text encoding {encoding!r}: try utf-8, latin-1 or cp1252") from None
        return encoding
    with damage_explained(source.name):
        return _sniff(source.name, source.stream, note)


def decoded(source: Source, encoding: str, limits: Limits) -> Iterator[str]:
    """The lines of a text file from its start, each with its line end."""
    source.stream.seek(0)
    # Line ends are not translated, because the csv module needs those inside quotes.
    stream = io.TextIOWrapper(source.stream, encoding, newline="")
    number = 0
    try:
        while True:
            with damage_explained(source.name):
                line = stream.readline(limits.line + 1)
            if not line:
                return
            number += 1
            if len(line) > limits.line:
                raise ValueError(
                    f"{source.name}, line {number}: it is longer than {limits.line:,} characters: raise the limit with "
                    f"--limit line={rounded_up(10 * limits.line)} if that is right"
                )
            if "\0" in line:
                raise ValueError(f"{source.name}, line {number}: it has a null character, so this is not a text file")
            yield line
    except UnicodeError:
        bad = _bad_line(source.stream, encoding)
        raise ValueError(
            f"{source.name}, line {bad}: it is not {encoding} text: set the right encoding with --encoding"
        ) from None
    finally:
        # Otherwise it would close the underlying stream, which belongs to the caller and may be closed already.
        with suppress(ValueError):
            stream.detach()


def _bad_line(stream: BinaryIO, encoding: str) -> int:
    """The line of the first byte that cannot be decoded. A text stream reads ahead, so it does not know the line."""
    stream.seek(0)
    strict, lenient = (codecs.getincrementaldecoder(encoding)(errors) for errors in ("strict", "ignore"))
    # As in the stream that is read, lines end at either character, or at both.
    ends = io.IncrementalNewlineDecoder(lenient, translate=True)
    number = 1
    while True:
        chunk = stream.read(CHUNK_SIZE)
        n_good = len(chunk)
        try:
            strict.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            n_good -= len(error.object) - error.start
        except UnicodeError:
            n_good = 0
        else:
            if chunk:
                number += ends.decode(chunk).count("\n")
                continue
        return number + ends.decode(chunk[: max(0, n_good)], final=True).count("\n")


def _sniff(name: str, stream: BinaryIO, note: Note) -> str:
    head = stream.read(CHUNK_SIZE)
    if (evident := evident_encoding(head)) is not None:
        return evident
    decoder = codecs.getincrementaldecoder("utf-8")()
    number, chunk = 1, head
    while True:
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            number += error.object[: error.start].count(b"\n")
            break
        if not chunk:
            return "utf-8"
        number += chunk.count(b"\n")
        chunk = stream.read(CHUNK_SIZE)
    _check_western(name, number, stream)
    note(f"{name}: line {number} is not UTF-8, so the file is read as Windows-1252; use --encoding if that is wrong")
    return "cp1252"


def _check_western(name: str, line: int, stream: BinaryIO) -> None:
    """Raises an error if a file is not Western European text with one byte per letter."""
    stream.seek(0)
    length = n_non_ascii = 0
    undefined = False
    while chunk := stream.read(CHUNK_SIZE):
        length += len(chunk)
        n_non_ascii += len(chunk.translate(None, bytes(range(128))))
        # Bytes that Windows-1252 does not define, and control characters that do not occur in text.
        undefined = undefined or len(chunk.translate(None, b"\x81\x8d\x8f\x90\x9d\x00\x01\x02\x03\x04")) < len(chunk)
    if undefined or n_non_ascii > MAX_NON_ASCII_SHARE * length:
        raise ValueError(
            f"{name}, line {line}: it is not UTF-8 text: if it is a table, set the encoding with --encoding"
        )
