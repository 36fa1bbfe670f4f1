"""Compares the roles that `suggest_context` proposes with those of the paper, on its 20 real tables.

For each table: how many of the paper's columns get the same role, and, on the same rows with errors put in by the
paper's scheme, the average precision of `ConditionalSurprise` with the paper's roles and with the proposed ones. The
errors are in the columns that the paper calls behavior, so columns that are proposed as context hide theirs. Writes
`benchmarks/context_advice.json` and the table of `docs/results/context-advice.md`.

    PARIBUS_DATA=FOLDER python benchmarks/context_advice.py
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from pages import write_part

from paribus import ConditionalSurprise, datasets, suggest_context
from paribus.datasets.catalog import paper_sets
from paribus.evaluation.metrics import average_precision


def rows_of(table: dict[str, Any], n: int) -> dict[str, Any]:
    """The first rows of a table in a random order."""
    n_rows = len(next(iter(table.values())))
    chosen = np.sort(np.random.default_rng(0).permutation(n_rows)[:n])
    return {name: np.asarray(values)[chosen] for name, values in table.items()}


def precision(contextual: list[str], behavioral: list[str], table: Any, wrong: Any, n_trees: int) -> float:
    """The average precision with some roles."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = ConditionalSurprise(contextual, behavioral, n_trees=n_trees).fit(table)
    return average_precision(wrong, np.nan_to_num(detector.anomaly_scores_))


HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "context-advice.md"


def measure(name: str, n_rows: int, n_trees: int) -> dict[str, Any]:
    """What is proposed for a table, how far it agrees with the paper, and what is found with both."""
    data = datasets.load(name)
    table = rows_of(dict(data.table), n_rows)
    n_rows = len(next(iter(table.values())))
    start = time.process_time()
    advice = suggest_context({each: table[each] for each in [*data.contextual, *data.behavioral]})
    seconds = time.process_time() - start
    same = sum(each in advice.contextual for each in data.contextual)
    same += sum(each in advice.behavioral for each in data.behavioral)
    changed, labels = datasets.inject(table, data.contextual, data.behavioral, n=max(10, n_rows // 50))
    proposed = math.nan
    if advice.contextual and advice.behavioral:
        proposed = precision(advice.contextual, list(advice.behavioral), changed, labels, n_trees)
    return {
        "table": name,
        "processor_seconds": round(seconds, 1),
        "same_role": round(same / (len(data.contextual) + len(data.behavioral)), 3),
        "paper": round(precision(data.contextual, data.behavioral, changed, labels, n_trees), 3),
        "proposed": None if math.isnan(proposed) else round(proposed, 3),
        "hidden": [each for each in data.behavioral if each in advice.contextual],
        "context": advice.contextual,
    }


def as_table(lines: list[dict[str, Any]]) -> str:
    """The lines in Markdown, and their means."""
    rows = [
        "| table | same role | found with the paper's roles | with the proposed ones | proposed context |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for line in lines:
        found = "-" if line["proposed"] is None else f"{line['proposed']:.2f}"
        context = ", ".join(f"**{each}**" if each in line["hidden"] else each for each in line["context"])
        rows.append(f"| {line['table']} | {line['same_role']:.0%} | {line['paper']:.2f} | {found} | {context} |")
    keys = ("same_role", "paper", "proposed")
    same, paper, proposed = (float(np.mean([line[key] or 0.0 for line in lines])) for key in keys)
    rows.append(f"| mean | {same:.0%} | {paper:.2f} | {proposed:.2f} | |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Measures all tables, and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of each table")
    parser.add_argument("--trees", type=int, default=16, help="trees per forest")
    options = parser.parse_args()
    lines = []
    for name in paper_sets():
        lines.append(measure(name, options.rows, options.trees))
        print(json.dumps(lines[-1]), flush=True)
    (HERE / "context_advice.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    write_part(PAGE, as_table(lines))


if __name__ == "__main__":
    main()
