"""Formatting of values for people, in the units and the precision of their column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.text import MAX_TEXT_LENGTH, plain
from paribus._core import number_texts
from paribus.tables.column import Kind, is_missing
from paribus.tables.table import Table

# The number of values from which the precision of a column is determined.
SAMPLE_SIZE = 10_000
MAX_DECIMALS = 4
# Significant digits of a number: the ones after these are noise.
MAX_DIGITS = 12
# Decimals that may be added to make two numbers look different.
MAX_EXTRA_DECIMALS = 9
# Numbers of more steps of their last decimal are not sure to look different where they differ by one.
MANY_STEPS = 1e12
PRESENCE = ("present", "missing")
"""The categories of a feature that says whether a value is there, by code."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MINUTE, DAY = 60_000_000, 86_400_000_000  # microseconds
# Timestamps with a time zone are converted one by one, which is slow.
MAX_ZONED_SAMPLE = 500


@dataclass(frozen=True)
class ColumnFormat:
    """The format of the values of one column."""

    kind: Kind
    decimals: int = 0
    title: str = ""
    """The name of the column in texts: its own on one line, or its position."""
    grouped: bool = True
    """Whether thousands are separated by commas: 2,040 minutes, but the year 2026."""
    scientific: bool = False
    is_duration: bool = False
    pattern: str = "%Y-%m-%d"
    """The `strftime` pattern of timestamps, with as much of the time of day as the column uses."""
    zone: tzinfo | None = None
    """The time zone of timestamps; None if they have none."""

    @classmethod
    def fit(cls, table: Table, position: int, numbers: Floats | None) -> ColumnFormat:
        """Determines the format of a column. `numbers` are its values, or None if it holds categories."""
        return replace(cls._fit_values(table, position, numbers), title=column_title(table.names, position))

    @classmethod
    def _fit_values(cls, table: Table, position: int, numbers: Floats | None) -> ColumnFormat:
        if numbers is None:
            return cls(Kind.CATEGORICAL)
        known = numbers[~np.isnan(numbers)]
        known = known[:: max(1, len(known) // SAMPLE_SIZE)]
        if table.kind(position) is Kind.TIME:
            example = table.example(position)
            zone = getattr(example, "tzinfo", None)
            offsets = known
            if zone is not None:
                timestamps = [EPOCH + timedelta(microseconds=value) for value in known[:MAX_ZONED_SAMPLE]]
                offsets = np.array([(t.astimezone(zone).replace(tzinfo=UTC) - EPOCH) / MICROSECOND for t in timestamps])
            pattern = "%Y-%m-%d"
            if (offsets % DAY != 0).any():
                pattern += " %H:%M:%S" if (offsets % MINUTE != 0).any() else " %H:%M"
            return cls(
                Kind.TIME, is_duration=isinstance(example, timedelta | np.timedelta64), pattern=pattern, zone=zone
            )
        return cls._fit_numbers(known)

    @classmethod
    def _fit_numbers(cls, known: Floats) -> ColumnFormat:
        if known.size == 0:
            return cls(Kind.NUMERIC)
        # A few extreme values must not determine the format of all others.
        low, high = np.percentile(known, [2, 98], method="inverted_cdf")
        central = known[(known >= low) & (known <= high)]
        largest = float(np.abs(central).max())
        spread = float(high - low) or largest
        if 0 < spread < 1e-6 or largest >= 1e21:
            return cls(Kind.NUMERIC, scientific=True)
        n_digits = math.floor(math.log10(largest)) + 1 if largest >= 1 else 1
        for decimals in range(min(MAX_DECIMALS, max(0, MAX_DIGITS - n_digits)) + 1):
            error = np.abs(np.round(central, decimals) - central)
            if (error <= 1e-9 * np.maximum(1.0, np.abs(central))).all():
                whole = decimals == 0
                return cls(Kind.NUMERIC, decimals, grouped=not (whole and low >= 1800 and high <= 2200))
        # Three significant digits of the variation between rows.
        return cls(Kind.NUMERIC, min(12, max(0, 2 - math.floor(math.log10(spread)))))

    @cached_property
    def _plain_numbers(self) -> tuple[str, float, float]:
        """For most numbers: how they are written, and the bounds of their size, between which the text is not 0."""
        if self.kind is not Kind.NUMERIC or self.scientific:
            return "", np.inf, -np.inf
        return f"{',' if self.grouped else ''}.{self.decimals}f", 10.0**-self.decimals, 1e21

    def __call__(self, value: Any, longest: int = MAX_TEXT_LENGTH) -> str:
        """Formats one value; a category has at most `longest` characters."""
        if type(value) is float:
            pattern, least, limit = self._plain_numbers
            if least <= abs(value) < limit:
                return format(value, pattern)
        if is_missing(value):
            return "missing"
        if self.kind is Kind.CATEGORICAL:
            return _category(value, longest)
        if self.kind is Kind.TIME:
            return self._timestamp(float(value))
        if self.scientific or abs(value) >= 1e21:
            return f"{value:.{self.decimals or 3}g}"
        text = f"{value:,.{self.decimals}f}" if self.grouped else f"{value:.{self.decimals}f}"
        if float(text.replace(",", "")) != 0:
            return text
        # Neither -0.0, nor 0 for a number that is only small.
        return text.removeprefix("-") if value == 0 else f"{value:.3g}"

    def texts(self, numbers: Floats) -> list[str]:
        """Formats many numbers, in less time than one by one.

        >>> ColumnFormat(Kind.NUMERIC, decimals=1).texts(np.array([2.25, 1e4, np.nan]))
        ['2.2', '10,000.0', 'missing']
        """
        pattern, least, limit = self._plain_numbers
        if not pattern:
            return [self(number) for number in numbers.tolist()]
        found = number_texts(np.ascontiguousarray(numbers), self.decimals, self.grouped, least, limit)
        return [self(number) if text is None else text for text, number in zip(found, numbers.tolist(), strict=True)]

    def range_text(self, low: float, high: float) -> str:
        """A range, with enough decimals to tell its ends apart: '22 to 28', or one value."""
        write = self.telling_apart(low, high)
        return write(low) if low == high else f"{write(low)} to {write(high)}"

    def range_texts(self, lows: Floats, highs: Floats) -> list[str]:
        """Formats many ranges, in less time than one by one."""
        ends = zip(lows.tolist(), highs.tolist(), strict=True)
        if self.kind is not Kind.NUMERIC or self.scientific:
            return [self.range_text(low, high) for low, high in ends]
        bound = MANY_STEPS * self._apart
        with np.errstate(over="ignore"):
            look_different = (highs - lows > self._apart) & (-bound < lows) & (highs < bound)
        return [
            f"{low_text} to {high_text}" if differs else self.range_text(low, high)
            for differs, (low, high), low_text, high_text in zip(
                look_different.tolist(), ends, self.texts(lows), self.texts(highs), strict=True
            )
        ]

    def decoded(self, value: Any) -> Any:
        """A number of the column as the caller knows it: a timestamp or a duration if it stands for one.

        >>> ColumnFormat(Kind.TIME).decoded(0.0)
        datetime.datetime(1970, 1, 1, 0, 0)
        """
        if self.kind is not Kind.TIME or is_missing(value):
            return value
        duration = timedelta(microseconds=float(value))
        if self.is_duration:
            return duration
        try:
            timestamp = EPOCH + duration
        except OverflowError:
            return np.datetime64(int(value), "us")
        return timestamp.replace(tzinfo=None) if self.zone is None else timestamp.astimezone(self.zone)

    def tick(self, value: float) -> str:
        """Formats a round value on an axis, with as many digits as it needs.

        >>> ColumnFormat(Kind.NUMERIC, decimals=3).tick(2500.0)
        '2,500'
        """
        if self.kind is Kind.TIME:
            return self._timestamp(value)
        text = f"{value:.4g}" if self.scientific else f"{value:,.10g}" if self.grouped else f"{value:.10g}"
        return "0" if text == "-0" else text

    def telling_apart(self, *numbers: float) -> ColumnFormat:
        """The same format, with more decimals if two of these numbers would look alike otherwise."""
        if self.kind is not Kind.NUMERIC:
            return self
        if not self.scientific and self._look_different(sorted(numbers)):
            return self
        distinct = {number for number in numbers if number == number}
        finer = self
        for _ in range(MAX_EXTRA_DECIMALS):
            if len({finer(number) for number in distinct}) == len(distinct):
                return finer
            finer = replace(finer, decimals=finer.decimals + (4 if finer.scientific and finer.decimals == 0 else 1))
        # They differ by rounding errors, which no reader wants to see.
        return self

    @cached_property
    def _apart(self) -> float:
        """Numbers that are farther apart look different."""
        return 1.01 * 10.0**-self.decimals

    def _look_different(self, ordered: Sequence[float]) -> bool:
        """Whether distinct numbers are surely written differently, which need not be tried; not if one is missing."""
        apart = self._apart
        if not ordered or not -MANY_STEPS * apart < ordered[0] <= ordered[-1] < MANY_STEPS * apart:
            return not ordered
        previous = ordered[0]
        for number in ordered:
            # False for a missing number.
            if not (number - previous > apart or number == previous):
                return False
            previous = number
        return True

    def _timestamp(self, microseconds: float) -> str:
        duration = timedelta(microseconds=microseconds)
        if self.is_duration:
            return f"-{-duration}" if duration < timedelta(0) else str(duration)
        try:
            timestamp = EPOCH + duration
        except OverflowError:
            return str(np.datetime64(int(microseconds), "us"))
        if self.zone is None:
            return f"{timestamp:{self.pattern}}"
        text = f"{timestamp.astimezone(self.zone):{self.pattern}%z}"
        return text.replace("+0000", " UTC") if text.endswith("+0000") else text


@dataclass(frozen=True)
class CodedFormat(ColumnFormat):
    """The format of a column of categories that is given by codes."""

    categories: tuple[Any, ...] = ()
    """By code."""

    @classmethod
    def of(cls, title: str, categories: Iterable[Any]) -> CodedFormat:
        """The format of some categories.

        >>> write = CodedFormat.of("cut", ["Fair", "Ideal"])
        >>> write(1.0), write(2.0), write(float("nan"))
        ('Ideal', 'a new category', 'missing')
        """
        return cls(Kind.CATEGORICAL, title=title, categories=tuple(categories))

    def __call__(self, value: Any, longest: int = MAX_TEXT_LENGTH) -> str:
        """The name of a category."""
        if is_missing(value):
            return "missing"
        if not 0 <= value < len(self.categories):
            return "a new category"
        return _category(self.categories[int(value)], longest)

    def tick(self, value: float) -> str:
        """The name of a category on an axis."""
        return self(value)


def column_title(names: list[str] | None, position: int) -> str:
    """The name of a column in texts: its own on one line, or its position."""
    return f"column {position}" if names is None else plain(names[position]) or "(no name)"


def _category(value: Any, longest: int) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return plain(value, longest) or "(empty)"
