"""The columns that were typed, as names of columns in the table."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

from paribus.cli.options import RoleOptions
from paribus.io.reading import Wanted
from paribus.io.reading.columns import BOOLEANS, number, timestamp
from paribus.tables.table import find_key


@dataclass
class ChosenColumns:
    """The roles that were typed, and the columns they refer to once the names of the table are known."""

    typed: RoleOptions
    judges_categories: bool = False
    contextual: list[str] | None = None
    behavioral: list[str] | None = None
    categorical: list[str] | None = None

    def choose(self, names: list[str]) -> Wanted:
        """Finds the columns, and returns which of them to read."""
        typed = self.typed
        self.contextual = resolve("--context", typed.context, names)
        self.behavioral = resolve("--behavior", typed.behavior, names) if typed.behavior else None
        self.categorical = resolve("--categorical", typed.categorical, names) if typed.categorical else None
        texts = [*(self.categorical or [])]
        if typed.id is not None:
            find_column("--id", typed.id, names)
            if typed.id in (self.behavioral or []) + self.contextual:
                raise ValueError(f"column '{typed.id}' names the rows, so it cannot be contextual or behavioral")
            texts.append(typed.id)
        wanted = None if self.behavioral is None else [*self.contextual, *self.behavioral, *texts]
        numbers = frozenset() if self.judges_categories else frozenset(self.behavioral or [])
        return Wanted(wanted, numbers, frozenset(texts), frozenset(self.contextual), True)


def resolve(option: str, typed: list[str], names: list[str]) -> list[str]:
    """The columns that were typed. Each value is a name, or several names separated by commas.

    >>> resolve("--context", ["a,b", "c,d"], ["a", "b", "c,d"])
    ['a', 'b', 'c,d']
    """
    found: list[str] = []
    for value in typed:
        parts = [value] if value in names else split(value)
        for part in parts:
            find_column(option, part, names)
            found.append(part)
    if not found:
        raise ValueError(f"{option} names no column: use {option} COLUMN,COLUMN")
    return found


def split(value: str) -> list[str]:
    """Splits names at commas. Names that contain commas are in double quotes.

    >>> split('a, "b,c"')
    ['a', 'b,c']
    """
    try:
        parts = next(csv.reader([value], skipinitialspace=True, strict=True), [])
    except csv.Error:
        parts = [value]
    return [part.strip() for part in parts if part.strip()]


def find_column(option: str, name: str, names: list[str]) -> None:
    """Raises an error if there is no such column, with the most similar name."""
    try:
        find_key(name, names, "column")
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def check_look(name: str, known: Iterable[str], found: Iterable[str | None]) -> None:
    """Raises an error if the text in a column looks entirely different from the text that the model was fitted to.

    Codes such as 007 are text, so numbers in a column of names would be accepted as unseen categories.
    """
    held, holds = ({_look(text) for text in texts if text is not None} for texts in (known, found))
    if held and holds and not held & holds:
        was, now = (" and ".join(sorted(looks)) for looks in (held, holds))
        raise ValueError(f"column '{name}' held {was} at fit and holds {now} here: is this the right table?")


def _look(text: str) -> str:
    if text.lower() in BOOLEANS:
        return "booleans"
    if number(text) is not None:
        return "numbers"
    return "text" if timestamp(text) is None else "timestamps"
