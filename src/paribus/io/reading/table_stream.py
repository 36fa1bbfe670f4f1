"""Tables of any size, read in batches, with the same values as if they were read at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus.io.reading.columns import As, Cells, Facts, convert, decide, is_typed, look_at, usable
from paribus.io.reading.raw import Choose, Note, RawStream, RawTable, Wanted, pick
from paribus.io.reading.source_types import SourceTypes
from paribus.io.reading.text import TextOptions

Columns = dict[str, npt.NDArray[Any]]
FileState: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class ReadTable:
    """A table that was read from a file or a database."""

    name: str
    """The name of the table in messages."""
    columns: dict[str, npt.NDArray[Any]]
    """Numbers and timestamps as numpy arrays; text and booleans as arrays of objects, None where one is missing."""
    n_rows: int
    types: dict[str, str] = field(default_factory=dict)
    """The types of columns in the source that their arrays do not show, such as DATE, as DuckDB calls them."""


@dataclass(frozen=True)
class TableStream:
    """A table with typed columns, in batches of rows."""

    name: str
    """The name of the table in messages."""
    names: list[str]
    """The names of the chosen columns."""
    n_rows: int
    _raw: RawStream
    _wanted: Wanted
    _types: dict[str, As]
    """Of the columns to which the source itself gives no type."""
    _missing: frozenset[str]
    _change: Callable[[Columns], Columns] = lambda columns: columns
    types: SourceTypes = field(default_factory=SourceTypes)
    """The types of columns in the source, once all batches have been read."""
    _states: dict[str, FileState | None] = field(default_factory=dict)
    """By path of its files: what they were like when the table was opened."""

    def batches(self) -> Iterator[Columns]:
        """Reads the table from its start, in order. Raises an error if the table has changed."""
        n_rows = 0
        for raw in self._raw.batches(self._wanted):
            n_rows += raw.n_rows
            if n_rows > self.n_rows:
                break
            given = raw.types
            columns = {name: self._typed(raw, name) for name in self.names}
            self.types.add(columns, given)
            yield self._change(columns)
        if n_rows != self.n_rows:
            raise ValueError(
                f"{self.name}: it changed while it was read: there are {n_rows:,} rows instead of {self.n_rows:,}: "
                "read it again when it does not change"
            )
        for path, state in self._states.items():
            if file_states([path]) != {path: state}:
                name = self.name if len(self._states) == 1 else os.path.join(self.name, os.path.basename(path))
                raise ValueError(f"{name}: it changed while it was read: read it again when it does not change")

    def read(self) -> ReadTable:
        """Reads all rows into memory."""
        batches = list(self.batches())
        columns = {name: np.concatenate([batch.pop(name) for batch in batches]) for name in self.names}
        return ReadTable(self.name, columns, self.n_rows, self.types.found)

    def mapped(self, change: Callable[[Columns], Columns]) -> TableStream:
        """The same table with each batch changed."""
        return replace(self, _change=change)

    def _typed(self, raw: RawTable, name: str) -> npt.NDArray[Any]:
        values = raw.columns.pop(name)
        to = self._types.get(name)
        if is_typed(self._wanted, name, values) and to in (None, As.NUMBERS, As.TIMESTAMPS):
            return usable(raw, name, values, self._missing)
        try:
            return convert(raw, name, Cells(values, self._missing), to or As.TEXT)
        except TypeError:
            # All values had this type when the types were detected.
            raise ValueError(
                f"{self.name}: it changed while it was read: a value of column '{name}' has another type: read it "
                "again when it does not change"
            ) from None


def file_states(paths: Iterable[str]) -> dict[str, FileState | None]:
    """By path: which file it is, how long, and when it was written last; None if it is not there any more."""
    found: dict[str, FileState | None] = {}
    for path in paths:
        try:
            state = os.stat(path)
        except OSError:
            found[path] = None
        else:
            found[path] = state.st_ino, state.st_size, state.st_mtime_ns
    return found


def typed_stream(
    raw: RawStream, choose: Choose, options: TextOptions, note: Note, states: dict[str, FileState | None]
) -> TableStream:
    """Chooses columns, and finds their types and the number of rows, for which a text file is read once.

    `states` are those of the files when the table was opened.
    """
    wanted, missing = choose(raw.names), options.missing
    kept, _ = pick(raw.names, wanted)
    facts: dict[str, Facts] = {}
    have_numbers: set[str] = set()
    n_rows = 0
    untyped = _without_types(raw, wanted, kept)
    # If there are none, nothing has to be detected.
    for batch in raw.batches(replace(wanted, names=untyped)) if untyped else ():
        n_rows += batch.n_rows
        for name, values in batch.columns.items():
            known = facts.setdefault(name, Facts())
            if is_typed(wanted, name, values):
                # Typed in one file, and not in another one.
                of_part = _facts_of_type(values)
                known.merge(of_part)
                if of_part.are[As.NUMBERS]:
                    have_numbers.add(name)
                continue
            cells = Cells(values, missing)
            cells.check_lengths(batch, options.limits)
            if name not in wanted.texts:
                known.merge(look_at(batch, name, cells))
    for name in kept:
        if name in have_numbers and not facts[name].are[As.NUMBERS] and wanted.is_strict(name):
            raise ValueError(
                f"{raw.source}: column '{name}' has numbers in one file and text that is no number in another one: "
                "convert it, or leave it out"
            )
    n_rows = n_rows if raw.n_rows is None else raw.n_rows
    if n_rows == 0 or not raw.names:
        raise ValueError(f"{raw.source}: there are no rows")
    types = {
        name: decide(raw.source, wanted, name, each, raw.decimal_commas, options, note) for name, each in facts.items()
    }
    return TableStream(raw.source, kept, n_rows, raw, wanted, types, missing, _states=states)


def _without_types(raw: RawStream, wanted: Wanted, kept: list[str]) -> list[str]:
    """The columns that must be read to detect their types; if the number of rows is known, there may be none."""
    if raw.n_rows is None or raw.has_parts:
        return kept
    first = next(raw.batches(wanted), None)
    return [name for name in kept if first is None or not is_typed(wanted, name, first.columns[name])]


def _facts_of_type(values: Any) -> Facts:
    found = Facts(len(values), len(values))
    are_numbers = values.dtype.kind in "fiu"
    found.are = dict.fromkeys(found.are, False) | {
        As.NUMBERS: are_numbers,
        As.SIGNED: are_numbers,
        As.TIMESTAMPS: not are_numbers,
    }
    return found
