"""The page as it is committed: made from its sources, small, and without anything from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path

WEB = Path(__file__).parents[2] / "web"
STATIC = files("paribus.explore") / "static"


def test_the_page_is_made_from_its_sources() -> None:
    """Tests that the committed page is the product of the committed sources: run `make web` after a change."""
    digest = hashlib.sha256()
    for path in [WEB / "package-lock.json", *sorted((WEB / "src").iterdir(), key=lambda path: path.name)]:
        name = path.name if path.parent == WEB else f"src/{path.name}"
        digest.update(f"{name}\n".encode())
        digest.update(path.read_bytes())
    assert (STATIC / "sources.sha256").read_text().strip() == digest.hexdigest()


def test_the_page_is_small_and_complete() -> None:
    """Tests that the page has fewer than 300 kB, and asks for nothing from other machines."""
    texts = {name: (STATIC / name).read_text(encoding="utf-8") for name in ("app.js", "app.css", "index.html")}
    assert sum(len(text.encode()) for text in texts.values()) < 300_000
    for text in texts.values():
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert addresses <= {
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1998/Math/MathML",
            "http://www.w3.org/1999/xhtml",
        }


def test_the_licenses_of_libraries_are_passed_on() -> None:
    """Tests that the license of each bundled library is in the package."""
    text = (STATIC / "LICENSES.txt").read_text(encoding="utf-8")
    assert all(name in text for name in json.loads((WEB / "package.json").read_text())["dependencies"])


def test_no_registry_is_named() -> None:
    """Tests that the lock file names packages, versions and checksums, and no host."""
    assert "resolved" not in (WEB / "package-lock.json").read_text(encoding="utf-8")
