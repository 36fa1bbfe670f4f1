"""Takes the picture of the report for the README: the bundled weather, in the system's Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from paribus import ConditionalSurprise, datasets

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
from tests.browser.chromium import ADVICE, find_chromium  # noqa: E402


def take(path: Path) -> None:
    """Takes the top of the page, and below it the explanation of the highest score."""
    weather = datasets.load("weather")
    detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    program = find_chromium()
    if program is None:
        raise SystemExit(f"There is no browser: {ADVICE}.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        report = detector.report(Path(folder) / "report.html", title="The weather of a made-up country")
        browser = playwright.chromium.launch(executable_path=program, args=["--headless=new", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 800}, reduced_motion="reduce")
        page.goto(report.as_uri())
        page.locator(".name button").first.click()
        # The README shows the result, not the controls.
        page.evaluate("document.querySelectorAll('nav, #reading, .controls').forEach((it) => { it.hidden = true; })")
        page.evaluate("scrollTo(0, 0)")
        last = page.locator(".profiles").first.bounding_box()
        assert last is not None
        height = last["y"] + last["height"] + 24
        page.screenshot(path=path, full_page=True, clip={"x": 0, "y": 0, "width": 1120, "height": height})
        browser.close()
    # With few colors the file is a third of the size.
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path, optimize=True)


if __name__ == "__main__":
    take(HERE / "pictures" / "report.png")
