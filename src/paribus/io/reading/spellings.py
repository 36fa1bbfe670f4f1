"""Numbers and timestamps as people write them: $1,234.50, 61.7%, 31.01.2020, Jan 31, 2020 2:15 PM, 14:30, 3h 20min."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache

import numpy as np

# Each text is parsed several times.
MAX_REMEMBERED = 2**16
CURRENCIES = "$€£¥₹₩₽₺₫฿₴₦"
_SIGNS = re.compile(
    rf"(?P<minus>[-\u2212+(]?)\s*(?P<before>[{CURRENCIES}]?)\s*(?P<inner>-?)(?P<digits>[0-9][0-9.,]*|\.[0-9]+)"
    rf"\s*(?P<after>[%{CURRENCIES}]?)(?P<close>\)?)"
)
_GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]*)?|[0-9]*\.?[0-9]*")
_TIME = (
    r"(?:,?[ T]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6}))?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?)?"
)
_DATE = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})" + _TIME)
# With the name of the month: 31-Jan-2020, Jan 31, 2020, Fri 31 January 2020.
_NAMED_DATE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?(\d{1,4}|[a-z]{3,9})([\s./-]+)(\d{1,2}|[a-z]{3,9})[\s.,/-]+(\d{1,4})"
    + _TIME,
    re.IGNORECASE,
)
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH_NUMBERS = {short: str(place) for place, name in enumerate(MONTHS, 1) for short in (name, name[:3], name[:4])}
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*([AaPp]\.?[Mm]\.?)?")
_DAYS = re.compile(r"(-?\d+) days?,?\s*(?:\+?(\d{1,2}):([0-5]\d):([0-5]\d(?:\.\d+)?))?")
_UNIT = re.compile(
    r"(\d+(?:\.\d+)?)\s*(d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b[\s,]*", re.IGNORECASE
)
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
_HOURS = {"d": 24.0, "h": 1.0, "m": 1.0 / 60.0, "s": 1.0 / 3600.0}
# Two-digit years up to 68 are in this century, as in POSIX.
LAST_YEAR_OF_2000 = 68
DATE_ORDERS = ("dmy", "mdy", "ymd")


@lru_cache(MAX_REMEMBERED)
def signed_number(text: str, decimal: str = ".") -> tuple[float, str] | None:
    """The number that a text spells, and its signs: a currency, %, a comma between thousands, or a parenthesis.

    >>> signed_number("$1,234.50"), signed_number("(564 €)"), signed_number("61.7%"), signed_number("1,23")
    ((1234.5, '$,'), (-564.0, '€('), (61.7, '%'), None)
    >>> signed_number("1.234,50 €", ",")
    (1234.5, '€,')
    """
    found = _SIGNS.fullmatch(text.strip())
    if found is None or (found["minus"] == "(") != (found["close"] == ")") or (found["before"] and found["after"]):
        return None
    digits = found["digits"]
    if decimal == ",":
        digits = digits.translate(str.maketrans(".,", ",."))
    if not _GROUPED.fullmatch(digits) or (found["inner"] and found["minus"]):
        return None
    marks = found["before"] + found["after"] + ("," if "," in digits else "") + found["minus"].strip("-\u2212+")
    try:
        number = float(digits.replace(",", ""))
    except ValueError:
        return None
    is_negative = found["minus"] in ("-", "\u2212", "(") or found["inner"] == "-"
    return (-number if is_negative else number), marks


@lru_cache(MAX_REMEMBERED)
def ordered_date(text: str, order: str) -> np.datetime64 | None:
    """The timestamp that a text spells, with day, month and year in an order of `DATE_ORDERS`.

    >>> ordered_date("01/31/2020 2:15 PM", "mdy"), ordered_date("31.01.2020", "dmy"), ordered_date("31.01.2020", "mdy")
    (np.datetime64('2020-01-31T14:15:00.000000'), np.datetime64('2020-01-31T00:00:00.000000'), None)
    >>> ordered_date("31-JAN-20", "dmy"), ordered_date("January 31, 2020", "dmy")
    (np.datetime64('2020-01-31T00:00:00.000000'), None)
    """
    found = _DATE.fullmatch(text.strip())
    has_name = found is None
    if has_name:
        found = _NAMED_DATE.fullmatch(text.strip())
    if found is None:
        return None
    parts = dict(zip(order, (found[1], found[3], found[4]), strict=True))
    if has_name:
        parts["m"] = _MONTH_NUMBERS.get(parts["m"].lower(), "")
    if not all(part.isdigit() for part in parts.values()):
        return None
    year = parts["y"]
    if len(year) != 4 and (len(year) != 2 or order == "ymd" or not (has_name or found[2] == "/")):
        return None
    if len(parts["d"]) > 2 or len(parts["m"]) > 2:
        return None
    full = int(year) if len(year) == 4 else int(year) + (2000 if int(year) <= LAST_YEAR_OF_2000 else 1900)
    hour, half = int(found["hour"] or 0), (found["half"] or "").lower().replace(".", "")
    if half and not 1 <= hour <= 12:
        return None
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    microsecond = int((found["fraction"] or "0").ljust(6, "0"))
    minute, second = int(found["minute"] or 0), int(found["second"] or 0)
    try:
        moment = datetime(full, int(parts["m"]), int(parts["d"]), hour, minute, second, microsecond)
    except ValueError:
        return None
    return np.datetime64(moment, "us")


def has_dots(text: str) -> bool:
    """Whether a date is written with dots, which implies that the day comes first."""
    found = _DATE.fullmatch(text.strip())
    return found is not None and found[2] == "."


@lru_cache(MAX_REMEMBERED)
def hours(text: str) -> float | None:
    """A time of day or a duration in hours.

    >>> hours("14:30"), hours("2:15 PM"), hours("36:00:00"), hours("3h 20min"), hours("1 day, 6:00:00"), hours("PT90M")
    (14.5, 14.25, 36.0, 3.3333333333333335, 30.0, 1.5)
    """
    text = text.strip()
    if found := _CLOCK.fullmatch(text):
        hour, half = int(found[1]), (found[4] or "").lower().replace(".", "")
        if half:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if half == "pm" else 0)
        return hour + int(found[2]) / 60.0 + float(found[3] or 0) / 3600.0
    if found := _DAYS.fullmatch(text):
        return int(found[1]) * 24.0 + int(found[2] or 0) + int(found[3] or 0) / 60.0 + float(found[4] or 0) / 3600.0
    if len(text) > 1 and (found := _ISO.fullmatch(text)) and any(found.groups()):
        days, whole_hours, minutes, seconds = (float(each or 0) for each in found.groups())
        return days * 24.0 + whole_hours + minutes / 60.0 + seconds / 3600.0
    total, end = 0.0, 0
    for part in _UNIT.finditer(text):
        if part.start() != end:
            return None
        total += float(part[1]) * _HOURS[part[2][0].lower()]
        end = part.end()
    return total if end == len(text) and end > 0 else None
