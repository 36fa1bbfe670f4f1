"""JSON lines: one object on each line."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from paribus.io.reading.columns import Choose, Note, RawTable, pick
from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions, decoded

NAME = "JSON lines"


def recognizes(head: bytes, name: str) -> bool:
    """Whether a file that starts with these bytes is in this format."""
    return head.decode(evident_encoding(head) or "latin-1", "ignore").lstrip().startswith("{")


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a file of JSON lines."""
    return read_json_lines(source.name, decoded(source, text.encoding, note), choose)


def read_json_lines(name: str, lines: Iterator[str], choose: Choose) -> RawTable:
    """Reads JSON lines. Keys that an object does not have are missing values."""
    columns: dict[str, list[Any]] = {}
    numbers = array("Q")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _parse(name, number, line)
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
