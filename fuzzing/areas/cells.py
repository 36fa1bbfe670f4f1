"""Single values as people write them."""

from __future__ import annotations

import math
from datetime import datetime

from fuzzing.area import Area, expect
from paribus.io.reading.columns import number, timestamp
from paribus.io.reading.spellings import DATE_ORDERS, hours, ordered_date, signed_number

SEEDS = [
    *(b"1,234.50", b"$564", b"(1.234,50 \xe2\x82\xac)", b"61.7%", b"14:30", b"2:15 PM", b"36:00:00", b"3h 20min"),
    *(b"PT90M", b"1 day, 6:00:00", b"31.01.2020", b"01/31/2020 2:15 PM", b"2020-01-31T14:30:00Z", b"-1e-5", b"007"),
    *(b"2026-W05-1", b"\xd9\xa1\xd9\xa2", b"1_000", b"infinity", b"NaN", b"0x10", b"1e400"),
]
TOKENS = (
    b"9999-12-31T23:59:59-12:00",
    b"-",
    b"+",
    b".",
    b",",
    b":",
    b"/",
    b"%",
    b"$",
    b"(",
    b")",
    b" ",
    b"e",
    b"T",
    b"Z",
    b"AM",
    b"99999999999",
    b"\xc2\xb2",
)


def check(data: bytes) -> bool:
    """Tests that what a text spells is found by all functions without an error, and is a finite number."""
    text = data[:200].decode("utf-8", "replace")
    found = number(text)
    try:
        plain = float(text) if "_" not in text else math.nan
    except ValueError:
        plain = math.nan
    expect((found is None) != math.isfinite(plain) and found in (None, plain), f"number({text!r}) is {found}")
    moment = timestamp(text)
    if moment is not None and len(text.strip()) == 10 and text.strip().isascii():
        expect(str(moment)[:10] == datetime.fromisoformat(text.strip()).date().isoformat(), f"timestamp({text!r})")
    duration = hours(text)
    is_fine = duration is None or (math.isfinite(duration) and (duration >= 0 or text.strip().startswith("-")))
    expect(is_fine, f"hours({text!r}) is {duration}")
    signed = [signed_number(text, decimal) for decimal in ".,"]
    for each in signed:
        expect(each is None or math.isfinite(each[0]), f"signed_number({text!r}) is {each}")
    dates = [ordered_date(text, order) for order in DATE_ORDERS]
    return any(each is not None for each in (found, moment, duration, *signed, *dates))


AREAS = [Area("cells", lambda: SEEDS, check, 0.25, TOKENS, "Python's own float and datetime")]
