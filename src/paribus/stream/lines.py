"""Lines of a pipe or of a growing file, as they arrive."""

from __future__ import annotations

import csv
import json
import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# A longer line is invalid.
MAX_LINE = 1_000_000
CHUNK = 1 << 18
DELIMITERS = (",", ";", "\t", "|")
# How long to wait for more, in seconds; also the maximum delay of a stop.
PATIENCE = 0.2


@dataclass(frozen=True)
class Line:
    """A line, and the offset of its end in the file or pipe, in bytes."""

    text: str
    end: int


class LineReader:
    """Reads batches of complete lines: waits for the rest of a line, and reads no more than requested.

    Parameters
    ----------
    source : str
        A path, or "-" for standard input.
    offset : int
        Where to begin: the number of bytes of a file that were processed.
    follow : bool
        Whether to wait at the end of a file for more.
    is_stopped : function
        Called now and then; returns whether to stop.
    """

    def __init__(self, source: str, offset: int, follow: bool, is_stopped: Callable[[], bool]) -> None:
        self._path = None if source == "-" else Path(source)
        self._follow, self._is_stopped = follow, is_stopped
        self._at = offset
        self.n_replaced = 0
        """How often the file was replaced or truncated, and read from its beginning."""

    def batches(self) -> Iterator[list[Line]]:
        """Batches of lines; an empty one when there are none for a while."""
        descriptor = 0 if self._path is None else os.open(self._path, os.O_RDONLY)
        try:
            if self._path is not None:
                os.lseek(descriptor, self._at, os.SEEK_SET)
            rest = b""
            while not self._is_stopped():
                if self._path is None and not select.select([0], [], [], PATIENCE)[0]:
                    yield []
                    continue
                chunk = os.read(descriptor, CHUNK)
                if not chunk:
                    if self._path is None or not self._follow:
                        if rest:
                            self._at += len(rest)
                            yield [Line(rest.decode("utf-8", "replace"), self._at)]
                        return
                    replaced = self._is_replaced(descriptor)
                    if replaced:
                        os.close(descriptor)
                        descriptor = os.open(self._path, os.O_RDONLY)
                        self._at, rest = 0, b""
                        self.n_replaced += 1
                    yield []
                    time.sleep(0.0 if replaced else PATIENCE)
                    continue
                *complete, rest = (rest + chunk).split(b"\n")
                lines = []
                for raw in complete:
                    self._at += len(raw) + 1
                    lines.append(Line(raw.decode("utf-8", "replace").rstrip("\r"), self._at))
                if len(rest) > MAX_LINE:
                    # The rest of a line that is too long is skipped.
                    self._at += len(rest)
                    lines.append(Line("", self._at))
                    rest = b""
                yield lines
        finally:
            if descriptor != 0:
                os.close(descriptor)

    def _is_replaced(self, descriptor: int) -> bool:
        assert self._path is not None
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        opened = os.fstat(descriptor)
        return (now.st_ino, now.st_dev) != (opened.st_ino, opened.st_dev) or now.st_size < self._at


class LineParser:
    """Rows from lines of JSON or CSV, whichever the first line is. Raises a ValueError for a line that is neither."""

    def __init__(self, header: list[str] | None = None, delimiter: str = ",") -> None:
        self.header, self.delimiter = header, delimiter
        """The names of the columns of CSV; None for JSON, and before the first line."""
        self._is_json: bool | None = None if header is None else False
        """None until there is a row: a line that is not JSON is not the header of a stream of JSON."""

    def parse(self, line: str) -> dict[str, Any] | None:
        """The row of a line; None for a blank line, or for the header."""
        if not line.strip():
            return None
        if self._is_json is not False and (self._is_json or line.lstrip()[0] in "{["):
            row = self._json(line)
            self._is_json, self.header = True, None
            return row
        if self.header is None:
            self.delimiter = max(DELIMITERS, key=line.count)
            self.header = self._cells(line.lstrip("\ufeff"))
            return None
        values = self._cells(line)
        if values == self.header:
            # In concatenated files, the header occurs again.
            return None
        if len(values) != len(self.header):
            raise ValueError(f"it has {len(values)} values where there are {len(self.header)} columns")
        self._is_json = False
        return dict(zip(self.header, values, strict=True))

    def _json(self, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise ValueError("it is not JSON") from None
        if not isinstance(row, dict):
            raise ValueError("it is not a JSON object")
        return row

    def _cells(self, line: str) -> list[str]:
        try:
            return next(csv.reader([line], delimiter=self.delimiter), [])
        except csv.Error as error:
            raise ValueError(f"it is not CSV ({error})") from None
