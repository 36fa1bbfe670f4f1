"""Pages that a program writes are as it would write them."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_list_of_data_sets_is_up_to_date() -> None:
    """Tests that docs/results/datasets.md is what docs/make_datasets.py makes of it."""
    page = (DOCS / "results" / "datasets.md").read_text(encoding="utf-8")
    assert page == runpy.run_path(str(DOCS / "make_datasets.py"))["write_list"](page)
