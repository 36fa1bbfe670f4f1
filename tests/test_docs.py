"""The pages that programs write, and the check of the links between all pages."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def test_the_list_of_data_sets_is_up_to_date() -> None:
    """Tests that docs/results/datasets.md is what docs/make_datasets.py makes of it."""
    page = (DOCS / "results" / "datasets.md").read_text(encoding="utf-8")
    assert page == runpy.run_path(str(DOCS / "make_datasets.py"))["write_list"](page)


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("other.html", None),
        ("other.html#there", None),
        ("#here", None),
        ("folder/", None),
        ("https://example.org/page", None),
        ("missing.html", "there is no such file"),
        ("other.html#nowhere", "there is no such heading"),
        ("#there", "there is no such heading"),
        ("https:/example.org", "the address is malformed"),
        ("http://example.org", "the address is malformed"),
    ],
)
def test_broken_links_of_the_site_are_found(link: str, problem: str | None, tmp_path: Path) -> None:
    """Tests that a link must lead to a file, and its fragment to an id there, and external ones are well-formed."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text("<p>Hello</p>")
    (tmp_path / "other.html").write_text('<h1 id="there">Other</h1>')
    (tmp_path / "index.html").write_text(f'<h1 id="here">Here</h1><a href="{link}">link</a>')
    broken = list(runpy.run_path(str(DOCS / "check_links.py"))["broken_links"](tmp_path))
    assert broken == ([] if problem is None else [f"index.html: {link}: {problem}"])


def test_links_between_the_pages_of_the_repository_lead_somewhere(tmp_path: Path) -> None:
    """Tests that README and its neighbors name files that exist, and that one that does not is found."""
    module = runpy.run_path(str(DOCS / "check_links.py"))
    for name in module["PAGES"]:
        assert list(module["broken_markdown_links"](DOCS.parent / name)) == []
    page = tmp_path / "README.md"
    page.write_text("[a](README.md), [b](missing.md), [c](https://example.org)")
    assert list(module["broken_markdown_links"](page)) == ["README.md: missing.md: there is no such file"]
