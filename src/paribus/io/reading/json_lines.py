"""JSON lines: one object on each line."""

from __future__ import annotations

import itertools
import json
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from paribus.io.reading import raw
from paribus.io.reading.encodings import evident_encoding
from paribus.io.reading.limits import Limits
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, pick
from paribus.io.reading.source import Source
from paribus.io.reading.text import TextOptions, decoded, find_encoding

NAME = "JSON lines"


def recognizes(head: bytes, name: str) -> bool:
    """Whether a file that starts with these bytes is in this format."""
    return head.decode(evident_encoding(head) or "latin-1", "ignore").lstrip().startswith("{")


def read(source: Source, choose: Choose, text: TextOptions, note: Note, stack: ExitStack) -> RawTable:
    """Reads a file of JSON lines. Keys that an object does not have are missing values.

    Only values that occur are kept until the columns are chosen: in a table where each object has different keys,
    nearly all values are missing.
    """
    encoding = find_encoding(source, text.encoding, note)
    name, limits = source.name, text.limits
    found: dict[str, tuple[array[int], list[Any]]] = {}
    numbers = array("Q")
    for number, row in _objects(name, decoded(source, encoding, limits), limits):
        for key, value in row.items():
            if (column := found.get(key)) is None:
                column = found[key] = array("Q"), []
                limits.check_columns(name, len(found))
            column[0].append(len(numbers))
            column[1].append(value)
        numbers.append(number)
    # In the order of the first object, then in the order of appearance.
    names = list(found)
    wanted = choose(names)
    kept, _ = pick(names, wanted)
    limits.check_sparse(name, len(numbers), len(kept), sum(len(found[key][1]) for key in kept))
    columns: dict[str, Any] = {key: _dense(*found.pop(key), len(numbers)) for key in kept}
    return RawTable(name, kept, columns, wanted, numbers)


def _dense(rows: array[int], values: list[Any], n_rows: int) -> list[Any]:
    """A column with missing values where an object has no such key."""
    if len(values) == n_rows:
        return values
    column = [None] * n_rows
    for row, value in zip(rows, values, strict=True):
        column[row] = value
    return column


def stream(source: Source, text: TextOptions, note: Note, stack: ExitStack) -> RawStream:
    """Opens a file of JSON lines, to read it in batches. It is read once to find all keys."""
    encoding = find_encoding(source, text.encoding, note)
    name, limits = source.name, text.limits
    n_written: Counter[str] = Counter()
    n_rows = 0
    for _, row in _objects(name, decoded(source, encoding, limits), limits):
        n_written.update(row.keys())
        limits.check_columns(name, len(n_written))
        n_rows += 1

    def batches(wanted: Wanted) -> Iterator[RawTable]:
        kept, _ = pick(list(n_written), wanted)
        limits.check_sparse(name, min(n_rows, raw.BATCH_SIZE), len(kept), sum(n_written[key] for key in kept))
        rows = _objects(name, decoded(source, encoding, limits), limits)
        n_done = 0
        while batch := list(itertools.islice(rows, raw.BATCH_SIZE)):
            columns: dict[str, Any] = {key: [row.get(key) for _, row in batch] for key in kept}
            lines = array("Q", [line for line, _ in batch])
            yield RawTable(name, kept, columns, wanted, lines, first_row=n_done)
            n_done += len(batch)

    return RawStream(name, list(n_written), batches, n_rows=n_rows)


def _objects(name: str, lines: Iterator[str], limits: Limits) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects, with the number of the line of each."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            row = _parse(name, number, line)
            if line.count("[") + line.count("{") > limits.nesting and _is_deeper(row, limits.nesting):
                raise ValueError(
                    f"{name}, line {number}: its lists and objects are nested more than {limits.nesting:,} deep: raise "
                    f"the limit with --limit nesting={10 * limits.nesting} if that is right"
                )
            yield number, row


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects are nested more deeply than this."""
    level = [value]
    for _ in range(depth + 1):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


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
