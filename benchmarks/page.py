"""Pages of the documentation with a part that is generated."""

from __future__ import annotations

from pathlib import Path


def replace_part(path: Path, name: str, lines: list[str]) -> None:
    """Puts lines between the marks of a part: `<!-- name: begin -->` and `<!-- name: end -->`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text(encoding="utf-8")
    before, rest = page.split(begin)
    _, after = rest.split(end)
    path.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{after}", encoding="utf-8")
