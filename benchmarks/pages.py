"""Generated parts of pages: what stands between two marks is replaced by what was measured."""

from __future__ import annotations

from pathlib import Path

START, END = "<!-- measured -->\n", "<!-- end -->\n"


def write_part(page: Path, text: str) -> None:
    """Replaces the measured part of a page."""
    before, start, rest = page.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{page} has no {START.strip()} and {END.strip()}")
    page.write_text(f"{before}{START}\n{text}\n{END}{after}", encoding="utf-8")
