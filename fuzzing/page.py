"""Writes the counts of the campaigns into docs/methods/promises.md: PYTHONPATH=benchmarks python -m fuzzing.page."""

from __future__ import annotations

import json
from pathlib import Path

from paper.markdown import header, rewrite_part, row

from fuzzing import campaign, kills
from fuzzing.areas import AREAS

PAGE = Path(__file__).parents[1] / "docs" / "methods" / "promises.md"
COUNTS = ("inputs", "accepted", "failed")


def main() -> None:
    """Writes the page."""
    if campaign.RESULTS.exists():
        found = json.loads(campaign.RESULTS.read_text(encoding="utf-8"))
        oracles = {area.name: area.oracle for area in AREAS}
        lines = header(["area", *COUNTS, "compared with"])
        for name, each in found.items():
            lines.append(row([name, *(f"{each[key]:,}" for key in COUNTS), oracles.get(name, "")]))
        lines.append(row(["all", *(f"{sum(each[key] for each in found.values()):,}" for key in COUNTS), ""]))
        rewrite_part(PAGE, "fuzz", lines)
    if kills.RESULTS.exists():
        each = json.loads(kills.RESULTS.read_text(encoding="utf-8"))
        rewrite_part(PAGE, "kills", [f"{each['kills']:,} kills: {each['wrong']:,} times something was wrong."])


if __name__ == "__main__":
    main()
