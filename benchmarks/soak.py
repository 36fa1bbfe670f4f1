"""A soak: many rows through a monitor that learns, and whether its memory stays flat.

    python benchmarks/soak.py --rows 1000000

The result is benchmarks/soak.json, and a part of docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise, Monitor

HERE = Path(__file__).parent
RESULTS = HERE / "soak.json"
PAGE = HERE.parent / "docs" / "results" / "streams.md"
BATCH_SIZE = 1_000


def make_rows(random: np.random.Generator, n: int) -> dict[str, Any]:
    """Rows that never change."""
    a = random.uniform(size=n)
    return {"a": a, "x": 3.0 * a + 0.5 * random.normal(size=n)}


def memory() -> float:
    """The memory of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def page_part(results: list[dict[str, Any]]) -> list[str]:
    """The table of the page."""
    lines = header(["rows", "memory, MB", "processor time, s", "adaptations", "P(p <= 0.01)", "alarms of changes"])
    for each in results:
        cells = [f"{each['rows']:,}", f"{each['memory']:.0f}", f"{each['seconds']:.0f}", f"{each['adaptations']:,}"]
        lines.append(row([*cells, f"{each['small']:.4f}", str(each["changes"])]))
    return lines


def main() -> None:
    """Runs it, and writes what it finds after each tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    random = np.random.default_rng(0)
    detector = ConditionalSurprise(["a"], ["x"], n_trees=4, random_state=0, n_jobs=1).fit(make_rows(random, 1_500))
    monitor = Monitor(detector, window=1_024, adapt_every=1_024)
    results = []
    n_small = n_changes = 0
    for batch in range(1, given.rows // BATCH_SIZE + 1):
        for verdict in monitor.update_many(make_rows(random, BATCH_SIZE)):
            n_small += verdict.p_value <= 0.01
            n_changes += sum(alarm.kind != "row" for alarm in verdict.alarms)
        if batch % max(1, given.rows // BATCH_SIZE // 10) == 0:
            n = batch * BATCH_SIZE
            results.append(
                {
                    "rows": n,
                    "memory": memory(),
                    "seconds": time.process_time(),
                    "adaptations": monitor.n_adaptations_,
                    "small": n_small / n,
                    "changes": n_changes,
                }
            )
            print(results[-1], flush=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    rewrite_part(PAGE, "soak", page_part(results))


if __name__ == "__main__":
    main()
