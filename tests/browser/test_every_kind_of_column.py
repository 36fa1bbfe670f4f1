"""A report with each kind of column in a browser: numbers, counts, categories, booleans, missing values, moments."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise
from tests.browser.conftest import OpenPage
from tests.browser.page_checks import COVERED, PALE
from tests.support.hostile import NAMES

N = 500
# A category whose name is a script, and one that is longer than the page is wide.
WRONG, USUAL, LONG = NAMES[0], NAMES[2], "W" * 300


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One report, in which a row of each kind is wrong."""
    random = np.random.default_rng(0)
    when = pd.date_range("2024-03-01", periods=N, freq="3h")
    zone = random.integers(0, 3, N)
    table = pd.DataFrame({"when": when, "zone": np.array(["coast", NAMES[3], "hills"])[zone]})
    table["label"] = np.array([USUAL, LONG, "plain"])[zone]
    table["is <b>open</b>"] = zone > 0
    table["visits"] = random.poisson(np.array([0.2, 3.0, 9.0])[zone])
    table["load"] = np.sin(when.hour / 24 * 2 * np.pi) + zone + 0.1 * random.normal(size=N)
    table["wind"] = np.where(zone == 2, np.nan, random.normal(size=N))
    table["unit"] = "mm"
    coast = np.flatnonzero(zone == 0)
    table.loc[coast[3], "label"] = WRONG
    table.loc[coast[5], "is <b>open</b>"] = True
    table.loc[coast[7], "visits"] = 14
    table.loc[coast[9], "load"] = 9.0
    table.loc[coast[11], "wind"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = ConditionalSurprise(["when", "zone"], list(table.columns[2:]), n_trees=16, n_jobs=1).fit(table)
    path = tmp_path_factory.mktemp("reports") / "kinds.html"
    detector.report(path, 12, title="Each kind of column")
    return {"kinds": path}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_kind_of_column_can_be_read(open_page: OpenPage, width: int, scheme: str) -> None:
    """Tests that rows of each kind are explained, that nothing overlaps or is pale, and that no name becomes code."""
    page = open_page("kinds", viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.get_by_role("button", name="Open all").click()
    text = page.locator("body").inner_text()
    for words in (
        "of comparable rows have it, ",
        "is <b>open</b> 'True'",
        "visits 14",
        "load 9.0",
        "wind is missing",
        "unit",
    ):
        assert words in text
    assert page.evaluate("window.broken") is None
    assert page.evaluate(COVERED) == []
    assert page.evaluate(PALE) == []


def test_bars_show_how_common_categories_are(open_page: OpenPage) -> None:
    """Tests that a row with a wrong category has a picture with its share and that of the usual one."""
    page = open_page("kinds")
    page.get_by_role("button", name="Open all").click()
    pictures = [each for each in page.locator("svg.categories").all_text_contents() if WRONG[:8] in each]
    assert any("%" in each and USUAL[:5] in each for each in pictures)
