"""A soak: many rows through a monitor that learns, and whether its memory stays flat.

    python benchmarks/soak.py --rows 10000000
    python benchmarks/soak.py --rows 1000000 --step 1024

The model is a light one, so that ten million rows take some minutes: two contextual columns, two behavioral columns, 8
trees, and a window of 2,048 rows. By default it adapts every 8,192 rows, when all trees are replaced; with a step of
1,024, the older half of them. The stream never changes; 1 row in 10,000 has an error of 20 deviations.

The result is benchmarks/soak.json, and a part of docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise, Monitor

HERE = Path(__file__).parent
RESULTS = HERE / "soak.json"
PAGE = HERE.parent / "docs" / "results" / "streams.md"
BATCH_SIZE = 2_000
ERRORS_PER_BATCH = 0.2
WINDOW, STEP = 2_048, 8_192
PERIOD = 1_000


def make_rows(random: np.random.Generator, n: int) -> dict[str, Any]:
    """Rows of a stream that never changes."""
    a, k = random.uniform(size=n), random.integers(0, 3, n)
    x, y = 3.0 * a + (k == 2) + 0.5 * random.normal(size=n), 2.0 * a + 0.5 * random.normal(size=n)
    return {"a": a, "k": np.array(["u", "v", "w"])[k], "x": x, "y": y}


def memory() -> float:
    """The memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def page_part(results: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The tables of the page."""
    names = ["rows", "memory, MB", "processor time, s", "adaptations", "P(p ≤ 0.01)", "P(p ≤ 0.0001)"]
    names += ["wrong rows found", "ordinary rows called odd", "their mean share in a period", "alarms of changes"]
    lines: list[str] = []
    for step, found in sorted(results.items(), key=lambda each: -int(each[0])):
        lines += ["", f"An adaptation every {int(step):,} rows:", "", *header(names)]
        for each in found:
            cells = [f"{each['rows']:,}", f"{each['memory']:.0f}", f"{each['seconds']:.0f}", f"{each['adaptations']:,}"]
            # Earlier runs do not have all of them.
            tiny, share = (
                f"{each['tiny']:.6f}" if "tiny" in each else "",
                f"{each['share']:.3f}" if "share" in each else "",
            )
            cells += [f"{each['small']:.4f}", tiny, f"{each['found']:,} of {each['wrong']:,}"]
            cells += [f"{each['ordinary']:,}", share, str(each["changes"])]
            lines.append(row(cells))
    return lines[1:]


def main() -> None:
    """Runs it, and writes what it finds after each tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--step", type=int, default=STEP, help="rows between two adaptations")
    parser.add_argument("--page", action="store_true", help="only write the page from the results")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if not given.page:
        results[str(given.step)] = []
        for found in soak(given.rows, given.step):
            results[str(given.step)].append(found)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    rewrite_part(PAGE, "soak", page_part(results))


def soak(n_rows: int, step: int) -> Iterator[dict[str, Any]]:
    """Sends rows through a monitor; what has happened after each tenth of them."""
    random = np.random.default_rng(0)
    names = ["a", "k"], ["x", "y"]
    detector = ConditionalSurprise(*names, n_trees=8, random_state=0, n_jobs=1).fit(make_rows(random, WINDOW))
    monitor = Monitor(detector, window=WINDOW, adapt_every=step, fdr_period=PERIOD)
    n_batches = n_rows // BATCH_SIZE
    n_small = n_tiny = n_changes = n_wrong = n_found = n_ordinary = 0
    shares: list[float] = []
    for batch in range(1, n_batches + 1):
        rows = make_rows(random, BATCH_SIZE)
        wrong = int(random.integers(BATCH_SIZE)) if random.uniform() < ERRORS_PER_BATCH else -1
        if wrong >= 0:
            rows["x"][wrong] += 10.0
            n_wrong += 1
        verdicts = monitor.update_many(rows)
        p_values = np.array([verdict.p_value for verdict in verdicts])
        is_odd, is_wrong = np.array([verdict.is_odd for verdict in verdicts]), np.arange(BATCH_SIZE) == wrong
        n_small, n_tiny = n_small + int((p_values <= 0.01).sum()), n_tiny + int((p_values[~is_wrong] <= 1e-4).sum())
        n_changes += sum(alarm.kind != "row" for verdict in verdicts for alarm in verdict.alarms)
        n_found, n_ordinary = n_found + int((is_odd & is_wrong).sum()), n_ordinary + int((is_odd & ~is_wrong).sum())
        for begin in range(0, BATCH_SIZE, PERIOD):
            odd, false = (each[begin : begin + PERIOD].sum() for each in (is_odd, is_odd & ~is_wrong))
            shares.append(float(false / max(odd, 1)))
        if batch % max(1, n_batches // 10) == 0:
            n = batch * BATCH_SIZE
            found = {
                "rows": n,
                "memory": memory(),
                "seconds": time.process_time(),
                "adaptations": monitor.n_adaptations_,
                "small": n_small / n,
                "tiny": n_tiny / (n - n_wrong),
                "wrong": n_wrong,
                "found": n_found,
                "ordinary": n_ordinary,
                "share": float(np.mean(shares)),
                "changes": n_changes,
            }
            print(found, flush=True)
            yield found


if __name__ == "__main__":
    main()
