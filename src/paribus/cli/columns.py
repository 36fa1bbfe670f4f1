"""The columns that were typed, as names of columns in the table."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from paribus.cli.options import RoleOptions
from paribus.io.reading import Wanted
from paribus.io.reading.columns import BOOLEANS, number, timestamp
from paribus.tables.table import find_key


@dataclass
class ChosenColumns:
    """The roles that were typed, and the columns they refer to once the names of the table are known."""

    typed: RoleOptions
    carry: Callable[[list[str], list[str]], list[str]] = lambda used, there: []
    """Which other columns to read, given those that are used and those of the table."""
    judges_categories: bool = False
    contextual: list[str] | None = None
    contexts: dict[str, list[str]] | None = None
    """The context of each behavioral column, if these differ."""
    behavioral: list[str] | None = None
    categorical: list[str] | None = None

    def n_fitted(self, names: list[str]) -> int:
        """How many of the columns that are read have a role."""
        if self.behavioral is None:
            # All but the one that names the rows.
            return len(names) - (self.typed.id is not None)
        return len({*(self.contextual or []), *self.behavioral})

    def choose(self, names: list[str]) -> Wanted:
        """Finds the columns, and returns which of them to read."""
        typed = self.typed
        self.behavioral = resolve("--behavior", typed.behavior, names) if typed.behavior else None
        self.contextual, self.contexts = resolve_contexts(typed.context, self.behavioral, names)
        if self.contexts is not None:
            self.behavioral = list(self.contexts)
        self.categorical = resolve("--categorical", typed.categorical, names) if typed.categorical else None
        texts = [*(self.categorical or [])]
        if typed.id is not None:
            find_column("--id", typed.id, names)
            if typed.id in (self.behavioral or []) + self.contextual:
                raise ValueError(f"column '{typed.id}' names the rows, so it cannot be contextual or behavioral")
            texts.append(typed.id)
        context = frozenset(self.contextual)
        if self.behavioral is None:
            return Wanted(None, frozenset(), frozenset(texts), strict=True, contextual=context)
        used = [*self.contextual, *self.behavioral, *texts]
        numbers = frozenset() if self.judges_categories else frozenset(self.behavioral)
        carried = self.carry(used, names)
        return Wanted([*used, *carried], numbers, frozenset(texts), True, frozenset(carried), context)


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


def resolve_contexts(
    typed: list[str], behavioral: list[str] | None, names: list[str]
) -> tuple[list[str], dict[str, list[str]] | None]:
    """The contextual columns, and the context of each behavioral one if they were typed as BEHAVIOR=COLUMNS.

    >>> resolve_contexts(["rain=a,b", "c"], None, ["a", "b", "c", "rain"])
    (['a', 'b', 'c'], {'rain': ['a', 'b', 'c']})
    >>> resolve_contexts(["a,b"], None, ["a", "b", "c"])
    (['a', 'b'], None)
    """
    own: dict[str, list[str]] = {}
    shared: list[str] = []
    for value in typed:
        behavior, equals, columns = value.partition("=")
        if value in names or not equals or all(part in names for part in split(value)):
            shared.append(value)
            continue
        find_column("--context", behavior.strip(), names)
        own.setdefault(behavior.strip(), []).extend(resolve("--context", [columns], names))
    if not own:
        return resolve("--context", typed, names), None
    common = resolve("--context", shared, names) if shared else []
    if behavioral is not None and not common and (without := [each for each in behavioral if each not in own]):
        raise ValueError(f"--context: '{without[0]}' has no context: add --context {without[0]}=COLUMN,COLUMN")
    contexts = {
        each: list(dict.fromkeys([*own.get(each, []), *common])) for each in dict.fromkeys([*(behavioral or []), *own])
    }
    return list(dict.fromkeys(column for columns in contexts.values() for column in columns)), contexts


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
