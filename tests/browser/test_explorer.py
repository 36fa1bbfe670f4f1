"""The explorer in a real browser: whole stories, by mouse and by keyboard, in two tabs and without a server."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from paribus.explain.known import read_known
from paribus.explore.folder import Folder
from paribus.explore.run import LOOPBACK, listen, make_server
from paribus.explore.session import Session
from paribus.explore.take_away import make
from tests.browser import page_checks
from tests.explore.support import QUICK, ROLES, TOKEN, wait, write_stones
from tests.support.hostile import NAMES

OpenPage = Callable[..., Page]
PATIENCE = page_checks.PATIENCE * 1000  # milliseconds
SCREEN = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}


class Running:
    """An explorer that runs at a port of this machine."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.session = Session(Folder(folder), n_jobs=1)
        self.listener = listen(port)
        self.port: int = self.listener.getsockname()[1]
        self._server: uvicorn.Server = make_server(self.session, self.listener, TOKEN)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/#{TOKEN}"

    def stop(self) -> None:
        self.session.stop()
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10)
        self.listener.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    write_stones(folder / "stones.csv")
    (folder / "broken.csv").write_text('a,b\n1,2\n3\n"')
    names = [name.replace('"', '""').replace("\n", " ") for name in NAMES[:4]]
    rows = "\n".join(f'{i},{i % 7},"<img src=x onerror=alert({i})>",{i * 37 % 11}' for i in range(60))
    header = ",".join('"' + name + '"' for name in names)
    (folder / "hostile.csv").write_text(f"{header}\n{rows}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Running]:
    """A server whose table is fitted."""
    running = Running(folder)
    running.session.open(folder / "stones.csv")
    wait(running.session)
    running.session.set_roles(ROLES)
    running.session.set_parameters(QUICK)
    running.session.fit()
    wait(running.session)
    yield running
    running.stop()


@pytest.fixture
def open_page(browser: Browser, server: Running) -> Iterator[OpenPage]:
    """Opens the page. At the end, nothing went wrong in the browser, and it asked no other machine for anything."""
    contexts, complaints, requests = [], [], []

    def open_it(address: str | None = None, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": SCREEN, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address or server.address)
        return page

    yield open_it
    while server.session.undo():
        pass
    for context in contexts:
        context.close()
    # A refused or lost connection is what some tests are about; browsers report each.
    assert [each for each in complaints if "Failed to load resource" not in each] == []
    assert all(re.match(rf"(http://{LOOPBACK}:\d+/|blob:|data:)", url) for url in requests)


def violations(page: Page) -> list[str]:
    """The accessibility rules that a page violates."""
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:150]}" for each in found]


def test_from_a_file_to_a_decision(open_page: OpenPage, folder: Path, tmp_path: Path) -> None:
    """Tests the whole story: open a file, drag a column, find z = 0, mark the group as known, and export the list."""
    running = Running(folder)
    try:
        page = open_page(running.address)
        page.get_by_role("button", name="stones.csv").click()
        page.locator(".role-context .column", has_text="carat").wait_for()
        page.locator(".column", has_text="day").drag_to(page.locator(".role-none"))
        expect(page.locator(".role-none .column", has_text="day")).to_be_visible(timeout=PATIENCE)
        for name, role in ROLES.items():
            page.locator(f"select[data-column={name}]").select_option(role)
        page.get_by_text("Method and parameters").click()
        page.locator(".parameters select").last.select_option("16")
        page.get_by_role("button", name="Find unusual rows").click()
        group = page.locator(".groups li", has_text="z is 0")
        group.wait_for()
        page.locator(".line:not(.loading)").first.click()
        expect(page.locator(".beans svg").first).to_be_visible(timeout=PATIENCE)
        group.get_by_role("button", name="Known cause").click()
        expect(page.locator(".badge")).to_have_text("1", timeout=PATIENCE)
        expect(page.locator(".line", has_text="S0020")).to_have_count(0, timeout=PATIENCE)
        assert read_known(folder / "stones.known.csv")[0].status == "known cause"
        page.get_by_role("button", name="Take away").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="List as CSV").click()
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert path.name == "stones-anomalies.csv"
        assert path.read_text().count("known cause") == 6
        while running.session.undo():
            pass
    finally:
        running.stop()


def test_by_keyboard_alone(open_page: OpenPage, server: Running) -> None:
    """Tests that rows are selected, decided, taken back and asked about without a mouse, and roles changed."""
    page = open_page()
    page.locator(".line:not(.loading)").first.wait_for()
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".line[aria-selected=true]")).to_have_attribute("aria-posinset", "2", timeout=PATIENCE)
    first = page.locator(".line[aria-selected=true]").locator(".line-name").inner_text()
    page.keyboard.press("f")
    expect(page.locator(".badge")).to_have_text("1", timeout=PATIENCE)
    assert server.session.state()["answers"][0]["row"] == first
    page.keyboard.press("u")
    expect(page.locator(".badge")).to_have_count(0, timeout=PATIENCE)
    page.keyboard.press("n")
    page.locator("#row-title").wait_for()
    page.get_by_role("button", name="Columns").focus()
    page.keyboard.press("Enter")
    page.locator("select[data-column=day]").focus()
    page.keyboard.press("c")
    expect(page.locator(".role-context .column", has_text="day")).to_be_visible(timeout=PATIENCE)
    server.session.set_roles(ROLES)


@pytest.mark.parametrize(
    ("options", "views"),
    [
        ({"viewport": PHONE}, ("Rows", "Columns", "Answers", "Take away")),
        ({"color_scheme": "dark"}, ("Rows", "Columns")),
    ],
    ids=["phone", "dark"],
)
def test_every_view_is_accessible(open_page: OpenPage, options: dict[str, Any], views: tuple[str, ...]) -> None:
    """Tests that no view violates the rules of axe, on a phone, in light and dark, and that none is too wide."""
    page = open_page(**options)
    page.locator(".line:not(.loading)").first.click()
    first = page.locator("#row-title").inner_text()
    page.keyboard.press("f")
    expect(page.locator(".badge")).to_have_text("1", timeout=PATIENCE)
    # Only then is the next row there, to which the answer leads.
    expect(page.locator("#row-title")).not_to_have_text(first, timeout=PATIENCE)
    page.locator(".beans svg").first.wait_for()
    page.get_by_text("What if …").click()
    page.locator(".inputs input:not([type])").last.fill("1")
    page.locator(".verdict table").wait_for()
    page.get_by_label("rows like this").check()
    page.get_by_text("The rule is about").wait_for()
    for view in views:
        page.locator("nav button", has_text=view).click()
        page.locator("main h2").first.wait_for()
        assert violations(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_a_report_is_read_and_marked(open_page: OpenPage, server: Running, folder: Path) -> None:
    """Tests that a report opens on a phone as what it is, with rows to mark, and without questions to a detector."""
    result = server.session.taught()
    (folder / "stones-report.html").write_bytes(make("report", result, server.session.origin()).content)
    running = Running(folder)
    try:
        page = open_page(running.address, viewport=PHONE)
        page.get_by_role("button", name="stones-report.html").click()
        page.get_by_text("This is a report.").wait_for()
        page.locator(".line", has_text="S0020").click()
        expect(page.locator(".sentence")).to_contain_text("z 0.000", timeout=PATIENCE)
        assert page.get_by_text("What if …").count() == 0
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".groups li", has_text="z is 0").get_by_role("button", name="Known cause").click()
        expect(page.locator(".line", has_text="S0020")).to_have_count(0, timeout=PATIENCE)
        assert read_known(folder / "stones-report.known.csv")[0].rule is not None
        page.get_by_role("button", name="Take away").click()
        page.get_by_text("A report holds no detector").wait_for()
        assert page.get_by_role("button", name="Model").count() == 0
    finally:
        running.stop()


def test_two_tabs_stay_consistent(open_page: OpenPage) -> None:
    """Tests that a decision in one tab is seen in the other one at once."""
    one, two = open_page(), open_page()
    one.locator(".line:not(.loading)").first.wait_for()
    two.locator(".line:not(.loading)").first.click()
    two.keyboard.press("k")
    expect(one.locator(".badge")).to_have_text("1", timeout=PATIENCE)
    one.get_by_role("button", name="Answers").click()
    one.get_by_role("button", name="take back").click()
    expect(two.locator(".badge")).to_have_count(0, timeout=PATIENCE)


def test_the_map_and_the_list_are_linked(open_page: OpenPage) -> None:
    """Tests that a rectangle in the map filters the list, and that the threshold says how many rows are flagged."""
    page = open_page()
    page.locator(".line:not(.loading)").first.wait_for()
    before = page.locator(".flagged").inner_text()
    page.locator(".map-head select").first.select_option("z")
    page.get_by_role("img", name="by carat and z").wait_for()
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 70, box["y"] + box["height"] - 60)
    page.mouse.down()
    # Sizes of 0 lie beyond the axis, and are drawn at its end.
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 25, steps=3)
    page.mouse.up()
    expect(page.locator(".chip")).to_have_count(2, timeout=PATIENCE)
    expect(page.get_by_role("listbox")).to_have_accessible_name(re.compile("^6 rows"), timeout=PATIENCE)
    page.get_by_text("clear filters").click()
    page.locator("#threshold").focus()
    page.keyboard.press("Home")
    expect(page.locator(".flagged")).not_to_have_text(before, timeout=PATIENCE)


def test_what_if_in_the_page(open_page: OpenPage) -> None:
    """Tests that the verdict follows a value that is typed, and says what is wrong with one that makes no sense."""
    page = open_page()
    page.locator(".filters select").nth(2).select_option("x")
    page.locator(".line:not(.loading)").first.click()
    page.get_by_text("What if …").click()
    page.locator("#what-if-x").fill("6.5")
    expect(page.locator(".verdict")).to_contain_text("instead of", timeout=PATIENCE)
    page.locator("#what-if-x").fill("wide")
    expect(page.locator(".verdict")).to_contain_text("must be a number", timeout=PATIENCE)


def test_a_lost_server_is_shown_and_found_again(open_page: OpenPage, folder: Path) -> None:
    """Tests that a page without a server says so, and goes on by itself when the server is back."""
    running = Running(folder)
    page = open_page(running.address)
    page.get_by_role("button", name="stones.csv").wait_for()
    running.stop()
    expect(page.get_by_role("alert")).to_contain_text("does not answer", timeout=PATIENCE)
    again = Running(folder, running.port)
    try:
        expect(page.get_by_role("alert")).to_have_count(0, timeout=PATIENCE)
    finally:
        again.stop()


def test_a_wrong_token_says_what_to_do(open_page: OpenPage, server: Running) -> None:
    """Tests that the page without the token shows no data, and says where the address is."""
    page = open_page(f"http://{LOOPBACK}:{server.port}/#guess")
    expect(page.get_by_role("alert")).to_contain_text("the one that paribus printed", timeout=PATIENCE)
    assert "stones" not in page.content()


def test_broken_and_hostile_files(open_page: OpenPage, folder: Path) -> None:
    """Tests that a broken file is a sentence in the page, and that nothing in cells and names is executed."""
    running = Running(folder)
    try:
        page = open_page(running.address)
        page.get_by_role("button", name="broken.csv").click()
        expect(page.get_by_role("alert")).to_contain_text("broken.csv", timeout=PATIENCE)
        page.get_by_role("button", name="hostile.csv").click()
        page.locator(".column").first.wait_for()
        wait(running.session)
        names = list(running.session.state()["roles"])
        roles = dict.fromkeys(names, "behavior") | {names[1]: "context", names[2]: "none"}
        running.session.set_roles(roles)
        page.get_by_role("button", name="Find unusual rows").click()
        page.locator(".filters select").first.select_option("all")
        page.locator(".line:not(.loading)").first.click()
        page.locator("#row-title").wait_for()
        page.get_by_text("All values of the row").click()
        assert page.locator("main img").count() == 0
    finally:
        running.stop()


def test_only_this_machine_can_connect(server: Running) -> None:
    """Tests that the server listens at the loopback interface and nowhere else."""
    assert server.listener.family == socket.AF_INET
    assert server.listener.getsockname()[0] == LOOPBACK
