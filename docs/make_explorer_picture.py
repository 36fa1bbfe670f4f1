"""Takes the picture of the explorer for its how-to page: the bundled weather, in the system's Chromium."""

from __future__ import annotations

import csv
import sys
import tempfile
import threading
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from paribus import datasets
from paribus.explore.folder import Folder
from paribus.explore.run import LOOPBACK, listen, make_server
from paribus.explore.session import Session

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))
from tests.browser.chromium import ADVICE, find_chromium  # noqa: E402


def take(path: Path) -> None:
    """Takes the view of the rows, with the highest score selected."""
    program = find_chromium()
    if program is None:
        raise SystemExit(f"There is no browser: {ADVICE}.")
    table = datasets.load("weather").table
    with tempfile.TemporaryDirectory() as folder, listen(0) as listener, sync_playwright() as playwright:
        days = Path(folder) / "days.csv"
        with days.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
        session = Session(Folder(Path(folder)))
        server = make_server(session, listener, "token")
        threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
        for work in (lambda: session.open(days), session.fit):
            work()
            while session.progress() is not None:
                time.sleep(0.1)
        browser = playwright.chromium.launch(executable_path=program, args=["--headless=new", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1360, "height": 980})
        page.set_default_timeout(60_000)
        page.goto(f"http://{LOOPBACK}:{listener.getsockname()[1]}/#token")
        page.locator(".line:not(.loading)").first.click()
        page.locator(".beans svg").first.wait_for()
        page.wait_for_timeout(500)
        page.screenshot(path=path)
        browser.close()
        server.should_exit = server.force_exit = True
    # With few colors the file is a third of the size.
    Image.open(path).convert("P", palette=Image.Palette.ADAPTIVE, colors=96).save(path, optimize=True)


if __name__ == "__main__":
    take(HERE / "pictures" / "explorer.png")
