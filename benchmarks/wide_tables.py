"""Accuracy and processor time on wide tables, with the others that a behavior is judged by screened, and with all.

The tables are the widest of the held-out ones (breast cancer, 25 behavioral columns), and a generated one: 100
behavioral columns, of which ten follow three others each, along lines, curves and products. Rows whose value in one of
these ten is replaced by that of another row are to be found.

`--widths` only measures how the time grows with the number of behavioral columns, and writes `wide_tables.json` next to
this file and a part of docs/methods/performance.md from it.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from paper.markdown import rewrite_part

from paribus import ConditionalSurprise, datasets
from paribus.evaluation import average_precision
from paribus.evaluation.heldout import SCHEMES, load_heldout
from paribus.methods.surprise.screening import choose_others

Array = np.ndarray[Any, np.dtype[np.float64]]
EVERYTHING = partial(choose_others, max_others=10**9)
N_RELATED = 10
HERE = Path(__file__).parent
RESULTS = HERE / "wide_tables.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
WIDTHS = (25, 50, 100)


def make_table(n_rows: int, n_behavioral: int, seed: int = 0) -> Array:
    """Three contextual columns, and behavioral ones of which the first ten follow three of the others."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(n_rows, 3))
    behavior = random.normal(size=(n_rows, n_behavioral)) + np.sin(context[:, :1])
    for column in range(min(N_RELATED, n_behavioral // 4)):
        first, second, third = behavior[:, n_behavioral - 3 * column - 3 + np.arange(3)].T
        relation = [first + second - third, first * second + third, np.sin(2 * first) + second * (third > 0)][
            column % 3
        ]
        behavior[:, column] = relation + 0.2 * random.normal(size=n_rows)
    return np.hstack([context, behavior])


def with_wrong_values(table: Array, n_wrong: int, seed: int = 0) -> tuple[Array, Array]:
    """The table with values of related columns exchanged for those of other rows, and which rows these are."""
    random = np.random.default_rng(seed)
    rows = random.choice(len(table), n_wrong, replace=False)
    columns = 3 + random.integers(0, N_RELATED, n_wrong)
    changed = table.copy()
    changed[rows, columns] = table[(rows + len(table) // 2) % len(table), columns]
    return changed, np.isin(np.arange(len(table)), rows).astype(float)


def measure(detector: ConditionalSurprise, table: Any, labels: Any, screened: bool) -> tuple[float, float]:
    """The average precision, and the processor time."""
    start = time.process_time()
    if screened:
        detector.fit(table)
    else:
        with mock.patch("paribus.methods.surprise.model.choose_others", EVERYTHING):
            detector.fit(table)
    return average_precision(labels, detector.anomaly_scores_), time.process_time() - start


def measure_widths(n_rows: int) -> None:
    """Writes how long tables of some numbers of behavioral columns take."""
    found = []
    for n_behavioral in WIDTHS:
        start, processor = time.perf_counter(), time.process_time()
        ConditionalSurprise([0, 1, 2]).fit(make_table(n_rows, n_behavioral))
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        found.append({"rows": n_rows, "behavioral": n_behavioral, "seconds": seconds, "processor_seconds": processor})
        print(found[-1], flush=True)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    lines = [
        f"A fit of {n_rows:,} rows and 3 contextual columns:",
        "",
        "| behavioral columns | time | processor time |",
        "| --- | --- | --- |",
        *(f"| {each['behavioral']} | {each['seconds']:.0f} s | {each['processor_seconds']:.0f} s |" for each in found),
    ]
    rewrite_part(PAGE, "wide-tables", lines)


def main() -> None:
    """Prints one line per table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--n-rows", type=int, default=5000)
    parser.add_argument("--widths", action="store_true", help="measure the time alone, and write it")
    options = parser.parse_args()
    if options.widths:
        measure_widths(options.n_rows)
        return
    print("table | all others: precision, seconds | screened: precision, seconds", flush=True)
    for scheme in SCHEMES:
        found = np.array(
            [
                [*measure(detector, table, labels, False), *measure(detector, table, labels, True)]
                for trial in range(options.trials)
                for data in [load_heldout(f"breast cancer / {scheme}")[0]]
                for table, labels in [datasets.inject(data, seed=trial, scheme=scheme)]
                for detector in [ConditionalSurprise(data.contextual, data.behavioral, categorical=data.categorical)]
            ]
        ).mean(axis=0)
        print(f"breast cancer / {scheme} | {found[0]:.3f}, {found[1]:.1f} | {found[2]:.3f}, {found[3]:.1f}", flush=True)
    table, labels = with_wrong_values(make_table(options.n_rows, 100), options.n_rows // 50)
    both = [measure(ConditionalSurprise([0, 1, 2]), table, labels, screened) for screened in (False, True)]
    print(f"generated | {both[0][0]:.3f}, {both[0][1]:.1f} | {both[1][0]:.3f}, {both[1][1]:.1f}", flush=True)
    for n_behavioral in (25, 50, 200):
        table = make_table(options.n_rows, n_behavioral)
        seconds = measure(ConditionalSurprise([0, 1, 2]), table, np.arange(len(table)) < 1, True)[1]
        print(f"{options.n_rows:,} x {n_behavioral} | | {seconds:.1f} seconds", flush=True)


if __name__ == "__main__":
    main()
