"""Writing, parsing and checking of reports in tests."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.support.detectors import DetectorClass, quick
from tests.support.tables import BEHAVIOR, CONTEXT

VOID = {"meta", "link", "input"}


class Checker(HTMLParser):
    """Collects elements and text, and checks that elements are closed in the right order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        assert len(attributes) == len(dict(attributes)), f"an attribute twice in <{name}>"
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check(page: str) -> Checker:
    """Parses a page, and checks that it is well-formed and loads nothing from elsewhere."""
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert pictures
    for picture in pictures:
        ElementTree.fromstring(picture)
    for _, attributes in checker.elements:
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith(("#", "data:image/svg+xml,"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", page)
    return checker


def write(detector: Any, folder: Path, **options: Any) -> str:
    """Writes a report, and returns it as text."""
    path: Path = detector.report(folder / "report.html", **options)
    return path.read_text(encoding="utf-8")


def fit(make: DetectorClass, table: Any, contextual: Any = CONTEXT, behavioral: Any = BEHAVIOR, **options: Any) -> Any:
    """A detector with few trees, fitted without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quick(make, contextual, behavioral, **options).fit(table)


def words_of(page: str) -> str:
    """The visible text of a page, on one line."""
    return " ".join(" ".join(check(page).texts).split())
