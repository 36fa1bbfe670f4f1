"""Watches a source: verdicts as rows arrive, checkpoints, and alerts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from paribus._common.atomic_files import errors_named
from paribus._common.text import clipped
from paribus._common.untrusted import Fields
from paribus.stream.alarms import RowVerdict
from paribus.stream.lines import DELIMITERS, LineParser, LineReader
from paribus.stream.monitor import Monitor
from paribus.stream.queries import PolledQuery
from paribus.stream.row_types import RowTypes

# The number of keys that are remembered, so that a repeated row is not judged again.
N_KEYS = 100_000
# A checkpoint is written after this many rows or seconds.
CHECKPOINT_ROWS, CHECKPOINT_SECONDS = 2_000, 5.0
ALERT_SECONDS = 30.0
# The maximum number of rows that are judged together; judging never waits for more rows.
BATCH_SIZE = 1_024
# The largest offset in a file, in bytes.
MAX_OFFSET = 2**62
# This many invalid lines are reported one by one.
N_REPORTED = 5

Note = Callable[[str], None]


@dataclass
class Wanted:
    """What to watch, and where verdicts go."""

    source: str
    sql: str | None = None
    key: str | None = None
    every: float = 5.0
    follow: bool = False
    out: Path | None = None
    state: Path | None = None
    as_json: bool = False
    alert_command: str | None = None


@dataclass
class Counts:
    """The numbers of invalid lines, repeated rows, and failed alerts."""

    n_broken: int = 0
    n_again: int = 0
    n_failed_alerts: int = 0

    def note_broken(self, why: str, note: Note) -> None:
        """Counts an invalid line, and reports the first ones."""
        self.n_broken += 1
        if self.n_broken <= N_REPORTED:
            more = "; further ones are only counted" if self.n_broken == N_REPORTED else ""
            note(f"a line cannot be used: {clipped(why, 200)}{more}")


@dataclass
class Place:
    """The position in the source and in the output, which a checkpoint stores besides the monitor."""

    offset: int = 0
    last: Any = None
    written: int = 0
    header: list[str] | None = None
    delimiter: str = ","
    keys: deque[Any] = field(default_factory=lambda: deque(maxlen=N_KEYS))

    @classmethod
    def of(cls, extra: Mapping[str, Any]) -> Place:
        """Restores it from a checkpoint. Raises a ValueError if a field is invalid."""
        found = Fields({**cls().to_dict(), **extra})
        return cls(
            offset=found.whole("offset", 0, MAX_OFFSET),
            last=found.get("last", lambda value: value is None or isinstance(value, str | int | float)),
            written=found.whole("written", 0, MAX_OFFSET),
            header=found.get("header", lambda value: value is None or _are(value, str)),
            delimiter=found.get("delimiter", lambda value: value in DELIMITERS),
            keys=deque(found.get("keys", lambda value: _are(value, str | int | float)), maxlen=N_KEYS),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values for a checkpoint."""
        return {**self.__dict__, "keys": list(self.keys)}


class Watch:
    """Reads rows, judges them, writes verdicts, and keeps a checkpoint.

    Verdicts are written before the checkpoint that counts them. After a crash, the output since the last
    checkpoint is truncated and written again, so that each row has exactly one verdict.

    Parameters
    ----------
    monitor : Monitor
        The monitor.
    wanted : Wanted
        What to watch, and where verdicts go.
    note : function
        Called with messages for the user.
    """

    def __init__(self, monitor: Monitor, wanted: Wanted, note: Note) -> None:
        self._monitor, self._wanted, self._note = monitor, wanted, note
        self._place = Place.of(monitor.extra_)
        self._seen = set(self._place.keys)
        self._types = RowTypes(monitor.detector_)
        self.counts = Counts()
        self.is_stopped = False
        self._n_unsaved, self._saved_at = 0, time.monotonic()
        self._out: BinaryIO

    def run(self) -> None:
        """Watches until the source ends, or `is_stopped` is set."""
        if self._wanted.out is None:
            self._out = sys.stdout.buffer
        else:
            with errors_named(self._wanted.out):
                self._out = open(self._wanted.out, "ab")  # noqa: SIM115
                self._out.truncate(self._place.written)
        try:
            for rows in self._rows():
                self._judge(rows)
                if self._n_unsaved >= CHECKPOINT_ROWS or (self._n_unsaved and not self._is_recent()):
                    self.save()
            self.save()
        finally:
            if self._wanted.out is not None:
                with errors_named(self._wanted.out):
                    self._out.close()

    def _is_recent(self) -> bool:
        """Whether the last checkpoint was written a moment ago; not if the clock has jumped."""
        return 0 <= time.monotonic() - self._saved_at <= CHECKPOINT_SECONDS

    def _rows(self) -> Iterator[list[tuple[dict[str, Any], Any, int | None]]]:
        """Batches of typed rows with their keys, and the position in the source after each batch."""
        if self._wanted.sql is not None:
            assert self._wanted.key is not None
            query = PolledQuery(
                self._wanted.source, self._wanted.sql, self._wanted.key,
                self._place.last if self._place.last is not None else -1, self._wanted.every,
                not self._wanted.follow, lambda: self.is_stopped,
            )  # fmt: skip
            for batch in query.batches():
                yield from _pieces([each for row in batch if (each := self._typed(row, None)) is not None])
            return
        is_file = self._wanted.source != "-"
        offset = self._place.offset if is_file else 0
        reader = LineReader(self._wanted.source, offset, self._wanted.follow, lambda: self.is_stopped)
        parser = LineParser(self._place.header if is_file else None, self._place.delimiter)
        n_replaced = 0
        for lines in reader.batches():
            if reader.n_replaced != n_replaced:
                n_replaced, parser = reader.n_replaced, LineParser()
                self._note("the file was replaced or truncated: reading it from its beginning")
            found = []
            for line in lines:
                try:
                    row = parser.parse(line.text)
                except ValueError as error:
                    self.counts.note_broken(str(error), self._note)
                    row = None
                self._place.header, self._place.delimiter = parser.header, parser.delimiter
                typed = None if row is None else self._typed(row, line.end)
                if typed is not None:
                    found.append(typed)
                elif not found:
                    self._place.offset = line.end
            yield from _pieces(found)
            if lines:
                self._place.offset = lines[-1].end

    def _typed(self, row: dict[str, Any], end: int | None) -> tuple[dict[str, Any], Any, int | None] | None:
        key = None
        try:
            if self._wanted.key is not None:
                if row.get(self._wanted.key) is None:
                    raise ValueError(f"it has no key: column '{self._wanted.key}' is missing")
                key = row[self._wanted.key]
                if not isinstance(key, str | int | float):
                    key = str(key)
            typed = self._types.convert(row)
            time_column = self._monitor.time
            if time_column is not None:
                if isinstance(row.get(time_column), list | dict):
                    raise ValueError(f"column '{clipped(time_column, 60)}' holds no time")
                typed.setdefault(time_column, row.get(time_column))
        except ValueError as error:
            self.counts.note_broken(str(error), self._note)
            return None
        if key is not None:
            if key in self._seen:
                self.counts.n_again += 1
                return None
            self._seen.add(key)
        return typed, key, end

    def _judge(self, rows: list[tuple[dict[str, Any], Any, int | None]]) -> None:
        if not rows:
            return
        names = rows[0][0].keys()
        verdicts = self._monitor.update_many({name: [row[name] for row, _, _ in rows] for name in names})
        pieces = []
        for (_, key, _), verdict in zip(rows, verdicts, strict=True):
            pieces += self._lines(verdict, key)
        data = "".join(pieces).encode()
        # Errors of standard output are explained where those of all commands are.
        with nullcontext() if self._wanted.out is None else errors_named(self._wanted.out):
            self._out.write(data)
            self._out.flush()
        self._place.written += len(data)
        self._n_unsaved += len(rows)
        for _, key, _ in rows:
            if key is not None:
                if len(self._place.keys) == N_KEYS:
                    self._seen.discard(self._place.keys[0])
                # After a crash, only the keys of rows with a verdict are remembered.
                self._place.keys.append(key)
        _, key, end = rows[-1]
        self._place.last = key
        if end is not None:
            self._place.offset = end
        for (_, key, _), verdict in zip(rows, verdicts, strict=True):
            for alarm in verdict.alarms:
                self._alert({**alarm.to_dict(), **({} if key is None else {"key": key})})

    def _lines(self, verdict: RowVerdict, key: Any) -> list[str]:
        if self._wanted.as_json:
            found = verdict.to_dict() if key is None else {"key": key, **verdict.to_dict()}
            return [json.dumps(found) + "\n"]
        named = "" if key is None else f"{clipped(key, 60)}: "
        return [f"{named}{alarm.sentence}\n" for alarm in verdict.alarms]

    def _alert(self, alarm: dict[str, Any]) -> None:
        if self._wanted.alert_command is None:
            return
        try:
            done = subprocess.run(
                [self._wanted.alert_command],
                input=json.dumps(alarm).encode(),
                stdout=subprocess.DEVNULL,
                timeout=ALERT_SECONDS,
                check=False,
            )
            failed = f"exit code {done.returncode}" if done.returncode else None
        except (OSError, subprocess.TimeoutExpired) as error:
            failed = str(error)
        if failed is not None:
            self.counts.n_failed_alerts += 1
            self._note(f"the alert command failed: {failed}")

    def save(self) -> None:
        """Writes a checkpoint, after everything that it counts."""
        self._n_unsaved, self._saved_at = 0, time.monotonic()
        if self._wanted.state is None:
            return
        if self._wanted.out is not None:
            with errors_named(self._wanted.out):
                os.fsync(self._out.fileno())
        self._monitor.save(self._wanted.state, extra=self._place.to_dict())


def _pieces(rows: list[Any]) -> Iterator[list[Any]]:
    for begin in range(0, max(len(rows), 1), BATCH_SIZE):
        yield rows[begin : begin + BATCH_SIZE]


def _are(values: Any, kind: Any) -> bool:
    return isinstance(values, list) and all(isinstance(each, kind) for each in values)
