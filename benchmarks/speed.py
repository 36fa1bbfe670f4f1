"""The speed of QCAD, side by side with the same method built from other packages.

The peer is what one would write without paribus: distances from the `gower` package, and one forest of quantile-forest
per row and behavioral feature. It is timed on a sample of rows and extrapolated. The samples alternate with runs of
`QCAD.fit`, so that both see the same machine. Writes `speed.json` next to this file, and the tables of
docs/methods/performance.md from it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed
from paper.markdown import rewrite_part

from paribus import QCAD, _core
from paribus.evaluation.plain_forests import PlainForests

HERE = Path(__file__).parent
RESULTS = HERE / "speed.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
Array = np.ndarray[Any, Any]


@dataclass
class Workload:
    """A table with the contextual columns first."""

    name: str
    context: Array
    categorical: list[int]
    behavior: Array

    @property
    def table(self) -> Array:
        return np.column_stack([self.context, self.behavior])

    def detector(self, **parameters: Any) -> QCAD:
        n = self.context.shape[1]
        return QCAD(
            list(range(n)), list(range(n, n + self.behavior.shape[1])), categorical=self.categorical, **parameters
        )


def synthetic(n_rows: int = 2000, n_contextual: int = 20, n_categorical: int = 6, n_behavioral: int = 5) -> Workload:
    """A table like the paper's scheme S1: linear in contexts from a mixture of five Gaussians, categories rounded."""
    random = np.random.default_rng(0)
    columns = []
    for p in range(n_contextual):
        category = p >= n_contextual - n_categorical
        centers = random.integers(0, 11, 5).astype(float) if category else random.random(5)
        spread = np.sqrt(np.abs(centers[:, None] - centers).sum() / 20 / 4)
        values = centers[random.integers(0, 5, n_rows)] + random.normal(size=n_rows) * spread
        columns.append(np.round(values) if category else values)
    context = np.column_stack(columns)
    n_used = min(n_behavioral, n_contextual)
    coefficients = random.random((n_used, n_behavioral)) * (random.random((n_used, n_behavioral)) > 1 / 3)
    behavior = context[:, :n_used] @ coefficients + random.uniform(0, 0.05, (n_rows, n_behavioral))
    return Workload("S1", context, list(range(n_contextual - n_categorical, n_contextual)), behavior)


def from_paper(name: str, file: str, n_contextual: int, categorical: list[int]) -> Workload | None:
    """One of the paper's tables; None if PARIBUS_DATA does not name their folder."""
    path = Path(os.environ.get("PARIBUS_DATA", "nowhere")) / "RawData" / file
    if not path.exists():
        print(f"{name} is skipped: PARIBUS_DATA does not name the folder of the paper's data.")
        return None
    values = pd.read_csv(path, index_col=0).to_numpy(float)
    return Workload(name, values[:, :n_contextual], categorical, values[:, n_contextual:])


def seconds(work: Callable[[], object]) -> float:
    """The duration of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(workload: Workload, n_trees: int, n_rounds: int, n_cells: int) -> dict[str, Any]:
    """Compares `QCAD.fit` with the peer, both on one core and both on all cores."""
    n_rows, n_features = len(workload.context), workload.behavior.shape[1]
    k = min(n_rows // 2, 500)
    categorical = np.isin(np.arange(workload.context.shape[1]), workload.categorical)
    peer = PlainForests(workload.context, categorical, workload.behavior, k, n_trees)
    random = np.random.default_rng(1)
    cores = int(cpu_count())
    times: dict[str, list[float]] = {"ours": [], "ours_all": [], "peer": [], "peer_all": []}
    table = workload.table
    with Parallel(n_jobs=cores) as pool:
        pool(delayed(peer.judge)(0, 0) for _ in range(cores))
        for _ in range(n_rounds):
            cells = [(int(random.integers(n_rows)), int(random.integers(n_features))) for _ in range(n_cells)]
            times["ours"].append(seconds(lambda: workload.detector(n_trees=n_trees, n_jobs=1).fit(table)))
            times["peer"].append(seconds(lambda: [peer.judge(*cell) for cell in cells]) / len(cells))  # noqa: B023
            times["ours_all"].append(seconds(lambda: workload.detector(n_trees=n_trees, n_jobs=cores).fit(table)))
            times["peer_all"].append(
                seconds(lambda: pool(delayed(peer.judge)(*cell) for cell in cells)) / len(cells)  # noqa: B023
            )
    median = {name: float(np.median(values)) for name, values in times.items()}
    per_forest = n_rows * n_features
    peer_one = median["peer"] * per_forest + peer.seconds_for_neighbors
    peer_all = median["peer_all"] * per_forest + peer.seconds_for_neighbors
    return {
        "workload": workload.name,
        "trees": n_trees,
        "rows": n_rows,
        "contextual": workload.context.shape[1],
        "behavioral": n_features,
        "seconds_one_core": median["ours"],
        "seconds_all_cores": median["ours_all"],
        "peer_seconds_one_core": peer_one,
        "peer_seconds_all_cores": peer_all,
        "times_faster_one_core": peer_one / median["ours"],
        "times_faster_all_cores": peer_all / median["ours_all"],
        "all_cores_against_peer_on_one": peer_one / median["ours_all"],
    }


def grow(quick: bool) -> list[dict[str, Any]]:
    """The seconds of a fit as one size grows and the others stay fixed."""
    base = {"n_rows": 5000, "n_contextual": 5, "n_behavioral": 3, "n_trees": 10}
    sizes = {
        "n_rows": [1000, 2000, 5000] if quick else [1000, 2000, 5000, 10_000, 20_000, 50_000],
        "n_contextual": [5, 10] if quick else [5, 10, 20, 40],
        "n_behavioral": [1, 3] if quick else [1, 3, 6, 12],
        "n_trees": [10, 20] if quick else [10, 20, 50, 100],
    }
    rows = []
    for what, values in sizes.items():
        for value in values:
            size = base | {what: value}
            n_trees = size.pop("n_trees")
            workload = synthetic(**size, n_categorical=2)
            detector = workload.detector(n_trees=n_trees)
            total = seconds(lambda: detector.fit(workload.table))  # noqa: B023
            search = seconds(lambda: detector.reference_group(workload.table[:1000])) * size["n_rows"] / 1000  # noqa: B023
            rows.append({"grows": what, "to": value, "seconds": total, "of_which_neighbors": search})
            print(f"  {what} = {value:,}: {total:.2f} s, of which about {search:.2f} s for neighbors", flush=True)
    return rows


# Read from /proc, because getrusage would include the memory of the parent process when it started the child.
MEMORY_OF_A_FIT = """
import re, sys
import numpy as np
from paribus import QCAD
def peak():
    return re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
table = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 8))
before = peak()
QCAD(list(range(5)), n_trees=10).fit(table)
print(before, peak())
"""


MEMORY_ROWS = [5000, 10_000, 20_000, 50_000]
# The gower package stores all pairwise distances in single precision.
BYTES_PER_PAIR = 4


def peak_memory(n_rows: int) -> dict[str, Any]:
    """The peak memory of a process that fits a table, in total and for the fit itself."""
    command = [sys.executable, "-c", MEMORY_OF_A_FIT, str(n_rows)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, peak = (int(kilobytes) / 1024 for kilobytes in output.split())
    return {"rows": n_rows, "megabytes_in_all": peak, "megabytes_for_the_fit": peak - before}


def measure(quick: bool) -> dict[str, Any]:
    """Runs all measurements."""
    workloads = [
        from_paper("Concrete", "Concrete.csv", 8, []),
        from_paper("Abalone", "abalone.csv", 4, [0]),
        synthetic(),
    ]
    comparisons = []
    for n_trees, n_rounds, n_cells in [(10, 2, 6), (100, 1, 2)] if quick else [(10, 9, 12), (100, 3, 4)]:
        for workload in workloads:
            if workload is not None:
                row = compare(workload, n_trees, n_rounds, n_cells)
                comparisons.append(row)
                print(
                    f"{row['workload']}, {n_trees} trees: {row['times_faster_one_core']:.0f} times faster on one core, "
                    f"{row['times_faster_all_cores']:.0f} on all cores of both, "
                    f"{row['all_cores_against_peer_on_one']:.0f} on all against the peer on one",
                    flush=True,
                )
    means = [
        {"trees": n_trees}
        | {
            key: float(np.exp(np.mean([np.log(row[key]) for row in comparisons if row["trees"] == n_trees])))
            for key in ("times_faster_one_core", "times_faster_all_cores", "all_cores_against_peer_on_one")
        }
        for n_trees in (10, 100)
    ]
    print(f"Geometric means: {means}", flush=True)
    print("Growth:", flush=True)
    return {
        "machine": {"cores": int(cpu_count()), "kernel": _core.kernel(), "python": platform.python_version()},
        "comparisons": comparisons,
        "geometric_means": means,
        "growth": grow(quick),
        "memory": [peak_memory(n_rows) for n_rows in (MEMORY_ROWS[:1] if quick else MEMORY_ROWS)],
    }


def write_page(results: dict[str, Any]) -> None:
    """Writes the tables into docs/methods/performance.md, between its marks."""
    lines = [
        f"Measured on {results['machine']['cores']} cores with the `{results['machine']['kernel']}` kernel, "
        f"Python {results['machine']['python']}; k = 500. The paper's tables use 10 trees, the default is 100.",
        "",
        "| workload | trees | rows | contextual | behavioral | paribus, one core | peer, one core "
        "| times faster, one core each | times faster, all cores each | all cores against the peer on one |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in results["comparisons"]:
        lines.append(
            f"| {row['workload']} | {row['trees']} | {row['rows']:,} | {row['contextual']} | {row['behavioral']} "
            f"| {row['seconds_one_core']:.2f} s | {row['peer_seconds_one_core']:,.0f} s "
            f"| **{row['times_faster_one_core']:.0f}** | {row['times_faster_all_cores']:.0f} "
            f"| {row['all_cores_against_peer_on_one']:.0f} |"
        )
    lines += [
        f"| geometric mean | {mean['trees']} | | | | | | **{mean['times_faster_one_core']:.0f}** "
        f"| {mean['times_faster_all_cores']:.0f} | {mean['all_cores_against_peer_on_one']:.0f} |"
        for mean in results["geometric_means"]
    ]
    lines += [
        "",
        "Growth, all cores, from 5,000 rows, 5 contextual and 3 behavioral features and 10 trees:",
        "",
        "| what grows | to | seconds | of which neighbors, about |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row['grows']} | {row['to']:,} | {row['seconds']:.2f} | {row['of_which_neighbors']:.2f} |"
        for row in results["growth"]
    ]
    lines += [
        "",
        "Peak memory of a process that fits a table of 5 contextual and 3 behavioral features, next to the size of the "
        "distance matrix that the peer needs:",
        "",
        "| rows | MB in total | MB for the fit | MB for the peer's matrix |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row['rows']:,} | {row['megabytes_in_all']:.0f} | {row['megabytes_for_the_fit']:.0f} "
        f"| {row['rows'] ** 2 * BYTES_PER_PAIR / 2**20:,.0f} |"
        for row in results["memory"]
    ]
    rewrite_part(PAGE, "speed", lines)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use small sizes and write nothing")
    parser.add_argument("--page-only", action="store_true", help="only rewrite the page from speed.json")
    parser.add_argument("--memory-only", action="store_true", help="only measure memory, and keep the times")
    arguments = parser.parse_args()
    if arguments.memory_only:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
        results["memory"] = [peak_memory(n_rows) for n_rows in MEMORY_ROWS]
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    elif not arguments.page_only:
        results = measure(arguments.quick)
        if arguments.quick or len(results["comparisons"]) < 6:
            print("Nothing is written, because the run was not complete.")
            return
        RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    write_page(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
