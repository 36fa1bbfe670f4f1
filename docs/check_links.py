"""Checks every link of the built site, and of the Markdown pages at the root of the repository.

Links within the site must lead to a file and, with a fragment, to an element that has this id. External links are only
checked for their form: the build must not depend on a network.

    python docs/check_links.py build/docs
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
STATIC = "_static"
LINK_ATTRIBUTES = ("href", "src")
# A link of Markdown, without the title that may follow the address.
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)[^)]*\)")


class Page(HTMLParser):
    """The links and the ids of an HTML page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in LINK_ATTRIBUTES and value:
                self.links.add(value)


def broken_links(site: Path) -> Iterator[str]:
    """A sentence for each link of the site that leads nowhere."""
    # The theme keeps templates among its static files.
    found = [path for path in sorted(site.rglob("*.html")) if STATIC not in path.parts]
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in found}
    for path, page in pages.items():
        for link in sorted(page.links):
            where = f"{path.relative_to(site.resolve())}: {link}"
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if not is_well_formed(link):
                    yield f"{where}: the address is malformed"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                yield f"{where}: there is no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                yield f"{where}: there is no such heading"


def broken_markdown_links(page: Path) -> Iterator[str]:
    """A sentence for each link of a page at the root of the repository that leads nowhere."""
    for link in MARKDOWN_LINK.findall(page.read_text(encoding="utf-8")):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if not is_well_formed(link):
                yield f"{page.name}: {link}: the address is malformed"
        elif parts.path and not (page.parent / parts.path).exists():
            yield f"{page.name}: {link}: there is no such file"


def is_well_formed(address: str) -> bool:
    """Whether an external address could work: encrypted, with a host name and without spaces.

    >>> is_well_formed("https://doi.org/10.1007/s10618-023-00967-z"), is_well_formed("https:/doi.org")
    (True, False)
    """
    parts = urlsplit(address)
    if parts.scheme in ("data", "mailto"):
        return bool(parts.path)
    return parts.scheme == "https" and "." in parts.netloc and not re.search(r"\s", address)


def main() -> None:
    """Prints the broken links, and fails if there are any."""
    site = Path(sys.argv[1])
    broken = [*broken_links(site), *(each for name in PAGES for each in broken_markdown_links(ROOT / name))]
    if broken:
        sys.exit("\n".join(broken))
    print(f"All links of {site} lead somewhere.")


if __name__ == "__main__":
    main()
