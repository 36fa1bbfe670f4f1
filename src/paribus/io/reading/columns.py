"""Conversion of values as they were read to columns of numbers, timestamps, booleans or text."""

from __future__ import annotations

import math
import numbers as numeric
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER
from paribus._common.text import listed, plain
from paribus.io.reading.limits import Limits
from paribus.io.reading.raw import Note, RawTable, Wanted
from paribus.io.reading.spellings import DATE_ORDERS, has_dots, hours, ordered_date, signed_number
from paribus.io.reading.text import COMMA, TextOptions
from paribus.tables.column import is_missing

# Spellings of a missing value in a column of numbers, in lower case. In a column of text they are ordinary text.
MISSING = frozenset({"na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "?", "."})
# Spellings of booleans, in lower case.
BOOLEANS = {"true": True, "false": False}
# Text that looks like a number and is a code: a leading zero, or more digits than a float has.
_CODE = re.compile(r"[+-]?0\d|[+-]?\d{16}")
# A column with a larger share of numbers is a column of numbers with mistakes in it, not a column of text.
MIN_NUMERIC_SHARE = 0.5


class As(Enum):
    """What the values of a column are converted to."""

    NUMBERS = "numbers"
    DECIMAL_COMMAS = "numbers with decimal commas"
    SIGNED = "numbers with currency signs, percent signs or thousands separators"
    SIGNED_COMMAS = "such numbers with decimal commas"
    TIMESTAMPS = "timestamps"
    HOURS = "times of day or durations, in hours"
    DMY = "dates with the day first"
    MDY = "dates with the month first"
    YMD = "dates with the year first"
    BOOLEANS = "booleans"
    TEXT = "text, and booleans that are not text"
    WRITTEN = "text as it is written"


@dataclass
class Facts:
    """The types that the values of a column may have; facts about parts of a column can be merged."""

    n_known: int = 0
    """The number of values that are not blank."""
    n_numbers: int = 0
    are: dict[As, bool] = field(
        default_factory=lambda: dict.fromkeys([each for each in As if each not in (As.TEXT, As.WRITTEN)], True)
    )
    """Whether all values that are not blank are or spell such values."""
    first_odd: tuple[str, Any] | None = None
    """The first value that is not a number, and its position."""
    marks: dict[str, int] = field(default_factory=dict)
    """The number of values with a currency sign, a percent sign or a thousands separator."""
    example: str | None = None
    """The first value that is a date, a time or a number with such signs."""
    has_dots: bool = True
    """Whether all dates are written with dots."""
    has_codes: bool = False
    """Whether a value looks like a number but is a code, such as 007."""

    def merge(self, other: Facts) -> None:
        """Adds the facts about later values."""
        self.n_known += other.n_known
        self.n_numbers += other.n_numbers
        self.are = {each: known and other.are[each] for each, known in self.are.items()}
        self.first_odd = self.first_odd or other.first_odd
        self.marks = {mark: self.marks.get(mark, 0) + other.marks.get(mark, 0) for mark in self.marks | other.marks}
        self.example = self.example or other.example
        self.has_dots = self.has_dots and other.has_dots
        self.has_codes = self.has_codes or other.has_codes


class Cells:
    """Values of a column without surrounding spaces, None where one is missing; each distinct text is parsed once."""

    def __init__(self, values: Sequence[Any] | npt.NDArray[Any], missing: frozenset[str]) -> None:
        listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            # With the types of numpy, so that whole numbers stay distinguishable from booleans.
            listed = list(values)
        self._codes: npt.NDArray[np.int64] | None = None
        if set(map(type, listed)) <= {str, type(None)}:
            places: dict[Any, int] = {}
            self._codes = np.fromiter((places.setdefault(each, len(places)) for each in listed), np.int64, len(listed))
            listed = list(places)
        self.absent = _absent(missing)
        """The numbers that mark missing values."""
        self.distinct = [_tidy(value, missing, self.absent) for value in listed]

    def numbers(self, read: Callable[[Any], float | None], *, with_spellings: bool) -> npt.NDArray[np.float64]:
        """The numbers that values are or spell, as a function reads them; NaN where one is missing.

        With spellings, so are other ones of the same number: -999.0 where -999 is missing.
        """
        found = _all_found([math.nan if _is_blank(cell) else read(cell) for cell in self.distinct])
        if with_spellings:
            found = [math.nan if value in self.absent else value for value in found]
        return self.spread(np.array(found, dtype=np.float64))

    def check_lengths(self, raw: RawTable, limits: Limits) -> None:
        """Raises an error if a text is too long."""
        is_long = [isinstance(cell, str | bytes) and len(cell) > limits.cell for cell in self.distinct]
        if any(is_long):
            limits.check_cell(raw.place(int(self.rows_of(is_long)[0])), len(self.distinct[is_long.index(True)]))

    def rows_of(self, is_wanted: Sequence[bool]) -> npt.NDArray[np.int64]:
        """The rows whose value is selected, given one boolean for each distinct value."""
        wanted = np.array(is_wanted, dtype=bool)
        return np.flatnonzero(wanted if self._codes is None else wanted[self._codes])

    def spread(self, converted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value for each row, given one for each distinct value."""
        return converted if self._codes is None else converted[self._codes]


def typed(raw: RawTable, name: str, options: TextOptions, note: Note) -> npt.NDArray[Any]:
    """Converts a column to numbers, timestamps, booleans or text, and removes it from the raw table."""
    values, missing = raw.columns.pop(name), options.missing
    if is_typed(raw.wanted, name, values):
        return usable(raw, name, values, missing)
    cells = Cells(values, missing)
    cells.check_lengths(raw, options.limits)
    facts = Facts() if name in raw.wanted.texts else look_at(raw, name, cells)
    return convert(raw, name, cells, decide(raw.source, raw.wanted, name, facts, raw.decimal_commas, options, note))


def is_typed(wanted: Wanted, name: str, values: Sequence[Any] | npt.NDArray[Any]) -> bool:
    """Whether the source has a type for the column."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "fiumM" and name not in wanted.texts


def usable(raw: RawTable, name: str, values: Any, missing: frozenset[str]) -> npt.NDArray[Any]:
    """Numbers and timestamps of a typed source. Raises an error if one is infinite or too large."""
    if values.dtype.kind in "mM":
        return np.asarray(values)
    absent = _absent(missing)
    return _usable(raw, name, np.where(np.isin(values, list(absent)), np.nan, values) if absent else values)


def look_at(raw: RawTable, name: str, cells: Cells) -> Facts:
    """What the values of a column can be."""
    if raw.wanted.is_strict(name):
        _check_simple(raw, name, cells)
    is_known = [not _is_blank(cell) for cell in cells.distinct]
    known = [cell for cell, there in zip(cells.distinct, is_known, strict=True) if there]
    facts = Facts(len(cells.rows_of(is_known)))
    facts.has_codes = any(isinstance(cell, str) and _CODE.match(cell) is not None for cell in known)
    facts.are[As.BOOLEANS] = all(_boolean(cell) is not None for cell in known)
    facts.are[As.TIMESTAMPS] = all(timestamp(cell) is not None and number(cell) is None for cell in known)
    if known and (facts.are[As.BOOLEANS] or facts.are[As.TIMESTAMPS]):
        is_number = [False] * len(is_known)
    else:
        is_number = [there and number(cell) is not None for cell, there in zip(cells.distinct, is_known, strict=True)]
    facts.n_numbers = len(cells.rows_of(is_number))
    facts.are[As.NUMBERS] = facts.n_numbers == facts.n_known
    facts.are[As.DECIMAL_COMMAS] = all(map(_fits_decimal_comma, known))
    if not facts.are[As.NUMBERS]:
        odd = [there and not fits for there, fits in zip(is_known, is_number, strict=True)]
        row = int(cells.rows_of(odd)[0])
        facts.first_odd = raw.place(row), cells.spread(_objects(cells.distinct))[row]
    _look_at_spellings(facts, cells, known)
    return facts


def _look_at_spellings(facts: Facts, cells: Cells, known: list[Any]) -> None:
    """Adds to the facts of a column which notations of numbers and timestamps its values have."""
    if facts.are[As.NUMBERS]:
        # A plain number counts as a number with signs.
        facts.are |= dict.fromkeys((As.HOURS, As.DMY, As.MDY, As.YMD), not known)
        facts.are[As.SIGNED_COMMAS] = all(isinstance(cell, str) and _signed(cell, ",") for cell in known)
        return
    are_texts = all(isinstance(cell, str) for cell in known)
    for to, fits in _SPELLINGS.items():
        facts.are[to] = (are_texts or to is As.SIGNED) and all(map(fits, known))
    facts.has_dots = are_texts and all(map(has_dots, known))
    if any(facts.are[to] for to in _SPELLINGS):
        facts.example = next((cell for cell in known if isinstance(cell, str) and number(cell) is None), None)
    if not (facts.are[As.SIGNED] or facts.are[As.SIGNED_COMMAS]):
        return
    decimal = "." if facts.are[As.SIGNED] else ","
    marks = [(_signed(cell, decimal) or (0.0, ""))[1] for cell in cells.distinct]
    for mark in sorted(set("".join(marks))):
        facts.marks[mark] = len(cells.rows_of([mark in each for each in marks]))


def decide(
    source: str,
    wanted: Wanted,
    name: str,
    facts: Facts,
    decimal_commas: bool,
    options: TextOptions,
    note: Note,
) -> As:
    """What to convert a column to. Raises an error if there is text where a number should be."""
    decimal_commas = options.decimal == COMMA or (decimal_commas and options.decimal is None)
    # Codes in columns that are only passed through must not change.
    if name in wanted.texts or (name in wanted.carried and facts.has_codes):
        return As.WRITTEN
    if facts.n_known and facts.are[As.BOOLEANS] and name not in wanted.numbers:
        return As.BOOLEANS
    if facts.n_known and facts.are[As.TIMESTAMPS]:
        return As.TIMESTAMPS
    if facts.are[As.NUMBERS]:
        return As.NUMBERS
    if decimal_commas and facts.are[As.DECIMAL_COMMAS]:
        if facts.are[As.SIGNED] and options.decimal is None and _is_chosen(wanted, name):
            raise ValueError(
                f"{source}: column '{name}' has '{facts.example}', whose comma may separate thousands or "
                "decimals: add --decimal point or --decimal comma"
            )
        note(f"{source}: decimal commas in column '{name}' are read as decimal points")
        return As.DECIMAL_COMMAS
    if (spelled := _decide_spelling(source, wanted, name, facts, decimal_commas, options, note)) is not None:
        return spelled
    _check_mistake(wanted, name, facts, note)
    return As.TEXT


def _decide_spelling(
    source: str,
    wanted: Wanted,
    name: str,
    facts: Facts,
    decimal_commas: bool,
    options: TextOptions,
    note: Note,
) -> As | None:
    """What values with signs, dates and times are converted to; None if they are none of these."""
    if facts.n_known == 0:
        return None
    if name in wanted.carried:
        # It must not change.
        return As.TEXT if any(facts.are[each] for each in _SPELLINGS) else None
    signed = As.SIGNED_COMMAS if decimal_commas else As.SIGNED
    currencies = [mark for mark in facts.marks if mark not in "%,("]
    # 5 and 5 % are not the same, and neither are 5 dollars and 5 euros.
    if facts.are[signed] and facts.marks.get("%", 0) in (0, facts.n_known) and len(currencies) <= 1:
        words = [f"'{mark}'" for mark in (*currencies, *("%" for mark in facts.marks if mark == "%"))]
        if "," in facts.marks:
            words.append("dots between thousands" if decimal_commas else "commas between thousands")
        how = [f"without {listed(words, 'and')}"] if words else []
        how += ["decimal commas as points"] if decimal_commas else []
        how += ["parentheses as minus"] if "(" in facts.marks else []
        note(f"{source}: column '{name}' is read as numbers, {', '.join(how or ['without spaces'])}")
        return signed
    if facts.are[As.HOURS]:
        note(f"{source}: column '{name}' ('{facts.example}') is read as hours")
        return As.HOURS
    orders = [order for order in DATE_ORDERS if facts.are[As[order.upper()]]]
    if not orders:
        return None
    if options.date_order in orders:
        chosen = options.date_order
    elif len(orders) == 1 and options.date_order is None:
        chosen = orders[0]
    elif facts.has_dots and "dmy" in orders and options.date_order is None:
        chosen = "dmy"
    else:
        problem = f"column '{name}' has '{facts.example}'"
        if options.date_order is not None:
            problem += f", which is not a date in the order {options.date_order}"
            advice = f"leave out --date-order, or use --date-order {orders[0]}"
        else:
            problem += ", and no date in the column shows which number is the day and which the month"
            advice = f"add {listed([f'--date-order {order}' for order in orders], 'or')}"
        if _is_chosen(wanted, name):
            raise ValueError(f"{source}: {problem}: {advice}")
        note(f"{source}: {problem}: it is read as text; {advice}")
        return As.TEXT
    names = {"d": "day", "m": "month", "y": "year"}
    note(f"{source}: column '{name}' is read as dates: {', '.join(names[each] for each in chosen)}")
    return As[chosen.upper()]


def _is_chosen(wanted: Wanted, name: str) -> bool:
    """Whether the column was requested."""
    return wanted.strict and (wanted.names is not None or name in wanted.contextual)


def convert(raw: RawTable, name: str, cells: Cells, to: As) -> npt.NDArray[Any]:
    """Converts a column, or a part of it."""
    distinct = cells.distinct
    if to is As.BOOLEANS:
        return cells.spread(_objects(None if _is_blank(cell) else _boolean(cell) for cell in distinct))
    if to is As.TIMESTAMPS:
        missing = np.datetime64("NaT", "us")
        found = [missing if _is_blank(cell) else timestamp(cell) for cell in distinct]
        return cells.spread(np.array(_all_found(found), dtype="datetime64[us]"))
    if to in _NUMBERS:
        # Half an hour is no other spelling of 0.5.
        return _usable(raw, name, cells.numbers(_NUMBERS[to], with_spellings=to is not As.HOURS))
    if to in (As.DMY, As.MDY, As.YMD):
        order, missing = to.name.lower(), np.datetime64("NaT", "us")
        moments = [missing if _is_blank(cell) else ordered_date(cell, order) for cell in distinct]
        return cells.spread(np.array(_all_found(moments), dtype="datetime64[us]"))
    keeps_booleans = to is As.TEXT
    return cells.spread(
        _objects(
            cell if cell is None or (keeps_booleans and isinstance(cell, bool)) else _as_text(cell) for cell in distinct
        )
    )


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
        try:
            value = value.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:
            # In UTC, it is before the year 1 or after the year 9999.
            return None
    if isinstance(value, date):
        return np.datetime64(value, "us")
    return None


def _tidy(value: Any, missing: frozenset[str], absent: frozenset[float]) -> Any:
    """A cell without surrounding spaces; None if it is missing. `absent` are the numbers that mark missing values."""
    if isinstance(value, str):
        value = value.strip()
        return None if value == "" or value in missing else value
    if isinstance(value, time | timedelta):
        # Databases have types for times of day, such as 14:30.
        return str(value)
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


def _all_found(values: list[Any]) -> list[Any]:
    """The same values. Raises a TypeError if one is None, which numpy would read as missing."""
    if any(value is None for value in values):
        raise TypeError("a value has another type than the column")
    return values


def _objects(values: Iterable[Any]) -> npt.NDArray[Any]:
    listed = list(values)
    column = np.empty(len(listed), dtype=object)
    column[:] = listed
    return column


def _boolean(cell: Any) -> bool | None:
    """The boolean that a cell is or spells."""
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    return BOOLEANS.get(cell.lower()) if isinstance(cell, str) else None


def _fits_decimal_comma(cell: Any) -> bool:
    return isinstance(cell, str) and "." not in cell and cell.count(",") <= 1 and _number_with_comma(cell) is not None


def _number_with_comma(cell: Any) -> float | None:
    return number(cell.replace(",", ".") if isinstance(cell, str) else cell)


def _signed(cell: Any, decimal: str) -> tuple[float, str] | None:
    """The number that a cell is or spells, and its signs."""
    if isinstance(cell, str) and (signed := signed_number(cell, decimal)) is not None:
        return signed
    found = None if decimal == "," and isinstance(cell, str) and "." in cell else number(cell)
    return None if found is None else (found, "")


def _signed_point(cell: Any) -> float:
    return (_signed(cell, ".") or (math.nan, ""))[0]


def _signed_comma(cell: Any) -> float:
    return (_signed(cell, ",") or (math.nan, ""))[0]


_NUMBERS: dict[As, Callable[[Any], float | None]] = {
    As.NUMBERS: number,
    As.DECIMAL_COMMAS: _number_with_comma,
    As.SIGNED: _signed_point,
    As.SIGNED_COMMAS: _signed_comma,
    As.HOURS: hours,
}


_SPELLINGS: dict[As, Callable[[Any], bool]] = {
    As.SIGNED: lambda cell: _signed(cell, ".") is not None,
    As.SIGNED_COMMAS: lambda cell: _signed(cell, ",") is not None,
    As.HOURS: lambda cell: hours(cell) is not None,
    As.DMY: lambda cell: ordered_date(cell, "dmy") is not None,
    As.MDY: lambda cell: ordered_date(cell, "mdy") is not None,
    As.YMD: lambda cell: ordered_date(cell, "ymd") is not None,
}


def _absent(missing: frozenset[str]) -> frozenset[float]:
    """The numbers that mark missing values."""
    return frozenset(spelled for text in missing if (spelled := _spelled(text)) is not None)


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


def _check_simple(raw: RawTable, name: str, cells: Cells) -> None:
    """Raises an error if a cell holds a value such as a list."""
    odd = (dict, list, bytes, bytearray, memoryview, np.ndarray)
    is_odd = [isinstance(cell, odd) for cell in cells.distinct]
    if any(is_odd):
        what = type(cells.distinct[is_odd.index(True)]).__name__
        row = int(cells.rows_of(is_odd)[0])
        raise ValueError(f"{raw.place(row)}: column '{name}' holds a {what}, which is neither a number nor text")


def _check_mistake(wanted: Wanted, name: str, facts: Facts, note: Note) -> None:
    """Raises an error if there is text where a number should be; a note where columns are only looked at."""
    required = name in wanted.numbers
    if not required and (name in wanted.carried or facts.n_numbers <= MIN_NUMERIC_SHARE * facts.n_known):
        return
    assert facts.first_odd is not None
    place, value = facts.first_odd
    shown = plain(value, 40)
    where = f"{place}: column '{name}' has '{shown}'"
    if required and facts.n_numbers == 0:
        raise ValueError(f"{where}, and no numbers at all, so it cannot be behavioral")
    advice = f"fix it, or add --missing '{shown}' if it stands for a missing value"
    more = "" if required else f", or --categorical '{name}' if these are categories"
    if not required and not wanted.strict:
        note(f"{where} where a number should be, so it is read as text: {advice}")
        return
    raise ValueError(f"{where} where a number should be: {advice}{more}")
