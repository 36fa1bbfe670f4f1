"""Tables as they are read, before their values are converted: at once, or in batches."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

BATCH_SIZE = 65_536  # rows


@dataclass(frozen=True)
class Wanted:
    """Which columns to read, and as which type."""

    names: list[str] | None = None
    """The names of the wanted columns; None for all."""
    numbers: frozenset[str] = frozenset()
    """The columns that must be numbers."""
    texts: frozenset[str] = frozenset()
    """The columns that stay text as it is written, even if it looks like numbers."""
    strict: bool = False
    """Whether text in a column that is mostly numbers is an error; otherwise the column is text."""
    carried: frozenset[str] = frozenset()
    """Columns that are only passed through, so that nothing in them is an error."""
    contextual: frozenset[str] = frozenset()
    """The columns that are named as context, if `names` is None."""

    def is_strict(self, name: str) -> bool:
        """Whether text in a column that is mostly numbers is an error."""
        return self.strict and name not in self.carried


Choose: TypeAlias = Callable[[list[str]], Wanted]
Note: TypeAlias = Callable[[str], object]


@dataclass
class RawTable:
    """A table whose values have not been converted yet."""

    source: str
    names: list[str]
    columns: dict[str, Sequence[Any] | npt.NDArray[Any]]
    wanted: Wanted
    lines: array[int] | None
    """The line that each row starts on; None if the source has no lines."""
    decimal_commas: bool = False
    """Whether commas may be decimal commas."""
    first_row: int = 0
    """The number of the first row in the source, of which this may be a part."""
    types: dict[str, str] | None = None
    """The types of the columns as DuckDB calls them; None if the source has none."""

    def __post_init__(self) -> None:
        self.n_rows = len(next(iter(self.columns.values()), ()))

    def place(self, row: int) -> str:
        """The place of a row in messages."""
        if self.lines is None:
            return f"{self.source}, row {self.first_row + row}"
        return f"{self.source}, line {self.lines[row]}"


def all_columns(names: list[str]) -> Wanted:
    """Chooses all columns, with auto-detected types."""
    return Wanted()


def pick(names: list[str], wanted: Wanted) -> tuple[list[str], list[int]]:
    """The names and positions of the wanted columns, in the order of the table."""
    places = [place for place, name in enumerate(names) if wanted.names is None or name in wanted.names]
    return [names[place] for place in places], places


def check_names(source: str, names: list[str]) -> None:
    """Raises an error if two columns have the same name."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name in first:
            raise ValueError(f"{source}: columns {first[name]} and {place} are both called '{name}': rename one")
        first[name] = place


@dataclass(frozen=True)
class RawStream:
    """A table that is read in batches, several times if needed."""

    source: str
    names: list[str]
    """The names of all columns."""
    batches: Callable[[Wanted], Iterator[RawTable]]
    """Reads the wanted columns again from the start. Rows are numbered within a batch, lines in the file."""
    decimal_commas: bool = False
    """Whether commas may be decimal commas."""
    n_rows: int | None = None
    """The number of rows, if it is known before they are read."""
    has_parts: bool = False
    """Whether batches come from several files, whose types may differ."""
