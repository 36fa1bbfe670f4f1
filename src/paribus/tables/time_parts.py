"""Timestamps as context: hour of day, weekday, day of year, and time since the beginning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import listed
from paribus.tables.column import Kind
from paribus.tables.table import Table

Parts: TypeAlias = str | Iterable[str]
TimePartsOption: TypeAlias = Parts | Mapping[str, Parts]

AUTO = "auto"
HOUR, WEEKDAY, DAY_OF_YEAR, TREND, HOLIDAY = "hour", "weekday", "day_of_year", "trend", "holiday"
PARTS = (HOUR, WEEKDAY, DAY_OF_YEAR, TREND, HOLIDAY)
DAY = 86_400_000_000  # microseconds
YEAR = 365.2425  # days
# A cycle is used if the table is long enough to repeat it, in days.
MIN_DAYS = {HOUR: 2.0, WEEKDAY: 14.0, DAY_OF_YEAR: 180.0}
# If rows are usually more than this many days apart, they do not show the cycle: the weekday of monthly dates and the
# season of yearly ones are accidents of the calendar.
MAX_STEP = {WEEKDAY: 20.0, DAY_OF_YEAR: 300.0}
# With fewer years, the trend over time cannot be distinguished from the time of year.
MIN_YEARS_OF_TREND = 2.0
# Time zones change their offsets on such boundaries.
QUARTER_OF_AN_HOUR = 900_000_000
# The last digits of a sine differ between machines.
DECIMALS = 9
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class TimeParts:
    """The parts by which the timestamps of a contextual column are compared.

    Cycles are two features each, the sine and the cosine, so that 23 h is near 0 h and December near January.
    Weekdays and holidays are categories. The trend is the timestamp itself, limited to the range of the fitted ones.
    """

    parts: tuple[str, ...]
    """Some of `PARTS`, in this order."""
    first: float
    """The first fitted timestamp, in microseconds since 1970 in UTC."""
    last: float
    """The last fitted timestamp."""
    zone: str | None = None
    """The name of the time zone in which hours and days are counted; None if the timestamps have none."""
    country: str | None = None
    """The country or region of the holidays, as in 'US' or 'US-NY'."""
    _holidays: dict[int, frozenset[int]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def fit(
        cls, moments: Floats, zone: tzinfo | None, wanted: Parts = AUTO, country: str | None = None
    ) -> TimeParts | None:
        """The parts of a column of timestamps; None if it has no values.

        Examples
        --------
        >>> hours = np.arange(24.0 * 30) * 3.6e9
        >>> TimeParts.fit(hours, None).parts
        ('hour', 'weekday', 'trend')
        >>> TimeParts.fit(hours[::24], None).parts
        ('weekday', 'trend')

        Yearly dates have neither weekdays nor seasons.

        >>> TimeParts.fit(np.arange(9.0) * 365 * DAY, None).parts
        ('trend',)
        """
        known = moments[~np.isnan(moments)]
        if known.size == 0:
            return None
        made = cls((), float(known.min()), float(known.max()), None if zone is None else zone_name(zone), country)
        if isinstance(wanted, str) and wanted == AUTO:
            parts = made._varying(known)
        else:
            parts = [part for part in PARTS if part in wanted]
        if country is not None and HOLIDAY not in parts:
            parts.append(HOLIDAY)
        return cls(tuple(parts), made.first, made.last, made.zone, country)

    def _varying(self, known: Floats) -> list[str]:
        local = self.local(known)
        n_days = float(local.max() - local.min()) / DAY
        days = np.unique(np.floor(local / DAY))
        step = float(np.median(np.diff(days))) if len(days) > 1 else 0.0
        varies = {
            HOUR: np.ptp(local % DAY) > 0,
            WEEKDAY: np.ptp(weekday(local)) > 0 and step <= MAX_STEP[WEEKDAY],
            DAY_OF_YEAR: step <= MAX_STEP[DAY_OF_YEAR],
        }
        parts = [part for part in (HOUR, WEEKDAY, DAY_OF_YEAR) if varies[part] and n_days >= MIN_DAYS[part]]
        if DAY_OF_YEAR not in parts or n_days >= MIN_YEARS_OF_TREND * YEAR:
            parts.append(TREND)
        return parts

    @cached_property
    def _tzinfo(self) -> tzinfo | None:
        return None if self.zone is None else find_zone(self.zone)

    def local(self, moments: Floats) -> Floats:
        """Timestamps in local time: microseconds since the beginning of 1970 in their time zone."""
        if self._tzinfo is None:
            return moments
        known = ~np.isnan(moments)
        quarters, place = np.unique(np.floor(moments[known] / QUARTER_OF_AN_HOUR), return_inverse=True)
        offsets = np.array([_offset(self._tzinfo, each) for each in (quarters * QUARTER_OF_AN_HOUR).tolist()])
        found = moments.copy()
        found[known] += offsets[place]
        return found

    @property
    def kinds(self) -> list[int]:
        """For each feature: 1 if it is categorical, 0 if it is numeric."""
        return [kind for part in self.parts for kind in _KINDS[part]]

    @property
    def feature_parts(self) -> list[str]:
        """For each feature: the part that it belongs to."""
        return [part for part in self.parts for _ in _KINDS[part]]

    def features(self, moments: Floats) -> list[Floats]:
        """The features of timestamps; NaN where one is missing."""
        local = self.local(moments)
        found: list[Floats] = []
        for part in self.parts:
            if part == HOUR:
                found += _circle(local % DAY / DAY)
            elif part == WEEKDAY:
                found.append(weekday(local))
            elif part == DAY_OF_YEAR:
                found += _circle(day_of_year(local) / YEAR)
            elif part == TREND:
                found.append(self.since_first(np.clip(moments, self.first, self.last)))
            else:
                found.append(self._is_holiday(local))
        return found

    def since_first(self, moments: Floats) -> Floats:
        """The time since the first fitted timestamp, which does not change if all clocks are shifted."""
        return moments - self.first

    def is_outside(self, moments: Floats) -> npt.NDArray[np.bool_]:
        """Whether each timestamp is before the first fitted one or after the last."""
        return np.asarray((moments < self.first) | (moments > self.last))

    def _is_holiday(self, local: Floats) -> Floats:
        days = np.floor(local / DAY)
        found = np.full(len(local), np.nan)
        known = ~np.isnan(days)
        if known.any():
            distinct, place = np.unique(days[known], return_inverse=True)
            years = (distinct.astype(np.int64).view("M8[D]").astype("M8[Y]").astype(np.int64) + 1970).tolist()
            for year in set(years) - self._holidays.keys():
                self._holidays[year] = _holidays_of(self.country or "", year)
            off = [day in self._holidays[year] for day, year in zip(distinct.astype(int).tolist(), years, strict=True)]
            found[known] = np.array(off, dtype=np.float64)[place]
        return found


_KINDS = {HOUR: (0, 0), WEEKDAY: (1,), DAY_OF_YEAR: (0, 0), TREND: (0,), HOLIDAY: (1,)}
N_CATEGORIES = {WEEKDAY: 7, HOLIDAY: 2}


def weekday(local: Floats) -> Floats:
    """The weekday of timestamps, from 0 for Monday.

    >>> weekday(np.array([0.0]))  # 1970 began on a Thursday
    array([3.])
    """
    return np.asarray((np.floor(local / DAY) + 3) % 7)


def day_of_year(local: Floats) -> Floats:
    """The number of days since the year began.

    >>> day_of_year(np.array([0.0, 31.5 * DAY, np.nan]))
    array([ 0., 31., nan])
    """
    days = np.floor(local / DAY)
    known = ~np.isnan(days)
    found = np.full(len(days), np.nan)
    dates = days[known].astype(np.int64).view("M8[D]")
    found[known] = (dates - dates.astype("M8[Y]").astype("M8[D]")).astype(np.float64)
    return found


def month(local: Floats) -> Floats:
    """The month of timestamps, from 0 for January."""
    days = np.floor(local / DAY)
    known = ~np.isnan(days)
    found = np.full(len(days), np.nan)
    found[known] = days[known].astype(np.int64).view("M8[D]").astype("M8[M]").astype(np.int64) % 12
    return found


def zone_of(table: Table, position: int) -> tzinfo | None:
    """The time zone of a column of timestamps, if it has one."""
    zone = getattr(table.example(position), "tzinfo", None)
    return zone if isinstance(zone, tzinfo) else None


def zone_name(zone: tzinfo) -> str:
    """A name from which a time zone can be restored.

    >>> zone_name(UTC), zone_name(ZoneInfo("Europe/Berlin")), zone_name(timezone(timedelta(hours=-5)))
    ('UTC', 'Europe/Berlin', 'UTC-05:00')
    """
    name = str(zone)
    try:
        find_zone(name)
    except ValueError:
        # A zone without a name, such as one of another library: its offset today.
        offset = zone.utcoffset(datetime.now()) or timedelta(0)
        return str(timezone(offset))
    return name


def find_zone(name: str) -> tzinfo:
    """The time zone of a name. Raises a ValueError if there is none."""
    if name == "UTC":
        return UTC
    if found := re.fullmatch(r"UTC([+-])(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        if offset < timedelta(days=1):
            return timezone(-offset if found[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"there is no time zone {name!r}") from None


def is_moment(table: Table, position: int) -> bool:
    """Whether a column holds timestamps, and not durations."""
    return table.kind(position) is Kind.TIME and table.holds(position) == Kind.TIME.value


def check_time_parts(option: Any, country: Any) -> None:
    """Raises an error if `time_parts` or `holidays` is invalid."""
    choices = option.values() if isinstance(option, Mapping) else [option]
    for choice in choices:
        if isinstance(choice, str):
            if choice != AUTO:
                raise ValueError(
                    f"time_parts is {choice!r}: it must be 'auto' or a list of {listed(list(PARTS), 'and')}"
                )
            continue
        if not isinstance(choice, Iterable):
            raise TypeError(f"time_parts is {choice!r}: it must be 'auto' or a list of {listed(list(PARTS), 'and')}")
        named = list(choice)
        for part in named:
            if part not in PARTS:
                raise ValueError(f"time_parts has {part!r}: the parts are {listed(list(PARTS), 'and')}")
        if not named:
            raise ValueError("time_parts is empty: name at least one part, such as 'trend', or leave out the column")
        if HOLIDAY in named and country is None:
            raise ValueError("time_parts has 'holiday': name a country with holidays, as in holidays='US'")
    if country is not None:
        if not isinstance(country, str):
            raise TypeError(f"holidays is {country!r}: it must be the code of a country, as in 'US' or 'US-NY'")
        _holidays_of(country, 2020)


def parts_wanted(option: Any, name: str) -> Parts:
    """The choice of `time_parts` for a column."""
    wanted: Parts = option.get(name, AUTO) if isinstance(option, Mapping) else option
    return wanted


def _circle(turns: Floats) -> list[Floats]:
    angle = 2.0 * np.pi * turns
    # Plus zero: minus zero becomes zero, which it equals.
    return [np.asarray(np.round(each, DECIMALS) + 0.0, dtype=np.float64) for each in (np.sin(angle), np.cos(angle))]


def _offset(zone: tzinfo, moment: float) -> float:
    try:
        offset = (EPOCH + timedelta(microseconds=moment)).astimezone(zone).utcoffset()
    except OverflowError:
        return 0.0
    return 0.0 if offset is None else offset / timedelta(microseconds=1)


def _holidays_of(country: str, year: int) -> frozenset[int]:
    """The holidays of a year, in days since 1970."""
    try:
        import holidays
    except ImportError:
        raise ValueError("holidays need the package of that name: pip install 'paribus[time]'") from None
    code, _, region = country.partition("-")
    try:
        found = holidays.country_holidays(code, subdiv=region or None, years=year)
    except (NotImplementedError, KeyError, ValueError):
        raise ValueError(f"holidays is {country!r}: there is no country of that code; try 'US' or 'US-NY'") from None
    return frozenset((day - EPOCH.date()).days for day in found)
