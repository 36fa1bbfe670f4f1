"""The report's list of all flagged rows in a real browser: ten thousand of them, groups, marks, and what is lazy."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import ConditionalSurprise
from paribus.explain.known import read_known
from tests.browser.conftest import OpenPage
from tests.browser.page_checks import COVERED, PALE, busy_seconds
from tests.support.hostile import LABEL, NAMES, hostile_table

SHOWN = ".list > tbody"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Ten thousand flagged rows with a planted group and a time; and a table that tries to break the page."""
    folder = tmp_path_factory.mktemp("long")
    random = np.random.default_rng(0)
    n = 20_000
    table: dict[str, Any] = {
        "a": random.uniform(size=n).round(2),
        "x": random.normal(size=n).round(2),
        "city": random.choice(np.array(["Amsterdam", "Rotterdam"], dtype=object), n),
        "when": np.datetime64("2020-01-01", "us") + np.arange(n) * np.timedelta64(1, "h"),
    }
    table["x"][500:520] = -9.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = ConditionalSurprise(["a"], ["x"], n_trees=2, contamination=0.5, max_samples=500).fit(table)
        hostile = ConditionalSurprise(NAMES[3:], NAMES[:3], n_trees=4, contamination=0.4).fit(hostile_table())
    return {
        "many": many.report(folder / "many.html"),
        "hostile": hostile.report(folder / "hostile.html", 5, id_column=LABEL),
    }


def test_ten_thousand_rows_are_quick(open_page: OpenPage, reports: dict[str, Path]) -> None:
    """Tests that the page is small, opens with all rows in two seconds of processor time, and that filters keep up."""
    assert reports["many"].stat().st_size < 5_000_000
    page = open_page("many")
    assert busy_seconds(page) < 2
    assert page.get_by_role("status").inner_text() == "10,000 rows"
    assert page.locator(SHOWN).count() == 50
    page.get_by_role("button", name="Show 200 more of 9,950").click()
    assert page.locator(SHOWN).count() == 250
    before = busy_seconds(page)
    page.get_by_label("Search").fill("rotterdam")
    found = page.get_by_role("status").inner_text()
    assert busy_seconds(page) - before < 1
    assert re.fullmatch(r"[45],\d{3} of 10,000 rows", found)
    page.get_by_role("columnheader", name="score").get_by_role("button").click()
    page.get_by_role("columnheader", name="score").get_by_role("button").click()
    lowest = page.locator(".score").first.inner_text()
    assert float(lowest) < float(page.locator(".score").nth(49).inner_text()) + 1e-9


def test_rows_are_explained_when_they_are_opened(open_page: OpenPage) -> None:
    """Tests a row without pictures: its values, what is usual, and behind a click all columns; by keyboard."""
    page = open_page("many")
    page.get_by_role("button", name="Show 200 more").click()
    row = page.locator(SHOWN).nth(60)
    row.locator(".name button").focus()
    page.keyboard.press("Enter")
    panel = row.locator(".panel")
    assert panel.is_visible()
    assert "usually" in panel.locator(".lines").inner_text()
    columns = panel.get_by_text("All columns of this row")
    columns.focus()
    page.keyboard.press("Enter")
    assert {"a", "x", "city", "when"} <= set(panel.locator(".columns th").all_inner_texts())
    first = page.locator(SHOWN).first
    first.locator(".name button").click()
    first.get_by_text("All columns of this row").click()
    assert re.search("Amsterdam|Rotterdam", first.locator(".columns").inner_text())


def test_a_link_to_a_row_far_down_opens_it(open_page: OpenPage) -> None:
    """Tests that the address of a row without pictures leads to it."""
    page = open_page("many")
    page.get_by_role("button", name="Show 200 more").click()
    anchor = page.locator(SHOWN).nth(200).get_attribute("id")
    page = open_page("many", anchor=f"#{anchor}", reduced_motion="reduce")
    assert page.locator(f"#{anchor} .panel").is_visible()


def test_a_group_opens_to_its_rows(open_page: OpenPage) -> None:
    """Tests that the card has the rule, and that its button lists its rows and nothing else."""
    page = open_page("many")
    card = page.locator(".group").filter(has_text="x is -9.00 where")
    assert "Group" in card.locator("h3").inner_text()
    card.get_by_role("button", name="Show its rows").click()
    assert page.get_by_role("status").inner_text() == "20 of 10,000 rows"
    assert all("x -9.00" in text for text in page.locator(".sentence").all_inner_texts())


def test_marks_become_a_list_of_known_rows(open_page: OpenPage, tmp_path: Path) -> None:
    """Tests that rows and groups can be marked, and that the file is one that paribus reads."""
    page = open_page("many")
    assert not page.get_by_role("button", name="Download known.csv").is_visible()
    card = page.locator(".group").filter(has_text="x is -9.00 where")
    card.get_by_label("Mark as").select_option("known cause")
    card.get_by_label("Note").fill('=HYPERLINK("http://example.org"), a test')
    first = page.locator(SHOWN).first
    first.locator(".name button").click()
    first.get_by_label("Mark as").select_option("confirmed")
    with page.expect_download() as caught:
        page.get_by_role("button", name="Download known.csv (2)").click()
    caught.value.save_as(tmp_path / "known.csv")
    text = (tmp_path / "known.csv").read_text()
    assert "'=HYPERLINK" in text
    rule, row = read_known(tmp_path / "known.csv")
    assert (rule.rule and rule.rule.text, rule.status) == ("x = -9", "known cause")
    assert rule.note.startswith("=HYPERLINK")
    assert row.status == "confirmed"
    assert row.row is not None
    assert row.row.isdecimal()


@pytest.mark.parametrize("width", [360, 1200])
def test_lazy_rows_fit_and_are_readable(open_page: OpenPage, width: int) -> None:
    """Tests that rows made by the script fit a phone, overlap nothing, and have contrast in both themes."""
    page = open_page("many", viewport={"width": width, "height": 740}, color_scheme="dark" if width == 360 else "light")
    page.get_by_label("Search").fill("amsterdam 2020-05")
    page.get_by_role("button", name="Open all").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(COVERED) == []
    assert page.evaluate(PALE) == []


def test_hostile_rows_of_the_data_are_text(open_page: OpenPage) -> None:
    """Tests that nothing in the data runs or becomes markup when the script shows it."""
    page = open_page("hostile")
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    assert page.locator(SHOWN).count() > 5
    page.get_by_role("button", name="Open all").click()
    page.evaluate("document.querySelectorAll('.columns').forEach((it) => { it.open = true; })")
    assert page.evaluate("window.broken") is None
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, form").count() == 0
    attributes = page.evaluate("[...document.querySelectorAll('*')].flatMap(it => [...it.attributes].map(a => a.name))")
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(it => it.id)")
    assert len(ids) == len(set(ids))
