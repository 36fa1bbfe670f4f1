"""Bytes as lines of text: which encoding, and no line without end."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from paribus.io.reading.columns import Note
from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.source import Source, damage_explained

CHUNK = 2**20
# A longer line is no row of a table.
LONGEST_LINE = 128 * 2**20
# A text in an alphabet of its own has more letters beyond ASCII than a Western European one.
MOST_FOREIGN = 0.3


@dataclass(frozen=True)
class TextOptions:
    """How a text file is to be read where its looks would mislead."""

    separator: str | None = None
    has_header: bool | None = None
    encoding: str | None = None
    missing: frozenset[str] = frozenset()
    """Texts that stand for a missing value, besides those that always do."""


def decoded(source: Source, encoding: str | None, note: Note) -> Iterator[str]:
    """The lines of a text, each with its end, in the encoding given or found."""
    if encoding is not None:
        try:
            codecs.lookup(encoding)
            "".encode(encoding)
        except (LookupError, ValueError):
            raise ValueError(f"there is no text encoding {encoding!r}: utf-8, latin-1 and cp1252 are some") from None
    else:
        with damage_explained(source.name):
            encoding = _sniff(source.name, source.stream, note)
    source.stream.seek(0)
    return _lines(source, encoding)


def _lines(source: Source, encoding: str) -> Iterator[str]:
    # Not translated: the csv module tells line ends inside of quotes from others.
    stream = io.TextIOWrapper(source.stream, encoding, newline="")
    number = 0
    try:
        while True:
            with damage_explained(source.name):
                line = stream.readline(LONGEST_LINE + 1)
            if not line:
                return
            number += 1
            if len(line) > LONGEST_LINE:
                raise ValueError(f"{source.name}, line {number}: it is longer than {LONGEST_LINE // 2**20} MB")
            if "\0" in line:
                raise ValueError(f"{source.name}, line {number}: it holds a null character, so this is not a text file")
            yield line
    except UnicodeError:
        bad = _bad_line(source.stream, encoding)
        raise ValueError(
            f"{source.name}, line {bad}: it is not {encoding} text: name the right encoding with --encoding"
        ) from None
    finally:
        # Or it would close the stream, which is not its own, and may be closed already.
        with suppress(ValueError):
            stream.detach()


def _bad_line(stream: BinaryIO, encoding: str) -> int:
    """The line of the first byte that is none of a text: a stream of text reads ahead, and does not know."""
    stream.seek(0)
    strict, lenient = (codecs.getincrementaldecoder(encoding)(errors) for errors in ("strict", "ignore"))
    # Like those that are read, lines end at either character, or at both.
    ends = io.IncrementalNewlineDecoder(lenient, translate=True)
    number = 1
    while True:
        chunk = stream.read(CHUNK)
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
    head = stream.read(CHUNK)
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
        chunk = stream.read(CHUNK)
    _check_western(name, number, stream)
    note(f"{name}: line {number} is not UTF-8, so the file is read as Windows-1252; --encoding says otherwise")
    return "cp1252"


def _check_western(name: str, line: int, stream: BinaryIO) -> None:
    """Says so if a file is not a Western European text in one byte per letter either."""
    stream.seek(0)
    length = foreign = 0
    undefined = False
    while chunk := stream.read(CHUNK):
        length += len(chunk)
        foreign += len(chunk.translate(None, bytes(range(128))))
        # Bytes that this encoding does not have, and control characters that no text has.
        undefined = undefined or len(chunk.translate(None, b"\x81\x8d\x8f\x90\x9d\x00\x01\x02\x03\x04")) < len(chunk)
    if undefined or foreign > MOST_FOREIGN * length:
        raise ValueError(f"{name}, line {line}: it is not UTF-8 text: name the encoding with --encoding")
