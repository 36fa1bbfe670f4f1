"""What timestamps have in common, in words: Sundays in July, about 14 h."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.statistics import weighted_quantiles
from paribus._common.text import listed
from paribus.tables.column_format import ColumnFormat
from paribus.tables.time_parts import DAY, DAY_OF_YEAR, HOLIDAY, HOUR, TREND, WEEKDAY, TimeParts, month, weekday

HOUR_LENGTH = DAY // 24
WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# The share of the timestamps that a description covers, for each part.
COVERED = 0.8
CENTRAL = (0.05, 0.95)
# Longer descriptions are not informative.
MAX_HOURS, MAX_ABOUT, MAX_WEEKDAYS, MAX_MONTHS = 10, 3, 3, 5
# A range of timestamps is mentioned if it is at most this share of all.
MAX_TREND_SHARE = 0.5


@dataclass(frozen=True)
class TimeWords:
    """What timestamps have in common."""

    text: str
    """As in 'Sundays in July, about 14 h'; 'any time' if they have nothing in common."""
    covers: tuple[tuple[str, frozenset[int]], ...]
    """For each part that is described: the weekdays, months or hours, from 0."""
    bounds: tuple[float, float]
    """The first and the last timestamp that are described."""

    @classmethod
    def of(cls, times: TimeParts, moments: Floats, weights: Floats, write: ColumnFormat) -> TimeWords:
        """Describes weighted timestamps, of which none is missing.

        Examples
        --------
        >>> sundays = np.array([3.0, 10.0, 17.0, 24.0]) * DAY + 14 * HOUR_LENGTH
        >>> times = TimeParts((HOUR, WEEKDAY, DAY_OF_YEAR), 0.0, 365.0 * DAY)
        >>> from paribus.tables.column import Kind
        >>> TimeWords.of(times, sundays, np.ones(4) / 4, ColumnFormat(Kind.TIME)).text
        'on Sundays in January, about 14 h'
        """
        local = times.local(moments)
        covers: list[tuple[str, frozenset[int]]] = []
        days = where = hours = ""
        if HOLIDAY in times.parts:
            is_holiday = times.features(moments)[times.feature_parts.index(HOLIDAY)]
            if float(weights[is_holiday == 1].sum()) >= COVERED:
                days = "on holidays"
        if WEEKDAY in times.parts and not days:
            chosen = _most_frequent(weekday(local), weights, 7)
            if len(chosen) <= MAX_WEEKDAYS:
                days = f"on {listed([WEEKDAYS[day] for day in sorted(chosen)], 'or')}"
            elif max(chosen) < 5:
                chosen, days = [0, 1, 2, 3, 4], "on Mondays to Fridays"
            if days:
                covers.append((WEEKDAY, frozenset(chosen)))
        if DAY_OF_YEAR in times.parts:
            chosen = _arc(month(local), weights, 12)
            if len(chosen) <= MAX_MONTHS:
                covers.append((DAY_OF_YEAR, frozenset(chosen)))
                where = f"in {_span([MONTHS[each] for each in chosen])}"
        if HOUR in times.parts:
            chosen = _arc(np.floor(local % DAY / HOUR_LENGTH), weights, 24)
            if len(chosen) <= MAX_HOURS:
                covers.append((HOUR, frozenset(chosen)))
                middle = chosen[len(chosen) // 2]
                hours = f"about {middle} h" if len(chosen) <= MAX_ABOUT else f"{chosen[0]} to {(chosen[-1] + 1) % 24} h"
        bounds, stretch = (-np.inf, np.inf), ""
        if TREND in times.parts:
            low, high = weighted_quantiles(moments, weights, CENTRAL)
            if high - low <= MAX_TREND_SHARE * (times.last - times.first):
                bounds = (low, high)
                stretch = write(low) if low == high else f"{write(low)} to {write(high)}"
        text = " ".join(each for each in (days, where) if each)
        text = ", ".join(each for each in (text, hours, stretch) if each)
        return cls(text or "any time", tuple(covers), bounds)

    def holds(self, times: TimeParts, moments: Floats) -> npt.NDArray[np.bool_]:
        """Whether each timestamp is among those that are described."""
        local = times.local(moments)
        found = (moments >= self.bounds[0]) & (moments <= self.bounds[1])
        for part, chosen in self.covers:
            if part == WEEKDAY:
                numbers = weekday(local)
            else:
                numbers = month(local) if part == DAY_OF_YEAR else np.floor(local % DAY / HOUR_LENGTH)
            found &= np.isin(numbers, list(chosen))
        return np.asarray(found)


def _most_frequent(numbers: Floats, weights: Floats, n: int) -> list[int]:
    """The fewest numbers that cover most of the weight, most frequent first."""
    shares = np.bincount(numbers.astype(np.int64), weights, minlength=n)
    order = np.argsort(-shares, kind="stable")
    n_needed = int(np.searchsorted(np.cumsum(shares[order]), COVERED * shares.sum() - 1e-9)) + 1
    return [int(each) for each in order[:n_needed]]


def _arc(numbers: Floats, weights: Floats, n: int) -> list[int]:
    """The shortest stretch of a cycle that covers most of the weight."""
    shares = np.bincount(numbers.astype(np.int64), weights, minlength=n)
    twice = np.concatenate([[0.0], np.cumsum(np.tile(shares, 2))])
    for length in range(1, n + 1):
        covered = twice[length : length + n] - twice[:n]
        if covered.max() >= COVERED * shares.sum() - 1e-9:
            start = int(np.argmax(covered))
            return [(start + step) % n for step in range(length)]
    return list(range(n))


def _span(words: list[str]) -> str:
    return listed(words, "or") if len(words) <= 2 else f"{words[0]} to {words[-1]}"
