"""Which columns of a table play which role: what was typed, as names."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass

from paribus.cli.options import RoleOptions
from paribus.io.reading import Wanted
from paribus.io.reading.columns import TRUTHS, moment, number
from paribus.tables.table import find_key


@dataclass
class ChosenColumns:
    """The roles that were typed, and the names they turn out to be once the table's names are known."""

    typed: RoleOptions
    contextual: list[str] | None = None
    behavioral: list[str] | None = None
    categorical: list[str] | None = None

    def choose(self, names: list[str]) -> Wanted:
        """Finds the names, and says what to read."""
        typed = self.typed
        self.contextual = resolve("--context", typed.context, names)
        self.behavioral = resolve("--behavior", typed.behavior, names) if typed.behavior else None
        self.categorical = resolve("--categorical", typed.categorical, names) if typed.categorical else None
        texts = [*(self.categorical or [])]
        if typed.id is not None:
            find_column("--id", typed.id, names)
            if typed.id in (self.behavioral or []) + self.contextual:
                raise ValueError(f"column '{typed.id}' names the rows, so it cannot be context or behaviour too")
            texts.append(typed.id)
        wanted = None if self.behavioral is None else [*self.contextual, *self.behavioral, *texts]
        return Wanted(wanted, frozenset(self.behavioral or []), frozenset(texts), strict=True)


def resolve(option: str, typed: list[str], names: list[str]) -> list[str]:
    """The columns that were typed: each value is a name, or several with commas between them.

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
        raise ValueError(f"{option} names no column: say {option} COLUMN,COLUMN")
    return found


def split(value: str) -> list[str]:
    """Names with commas between them, in double quotes where they hold commas themselves.

    >>> split('a, "b,c"')
    ['a', 'b,c']
    """
    try:
        parts = next(csv.reader([value], skipinitialspace=True, strict=True), [])
    except csv.Error:
        parts = [value]
    return [part.strip() for part in parts if part.strip()]


def find_column(option: str, name: str, names: list[str]) -> None:
    """Says so if there is no such column, and which one may be meant."""
    try:
        find_key(name, names, "column")
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None


def check_look(name: str, known: Iterable[str], found: Iterable[str | None]) -> None:
    """Says so if a column of texts looks altogether different than when the model was made.

    Codes such as 007 are texts, so that numbers in the place of names would only be categories nobody has seen.
    """
    held, holds = ({_look(text) for text in texts if text is not None} for texts in (known, found))
    if held and holds and not held & holds:
        was, now = (" and ".join(sorted(looks)) for looks in (held, holds))
        raise ValueError(f"column '{name}' held {was} at fit and holds {now} here: is this the right table?")


def _look(text: str) -> str:
    if text.lower() in TRUTHS:
        return "truth values"
    if number(text) is not None:
        return "numbers"
    return "text" if moment(text) is None else "points in time"
