"""Tests of notes on numbers that stand for missing values."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import QCAD, ConditionalSurprise
from paribus.tables.placeholders import find_placeholder
from tests.support.running import invoke

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.append(RANDOM.normal(20.0, 5.0, 300), [-999.0] * 30), (-999, 30)),
        (np.append(RANDOM.normal(20.0, 5.0, 300), [-999.0] * 30 + [2_000.0]), (-999, 30)),
        (np.append(RANDOM.poisson(3.0, 300), [99.0] * 3), (99, 3)),
        (np.append(RANDOM.choice([4.0, 5.0], 300, p=[0.2, 0.8]), [99.0] * 20), (99, 20)),
        (np.append(RANDOM.exponential(2.0, 300), [-200.0] * 100), (-200, 100)),
        (np.append(RANDOM.uniform(900.0, 1100.0, 300), [-200.0] * 10), (-200, 10)),
        (np.append(RANDOM.lognormal(3.0, 1.0, 300), [1e6] * 9), (1_000_000, 9)),
        (np.append(RANDOM.normal(20.0, 5.0, 300), [-999.0, -999.0]), None),
        (np.append(RANDOM.normal(0.0, 60.0, 300), [-100.0] * 9), None),
        (np.append(RANDOM.uniform(0.0, 80.0, 300), [99.0] * 9), None),
        (np.append(RANDOM.exponential(50.0, 300), [-100.0] * 3), None),
        (np.append(RANDOM.exponential(50.0, 300), [-99.0] * 3), (-99, 3)),
        (np.append(np.full(300, 0.0), [100.0] * 9), None),
        (np.append(RANDOM.uniform(1.0, 8.0, 300), [24.0] * 90), None),
        (np.full(300, np.nan), None),
        (np.full(300, 999.0), None),
    ],
    ids=[
        "nines below",
        "nines beside another wrong number",
        "nines above",
        "nines beyond the most common",
        "the only negative one",
        "near, but the only negative one",
        "round",
        "twice",
        "among other negative ones",
        "the end of a range",
        "losses among profits",
        "nines, and the only negative one",
        "a rare amount",
        "another number",
        "no values",
        "a constant",
    ],
)
def test_placeholders_are_recognized(values: Any, expected: tuple[int, int] | None) -> None:
    """Tests what is taken for a placeholder, and what is not, wherever values are missing."""
    assert find_placeholder(np.append(values, [np.nan, np.nan])) == expected


def make_table(n: int = 300) -> dict[str, list[Any]]:
    random = np.random.default_rng(0)
    table = {name: random.normal(20.0, 5.0, n).round(1) for name in ("hour", "wind", "rain")}
    table["wind"][:30] = -999.0
    return {name: column.tolist() for name, column in table.items()}


@pytest.mark.parametrize("roles", [(["hour"], ["wind", "rain"]), (["wind"], ["hour", "rain"])])
@pytest.mark.parametrize("detector", [ConditionalSurprise, QCAD])
def test_fit_warns_of_placeholders(detector: Any, roles: tuple[list[str], list[str]]) -> None:
    """Tests that the warning names column, value and rows, for each role; and that it goes away as it says."""
    table = make_table()
    with pytest.warns(UserWarning, match=r"column 'wind' is -999 in 30 rows, .* replace -999 by NaN"):
        detector(*roles, n_trees=4).fit(table)
    table["wind"] = [None if value == -999 else value for value in table["wind"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        detector(*roles, n_trees=4).fit(table)


def test_category_codes_and_timestamps_are_no_placeholders() -> None:
    """Tests that columns that are not numbers are left alone."""
    table = make_table()
    table["wind"] = [999 if value < 0 else 1 for value in table["wind"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConditionalSurprise(["wind"], ["hour"], categorical=["wind"], n_trees=4).fit(table)


def test_the_shell_says_which_option_to_add(tmp_path: Path) -> None:
    """Tests that what the note says to add is understood, and makes it go away."""
    table = make_table()
    path = tmp_path / "days.csv"
    lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
    path.write_text("\n".join(lines))
    command = ["detect", str(path), "-c", "hour", "-b", "wind,rain", "--n-trees", "4"]
    _, _, notes = invoke(*command)
    assert "column 'wind' is -999 in 30 rows" in notes
    assert "add --missing -999" in notes
    code, _, notes = invoke(*command, "--missing", "-999")
    assert code == 0
    assert "add --missing" not in notes
