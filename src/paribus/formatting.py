"""Numbers, moments and categories as a person reads them, in the units and the precision of their column."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np

from paribus.table import Table
from paribus.values import Floats, Kind, is_missing

LONGEST_TEXT = 60
# Enough values to see the precision of a column by.
SAMPLE = 10_000
MOST_DECIMALS = 4
# Invisible, and part of the spelling of Persian, Hindi and many emoji.
JOINERS = "\u200c\u200d"
# Accents on one letter: more than any language has tower over the line.
MOST_MARKS = 4
MICROSECONDS_A_DAY = 86_400_000_000


@dataclass(frozen=True)
class ColumnFormat:
    """How the values of one column are written."""

    kind: Kind
    decimals: int = 0
    grouped: bool = True
    """Whether thousands are set apart: 2,040 minutes, but the year 2026."""
    scientific: bool = False
    is_duration: bool = False
    has_time_of_day: bool = False

    @classmethod
    def fit(cls, table: Table, position: int, numbers: Floats | None) -> ColumnFormat:
        """The format of a column: by its values, as numbers, or None if it holds categories."""
        if numbers is None:
            return cls(Kind.CATEGORICAL)
        known = numbers[~np.isnan(numbers)]
        known = known[:: max(1, len(known) // SAMPLE)]
        if table.kind(position) is Kind.TIME:
            example = table.example(position)
            return cls(
                Kind.TIME,
                is_duration=isinstance(example, timedelta | np.timedelta64),
                has_time_of_day=bool((known % MICROSECONDS_A_DAY != 0).any()),
            )
        return cls._fit_numbers(known)

    @classmethod
    def _fit_numbers(cls, known: Floats) -> ColumnFormat:
        if known.size == 0:
            return cls(Kind.NUMERIC)
        largest = float(np.abs(known).max())
        spread = float(known.max() - known.min()) or largest
        if largest >= 1e12 or 0 < largest < 1e-4:
            return cls(Kind.NUMERIC, scientific=True)
        for decimals in range(MOST_DECIMALS + 1):
            if np.allclose(np.round(known, decimals), known, rtol=0.0, atol=1e-9 * max(1.0, largest)):
                whole = decimals == 0
                return cls(Kind.NUMERIC, decimals, grouped=not (whole and known.min() >= 1800 and largest <= 2200))
        # Three digits of what differs from row to row.
        return cls(Kind.NUMERIC, min(12, max(0, 2 - math.floor(math.log10(spread)))))

    def __call__(self, value: Any) -> str:
        """One value as text."""
        if is_missing(value):
            return "missing"
        if self.kind is Kind.CATEGORICAL:
            return _category(value)
        if self.kind is Kind.TIME:
            return self._moment(float(value))
        if self.scientific or (value != 0 and not 1e-12 < abs(value) < 1e15):
            return f"{value:.{self.decimals or 3}g}"
        text = f"{value:,.{self.decimals}f}" if self.grouped else f"{value:.{self.decimals}f}"
        # Not -0.0.
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text

    def tick(self, value: float) -> str:
        """A round value on an axis: as many digits as it needs.

        >>> ColumnFormat(Kind.NUMERIC, decimals=3).tick(2500.0)
        '2,500'
        """
        if self.kind is Kind.TIME:
            return self._moment(value)
        text = f"{value:.4g}" if self.scientific else f"{value:,.10g}" if self.grouped else f"{value:.10g}"
        return "0" if text == "-0" else text

    def telling_apart(self, first: float, *others: float) -> ColumnFormat:
        """The same format, with more decimals if a number would otherwise look like one that it is not."""
        if self.kind is not Kind.NUMERIC:
            return self
        finer = self
        for _ in range(6):
            if all(first == other or finer(first) != finer(other) for other in others):
                return finer
            finer = replace(finer, decimals=finer.decimals + 1 + 3 * (finer.scientific and finer.decimals == 0))
        return self

    def _moment(self, microseconds: float) -> str:
        duration = timedelta(microseconds=microseconds)
        if self.is_duration:
            return str(duration)
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + duration
        except OverflowError:
            return str(np.datetime64(int(microseconds), "us"))
        return f"{moment:%Y-%m-%d %H:%M}" if self.has_time_of_day else f"{moment:%Y-%m-%d}"


def plain(text: object, longest: int = LONGEST_TEXT) -> str:
    r"""A name or a category on one line: no control characters, no marks that turn the direction of writing, not long.

    >>> plain("two\nlines")
    'two lines'
    >>> plain("a" * 100, longest=5)
    'aaaa…'
    """
    # Far more than is shown, so that a huge text costs nothing.
    return _one_line(str(text)[: 20 * longest], longest)


@lru_cache(maxsize=4096)
def _one_line(text: str, longest: int) -> str:
    visible: list[str] = []
    n_marks = 0
    for character in text:
        category = unicodedata.category(character)[0]
        n_marks = n_marks + 1 if category == "M" else 0
        if n_marks > MOST_MARKS or (category == "C" and not character.isspace() and character not in JOINERS):
            continue
        visible.append(" " if character.isspace() else character)
    line = " ".join("".join(visible).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def called(name: str) -> str:
    """A column's name as part of a sentence; one without a name is called by its position.

    >>> called("blood pressure"), called("3")
    ('blood pressure', 'column 3')
    """
    return f"column {name}" if name.isdecimal() else plain(name) or "(no name)"


def _category(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return plain(value) or "(empty)"


def listed(words: list[str], conjunction: str) -> str:
    """Words in a row.

    >>> listed(["MF", "FW", "DF"], "or")
    'MF, FW or DF'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"
