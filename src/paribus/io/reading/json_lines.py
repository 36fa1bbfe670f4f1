"""JSON lines: one object on each line."""

from __future__ import annotations

import itertools
import json
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from paribus.io.reading import raw
from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, pick
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions, decoded, find_encoding

NAME = "JSON lines"


def recognizes(head: bytes, name: str) -> bool:
    """Whether a file that starts with these bytes is in this format."""
    return head.decode(evident_encoding(head) or "latin-1", "ignore").lstrip().startswith("{")


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a file of JSON lines."""
    encoding = find_encoding(source, text.encoding, note)
    return read_json_lines(source.name, decoded(source, encoding), choose)


def stream(source: Source, text: TextOptions, note: Note, stack: ExitStack) -> RawStream:
    """Opens a file of JSON lines, to read some rows at a time. It is read once to find all keys."""
    encoding = find_encoding(source, text.encoding, note)
    keys: dict[str, None] = {}
    n_rows = 0
    for _, row in _objects(source.name, decoded(source, encoding)):
        keys.update(dict.fromkeys(row))
        n_rows += 1

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        kept, _ = pick(list(keys), wanted)
        rows = _objects(source.name, decoded(source, encoding))
        n_done = 0
        while batch := list(itertools.islice(rows, raw.BATCH_SIZE)):
            columns: dict[str, Any] = {key: [row.get(key) for _, row in batch] for key in kept}
            lines = array("Q", [line for line, _ in batch])
            yield RawTable(source.name, kept, columns, wanted, lines, first_row=n_done)
            n_done += len(batch)

    return RawStream(source.name, list(keys), batches, n_rows=n_rows)


def read_json_lines(name: str, lines: Iterator[str], choose: Choose) -> RawTable:
    """Reads JSON lines. Keys that an object does not have are missing values."""
    columns: dict[str, list[Any]] = {}
    numbers = array("Q")
    for number, row in _objects(name, lines):
        for key in row:
            if key not in columns:
                columns[key] = [None] * len(numbers)
        for key, column in columns.items():
            column.append(row.get(key))
        numbers.append(number)
    # In the order of the first object, then in the order of appearance.
    names = list(columns)
    wanted = choose(names)
    kept, _ = pick(names, wanted)
    return RawTable(name, kept, {key: columns[key] for key in kept}, wanted, numbers)


def _objects(name: str, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects, with the number of the line of each."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _parse(name, number, line)


def _parse(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it cannot be parsed")
        raise ValueError(
            f"{name}, line {number}: it is not valid JSON ({reason}): there must be one object on each line"
        ) from None
    if not isinstance(row, dict):
        raise ValueError(f"{name}, line {number}: it is a JSON {type(row).__name__}, not an object")
    return row
