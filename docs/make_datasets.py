"""Writes the list of data sets into docs/results/datasets.md, from the catalog of paribus.datasets."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from paribus.datasets import Summary, summaries

PAGE = Path(__file__).parent / "results" / "datasets.md"
START, END = "<!-- list: written by make_datasets.py -->\n", "<!-- end of the list -->\n"


def write_list(page: str) -> str:
    """Returns the page with the current list between its two marks."""
    listed = [each for each in summaries() if not each.name.startswith("Syn")]
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + START + "\n" + "".join(map(_section, listed)) + END + after


def _section(each: Summary) -> str:
    contextual = ", ".join(f"*{name}*" if name in each.categorical else name for name in each.contextual)
    anomalies = "" if each.n_anomalies is None else f", {each.n_anomalies} anomalies"
    lines = [
        f"{each.n_rows:,} rows{anomalies}. {each.description} {each.notes}",
        f"Context: {contextual}.",
        f"Behavior: {', '.join(each.behavioral)}.",
    ]
    filled = [fill(line.strip(), 118, initial_indent="- ", subsequent_indent="  ") for line in lines]
    return f"### {each.name}\n\n" + "\n".join(filled) + "\n\n"


if __name__ == "__main__":
    PAGE.write_text(write_list(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
