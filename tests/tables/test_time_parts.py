"""Tests of timestamps as context."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus.tables.time_parts import (
    DAY,
    PARTS,
    TimeParts,
    check_time_parts,
    day_of_year,
    find_zone,
    month,
    weekday,
    zone_name,
)

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2150, 1, 1))


def micros(*moments: datetime) -> np.ndarray:
    return np.array([(each - EPOCH) / MICROSECOND for each in moments])


@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_calendar_parts_are_those_of_datetime(moments: list[datetime]) -> None:
    """Tests that weekday, month and day of year agree with Python's calendar."""
    found = micros(*moments)
    assert weekday(found).tolist() == [each.weekday() for each in moments]
    assert month(found).tolist() == [each.month - 1 for each in moments]
    assert day_of_year(found).tolist() == [each.timetuple().tm_yday - 1 for each in moments]


@given(st.lists(MOMENTS, min_size=1, max_size=20), st.sampled_from(["Europe/Berlin", "Asia/Kathmandu", "UTC"]))
def test_local_time_is_that_of_the_zone(moments: list[datetime], name: str) -> None:
    """Tests that hours and days are counted as clocks in the time zone show them."""
    times = TimeParts(("hour",), 0.0, 1.0, name)
    expected = [each.replace(tzinfo=UTC).astimezone(ZoneInfo(name)).replace(tzinfo=None) for each in moments]
    # Until about 1930 zones had offsets with seconds.
    assert np.abs(times.local(micros(*moments)) - micros(*expected)).max() < 900 * 1e6
    recent = [place for place, each in enumerate(moments) if each.year > 1990]
    assert (times.local(micros(*moments))[recent] == micros(*expected)[recent]).all()


@given(MOMENTS, st.integers(0, 2000))
def test_cycles_come_round(moment: datetime, n_days: int) -> None:
    """Tests that the same hour of another day has the same features, and that midnight is near 23:59."""
    times = TimeParts(("hour", "weekday"), 0.0, 1.0)
    here, there = (np.array(each) for each in (micros(moment), micros(moment + timedelta(days=7 * n_days))))
    assert np.array_equal(times.features(here), times.features(there))
    midnight = np.array([0.0, DAY - 60e6, DAY / 2])
    sine, cosine, _ = times.features(midnight)
    near, far = (np.hypot(sine[0] - sine[i], cosine[0] - cosine[i]) for i in (1, 2))
    assert near < 0.01 < 1.9 < far


def test_december_is_near_january() -> None:
    """Tests that the last day of a year is as near to the first as any neighbors are."""
    times = TimeParts(("day_of_year",), 0.0, 1.0)
    sine, cosine = times.features(micros(datetime(2023, 12, 31), datetime(2024, 1, 1), datetime(2024, 7, 1)))
    assert np.hypot(sine[0] - sine[1], cosine[0] - cosine[1]) < 0.03
    assert np.hypot(sine[0] - sine[2], cosine[0] - cosine[2]) > 1.9


@pytest.mark.parametrize(
    ("start", "periods", "freq", "parts"),
    [
        ("2024-01-01", 24, "h", ("trend",)),
        ("2024-01-01", 24 * 7, "h", ("hour", "trend")),
        ("2024-01-01", 24 * 30, "h", ("hour", "weekday", "trend")),
        ("2024-01-01", 30, "D", ("weekday", "trend")),
        ("2024-01-01", 300, "D", ("weekday", "day_of_year")),
        ("2024-01-01", 1200, "D", ("weekday", "day_of_year", "trend")),
        ("2024-01-01", 60, "7D", ("day_of_year",)),
        ("2024-01-01", 1, "D", ("trend",)),
    ],
)
def test_parts_that_vary(start: str, periods: int, freq: str, parts: tuple[str, ...]) -> None:
    """Tests that only parts count that vary in the table and can be told apart."""
    moments = pd.date_range(start, periods=periods, freq=freq).to_numpy().astype("M8[us]").astype(float)
    found = TimeParts.fit(moments, None)
    assert found is not None
    assert found.parts == parts


def test_trend_stays_within_the_fitted_time() -> None:
    """Tests that a later timestamp has the trend of the last fitted one, and is outside the fitted range."""
    times = TimeParts(("trend",), 10.0, 20.0)
    assert times.features(np.array([5.0, 15.0, 99.0, np.nan]))[0].tolist()[:3] == [0.0, 5.0, 10.0]
    assert times.is_outside(np.array([5.0, 15.0, 99.0, np.nan])).tolist() == [True, False, True, False]


def test_missing_moments_have_missing_parts() -> None:
    """Tests that a missing timestamp has no parts."""
    times = TimeParts(PARTS, 0.0, 1.0, None, "US")
    assert np.isnan(np.array(times.features(np.array([np.nan])))).all()


def test_holidays() -> None:
    """Tests that holidays are those of the country."""
    moments = micros(datetime(2024, 7, 4, 15), datetime(2024, 7, 5))
    assert TimeParts(("holiday",), 0.0, 1.0, None, "US").features(moments)[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "zone", [UTC, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("America/New_York"), timezone(-timedelta(hours=3))]
)
def test_zones_are_found_again(zone: timezone) -> None:
    """Tests that a stored name gives the same offsets."""
    moment = datetime(2024, 7, 1)
    assert find_zone(zone_name(zone)).utcoffset(moment) == zone.utcoffset(moment)


@pytest.mark.parametrize(
    ("option", "country", "words"),
    [
        ("hours", None, "must be 'auto' or a list"),
        (["hours"], None, "the parts are hour, weekday, day_of_year, trend and holiday"),
        ([], None, "is empty"),
        ({"when": ["holiday"]}, None, "holidays='US'"),
        ("auto", "Atlantis", "no country of that code"),
        (3, None, "must be 'auto'"),
    ],
)
def test_bad_options_are_refused(option: object, country: str | None, words: str) -> None:
    """Tests that a sentence says what parts there are."""
    with pytest.raises((TypeError, ValueError), match=words):
        check_time_parts(option, country)
