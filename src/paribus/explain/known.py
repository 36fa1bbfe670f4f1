r"""Rows that have been reviewed: confirmed anomalies, false alarms, and rows with a known cause.

A list of known rows is a CSV file with the columns `row`, `rule`, `status` and `note`, or a JSON list of objects with
these keys. Each entry names a row by its id, or gives a rule; the status is "confirmed", "false alarm" or "known
cause"; the note is for people.

>>> from tempfile import TemporaryDirectory
>>> with TemporaryDirectory() as folder:
...     path = Path(folder) / "known.csv"
...     _ = path.write_text("row,rule,status,note\nS137,,confirmed,station moved\n,z = 0,false alarm,\n")
...     [(entry.row, entry.rule and entry.rule.text, entry.status) for entry in read_known(path)]
[('S137', None, 'confirmed'), (None, 'z = 0', 'false alarm')]
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Positions
from paribus._common.atomic_files import AnyPath, atomic_write
from paribus._common.text import plain
from paribus.explain.finding import Finding
from paribus.explain.rules import Rule, parse_rule
from paribus.tables.table import Table

CONFIRMED, FALSE_ALARM, KNOWN_CAUSE = STATUSES = ("confirmed", "false alarm", "known cause")
FIELDS = ("row", "rule", "status", "note")
MAX_BYTES = 50_000_000

KnownLike: TypeAlias = "AnyPath | Iterable[Mapping[str, Any] | KnownEntry]"
"""A path, or entries as mappings."""
Texts = npt.NDArray[np.object_]


@dataclass(frozen=True)
class KnownEntry:
    """One entry of the list: a row or a rule, with its status and note."""

    row: str | None
    rule: Rule | None
    status: str
    note: str = ""

    @property
    def fields(self) -> dict[str, str | None]:
        """The entry as plain values, as a list in JSON has it."""
        rule = None if self.rule is None else self.rule.text
        return {"row": self.row, "rule": rule, "status": self.status, "note": self.note}


@dataclass(frozen=True)
class Marks:
    """What is known about each row of a table."""

    status: Texts
    """By row: "confirmed", "false alarm", "known cause", or None."""
    note: Texts
    """By row: the note, or None."""
    entry: Positions
    """By row: the position in the list of the entry that applies to it; -1 if none does."""

    @property
    def is_known(self) -> npt.NDArray[np.bool_]:
        """Whether anything is known about each row."""
        return self.entry >= 0


def read_known(source: KnownLike) -> tuple[KnownEntry, ...]:
    """Reads a list of known rows from a CSV or JSON file, or from mappings."""
    if isinstance(source, str | os.PathLike):
        return _read_file(Path(source))
    return tuple(
        each if isinstance(each, KnownEntry) else _entry(each, f"entry {number} of known")
        for number, each in enumerate(source, 1)
    )


def _read_file(path: Path) -> tuple[KnownEntry, ...]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"{path.name} is larger than a list of known rows can be")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} is a folder, not a list of known rows") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8 text: save the list of known rows as UTF-8") from None
    if text.lstrip().startswith(("[", "{")):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise ValueError(f"{path.name} is not valid JSON: a list of known rows is a list of objects") from None
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ValueError(f"{path.name}: a list of known rows in JSON is a list of objects with {', '.join(FIELDS)}")
        return tuple(_entry(each, f"{path.name}, entry {number}") for number, each in enumerate(found, 1))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        lines = [(reader.line_num, line) for line in reader]
    except csv.Error as error:
        raise ValueError(f"{path.name} is not valid CSV ({error})") from None
    header = [name.strip().lower() for name in lines[0][1]] if lines else []
    if "status" not in header or not {"row", "rule"} & set(header) or not set(header) <= set(FIELDS):
        raise ValueError(f"{path.name}: the first line of a list of known rows is {','.join(FIELDS)}")
    entries = []
    for number, line in lines[1:]:
        if not any(cell.strip() for cell in line):
            continue
        if len(line) != len(header):
            raise ValueError(f"{path.name}, line {number} has {len(line)} values instead of {len(header)}")
        cells = {name: _unprotected(cell) for name, cell in zip(header, line, strict=True)}
        entries.append(_entry(cells, f"{path.name}, line {number}"))
    return tuple(entries)


def write_known(path: AnyPath, entries: Iterable[KnownEntry]) -> None:
    r"""Writes a list of known rows as CSV, for `read_known`. An existing file is replaced as a whole, or stays.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "known.csv"
    ...     write_known(path, [KnownEntry("=S1", None, CONFIRMED), KnownEntry(None, parse_rule("z = 0"), FALSE_ALARM)])
    ...     path.read_text(), read_known(path)[0].row
    ("row,rule,status,note\n'=S1,,confirmed,\n,z = 0,false alarm,\n", '=S1')
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for entry in entries:
        rule = "" if entry.rule is None else entry.rule.text
        writer.writerow([_protected(cell) for cell in (entry.row or "", rule, entry.status, entry.note)])
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _protected(cell: str) -> str:
    """A cell that no spreadsheet treats as a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@") else cell


def _entry(fields: Mapping[str, Any], place: str) -> KnownEntry:
    if not isinstance(fields, Mapping):
        raise TypeError(f"{place} is a {type(fields).__name__}: it must have the keys {', '.join(FIELDS)}")
    if unknown := set(fields) - set(FIELDS):
        raise ValueError(f"{place} has {min(map(str, unknown))!r}: an entry has {', '.join(FIELDS)}")
    row, rule = (_cell(fields.get(name)) for name in ("row", "rule"))
    status = str(fields.get("status") or "").strip().lower().replace("_", " ").replace("-", " ")
    if status not in STATUSES:
        raise ValueError(f"{place} has the status {status!r}: it must be one of {', '.join(STATUSES)}")
    if (row is None) == (rule is None):
        raise ValueError(f"{place} must have either a row or a rule")
    try:
        parsed = None if rule is None else parse_rule(rule)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None
    return KnownEntry(row, parsed, status, str(fields.get("note") or "").strip())


def _cell(value: Any) -> str | None:
    text = "" if value is None else str(value).strip()
    return text or None


def _unprotected(cell: str) -> str:
    """A cell without the apostrophe that keeps spreadsheets from treating it as a formula."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in ("=", "+", "-", "@") else cell


def usable_rules(entries: Sequence[KnownEntry], names: Collection[str]) -> tuple[KnownEntry, ...]:
    """The entries that are rules about columns with these names."""
    return tuple(
        entry
        for entry in entries
        if entry.rule is not None and all(condition.column in names for condition in entry.rule.conditions)
    )


def confirmed_rows(entries: Sequence[KnownEntry], table: Table, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which rows are confirmed anomalies, by their name or their values, and are excluded from the fit."""
    marks = mark(entries, table, names, ())
    return np.array([status == CONFIRMED for status in marks.status], dtype=bool)


def mark(entries: Sequence[KnownEntry], table: Table, names: Sequence[str], findings: Sequence[Finding]) -> Marks:
    """Marks the rows that the entries name or describe; the first entry that matches a row applies.

    `names` are the names of the rows; `findings` say what is unusual about those that are flagged.
    """
    status, note = np.full(table.n_rows, None, dtype=object), np.full(table.n_rows, None, dtype=object)
    known_by = np.full(table.n_rows, -1, dtype=np.int64)
    # Only a few of possibly a million names are needed.
    places: dict[str, list[int]] = {entry.row: [] for entry in entries if entry.row is not None}
    if places:
        for place, name in enumerate(names):
            if name in places:
                places[name].append(place)
    for number, entry in enumerate(entries):
        if entry.rule is None:
            rows = np.array(places[entry.row or ""], dtype=np.int64)
        else:
            rows = np.flatnonzero(_satisfying(entry.rule, table, findings))
        rows = rows[known_by[rows] < 0]
        status[rows], note[rows], known_by[rows] = entry.status, entry.note or None, number
    return Marks(status, note, known_by)


def _satisfying(rule: Rule, table: Table, findings: Sequence[Finding]) -> npt.NDArray[np.bool_]:
    try:
        holds = np.ones(table.n_rows, dtype=bool)
        for condition in rule.on_values:
            holds &= condition.holds(table)
        for condition in rule.on_usual:
            table.find_column(condition.column)
    except ValueError as error:
        raise ValueError(f"the known rule '{plain(rule.text)}' cannot be used: {error}") from None
    if not rule.on_usual:
        return holds
    is_unusual = np.zeros(table.n_rows, dtype=bool)
    for finding in findings:
        off = {value.name: value.sign for value in finding.values if value.is_off}
        wanted = {"above": 1, "below": -1}
        is_unusual[finding.position] = all(
            each.column in off and off[each.column] == wanted.get(each.form, off[each.column]) for each in rule.on_usual
        )
    return holds & is_unusual
