"""The report in a real browser: by mouse and keyboard, on a phone and on paper, for both methods."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Page

from paribus import datasets
from tests.browser.conftest import OpenPage
from tests.browser.page_checks import COVERED, PALE, wait_until
from tests.support.detectors import DETECTORS, quick
from tests.support.hostile import LABEL, NAMES, hostile_table

TOP = 8


@pytest.fixture(scope="module", params=DETECTORS)
def reports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Weather, 40 contextual and 8 behavioral columns, a table that tries to break the page, long names and scores."""
    make = DETECTORS[request.param]
    folder = tmp_path_factory.mktemp("reports")
    weather = datasets.load("weather")
    random = np.random.default_rng(0)
    wide = pd.DataFrame({f"a circumstance, number {i}": random.normal(size=200) * 10.0 ** (i % 7) for i in range(40)})
    wide["when"] = pd.date_range("2024-01-01", periods=200)
    for i in range(8):
        wide[f"behavior {i}"] = random.normal(size=200) * 10.0 ** (2 * i - 6)
    long = pd.DataFrame({"ship": random.choice(["a very long name of a ship", "another long one"], 200)})
    long["id"] = [f"SHIPMENT-2026-EU-CENTRAL-{i:08}" for i in range(200)]
    long["cost"] = random.normal(size=200) * 1e9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detectors = {
            "weather": quick(make, weather.contextual, weather.behavioral, n_trees=8).fit(weather.table),
            "wide": quick(make, list(wide.columns[:41])).fit(wide),
            "hostile": quick(make, NAMES[3:], NAMES[:3]).fit(hostile_table()),
            "long": quick(make, ["ship"], ["cost"], **({"clip": 0.001} if request.param == "qcad" else {})).fit(long),
        }
    ids = {"hostile": LABEL, "long": "id"}
    return {
        name: it.report(folder / f"{name}.html", TOP, title=NAMES[0], id_column=ids.get(name))
        for name, it in detectors.items()
    }


def _names(page: Page) -> list[str]:
    return page.locator(".list > tbody:not([hidden]) .name").all_inner_texts()


def _scores(page: Page) -> list[float]:
    return [float(text.replace(",", "")) for text in page.locator(".list > tbody .score").all_inner_texts()]


def test_sorting_by_mouse_and_keyboard(open_page: OpenPage) -> None:
    """Tests that the headings sort in both directions, and announce it."""
    page = open_page("weather")
    descending = _scores(page)
    assert descending == sorted(descending, reverse=True)
    heading = page.get_by_role("columnheader", name="score")
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert _scores(page) == sorted(descending)
    assert page.get_by_role("status").inner_text() == "Sorted by score, ascending"
    page.get_by_role("columnheader", name="row", exact=True).get_by_role("button").press("Space")
    rows = [int(name.removeprefix("row ")) for name in _names(page)]
    assert rows == sorted(rows)
    assert page.locator("[aria-sort]").count() == 1


def test_filtering_by_word_and_by_column(open_page: OpenPage) -> None:
    """Tests that the search box and the list of columns keep the rows that match, and count them."""
    page = open_page("weather")
    first = _names(page)[0]
    page.get_by_label("Search").fill(first.upper())
    assert _names(page) == [first]
    assert page.get_by_role("status").inner_text() == f"1 of {TOP} rows"
    page.get_by_label("Search").fill("no such word")
    assert _names(page) == []
    assert page.get_by_text("No row matches.").is_visible()
    page.get_by_label("Search").fill("")
    assert len(_names(page)) == TOP
    choice = page.get_by_label("Leading column")
    choice.select_option(index=1)
    chosen = choice.locator("option").nth(1).inner_text().rpartition(" (")[0]
    shown = page.locator(".list > tbody:not([hidden]) .feature").all_inner_texts()
    assert 0 < len(shown) < TOP
    assert set(shown) == {chosen}


def test_opening_an_explanation_by_keyboard(open_page: OpenPage) -> None:
    """Tests that Tab moves to a row, that Enter opens its explanation and that Space closes it again."""
    page = open_page("weather")
    page.get_by_role("button", name="Open all").focus()
    for _ in range(5):
        # Four headings, and then the first row.
        page.keyboard.press("Tab")
    button = page.locator(".name button").first
    panel = page.locator(".panel").first
    assert button.evaluate("it => it === document.activeElement")
    assert float(button.evaluate("it => parseFloat(getComputedStyle(it).outlineWidth)")) >= 2
    assert not panel.is_visible()
    page.keyboard.press("Enter")
    assert panel.is_visible()
    assert button.get_attribute("aria-expanded") == "true"
    assert page.locator(f"#{button.get_attribute('aria-controls')}").is_visible()
    page.keyboard.press("Space")
    assert not panel.is_visible()
    assert button.get_attribute("aria-expanded") == "false"


def test_opening_all_and_by_mouse(open_page: OpenPage) -> None:
    """Tests that a click anywhere in a row opens it, and that all can be opened and closed at once."""
    page = open_page("weather")
    page.locator(".sentence").nth(3).click()
    assert page.locator(".panel").nth(3).is_visible()
    page.get_by_role("button", name="Open all").click()
    assert page.locator(".panel:visible").count() == TOP
    page.get_by_role("button", name="Close all").click()
    assert page.locator(".panel:visible").count() == 0


def test_links_and_dots_lead_to_rows(open_page: OpenPage) -> None:
    """Tests that the address of a row opens it, and that a dot of the map does."""
    page = open_page("weather")
    anchor = page.locator(".list > tbody").nth(5).get_attribute("id")
    page = open_page("weather", anchor=f"#{anchor}", reduced_motion="reduce")
    panel = page.locator(f"#{anchor} .panel")
    assert panel.is_visible()
    assert panel.evaluate("it => it.getBoundingClientRect().top < innerHeight")
    page.get_by_label("Search").fill("no such word")
    # The highest score is drawn last.
    page.locator("circle.top").last.click()
    assert page.locator(".panel").first.is_visible()


@pytest.mark.parametrize("name", ["weather", "wide", "hostile", "long"])
def test_nothing_is_cut_or_covered(open_page: OpenPage, name: str) -> None:
    """Tests, with all rows open, that the page does not scroll sideways and that no texts overlap."""
    page = open_page(name)
    page.get_by_role("button", name="Open all").click()
    for width in (360, 800, 1200):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate(COVERED) == []


def test_wide_tables_say_that_they_scroll(open_page: OpenPage) -> None:
    """Tests that on a phone the table of nearest rows has a hint, its names leave room, and words wrap."""
    page = open_page("long", viewport={"width": 360, "height": 740})
    page.locator(".name button").first.click()
    table = page.get_by_role("region", name="Nearest comparable rows of").first
    table.wait_for()
    wait_until(page, "document.querySelector('.open .scroll.more') !== null")
    assert "Scroll sideways" in table.evaluate("it => getComputedStyle(it, '::before').content")
    assert table.evaluate("it => it.querySelector('tbody th').offsetWidth < 0.5 * it.clientWidth")
    assert table.get_attribute("tabindex") == "0"
    page.set_viewport_size({"width": 1200, "height": 740})
    wait_until(page, "document.querySelector('.open .scroll.more') === null")
    assert table.get_attribute("tabindex") == "-1"
    page = open_page("wide", viewport={"width": 360, "height": 740})
    page.locator(".name button").first.click()
    words = page.get_by_role("region", name="More of the context of").first
    assert words.evaluate("it => it.scrollWidth <= it.clientWidth")


@pytest.mark.parametrize("reports", ["qcad"], indirect=True)  # Scores of the other method are probabilities in digits.
def test_scores_stay_in_their_column(open_page: OpenPage) -> None:
    """Tests that the largest number that is written in full fits, and that a larger one is shortened."""
    page = open_page("long")
    page.evaluate("document.querySelector('.score').textContent = '999,999.9'")
    assert page.evaluate("[...document.querySelectorAll('.score')].every(it => it.scrollWidth <= it.clientWidth)")
    assert max(_scores(page)[1:]) >= 1e4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_in_both_themes(open_page: OpenPage, scheme: Any) -> None:
    """Tests that every text has a contrast of at least 4.5, in the system's theme and in the other one."""
    page = open_page("weather", color_scheme=scheme)
    page.get_by_role("button", name="Open all").click()
    for dark in (scheme == "dark", scheme != "dark"):
        assert page.locator("#theme").inner_text() == ("Light colors" if dark else "Dark colors")
        brightness = page.evaluate("Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g))")
        assert (brightness < 60) if dark else (brightness > 200)
        assert page.evaluate(PALE) == []
        page.locator("#theme").click()


def test_paper(open_page: OpenPage) -> None:
    """Tests that on paper all explanations are open, all sentences complete, colors light and controls hidden."""
    page = open_page("weather", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".panel:visible").count() == TOP
    assert page.locator("#search, #theme, #all, nav").locator("visible=true").count() == 0
    assert page.evaluate("getComputedStyle(document.querySelector('.panel')).color") == "rgb(28, 33, 38)"
    assert page.evaluate(
        "[...document.querySelectorAll('.sentence p')].every(p => p.scrollHeight <= p.clientHeight + 1)"
    )
    numbers = page.locator(".small td.n")
    assert numbers.evaluate_all(
        "all => all.length > 0 && all.every(it => getComputedStyle(it).whiteSpace === 'nowrap')"
    )
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_hostile_names_are_text(open_page: OpenPage) -> None:
    """Tests that nothing in a table runs or becomes markup, and that it is shown as text."""
    page = open_page("hostile")
    page.get_by_role("button", name="Open all").click()
    assert page.evaluate("window.broken") is None
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, form").count() == 0
    attributes = page.evaluate("[...document.querySelectorAll('*')].flatMap(it => [...it.attributes].map(a => a.name))")
    assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert page.title() == NAMES[0]
    assert "<img src=x" in page.locator("#details").inner_text()
    assert "{{ 7 * 7 }}" in page.locator("#details").inner_text()


def test_the_policy_stops_what_escaping_would_miss(browser: Browser, reports: dict[str, Path]) -> None:
    """Tests that a script injected into the page does not run, and that nothing is fetched."""
    page = browser.new_page()
    page.goto(reports["weather"].as_uri())
    page.evaluate(
        """() => {
            window.stopped = [];
            addEventListener("securitypolicyviolation", (event) => window.stopped.push(event.effectiveDirective));
            const script = document.createElement("script");
            script.textContent = "window.broken = 7";
            const image = document.createElement("img");
            image.src = "https://example.org/x.png";
            document.body.append(script, image);
        }"""
    )
    wait_until(page, "window.stopped.length >= 2")
    assert {directive.partition("-src")[0] for directive in page.evaluate("window.stopped")} == {"script", "img"}
    assert page.evaluate("window.broken") is None
    page.close()


def test_the_page_works_without_script(open_page: OpenPage) -> None:
    """Tests that without script all explanations are visible, and controls that need it are not."""
    page = open_page("weather", java_script_enabled=False)
    assert page.locator(".panel:visible").count() == TOP
    assert page.locator("#search, #theme, #all").locator("visible=true").count() == 0


def test_screen_readers_find_their_way(open_page: OpenPage) -> None:
    """Tests that there are landmarks, that headings skip no level, and that pictures, tables and inputs have names."""
    page = open_page("weather")
    page.get_by_role("button", name="Open all").click()
    for role in ("banner", "main", "contentinfo", "navigation", "search"):
        assert page.get_by_role(role).count() == 1
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(it => Number(it.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate(
        """[...document.querySelectorAll("svg, table, input, select, button, [role=region]")].filter((it) => !(
            it.getAttribute("aria-label") || it.getAttribute("aria-labelledby") || it.getAttribute("aria-hidden")
            || it.querySelector("caption") || (it.labels && it.labels.length) || it.textContent.trim()
        )).map((it) => it.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    assert page.locator("html").get_attribute("lang") == "en"
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(it => it.id)")
    assert len(ids) == len(set(ids))
