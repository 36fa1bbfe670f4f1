"""Formatting of numbers, timestamps and categories for people."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus._common.statistics import weighted_quantiles
from paribus._common.text import distinct, plain, shortened
from paribus._core import number_texts
from paribus.tables.column import Kind
from paribus.tables.column_format import MAX_EXTRA_DECIMALS, ColumnFormat
from paribus.tables.table import Table


def written(column: list[Any], value: Any = None) -> str:
    table = Table({"column": column})
    numbers = table.numbers(0)
    return ColumnFormat.fit(table, 0, numbers)(numbers[0] if value is None else value)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([2040.0, 3100.0, 12.0], "2,040"),
        # Years have no thousands separator.
        ([2020, 1999, 2026], "2020"),
        ([1.5, 2.0, 3.25], "1.50"),
        # More digits than are significant.
        ([2832325765.1598, -1214584204.167, 152970433.2373], "2,832,325,765.2"),
        ([-0.0, 2.0], "0"),
        ([1 / 3, 2 / 3, 100.0], "0.3"),
        ([1 / 3, 2 / 3, 1.1], "0.333"),
        ([-1 / 3, 10.0, 2 / 3], "-0.3"),
        ([0.1 + 0.2, 0.5], "0.3"),
        ([123456789.0, 5.0], "123,456,789"),
        ([1.2345e15, 5.0], "1,234,500,000,000,000"),
        ([1.2345e22, 5e22], "1.23e+22"),
        # One extreme value does not determine the format of the others.
        ([*[round(0.37 * i, 2) for i in range(100)], 3e9], "0.00"),
        ([*[i * 1e-8 for i in range(1, 100)], 1.0], "1e-08"),
        ([2**55, 2**55 + 64, 5], "36,028,797,018,963,968"),
        ([1.2345e-9, 5e-9], "1.23e-09"),
        ([date(2024, 3, 1), date(2024, 4, 1)], "2024-03-01"),
        ([datetime(2024, 3, 1, 7, 30), datetime(2024, 4, 1)], "2024-03-01 07:30"),
        ([timedelta(hours=26), timedelta(hours=2)], "1 day, 2:00:00"),
        ([float("nan"), 2.0], "missing"),
    ],
)
def test_numbers_have_the_precision_of_their_column(column: list[Any], text: str) -> None:
    """Tests the format of values by their column: decimals, thousands separators, dates."""
    assert written(column) == text


@given(
    decimals=st.integers(0, 4),
    whole=st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=30),
)
def test_exact_values_are_formatted_exactly(decimals: int, whole: list[int]) -> None:
    """Tests that no decimals are lost in a column with few of them."""
    column = [number / 10**decimals for number in whole]
    table = Table({"column": column})
    write = ColumnFormat.fit(table, 0, table.numbers(0))
    for value in column:
        assert float(write(value).replace(",", "")) == value


def test_categories_are_short_and_on_one_line() -> None:
    """Tests codes, empty text, missing values, line breaks and long text."""
    write = ColumnFormat.fit(Table({"column": ["a"]}), 0, None)
    assert [write(value) for value in (1.0, True, "", None, "a\nb", "x" * 100)] == [
        "1", "True", "(empty)", "missing", "a b", "x" * 36 + "…" + "x" * 23,
    ]  # fmt: skip


def test_numbers_that_differ_look_different() -> None:
    """Tests that a value just above a bound is not formatted like the bound."""
    table = Table({"column": [0.0, 0.9, 1 / 3]})
    write = ColumnFormat.fit(table, 0, table.numbers(0))
    assert (write(0.33341), write(0.33344)) == ("0.333", "0.333")
    finer = write.telling_apart(0.33341, 0.33344, 1.0)
    assert finer(0.33341) != finer(0.33344)


@given(st.text())
def test_plain_text_is_one_short_visible_line(text: str) -> None:
    """Tests that control characters and direction marks are removed, and that the length is limited."""
    line = plain(text)
    assert len(line) <= 60
    assert not any(ord(character) < 32 or character in "\u202e\u2028\x7f\x9b" for character in line)
    assert line == line.strip()


def test_columns_without_names() -> None:
    """Tests that a column without a name is titled by its position, and one named 2020 by its name."""
    array, named = Table([[1.0, 2.0]]), Table({"2020": [1.0], " ": [2.0]})
    titles = [ColumnFormat.fit(table, p, table.numbers(p)).title for table in (array, named) for p in (0, 1)]
    assert titles == ["column 0", "column 1", "2020", "(no name)"]


@given(
    values=st.lists(st.integers(-5, 5), min_size=1, max_size=20),
    seed=st.integers(0, 999),
    percent=st.integers(0, 100),
)
def test_weighted_quantiles_are_those_of_repeated_values(values: list[int], seed: int, percent: int) -> None:
    """Tests that a whole weight has the effect of repeating a value."""
    counts = np.random.RandomState(seed).randint(1, 5, len(values))
    repeated = np.sort(np.repeat(np.array(values, dtype=float), counts))
    expected = np.percentile(repeated, percent, method="inverted_cdf")
    found = weighted_quantiles(np.array(values, dtype=float), counts / counts.sum(), (percent / 100,))
    assert found == [expected]


@given(st.lists(st.text(alphabet="ab c…", max_size=40), max_size=6, unique=True), st.integers(4, 20))
def test_shortened_lines_stay_different(lines: list[str], longest: int) -> None:
    """Tests that different lines stay different, and that lines are short except for a number at their end."""
    found = distinct(lines, lambda line: shortened(line, longest))
    assert len(set(found)) == len(lines)
    assert all(len(line) <= longest + 4 for line in found)
    assert all(line in found for line in lines if len(line) <= longest and lines.count(line) == 1 and "…" not in line)


@given(st.text(st.characters(exclude_characters="…"), max_size=80), st.integers(1, 40))
def test_shortened_text_is_short(text: str, longest: int) -> None:
    """Tests that shortened text is not too long, and starts and ends as the original does."""
    found = shortened(text, longest)
    assert len(found) <= longest
    first, _, last = found.partition("…")
    assert found == text or (text.startswith(first) and text.endswith(last))


@given(
    numbers=st.lists(
        st.floats(-1e13, 1e13) | st.floats(-2, 2) | st.integers(-99, 99).map(lambda n: n / 32), min_size=2
    ),
    decimals=st.integers(0, 6),
    grouped=st.booleans(),
    scientific=st.booleans(),
)
def test_numbers_are_told_apart_by_their_texts(
    numbers: list[float], decimals: int, grouped: bool, scientific: bool
) -> None:
    """Tests that the shortcuts of formats give what the texts of all numbers give, compared with each other."""
    write = ColumnFormat(Kind.NUMERIC, decimals, grouped=grouped, scientific=scientific)
    for number in numbers:
        # Only plain numbers have a shortcut.
        assert write(number) == write(np.float64(number))
    expected = write
    for _ in range(MAX_EXTRA_DECIMALS):
        if len({expected(np.float64(number)) for number in set(numbers)}) == len(set(numbers)):
            break
        more = 4 if expected.scientific and expected.decimals == 0 else 1
        expected = replace(expected, decimals=expected.decimals + more)
    assert write.telling_apart(*numbers) == expected


@given(
    numbers=st.lists(st.floats() | st.decimals(-(10**6), 10**6, places=3).map(float), max_size=20),
    decimals=st.integers(0, 12),
    grouped=st.booleans(),
    scientific=st.booleans(),
)
def test_many_numbers_are_written_as_one_by_one(
    numbers: list[float], decimals: int, grouped: bool, scientific: bool
) -> None:
    """Tests texts of many numbers and of many ranges, of which C++ writes most, against Python's own formats."""
    write = ColumnFormat(Kind.NUMERIC, decimals, grouped=grouped, scientific=scientific)
    values = np.array(numbers, dtype=np.float64)
    assert write.texts(values) == [write(number) for number in numbers]
    if not scientific:
        plain = f"{',' if grouped else ''}.{decimals}f"
        usual = [number for number in numbers if 1 <= abs(number) < 1e21]
        assert write.texts(np.array(usual)) == [format(number, plain) for number in usual]
    finite = np.sort(values[np.isfinite(values)])
    lows, highs = finite[:-1], finite[1:]
    expected = []
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        finer = write.telling_apart(low, high)
        expected.append(finer(low) if low == high else f"{finer(low)} to {finer(high)}")
    assert write.range_texts(lows, highs) == expected


def test_unusable_formats_are_refused() -> None:
    """Tests that numbers are not written with too many decimals, or where they have too many digits."""
    for decimals, limit, message in ((-1, 1e21, "decimals"), (101, 1e21, "decimals"), (2, 1e22, "limit")):
        with pytest.raises(ValueError, match=message):
            number_texts(np.ones(1), decimals, True, 0.0, limit)
