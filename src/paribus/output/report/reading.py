"""Reads the rows that a report lists from its file. Like any file, it may have been damaged or tampered with."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paribus._common.untrusted import DamagedError, Fields, is_finite
from paribus.output.report.data import KIND_WORDS, ROW_FIELDS

GENERATOR = b'<meta name="generator" content="paribus '
"""A text near the beginning of every report."""
# Bytes in which the generator is named, of the largest page, and of its data when they are unpacked.
HEAD, LARGEST_FILE, LARGEST_DATA = 4_000, 200_000_000, 400_000_000
_DATA = re.compile(rb'<template id="data">([A-Za-z0-9+/=]*)</template>')


@dataclass(frozen=True)
class ReportedValue:
    """A behavioral value of a row, as the report has it."""

    text: str
    usual: str
    direction: str
    partial: float | None
    is_off: bool


@dataclass(frozen=True)
class ReportedRow:
    """A row of the list, as the report has it."""

    name: str
    """Its name for people."""
    known_name: str
    """Its name in lists of known rows."""
    rank: int
    score: float
    p_value: float
    rarity: str
    kind: str | None
    group: int
    """The number of its group; 0 for none."""
    leading: int
    """The place of the behavioral column that is off most."""
    sentence: str
    values: tuple[ReportedValue | None, ...]
    """By behavioral column; None where the row has no value."""
    cells: tuple[str, ...]
    """The values of all columns, as text."""


@dataclass(frozen=True)
class ReportedTable:
    """The contents of a report: its list of rows, and a few facts about the whole table."""

    columns: tuple[str, ...]
    context: tuple[str, ...]
    behavior: tuple[str, ...]
    threshold: float
    full_partial_score: float
    n_rows: int
    """The number of rows of the whole table."""
    n_scored: int
    expected: float
    """The number of rows that chance alone would flag."""
    rows: tuple[ReportedRow, ...]
    """In descending order of score."""
    groups: tuple[dict[str, Any], ...]


def is_report(path: Path) -> bool:
    """Whether a file is a report, by its beginning."""
    try:
        with path.open("rb") as file:
            return GENERATOR in file.read(HEAD)
    except OSError:
        return False


def read_report(path: Path) -> ReportedTable:
    """Reads the contents of a report."""
    if path.stat().st_size > LARGEST_FILE:
        raise ValueError(f"{path.name} is larger than a report can be")
    content = path.read_bytes()
    found = _DATA.search(content)
    if GENERATOR not in content[:HEAD] or found is None:
        raise ValueError(f"{path.name} is not a report of paribus: open a table, a model or a report")
    try:
        data = _unpacked(found[1])
        if "whole" not in data:
            raise ValueError(
                f"{path.name} was written by an earlier version of paribus: write the report again, or open the table"
            )
        return _table(Fields(data))
    except DamagedError as error:
        raise ValueError(f"{path.name} is damaged ({error}): write the report again") from None


def _unpacked(packed: bytes) -> dict[str, Any]:
    try:
        unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        text = unpacker.decompress(base64.b64decode(packed, validate=True), LARGEST_DATA)
        if not unpacker.eof:
            raise DamagedError("its data are not complete")
        content = json.loads(text)
    except (binascii.Error, zlib.error, RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise DamagedError("its data cannot be read") from None
    if not isinstance(content, dict):
        raise DamagedError("its data cannot be read")
    return content


def _table(fields: Fields) -> ReportedTable:
    whole = Fields(fields.get("whole", lambda value: isinstance(value, dict)))
    columns, context, behavior = (
        tuple(whole.get(name, _is_list_of(str))) for name in ("columns", "context", "behavior")
    )
    if len(set(columns)) < len(columns) or len(set(behavior)) < len(behavior) or not behavior:
        raise DamagedError("columns is invalid")
    groups = tuple(_group(Fields(each)) for each in whole.get("groups", _is_list_of(dict)))
    rows = fields.get("rows", _is_list_of(list))
    return ReportedTable(
        columns=columns,
        context=context,
        behavior=behavior,
        threshold=float(fields.get("threshold", is_finite)),
        full_partial_score=float(fields.get("full", lambda value: is_finite(value) and value > 0)),
        n_rows=whole.whole("n_rows", 1, 2**53),
        n_scored=whole.whole("n_scored", 0, 2**53),
        expected=float(whole.get("expected", lambda value: is_finite(value) and value >= 0)),
        rows=tuple(_row(each, len(columns), len(behavior), len(groups)) for each in rows),
        groups=groups,
    )


def _group(fields: Fields) -> dict[str, Any]:
    texts = {name: fields.get(name, _is(str)) for name in ("rule", "column", "fit", "chance", "when", "known_rule")}
    numbers = {name: fields.whole(name, 1, 2**53) for name in ("number", "size")}
    return {**numbers, **texts, "also": fields.get("also", _is_list_of(str))}


def _row(cells: list[Any], n_columns: int, n_behavior: int, n_groups: int) -> ReportedRow:
    if len(cells) != len(ROW_FIELDS):
        raise DamagedError("a row is invalid")
    row = Fields(dict(zip(ROW_FIELDS, cells, strict=True)))
    kind = row.whole("kind", -1, len(KIND_WORDS) - 1)
    texts = row.get("cells", _is_list_of(str))
    values = row.get("values", lambda found: isinstance(found, list) and len(found) == n_behavior)
    if len(texts) != n_columns:
        raise DamagedError("a row is invalid")
    return ReportedRow(
        name=row.get("name", _is(str)),
        known_name=row.get("known_name", _is(str)),
        rank=row.whole("rank", 1, 2**53),
        score=float(row.get("score", is_finite)),
        p_value=float(row.get("p_value", lambda value: is_finite(value) and 0 <= value <= 1)),
        rarity=row.get("rarity", _is(str)),
        kind=None if kind < 0 else list(KIND_WORDS)[kind],
        group=row.whole("group", 0, n_groups),
        leading=row.whole("leading", 0, n_behavior - 1),
        sentence=row.get("sentence", _is(str)),
        values=tuple(None if each is None else _value(each) for each in values),
        cells=tuple(texts),
    )


def _value(found: Any) -> ReportedValue:
    kinds = (str, str, str, float | int | None, int)
    if not isinstance(found, list) or len(found) != len(kinds) or not all(map(isinstance, found, kinds)):
        raise DamagedError("a value is invalid")
    text, usual, direction, partial, is_off = found
    if partial is not None and not is_finite(partial):
        raise DamagedError("a value is invalid")
    return ReportedValue(text, usual, direction, None if partial is None else float(partial), bool(is_off))


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _is_list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(each, kind) for each in value)
