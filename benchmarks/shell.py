"""The time and memory of `paribus detect` on a file of 200,000 rows, including the report.

Writes `shell.json` next to this file, and a table of docs/methods/performance.md from it. Takes half an hour on two
cores.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from paper.markdown import rewrite_part

HERE = Path(__file__).parent
RESULTS = HERE / "shell.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
CONTEXT, BEHAVIOR = ["temperature", "load", "age", "hour", "site"], ["pressure", "flow", "noise"]


def write_table(path: Path, n_rows: int) -> None:
    """Writes the table of a fictional plant: five contextual features, one categorical, and three behavioral ones."""
    random = np.random.RandomState(0)
    temperature, load = random.normal(size=n_rows), random.uniform(0, 100, n_rows)
    age, hour = random.gamma(2, 10, n_rows), random.randint(0, 24, n_rows)
    site = random.choice(list("abcde"), n_rows)
    pressure = 3 * temperature + 0.1 * load + random.normal(size=n_rows)
    flow = 5 * np.sin(hour / 24 * 2 * np.pi) + 0.2 * age + random.normal(size=n_rows)
    noise = random.gamma(2, 1 + load / 50)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*CONTEXT, *BEHAVIOR])
        for row in zip(temperature, load, age, hour, site, pressure, flow, noise, strict=True):
            writer.writerow([f"{value:.4f}" if isinstance(value, float) else value for value in row])


RUNS = [("surprise", 64), ("qcad", 10), ("qcad", 100)]
"""The methods and their numbers of trees."""


def measure(n_rows: int, method: str, n_trees: int) -> dict[str, Any]:
    """Runs the command in a subprocess and measures it."""
    with tempfile.TemporaryDirectory() as folder:
        table, report, scores = (Path(folder) / name for name in ("table.csv", "report.html", "scores.csv"))
        write_table(table, n_rows)
        command = [str(Path(sys.executable).with_name("paribus")), "detect", str(table)]
        command += ["--context", ",".join(CONTEXT), "--behavior", ",".join(BEHAVIOR)]
        command += ["--method", method, "--n-trees", str(n_trees), "--report", str(report), "--out", str(scores)]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status != 0:
            raise RuntimeError(f"{' '.join(command)} ended with status {status}")
        return {
            "n_rows": n_rows,
            "method": method,
            "n_trees": n_trees,
            "file_bytes": table.stat().st_size,
            "seconds": round(seconds, 1),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
            # On Linux, `ru_maxrss` is in kilobytes.
            "peak_megabytes": round(usage.ru_maxrss / 1024),
            "report_bytes": report.stat().st_size,
        }


def write_page(runs: list[dict[str, Any]], n_cores: int) -> None:
    """Writes the table into docs/methods/performance.md, between its marks."""
    lines = [
        f"Measured on {n_cores} cores.",
        "",
        "| rows | file | method | trees | time | processor time | peak memory | report |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in runs:
        minutes, busy = run["seconds"] / 60, run["cpu_seconds"] / 60
        cells = [
            f"{run['n_rows']:,}",
            f"{run['file_bytes'] / 1e6:.1f} MB",
            run["method"],
            str(run["n_trees"]),
            f"{minutes:.1f} min",
            f"{busy:.1f} min",
            f"{run['peak_megabytes']:,} MB",
            f"{run['report_bytes'] / 1e3:,.0f} kB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    rewrite_part(PAGE, "shell", lines)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--page-only", action="store_true", help="only rewrite the page from shell.json")
    arguments = parser.parse_args()
    if not arguments.page_only:
        runs = []
        for method, n_trees in RUNS:
            runs.append(measure(arguments.rows, method, n_trees))
            print(runs[-1], flush=True)
            RESULTS.write_text(json.dumps({"n_cores": cpu_count(), "runs": runs}, indent=2) + "\n", encoding="utf-8")
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    write_page(kept["runs"], kept["n_cores"])


if __name__ == "__main__":
    main()
