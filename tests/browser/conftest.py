"""One browser for all tests, and pages in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import ADVICE, find_chromium
from tests.browser.page_checks import PATIENCE, wait_until
from tests.support.budget import ending_a_shared_process
from tests.support.system_packages import must_have

OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a process, because starting it takes longer than most tests."""
    program = find_chromium()
    if program is None:
        reason = f"there is no browser to test the report in: {ADVICE}"
        pytest.fail(reason) if must_have() else pytest.skip(reason)
    with sync_playwright() as playwright:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu"]
        launched = playwright.chromium.launch(executable_path=program, args=flags)
        yield launched
        with ending_a_shared_process():
            launched.close()
            playwright.stop()


@pytest.fixture
def open_page(browser: Browser, reports: dict[str, Path]) -> Iterator[OpenPage]:
    """Opens one of the module's `reports`. At the end, the browser has reported no problem and requested nothing else.

    Waits for the page's script, unless the browser has none.
    """
    contexts, complaints, requests = [], [], []

    def open_it(name: str, anchor: str = "", **options: Any) -> Page:
        context = browser.new_context(accept_downloads=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url.partition("#")[0]))
        page.goto(reports[name].as_uri() + anchor)
        if options.get("java_script_enabled", True):
            wait_until(page, "document.documentElement.dataset.ready !== undefined")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []
    # The icon is part of the page.
    assert {url for url in requests if not url.startswith("data:")} <= {path.as_uri() for path in reports.values()}
