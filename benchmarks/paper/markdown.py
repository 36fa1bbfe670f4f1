"""Markdown tables, and the generated parts of hand-written pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def header(titles: Sequence[str]) -> list[str]:
    """The first two lines of a table.

    >>> header(["data set", "rows"])
    ['| data set | rows |', '| --- | --- |']
    """
    return [row(titles), "|" + " --- |" * len(titles)]


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"


def has_part(page: str, name: str) -> bool:
    """Whether the page contains the marks of a part."""
    return page.count(_begin(name)) == page.count(_end(name)) == 1


def replace_part(page: str, name: str, lines: Iterable[str]) -> str:
    """Replaces the lines between `<!-- name: begin -->` and `<!-- name: end -->`."""
    begin, end = _begin(name), _end(name)
    if not has_part(page, name):
        raise ValueError(f"the page has no place for '{name}': it needs the lines '{begin}' and '{end}'")
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}"


def rewrite_part(path: Path, name: str, lines: Iterable[str]) -> None:
    """Replaces a part of a page in a file."""
    path.write_text(replace_part(path.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def _begin(name: str) -> str:
    return f"<!-- {name}: begin -->"


def _end(name: str) -> str:
    return f"<!-- {name}: end -->"
