"""Compares the roles that `suggest_context` proposes with those of the paper, on its 20 real tables.

For each table: how many of the paper's columns get the same role, and, on the same rows with errors put in by the
paper's scheme, the average precision of `ConditionalSurprise` with the paper's roles and with the proposed ones. The
errors are in the columns that the paper calls behavior, so columns that are proposed as context hide theirs.

    PARIBUS_DATA=FOLDER python benchmarks/context_advice.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

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


def main() -> None:
    """Prints one line per table, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000, help="rows of each table")
    parser.add_argument("--trees", type=int, default=32, help="trees per forest")
    options = parser.parse_args()
    print(f"{'table':<24}{'seconds':>8}{'same role':>11}{'paper':>8}{'proposed':>10}  proposed context")
    found = []
    for name in paper_sets():
        data = datasets.load(name)
        table = rows_of(dict(data.table), options.rows)
        n_rows = len(next(iter(table.values())))
        start = time.process_time()
        advice = suggest_context({each: table[each] for each in [*data.contextual, *data.behavioral]})
        seconds = time.process_time() - start
        same = sum(each in advice.contextual for each in data.contextual)
        same += sum(each in advice.behavioral for each in data.behavioral)
        share = same / (len(data.contextual) + len(data.behavioral))
        changed, labels = datasets.inject(table, data.contextual, data.behavioral, n=max(10, n_rows // 50))
        paper = precision(data.contextual, data.behavioral, changed, labels, options.trees)
        proposed = float("nan")
        if advice.contextual and advice.behavioral:
            proposed = precision(advice.contextual, list(advice.behavioral), changed, labels, options.trees)
        found.append((share, paper, proposed))
        context = ", ".join(advice.contextual)[:60]
        print(f"{name:<24}{seconds:>8.1f}{share:>11.0%}{paper:>8.2f}{proposed:>10.2f}  {context}", flush=True)
    share, paper, proposed = np.nanmean(np.array(found), axis=0)
    print(f"{'mean':<32}{share:>11.0%}{paper:>8.2f}{proposed:>10.2f}")


if __name__ == "__main__":
    main()
