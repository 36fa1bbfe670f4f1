"""Tests of numbers and moments as people write them."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus.io.reading import TextOptions, Wanted, open_stream, read
from paribus.io.reading.columns import timestamp
from paribus.io.reading.spellings import hours, ordered_date, signed_number

EVERYTHING = Wanted(["x"], strict=True)


def column(folder: Path, values: list[str], separator: str = ",", **options: str) -> tuple[np.ndarray, list[str]]:
    """The values as they are read, the same at once and in batches, and the notes."""
    path = folder / "table.csv"
    quoted = "\n".join(f'{place}{separator}"{value}"' for place, value in enumerate(values))
    path.write_text(f"place{separator}x\n{quoted}\n", encoding="utf-8")
    notes: list[str] = []
    text = TextOptions(separator=separator, **options)  # type: ignore[arg-type]
    at_once = read(str(path), lambda _: EVERYTHING, text=text, note=notes.append).columns["x"]
    with ExitStack() as stack:
        stream = open_stream(str(path), stack, lambda _: EVERYTHING, text=text)
        streamed = np.concatenate([batch["x"] for batch in stream.batches()])
    assert at_once.dtype == streamed.dtype
    assert np.array_equal(at_once, streamed, equal_nan=at_once.dtype.kind in "fM")
    return at_once, notes


@pytest.mark.parametrize(
    ("values", "expected", "said"),
    [
        (["$564", "$1,234.50", "", "-$5", "($7)"], [564, 1234.5, np.nan, -5, -7], "without '$' and commas between"),
        (["1,234", "17", "2,345,678"], [1234, 17, 2345678], "without commas between thousands"),
        (["61.7%", "5 %", "NA"], [61.7, 5, np.nan], "without '%'"),
        (["14:30", "2:15", "23:59"], [14.5, 2.25, 23 + 59 / 60], "is read as hours"),
        (["2:15 PM", "12:00 am"], [14.25, 0], "is read as hours"),
        (["36:00:00", "1:30:00"], [36, 1.5], "is read as hours"),
        (["3h 20min", "45 min", "1 day"], [3 + 1 / 3, 0.75, 24], "is read as hours"),
        (["(12)", "13", "7"], [-12.0, 13.0, 7.0], "is read as numbers, parentheses as minus"),
    ],
)
def test_numbers_with_signs(tmp_path: Path, values: list[str], expected: list[float], said: str) -> None:
    """Tests that such columns become numbers, and that a note says how."""
    found, notes = column(tmp_path, values)
    np.testing.assert_allclose(found, expected)
    assert len(notes) == 1
    assert said in notes[0]


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        (["31.01.2020", "01.02.2020"], {}, ["2020-01-31", "2020-02-01"]),
        (["01.02.2020"], {}, ["2020-02-01"]),
        (["01/31/2020 2:15 PM", "02/01/2020 12:05 AM"], {}, ["2020-01-31T14:15", "2020-02-01T00:05"]),
        (["1/2/2020", "31/12/2020"], {}, ["2020-02-01", "2020-12-31"]),
        (["1/2/2020"], {"date_order": "dmy"}, ["2020-02-01"]),
        (["1/2/2020"], {"date_order": "mdy"}, ["2020-01-02"]),
        (["2020/01/31", "2020/1/2"], {}, ["2020-01-31", "2020-01-02"]),
        (["1/31/20", "12/31/99"], {}, ["2020-01-31", "1999-12-31"]),
        (["1/2/2020", ""], {"date_order": "mdy"}, ["2020-01-02", "NaT"]),
        (["Jan 1 2000", "Sept. 30, 2001", "Fri, May 5 2006"], {}, ["2000-01-01", "2001-09-30", "2006-05-05"]),
        (["01-JAN-2000", "1 February 99", "2.Mar.2001 14:30"], {}, ["2000-01-01", "1999-02-01", "2001-03-02T14:30"]),
        (["2000-Jan-31", "2001 Dec 1"], {}, ["2000-01-31", "2001-12-01"]),
    ],
)
def test_dates(tmp_path: Path, values: list[str], options: dict[str, str], expected: list[str]) -> None:
    """Tests that dates are read in the order that they show, or that is named."""
    found, notes = column(tmp_path, values, **options)
    assert np.array_equal(found, np.array(expected, dtype="M8[us]"), equal_nan=True)
    assert "is read as dates" in notes[0]


def test_ambiguous_dates_are_refused(tmp_path: Path) -> None:
    """Tests that a sentence says what to add."""
    with pytest.raises(ValueError, match="add --date-order dmy or --date-order mdy"):
        column(tmp_path, ["01/02/2020", "03/04/2020"])
    with pytest.raises(ValueError, match=r"not a date in the order dmy: .* use --date-order mdy"):
        column(tmp_path, ["01/31/2020"], date_order="dmy")


def test_ambiguous_commas_are_refused(tmp_path: Path) -> None:
    """Tests that 1,234 between semicolons is neither guessed to be a thousand nor to be little more than one."""
    with pytest.raises(ValueError, match="add --decimal point or --decimal comma"):
        column(tmp_path, ["1,234", "5,678"], separator=";")
    assert column(tmp_path, ["1,234"], separator=";", decimal="point")[0].tolist() == [1234]
    assert column(tmp_path, ["1,234"], separator=";", decimal="comma")[0].tolist() == [1.234]
    assert column(tmp_path, ["1.234,50 €", "7 €"], separator=";")[0].tolist() == [1234.5, 7]


@pytest.mark.parametrize(
    "values",
    [
        ["5%", "5"],
        ["$5", "5 €"],
        ["12:30", "soon"],
        ["1,23", "4,5,6"],
        ["1.2.3", "1.2.4"],
        ["Jan 1 2000", "Jam 1 2000"],
        ["1 Feb 2000", "31 Feb 2000"],
    ],
)
def test_mixtures_stay_text(tmp_path: Path, values: list[str]) -> None:
    """Tests that values which do not go together are not made into numbers."""
    path = tmp_path / "table.csv"
    path.write_text("x;y\n" + "".join(f'"{value}";1\n' for value in values), encoding="utf-8")
    assert read(str(path), text=TextOptions(separator=";", decimal="point")).columns["x"].tolist() == values


@given(st.floats(-1e9, 1e9), st.sampled_from(["", "$", "€"]), st.sampled_from([".", ","]))
def test_numbers_are_read_as_they_were_written(number: float, currency: str, decimal: str) -> None:
    """Tests that writing with thousands and a currency, and reading, gives the number to its cents."""
    text = f"{abs(number):,.2f}"
    if decimal == ",":
        text = text.translate(str.maketrans(".,", ",."))
    found = signed_number(f"{'-' if number < 0 else ''}{currency}{text}", decimal)
    assert found is not None
    assert found[0] == pytest.approx(round(number, 2))


@given(st.datetimes(datetime(1000, 1, 1), datetime(9999, 1, 1)).map(lambda each: each.replace(microsecond=0)))
def test_dates_are_read_as_they_were_written(moment: datetime) -> None:
    """Tests that each order reads what it writes."""
    for order, pattern in (("dmy", "{0:%d}.{0:%m}.{1:04d}"), ("mdy", "{0:%m}/{0:%d}/{1:04d}")):
        text = pattern.format(moment, moment.year) + f"{moment: %I:%M:%S %p}"
        assert ordered_date(text, order) == np.datetime64(moment, "us")


@given(st.text(max_size=20))
def test_any_text_is_looked_at_without_an_error(text: str) -> None:
    """Tests that hostile text is no number, or one that can be computed with."""
    found = signed_number(text)
    assert found is None or np.isfinite(found[0])
    assert hours(text) is None or np.isfinite(hours(text) or 0.0)
    for order in ("dmy", "mdy", "ymd"):
        ordered_date(text, order)


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00"])
def test_times_that_utc_does_not_have_are_text(text: str) -> None:
    """Tests timestamps that a time zone moves out of the years 1 to 9999."""
    assert timestamp(text) is None
    assert timestamp(text[:19]) is not None
