"""A soak: many rows through a monitor that learns, and whether its memory stays flat.

    python benchmarks/soak.py --rows 10000000

The model is a light one, so that ten million rows take some minutes: two contextual columns, two behavioral columns, 8
trees, a window of 2,048 rows, and an adaptation every 8,192 rows. The stream never changes; 1 row in 10,000 has an
error of 20 deviations.

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


def make_rows(random: np.random.Generator, n: int) -> dict[str, Any]:
    """Rows of a stream that never changes."""
    a, k = random.uniform(size=n), random.integers(0, 3, n)
    x, y = 3.0 * a + (k == 2) + 0.5 * random.normal(size=n), 2.0 * a + 0.5 * random.normal(size=n)
    return {"a": a, "k": np.array(["u", "v", "w"])[k], "x": x, "y": y}


def memory() -> float:
    """The memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def page_part(results: list[dict[str, Any]]) -> list[str]:
    """The table of the page."""
    names = ["rows", "memory, MB", "processor time, s", "adaptations", "P(p ≤ 0.01)", "wrong rows found"]
    names += ["ordinary rows called odd", "alarms of changes"]
    lines = header(names)
    for each in results:
        cells = [f"{each['rows']:,}", f"{each['memory']:.0f}", f"{each['seconds']:.0f}", f"{each['adaptations']:,}"]
        cells += [f"{each['small']:.4f}", f"{each['found']:,} of {each['wrong']:,}", f"{each['ordinary']:,}"]
        lines.append(row([*cells, str(each["changes"])]))
    return lines


def main() -> None:
    """Runs it, and writes what it finds after each tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--page", action="store_true", help="only write the page from the results")
    given = parser.parse_args()
    if not given.page:
        results = []
        for found in soak(given.rows):
            results.append(found)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    rewrite_part(PAGE, "soak", page_part(json.loads(RESULTS.read_text(encoding="utf-8"))))


def soak(n_rows: int) -> Iterator[dict[str, Any]]:
    """Sends rows through a monitor; what has happened after each tenth of them."""
    random = np.random.default_rng(0)
    names = ["a", "k"], ["x", "y"]
    detector = ConditionalSurprise(*names, n_trees=8, random_state=0, n_jobs=1).fit(make_rows(random, WINDOW))
    monitor = Monitor(detector, window=WINDOW, adapt_every=STEP)
    n_batches = n_rows // BATCH_SIZE
    n_small = n_changes = n_wrong = n_found = n_ordinary = 0
    for batch in range(1, n_batches + 1):
        rows = make_rows(random, BATCH_SIZE)
        wrong = int(random.integers(BATCH_SIZE)) if random.uniform() < ERRORS_PER_BATCH else -1
        if wrong >= 0:
            rows["x"][wrong] += 10.0
            n_wrong += 1
        for place, verdict in enumerate(monitor.update_many(rows)):
            n_small += verdict.p_value <= 0.01
            n_changes += sum(alarm.kind != "row" for alarm in verdict.alarms)
            n_found += verdict.is_odd and place == wrong
            n_ordinary += verdict.is_odd and place != wrong
        if batch % max(1, n_batches // 10) == 0:
            n = batch * BATCH_SIZE
            found = {
                "rows": n,
                "memory": memory(),
                "seconds": time.process_time(),
                "adaptations": monitor.n_adaptations_,
                "small": n_small / n,
                "wrong": n_wrong,
                "found": n_found,
                "ordinary": n_ordinary,
                "changes": n_changes,
            }
            print(found, flush=True)
            yield found


if __name__ == "__main__":
    main()
