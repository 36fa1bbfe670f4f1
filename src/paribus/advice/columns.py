"""The kinds of columns in a table: timestamps, codes, row names, free text, constants, quantities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus.tables.column import Kind
from paribus.tables.table import Table
from paribus.tables.time_parts import is_moment

# A numeric column with at most this many distinct values is a circumstance rather than a measurement.
MAX_FEW_VALUES = 12
# If a larger share of the texts is distinct, hardly any two rows have a value in common.
MAX_DISTINCT_SHARE = 0.5
# The minimum mean number of rows per category for rows to be comparable.
MIN_ROWS_PER_CATEGORY = 5.0
MAX_CATEGORIES = 500
# Text that is longer than this on average is free text.
MIN_TEXT_LENGTH = 40
MIN_ROWS = 10
# Names that say what a column means, where its values cannot.
_PARTS = {
    *("year", "yr", "month", "day", "hour", "minute", "second", "week", "weekday", "dow", "quarter", "season", "doy"),
    *("yday", "julday", "mnth", "mon", "wkday", "wday"),
}
# Hours have up to 25 values; a heart rate, which may be called hr, has others.
_HOURS, MAX_HOUR = {"hour", "hr", "hh"}, 24
_PLACES = {"lat", "latitude", "lon", "lng", "long", "longitude", "elevation", "altitude", "elev", "floor"}
_PERSONAL = {"age", "education", "educ", "schooling", "experience", "exper", "tenure", "seniority"}
_SIZES = {
    *("carat", "sqft", "sqrft", "sqm", "lotsize", "acres", "acreage", "distance", "dist", "mileage"),
    *("displ", "displacement"),
}
_EXTENTS = {"length", "height", "width", "diameter", "size", "area"}
_MONEY = {
    *("price", "cost", "costs", "fare", "fee", "fees", "tip", "tips", "toll", "tolls", "amount", "surcharge", "tax"),
    *("salary", "wage", "wages", "revenue", "sales", "profit", "charge", "charges", "rent"),
}
_OUTCOMES = _MONEY | {
    *("total", "paid", "pay", "balance", "score", "strength", "yield", "resistance", "target", "response", "outcome"),
    *("delay", "emission", "emissions", "consumption", "mpg", "y"),
}
_IDS = {"id", "ids", "uuid", "guid", "key", "rownames", "index", "idx", "rowid", "serial", "name", "unnamed", ""}
_ROW_NUMBERS = {"rownames", "index", "idx", "rowid", "row", "unnamed", ""}
_CODES = {
    *("id", "code", "zip", "zipcode", "postcode", "postal", "flight", "number", "num", "no", "nr", "tailnum", "sku"),
    *("subject", "patient", "participant", "customer", "user", "client", "account", "station", "sensor", "store"),
}


class Nature(Enum):
    """The kind of a column."""

    EMPTY = "empty"
    CONSTANT = "constant"
    ID = "names the rows"
    FREE_TEXT = "free text"
    CODE = "code"
    MOMENT = "time"
    TIME_PART = "part of a time"
    CLOCK = "clock time as a number"
    CATEGORY = "category"
    PLACE = "place"
    PERSONAL = "age or education"
    SIZE = "size or distance"
    FEW_NUMBERS = "few numbers"
    QUANTITY = "quantity"
    UNUSABLE = "unusable"

    @property
    def is_circumstance(self) -> bool:
        """Whether columns of this kind are candidates for the context."""
        return self in _CIRCUMSTANCES


_CIRCUMSTANCES = {
    *(Nature.MOMENT, Nature.TIME_PART, Nature.CATEGORY, Nature.PLACE, Nature.PERSONAL, Nature.SIZE),
    Nature.FEW_NUMBERS,
}


@dataclass(frozen=True)
class ColumnLook:
    """The kind of one column, and the reason for it."""

    name: str
    position: int
    nature: Nature
    n_rows: int
    n_missing: int
    n_distinct: int
    why: str
    """The reason for this kind, in words."""
    numbers: Floats | None = None
    """Its values, if they are numbers or timestamps."""

    @property
    def is_row_number(self) -> bool:
        """Whether it only counts the rows."""
        return self.nature is Nature.ID and self.numbers is not None and bool(_words(self.name) & _ROW_NUMBERS)

    @property
    def is_outcome(self) -> bool:
        """Whether its name is that of something which comes of circumstances, such as a price or a delay."""
        return bool(_words(self.name) & _OUTCOMES)

    @property
    def is_extent(self) -> bool:
        """Whether its name is that of an extent, such as a length."""
        return bool(_words(self.name) & _EXTENTS)


def look_at_columns(table: Table) -> list[ColumnLook]:
    """The kind of each column of a table."""
    names = {table.name(position) for position in range(table.n_columns)}
    return [_look(table, position, names) for position in range(table.n_columns)]


def _look(table: Table, position: int, names: set[str]) -> ColumnLook:
    name, kind = table.name(position), table.kind(position)
    if kind is Kind.UNUSABLE:
        return ColumnLook(name, position, Nature.UNUSABLE, table.n_rows, 0, 0, "it holds values of different types")
    if not table.has_values(position):
        return ColumnLook(name, position, Nature.EMPTY, table.n_rows, table.n_rows, 0, "it has no values")
    if kind.is_number:
        numbers = table.numbers(position)
        known = numbers[~np.isnan(numbers)]
        n_distinct = len(np.unique(known))
        nature, why = _of_moments(table, position) if kind is Kind.TIME else _of_numbers(name, known, n_distinct)
        if nature is Nature.QUANTITY and _is_coordinate(name, names):
            nature, why = Nature.PLACE, "its name is that of one of two coordinates"
        if n_distinct == 1:
            nature, why = Nature.CONSTANT, "it has the same value in every row"
        return ColumnLook(name, position, nature, table.n_rows, len(numbers) - len(known), n_distinct, why, numbers)
    values = [value for value in table.categories(position) if value is not None]
    distinct = len(set(values))
    nature, why = _of_text(name, values, distinct)
    return ColumnLook(name, position, nature, table.n_rows, table.n_rows - len(values), distinct, why)


def _of_moments(table: Table, position: int) -> tuple[Nature, str]:
    if is_moment(table, position):
        return Nature.MOMENT, "it holds timestamps"
    return Nature.QUANTITY, "it holds durations"


def _of_numbers(name: str, known: Floats, n_distinct: int) -> tuple[Nature, str]:
    words = _words(name)
    are_whole = bool((known == np.floor(known)).all())
    if are_whole and n_distinct == len(known) and len(known) > MIN_ROWS:
        steps = np.diff(known)
        if words & _IDS or (steps == steps[0]).all() or np.ptp(known) == len(known) - 1:
            return Nature.ID, "each row has its own whole number"
    is_hour = words & _HOURS and known.min() >= 0 and known.max() <= MAX_HOUR
    if is_hour or (words & _PARTS and n_distinct <= 366):
        return Nature.TIME_PART, f"{n_distinct} values, and its name is a part of a date or time"
    if words & _PLACES:
        return Nature.PLACE, "its name is that of a place or a height above sea level"
    if words & _PERSONAL:
        return Nature.PERSONAL, "its name is that of an age, an education or an experience"
    may_be_clock = are_whole and n_distinct > 100 and known.min() >= 0 and 1000 < known.max() <= 2400
    if may_be_clock and (known % 100 < 60).all():
        return Nature.CLOCK, "whole numbers that look like times of day, such as 1545 for 15:45"
    if are_whole and words & _CODES and n_distinct > MAX_FEW_VALUES:
        return Nature.CODE, f"{n_distinct:,} whole numbers, and its name is that of a code"
    if words & _SIZES:
        return Nature.SIZE, "its name says how large or how far"
    if n_distinct <= MAX_FEW_VALUES and _are_shared(known) and not words & _MONEY:
        return Nature.FEW_NUMBERS, f"only {n_distinct} distinct numbers"
    return Nature.QUANTITY, f"{n_distinct:,} distinct numbers"


def _is_coordinate(name: str, names: set[str]) -> bool:
    """Whether a name is one of a pair such as pickup_x and pickup_y.

    >>> _is_coordinate("pickup_x", {"pickup_x", "pickup_y"}), _is_coordinate("x", {"x", "y", "z"})
    (True, False)
    """
    if len(name) < 3 or name[-2] not in "_. " or name[-1] not in "xyXY":
        return False
    return {name[:-1] + other for other in ("xy" if name[-1].islower() else "XY")} <= names


def _are_shared(known: Floats) -> bool:
    """Whether most values occur in several rows. If not, one value is the rule and a few rows differ from it."""
    _, counts = np.unique(known, return_counts=True)
    return bool(np.median(counts) >= min(MIN_ROWS_PER_CATEGORY, len(known) / (2 * len(counts))))


def _of_text(name: str, values: list[Any], n_distinct: int) -> tuple[Nature, str]:
    n = len(values)
    if n_distinct == 1:
        return Nature.CONSTANT, "it has the same value in every row"
    length = float(np.mean([len(str(value)) for value in values]))
    if n > MIN_ROWS and n_distinct > MAX_DISTINCT_SHARE * n:
        if length >= MIN_TEXT_LENGTH or n_distinct < n:
            return Nature.FREE_TEXT, f"{n_distinct:,} distinct texts in {n:,} rows: hardly any rows share one"
        return Nature.ID, f"{n_distinct:,} distinct texts in {n:,} rows: each row has its own"
    if n > MIN_ROWS and n_distinct * MIN_ROWS_PER_CATEGORY > n:
        return Nature.CODE, f"{n_distinct:,} categories in {n:,} rows: hardly any rows are comparable"
    if n_distinct > MAX_CATEGORIES:
        return Nature.CODE, f"{n_distinct:,} categories are too many to compare rows by"
    return Nature.CATEGORY, f"{n_distinct:,} categories"


def _words(name: str) -> set[str]:
    """The words of a name.

    >>> sorted(_words("Pickup_Month")), sorted(_words("flightNo"))
    (['month', 'pickup'], ['flight', 'no'])
    """
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return {word.lower() for word in re.split(r"[^A-Za-z]+", spaced)}
