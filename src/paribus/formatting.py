"""Numbers, moments and categories as a person reads them, in the units and the precision of their column."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import takewhile
from typing import Any

import numpy as np

from paribus.table import Table
from paribus.values import Floats, Kind, is_missing

LONGEST_TEXT = 60
# Enough values to see the precision of a column by.
SAMPLE = 10_000
MOST_DECIMALS = 4
# In all. Nobody reads more of a number, and the last of them are noise.
MOST_DIGITS = 12
# Invisible, and part of the spelling of Persian, Hindi and many emoji.
JOINERS = "\u200c\u200d"
# Accents on one letter: more than any language has tower over the line.
MOST_MARKS = 4
# Decimals that numbers get at most to look different from each other.
MOST_EXTRA_DIGITS = 9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
A_MINUTE, A_DAY = 60_000_000, 86_400_000_000
# Moments with a zone are looked at one by one.
SAMPLE_OF_MOMENTS = 500


@dataclass(frozen=True)
class ColumnFormat:
    """How the values of one column are written."""

    kind: Kind
    decimals: int = 0
    title: str = ""
    """What texts call the column: its name on one line, or its position."""
    grouped: bool = True
    """Whether thousands are set apart: 2,040 minutes, but the year 2026."""
    scientific: bool = False
    is_duration: bool = False
    pattern: str = "%Y-%m-%d"
    """Of moments in time: as much of the clock as the column uses."""
    zone: tzinfo | None = None
    """The time zone of moments; None if they have none."""

    @classmethod
    def fit(cls, table: Table, position: int, numbers: Floats | None) -> ColumnFormat:
        """The format of a column: by its values, as numbers, or None if it holds categories."""
        return replace(cls._fit_values(table, position, numbers), title=_title(table, position))

    @classmethod
    def _fit_values(cls, table: Table, position: int, numbers: Floats | None) -> ColumnFormat:
        if numbers is None:
            return cls(Kind.CATEGORICAL)
        known = numbers[~np.isnan(numbers)]
        known = known[:: max(1, len(known) // SAMPLE)]
        if table.kind(position) is Kind.TIME:
            example = table.example(position)
            zone = getattr(example, "tzinfo", None)
            offsets = known
            if zone is not None:
                moments = [EPOCH + timedelta(microseconds=value) for value in known[:SAMPLE_OF_MOMENTS]]
                offsets = np.array([(m.astimezone(zone).replace(tzinfo=UTC) - EPOCH) / MICROSECOND for m in moments])
            pattern = "%Y-%m-%d"
            if (offsets % A_DAY != 0).any():
                pattern += " %H:%M:%S" if (offsets % A_MINUTE != 0).any() else " %H:%M"
            return cls(
                Kind.TIME, is_duration=isinstance(example, timedelta | np.timedelta64), pattern=pattern, zone=zone
            )
        return cls._fit_numbers(known)

    @classmethod
    def _fit_numbers(cls, known: Floats) -> ColumnFormat:
        if known.size == 0:
            return cls(Kind.NUMERIC)
        # One extreme value must not decide how all others look.
        low, high = np.percentile(known, [2, 98], method="inverted_cdf")
        central = known[(known >= low) & (known <= high)]
        largest = float(np.abs(central).max())
        spread = float(high - low) or largest
        if 0 < spread < 1e-6 or largest >= 1e21:
            return cls(Kind.NUMERIC, scientific=True)
        n_digits = math.floor(math.log10(largest)) + 1 if largest >= 1 else 1
        for decimals in range(min(MOST_DECIMALS, max(0, MOST_DIGITS - n_digits)) + 1):
            error = np.abs(np.round(central, decimals) - central)
            if (error <= 1e-9 * np.maximum(1.0, np.abs(central))).all():
                whole = decimals == 0
                return cls(Kind.NUMERIC, decimals, grouped=not (whole and low >= 1800 and high <= 2200))
        # Three digits of what differs from row to row.
        return cls(Kind.NUMERIC, min(12, max(0, 2 - math.floor(math.log10(spread)))))

    def __call__(self, value: Any, longest: int = LONGEST_TEXT) -> str:
        """One value as text; a category has no more letters than `longest`."""
        if is_missing(value):
            return "missing"
        if self.kind is Kind.CATEGORICAL:
            return _category(value, longest)
        if self.kind is Kind.TIME:
            return self._moment(float(value))
        if self.scientific or abs(value) >= 1e21:
            return f"{value:.{self.decimals or 3}g}"
        text = f"{value:,.{self.decimals}f}" if self.grouped else f"{value:.{self.decimals}f}"
        if float(text.replace(",", "")) != 0:
            return text
        # Not -0.0, and not nothing for what is just small.
        return text.removeprefix("-") if value == 0 else f"{value:.3g}"

    def tick(self, value: float) -> str:
        """A round value on an axis: as many digits as it needs.

        >>> ColumnFormat(Kind.NUMERIC, decimals=3).tick(2500.0)
        '2,500'
        """
        if self.kind is Kind.TIME:
            return self._moment(value)
        text = f"{value:.4g}" if self.scientific else f"{value:,.10g}" if self.grouped else f"{value:.10g}"
        return "0" if text == "-0" else text

    def telling_apart(self, *numbers: float) -> ColumnFormat:
        """The same format, with more decimals if two of these numbers would otherwise look alike."""
        if self.kind is not Kind.NUMERIC:
            return self
        distinct = {number for number in numbers if number == number}
        finer = self
        for _ in range(MOST_EXTRA_DIGITS):
            if len({finer(number) for number in distinct}) == len(distinct):
                break
            finer = replace(finer, decimals=finer.decimals + (4 if finer.scientific and finer.decimals == 0 else 1))
        return finer

    def _moment(self, microseconds: float) -> str:
        duration = timedelta(microseconds=microseconds)
        if self.is_duration:
            return f"-{-duration}" if duration < timedelta(0) else str(duration)
        try:
            moment = EPOCH + duration
        except OverflowError:
            return str(np.datetime64(int(microseconds), "us"))
        if self.zone is None:
            return f"{moment:{self.pattern}}"
        text = f"{moment.astimezone(self.zone):{self.pattern}%z}"
        return text.replace("+0000", " UTC") if text.endswith("+0000") else text


def plain(text: object, longest: int = LONGEST_TEXT) -> str:
    r"""A name or a category on one line: no control characters, no marks that turn the direction of writing, not long.

    What is long loses its middle: names that begin alike often differ at the end.

    >>> plain("two\nlines")
    'two lines'
    >>> plain("delivery-service-north", longest=12)
    'deliver…orth'
    """
    return shortened(_one_line(_bounded(str(text), longest)), longest)


def clipped(text: object, longest: int) -> str:
    """A text on one line, cut at its end where it is too long.

    >>> clipped("the sum is 3 or more", longest=12)
    'the sum is…'
    """
    line = _one_line(_bounded(str(text), longest))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def ended(sentence: str) -> str:
    """A sentence with a full stop, unless it has one, or was cut.

    >>> ended("the sum is 3"), ended("the sum…")
    ('the sum is 3.', 'the sum…')
    """
    return sentence if sentence.endswith((".", "…")) else f"{sentence}."


def shortened(line: str, longest: int) -> str:
    """A line without its middle, if it is too long.

    >>> shortened("abcdefghij", 6), shortened("abcdefghij", 10)
    ('abc…ij', 'abcdefghij')
    """
    if len(line) <= longest:
        return line
    n_last = (longest - 1) * 2 // 5
    last = line[len(line) - n_last :].lstrip()
    while last and unicodedata.category(last[0])[0] == "M":
        # An accent without its letter would sit on the dots.
        last = last[1:]
    return f"{line[: longest - 1 - n_last].rstrip()}…{last}"


def distinct(lines: Sequence[str], shorten: Callable[[str], str]) -> list[str]:
    """Lines as `shorten` makes them; those that were different still are, by where they differ, or by a number.

    >>> distinct(["house in the north", "house in the far north", "hut"], lambda line: shortened(line, 9))
    ['…north', '…far…rth', 'hut']
    """
    short = {line: shorten(line) for line in lines}
    apart = []
    for line in lines:
        # Those that are shortened and begin alike.
        start = short[line].partition("…")[0]
        alike = [other for other, each in short.items() if each != other and other.startswith(start)]
        if short[line] == line or len({short[other] for other in alike}) == len(alike):
            apart.append(short[line])
        else:
            same = takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False))
            apart.append(shorten("…" + line[sum(1 for _ in same) :]))
    owners: dict[str, list[str]] = {}
    for line, own in zip(lines, apart, strict=True):
        others = owners.setdefault(own, [])
        if line not in others:
            others.append(line)
    numbers = [owners[own].index(line) + 1 for line, own in zip(lines, apart, strict=True)]
    return [own if number == 1 else f"{own} ({number})" for own, number in zip(apart, numbers, strict=True)]


def score_text(score: float, *, grouped: bool = True) -> str:
    """A score with one decimal, unless that would be nothing, or too much to read.

    >>> score_text(46.17), score_text(1015.9), score_text(0.00123), score_text(4e9)
    ('46.2', '1,015.9', '0.0012', '4e+09')
    """
    if 0 < abs(score) < 0.05:
        return f"{score:.2g}"
    if abs(score) >= 1e6:
        return f"{score:.3g}"
    return f"{score:,.1f}" if grouped else f"{score:.1f}"


def counted(number: int, noun: str) -> str:
    """How many there are of something.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def none_above(threshold: float, lowest: float, highest: float, advice: str = "") -> str:
    """Why no row is an anomaly, and what to do if some should be.

    >>> none_above(66.7, 0.2, 58.7)
    'no score is above the threshold of 66.7; the highest is 58.7'
    >>> none_above(66.7, 0.2, 58.7, "contamination=0.01")
    'no score is above the threshold of 66.7; the highest is 58.7 (contamination=0.01 flags the highest 1 %)'
    >>> none_above(0.0, 0.0, 0.0)
    'all scores are 0.0, so no row is stranger than others'
    """
    # The threshold of equal scores is that score. Other rows have had that of the fitted ones.
    if lowest == highest == threshold:
        return f"all scores are {score_text(highest)}, so no row is stranger than others"
    more = f" ({advice} flags the highest 1 %)" if advice else ""
    return f"no score is above the threshold of {score_text(threshold)}; the highest is {score_text(highest)}{more}"


def _bounded(text: str, longest: int) -> str:
    """Far more than is shown, and no more, so that a huge text costs nothing."""
    most = 10 * longest
    return text if len(text) <= 2 * most else f"{text[:most]}…{text[-most:]}"


@lru_cache(maxsize=4096)
def _one_line(text: str) -> str:
    visible: list[str] = []
    n_marks = 0
    for character in text:
        category = unicodedata.category(character)[0]
        n_marks = n_marks + 1 if category == "M" else 0
        if n_marks > MOST_MARKS or (category == "C" and not character.isspace() and character not in JOINERS):
            continue
        visible.append(" " if character.isspace() else character)
    return " ".join("".join(visible).split())


def _title(table: Table, position: int) -> str:
    return f"column {position}" if table.names is None else plain(table.names[position]) or "(no name)"


def _category(value: Any, longest: int) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return plain(value, longest) or "(empty)"


def listed(words: list[str], conjunction: str) -> str:
    """Words in a row.

    >>> listed(["MF", "FW", "DF"], "or")
    'MF, FW or DF'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {conjunction} {words[-1]}"
