"""Values as they were read, as columns of numbers, moments or texts."""

from __future__ import annotations

import math
import numbers as numeric
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

# How a column of numbers says that there is none, in lower case. In a column of texts these are texts.
MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "?", "."})
# How texts spell truth values, in lower case.
TRUTHS = {"true": True, "false": False}
# A column with so many numbers among its values is one of numbers, with mistakes.
MOSTLY = 0.5


@dataclass(frozen=True)
class Wanted:
    """Which columns are wanted, and as what."""

    names: list[str] | None = None
    """None: all."""
    numbers: frozenset[str] = frozenset()
    """Those that must be numbers."""
    texts: frozenset[str] = frozenset()
    """Those that stay as they are written, even if they look like numbers."""
    strict: bool = False
    """Whether a column of numbers with a few texts in it is a mistake, or a column of texts."""


Choose: TypeAlias = Callable[[list[str]], Wanted]
Note: TypeAlias = Callable[[str], object]


@dataclass
class RawTable:
    """A table as it was read."""

    source: str
    names: list[str]
    columns: dict[str, Sequence[Any] | npt.NDArray[Any]]
    wanted: Wanted
    lines: array[int] | None
    """The line that each row starts on, if there are lines."""
    decimal_commas: bool = False
    """Whether a comma can be a decimal one."""

    def __post_init__(self) -> None:
        self.n_rows = len(next(iter(self.columns.values()), ()))

    def place(self, row: int) -> str:
        """Where a row is, for messages."""
        return f"{self.source}, row {row}" if self.lines is None else f"{self.source}, line {self.lines[row]}"


def all_columns(names: list[str]) -> Wanted:
    """All of them, as whatever they look like."""
    return Wanted()


def pick(names: list[str], wanted: Wanted) -> tuple[list[str], list[int]]:
    """The wanted columns, each once and in the order of the table, and their places."""
    places = [place for place, name in enumerate(names) if wanted.names is None or name in wanted.names]
    return [names[place] for place in places], places


def check_names(source: str, names: list[str]) -> None:
    """Says so if two columns have the same name."""
    first: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name in first:
            raise ValueError(f"{source}: columns {first[name]} and {place} are both called '{name}': rename one")
        first[name] = place


def typed(raw: RawTable, name: str, missing: frozenset[str], note: Note) -> npt.NDArray[Any]:
    """A column of numbers, moments, truth values or texts. It leaves the raw table."""
    values = raw.columns.pop(name)
    absent = frozenset(spelt for text in missing if (spelt := _spelt(text)) is not None)
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiumM" and name not in raw.wanted.texts:
        if values.dtype.kind in "mM":
            return values
        return _usable(raw, name, np.where(np.isin(values, list(absent)), np.nan, values) if absent else values)
    cells = [_tidy(value, missing, absent) for value in values]
    if name in raw.wanted.texts:
        return _objects(None if cell is None else _as_text(cell) for cell in cells)
    kinds = {type(cell) for cell in cells if cell is not None}
    if raw.wanted.strict:
        _check_simple(raw, name, cells, kinds)
    if name not in raw.wanted.numbers and (truths := _truths(cells)) is not None:
        return truths
    if (moments := _moments(cells, kinds)) is not None:
        return moments
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
    """The finite number that a value is or spells.

    >>> number(" 1e3 "), number("1_000"), number("inf"), number("one")
    (1000.0, None, None, None)
    """
    if isinstance(value, str):
        # Python takes the former for a number, we do not.
        if "_" in value:
            return None
    elif isinstance(value, bool | np.bool_) or not isinstance(value, numeric.Real | Decimal):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def moment(value: Any) -> np.datetime64 | None:
    """The moment that a text spells, as in 2026-01-31 or 2026-01-31T14:30:00Z; in UTC if it has a time zone."""
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
    """A cell without spaces around it; None if it is missing. `absent`: the numbers that stand for missing ones."""
    if isinstance(value, str):
        value = value.strip()
        return None if value == "" or value in missing else value
    if isinstance(value, int | float | Decimal | np.number) and not isinstance(value, bool) and value in absent:
        return None
    return None if is_missing(value) else value


def _spelt(text: str) -> float | None:
    """The number that a text spells, infinite ones included."""
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


def _truths(cells: list[Any]) -> npt.NDArray[Any] | None:
    """The cells as truth values, if all that are not blank are or spell one."""
    found: list[bool | None] = []
    for cell in cells:
        if isinstance(cell, bool | np.bool_):
            found.append(bool(cell))
        elif _is_blank(cell):
            found.append(None)
        elif isinstance(cell, str) and (word := cell.lower()) in TRUTHS:
            found.append(TRUTHS[word])
        else:
            return None
    return _objects(found) if any(truth is not None for truth in found) else None


def _moments(cells: list[Any], kinds: set[type]) -> npt.NDArray[Any] | None:
    """The cells as moments, if all that are not blank are."""
    if not all(issubclass(kind, str | date) for kind in kinds):
        return None
    found: list[np.datetime64[Any]] = []
    some = False
    for cell in cells:
        if _is_blank(cell):
            found.append(np.datetime64("NaT", "us"))
        elif (at := moment(cell)) is not None and number(cell) is None:
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
    """Numbers, or an error that names the place of one that cannot be computed with."""
    bad = np.flatnonzero(np.abs(values) > LARGEST_NUMBER) if values.dtype.kind == "f" else np.array([])
    if bad.size:
        row = int(bad[0])
        what = "an infinite value" if np.isinf(values[row]) else f"{values[row]:g}, which is too large to compute with"
        raise ValueError(
            f"{raw.place(row)}: column '{name}' has {what}: "
            "mend it, or name it with --missing if it stands for a missing value"
        )
    return values


def _check_simple(raw: RawTable, name: str, cells: list[Any], kinds: set[type]) -> None:
    """Says so if a value is none that a table has, such as a list."""
    odd = tuple(kind for kind in kinds if issubclass(kind, dict | list | bytes | bytearray | memoryview | np.ndarray))
    if odd:
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, odd))
        what = type(cells[row]).__name__
        raise ValueError(f"{raw.place(row)}: column '{name}' holds a {what}, which is neither a number nor a text")


def _check_mistake(raw: RawTable, name: str, cells: list[Any], floats: list[float | None]) -> None:
    """Says so if a text stands where a number should be."""
    known = [value for cell, value in zip(cells, floats, strict=True) if not _is_blank(cell)]
    n_numbers = sum(value is not None for value in known)
    required = name in raw.wanted.numbers
    if not required and not (raw.wanted.strict and n_numbers > MOSTLY * len(known)):
        return
    row = floats.index(None)
    shown = plain(cells[row], 40)
    where = f"{raw.place(row)}: column '{name}' has '{shown}'"
    if required and n_numbers == 0:
        raise ValueError(f"{where}, and no numbers at all, so it cannot be behaviour")
    advice = f"mend it, or say --missing '{shown}' if it stands for a missing value"
    more = "" if required else f", or --categorical '{name}' if these are categories"
    raise ValueError(f"{where} where a number should be: {advice}{more}")
