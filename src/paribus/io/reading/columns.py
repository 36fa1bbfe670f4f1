"""Conversion of values as they were read to columns of numbers, timestamps, booleans or text."""

from __future__ import annotations

import math
import numbers as numeric
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER
from paribus._common.text import plain
from paribus.tables.column import is_missing

# Spellings of a missing value in a column of numbers, in lower case. In a column of text they are ordinary text.
MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "?", "."})
# Spellings of booleans, in lower case.
BOOLEANS = {"true": True, "false": False}
# Text that looks like a number and is a code: a leading zero, or more digits than a float has.
_CODE = re.compile(r"[+-]?0\d|[+-]?\d{16}")
# A column with a larger share of numbers is a column of numbers with mistakes in it, not a column of text.
MIN_NUMERIC_SHARE = 0.5


@dataclass(frozen=True)
class Wanted:
    """Which columns are wanted, and as which type."""

    names: list[str] | None = None
    """The names of the wanted columns; None for all."""
    numbers: frozenset[str] = frozenset()
    """The columns that must be numbers."""
    texts: frozenset[str] = frozenset()
    """The columns that stay text as it is written, even if it looks like numbers."""
    strict: bool = False
    """Whether text in a column that is mostly numbers is an error; otherwise the column is text."""
    carried: frozenset[str] = frozenset()
    """Columns that are only carried along, so that nothing in them is an error."""

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
    types: dict[str, str] | None = None
    """The types of the columns as DuckDB calls them; None if the source has none."""

    def __post_init__(self) -> None:
        self.n_rows = len(next(iter(self.columns.values()), ()))

    def place(self, row: int) -> str:
        """The place of a row in messages."""
        return f"{self.source}, row {row}" if self.lines is None else f"{self.source}, line {self.lines[row]}"


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


def typed(raw: RawTable, name: str, missing: frozenset[str], note: Note) -> npt.NDArray[Any]:
    """Converts a column to numbers, timestamps, booleans or text, and removes it from the raw table."""
    values = raw.columns.pop(name)
    absent = frozenset(spelled for text in missing if (spelled := _spelled(text)) is not None)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiumM" and name not in raw.wanted.texts:
        if values.dtype.kind in "mM":
            return values
        return _usable(raw, name, np.where(np.isin(values, list(absent)), np.nan, values) if absent else values)
    cells = [_tidy(value, missing, absent) for value in values]
    if name in raw.wanted.texts:
        return _objects(None if cell is None else _as_text(cell) for cell in cells)
    kinds = {type(cell) for cell in cells if cell is not None}
    if name in raw.wanted.carried and any(isinstance(cell, str) and _CODE.match(cell) for cell in cells):
        # Codes such as 007 must come out as they went in.
        return _objects(None if cell is None else _as_text(cell) for cell in cells)
    if raw.wanted.is_strict(name):
        _check_simple(raw, name, cells, kinds)
    if name not in raw.wanted.numbers and (booleans := _booleans(cells)) is not None:
        return booleans
    if (timestamps := _timestamps(cells, kinds)) is not None:
        return timestamps
    floats = [math.nan if _is_blank(cell) else number(cell) for cell in cells]
    if None not in floats:
        return _usable(raw, name, np.array(floats, dtype=np.float64))
    if raw.decimal_commas and _all_decimal_commas(cells):
        note(f"{raw.source}: decimal commas in column '{name}' are read as decimal points")
        decimals = [math.nan if _is_blank(cell) else number(cell.replace(",", ".")) for cell in cells]
        return _usable(raw, name, np.array(decimals, dtype=np.float64))
    _check_mistake(raw, name, cells, floats)
    return _objects(None if cell is None else cell if isinstance(cell, bool) else _as_text(cell) for cell in cells)


def number(value: Any) -> float | None:
    """The finite number that a value is or spells; None if there is none.

    >>> number(" 1e3 "), number("1_000"), number("inf"), number("one")
    (1000.0, None, None, None)
    """
    if isinstance(value, str):
        # Python reads 1_000 as a number, but most other programs do not.
        if "_" in value:
            return None
    elif isinstance(value, bool | np.bool_) or not isinstance(value, numeric.Real | Decimal):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def timestamp(value: Any) -> np.datetime64 | None:
    """The timestamp that a text spells, as in 2026-01-31 or 2026-01-31T14:30:00Z; in UTC if it has a time zone."""
    if isinstance(value, str):
        if len(value.strip()) < 8 or not value.strip()[:4].isdigit():
            return None
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return np.datetime64(value, "us")
    return None


def _tidy(value: Any, missing: frozenset[str], absent: frozenset[float]) -> Any:
    """A cell without surrounding spaces; None if it is missing. `absent` are the numbers that mark missing values."""
    if isinstance(value, str):
        value = value.strip()
        return None if value == "" or value in missing else value
    if isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool) and value in absent:
        return None
    return None if is_missing(value) else value


def _spelled(text: str) -> float | None:
    """The number that a text spells, including infinity; None if there is none."""
    try:
        return float(text)
    except ValueError:
        return None


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.lower() in MISSING)


def _as_text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell if isinstance(cell, str) else str(cell)


def _objects(values: Iterable[Any]) -> npt.NDArray[Any]:
    listed = list(values)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    return column


def _booleans(cells: list[Any]) -> npt.NDArray[Any] | None:
    """The cells as booleans, if all cells that are not blank are or spell one; otherwise None."""
    found: list[bool | None] = []
    for cell in cells:
        if isinstance(cell, bool | np.bool_):
            found.append(bool(cell))
        elif _is_blank(cell):
            found.append(None)
        elif isinstance(cell, str) and (word := cell.lower()) in BOOLEANS:
            found.append(BOOLEANS[word])
        else:
            return None
    return _objects(found) if any(value is not None for value in found) else None


def _timestamps(cells: list[Any], kinds: set[type]) -> npt.NDArray[Any] | None:
    """The cells as timestamps, if all cells that are not blank are or spell one; otherwise None."""
    if not all(issubclass(kind, str | date) for kind in kinds):
        return None
    found: list[np.datetime64[Any]] = []
    some = False
    for cell in cells:
        if _is_blank(cell):
            found.append(np.datetime64("NaT", "us"))
        elif (at := timestamp(cell)) is not None and number(cell) is None:
            found.append(at)
            some = True
        else:
            return None
    return np.array(found, dtype="datetime64[us]") if some else None


def _all_decimal_commas(cells: list[Any]) -> bool:
    def fits(cell: Any) -> bool:
        return (
            isinstance(cell, str)
            and "." not in cell
            and cell.count(",") <= 1
            and number(cell.replace(",", ".")) is not None
        )

    return all(_is_blank(cell) or fits(cell) for cell in cells)


def _usable(raw: RawTable, name: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns numbers, and raises an error if one of them is infinite or too large."""
    if name in raw.wanted.carried:
        return values
    bad = np.flatnonzero(np.abs(values) > LARGEST_NUMBER) if values.dtype.kind == "f" else np.array([])
    if bad.size:
        row = int(bad[0])
        what = "an infinite value" if np.isinf(values[row]) else f"{values[row]:g}, which is too large to compute with"
        raise ValueError(
            f"{raw.place(row)}: column '{name}' has {what}: "
            "fix it, or name it with --missing if it stands for a missing value"
        )
    return values


def _check_simple(raw: RawTable, name: str, cells: list[Any], kinds: set[type]) -> None:
    """Raises an error if a cell holds a value such as a list."""
    odd = tuple(kind for kind in kinds if issubclass(kind, dict | list | bytes | bytearray | memoryview | np.ndarray))
    if odd:
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, odd))
        what = type(cells[row]).__name__
        raise ValueError(f"{raw.place(row)}: column '{name}' holds a {what}, which is neither a number nor text")


def _check_mistake(raw: RawTable, name: str, cells: list[Any], floats: list[float | None]) -> None:
    """Raises an error if there is text where a number should be."""
    known = [value for cell, value in zip(cells, floats, strict=True) if not _is_blank(cell)]
    n_numbers = sum(value is not None for value in known)
    required = name in raw.wanted.numbers
    if not required and not (raw.wanted.is_strict(name) and n_numbers > MIN_NUMERIC_SHARE * len(known)):
        return
    row = floats.index(None)
    shown = plain(cells[row], 40)
    where = f"{raw.place(row)}: column '{name}' has '{shown}'"
    if required and n_numbers == 0:
        raise ValueError(f"{where}, and no numbers at all, so it cannot be behavioral")
    advice = f"fix it, or add --missing '{shown}' if it stands for a missing value"
    more = "" if required else f", or --categorical '{name}' if these are categories"
    raise ValueError(f"{where} where a number should be: {advice}{more}")
