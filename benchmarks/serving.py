"""How fast a saved model answers: load, first score, rows per second, memory and size.

Beside it, scikit-learn's IsolationForest, pickled with joblib, on the same table. Writes `serving.json` next to this
file, and a part of docs/methods/performance.md from it.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from paper.markdown import rewrite_part
from sklearn.ensemble import IsolationForest

from paribus import ConditionalSurprise, load

HERE = Path(__file__).parent
RESULTS = HERE / "serving.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
N_CONTEXTUAL = N_BEHAVIORAL = 5
N_FEW, N_ROUNDS = 5, 5


def make_table(n_rows: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Five contextual features, and five behavioral features that depend on them nonlinearly."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(n_rows, N_CONTEXTUAL))
    slopes = np.random.default_rng(1).normal(size=(N_CONTEXTUAL, N_BEHAVIORAL))
    behavior = np.sin(context @ slopes) + 0.1 * random.normal(size=(n_rows, N_BEHAVIORAL))
    return np.hstack([context, behavior])


# In processes of their own, so that what one has read is not in the memory of another. Imports are not counted.
OPEN = """
import re, sys, time
import joblib
import numpy as np
import paribus.detectors.load
import paribus.methods.surprise
from paribus import load
from serving import N_FEW, make_table
kind, path = sys.argv[1:]
few = make_table(N_FEW, seed=3)
named = {f"column_{position}": few[:, position] for position in range(few.shape[1])}
def memory(name):
    return float(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1e3
own, shared, start, busy = memory("RssAnon"), memory("RssFile"), time.perf_counter(), time.process_time()
model = load(path) if kind == "paribus" else joblib.load(path)
opened = time.perf_counter()
model.anomaly_score(named) if kind == "paribus" else model.score_samples(few)
seconds = opened - start, time.perf_counter() - opened, time.process_time() - busy
print(*seconds, memory("RssAnon") - own, memory("RssFile") - shared)
"""


def opening(kind: str, path: Path) -> dict[str, float]:
    """The medians of some processes that open a model and score five rows."""
    found = []
    for _ in range(N_ROUNDS):
        command = [sys.executable, "-c", OPEN, kind, str(path)]
        output = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE).stdout
        found.append([float(each) for each in re.findall(r"[\d.e+-]+", output)])
    names = ("load_seconds", "first_score_seconds", "processor_seconds", "own_megabytes", "shared_megabytes")
    return dict(zip(names, np.median(np.array(found), axis=0).tolist(), strict=True))


def rate(work: Callable[[], object], n_rows: int, clock: Callable[[], float] = time.process_time) -> float:
    """Rows per second, of processor time by default; the best of three."""
    times = []
    for _ in range(3):
        start = clock()
        work()
        times.append(clock() - start)
    return n_rows / min(times)


def shell_seconds(model: Path, folder: Path) -> dict[str, float]:
    """The duration of `paribus score` for five rows, and its processor time; the best of some."""
    rows = make_table(N_FEW, seed=3)
    csv = folder / "five-rows.csv"
    names = ",".join(f"column_{position}" for position in range(rows.shape[1]))
    csv.write_text(names + "\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n", encoding="utf-8")
    command = [str(Path(sys.executable).with_name("paribus")), "score", str(model), str(csv)]
    times = []
    for _ in range(N_ROUNDS):
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        times.append((time.perf_counter() - start, busy))
    elapsed, processor = np.min(times, axis=0).tolist()
    return {"shell_seconds": elapsed, "shell_processor_seconds": processor}


def measure(n_rows: int, n_new: int) -> dict[str, Any]:
    """Fits both, saves them, and measures what opens them."""
    table, new = make_table(n_rows), make_table(n_new, seed=2)
    some = new[: n_new * 2 // 5]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ours, theirs = folder / "model.paribus", folder / "model.joblib"
        columns = {f"column_{position}": table[:, position] for position in range(table.shape[1])}
        contextual, behavioral = list(columns)[:N_CONTEXTUAL], list(columns)[N_CONTEXTUAL:]
        ConditionalSurprise(contextual, behavioral).fit(columns).save(ours)
        joblib.dump(IsolationForest(random_state=0).fit(table), theirs)
        new_columns = dict(zip(columns, new.T, strict=True))
        explained = dict(zip(columns, some.T, strict=True))
        model, peer = load(ours), joblib.load(theirs)
        # By what is asked about some of the rows.
        answers: dict[str, Callable[[], object]] = {
            "percentiles": lambda: model.percentiles(explained),
            "references": lambda: model.reference_group(explained),
            "explanations": lambda: [each.sentence for each in model.explain_all(len(some), rows=explained)],
        }
        found = {
            "rows": n_rows,
            "cores": int(joblib.cpu_count()),
            "table_megabytes": table.nbytes / 1e6,
            "model_megabytes": ours.stat().st_size / 1e6,
            **opening("paribus", ours),
            "rows_per_second": rate(lambda: model.anomaly_score(new_columns), n_new),
            **{f"{name}_per_second": rate(answer, len(some)) for name, answer in answers.items()},
            **{
                f"{name}_per_second_on_all_cores": rate(answer, len(some), time.perf_counter)
                for name, answer in answers.items()
            },
            **shell_seconds(ours, folder),
            "peer": {
                "model_megabytes": theirs.stat().st_size / 1e6,
                **opening("joblib", theirs),
                "rows_per_second": rate(lambda: peer.score_samples(new), n_new),
            },
        }
    print(json.dumps(found, indent=2), flush=True)
    return found


def write_page(results: list[dict[str, Any]]) -> None:
    """Writes the tables into docs/methods/performance.md, between its marks."""
    lines = [
        f"{N_CONTEXTUAL} contextual and {N_BEHAVIORAL} behavioral features, the default parameters; a file that the "
        "system has in its cache; load and first score without imports. Rates are rows per second of processor time: "
        "of one core.",
        "",
        "| fitted rows | numbers | model file | load | first score | both, processor time | memory of the process "
        "| pages of the file, shared by processes |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in results:
        lines.append(
            f"| {each['rows']:,} | {each['table_megabytes']:,.0f} MB | {each['model_megabytes']:,.0f} MB "
            f"| {each['load_seconds']:.2f} s | {each['first_score_seconds']:.2f} s | {each['processor_seconds']:.2f} s "
            f"| {each['own_megabytes']:,.0f} MB | {each['shared_megabytes']:,.0f} MB |"
        )
    lines += [
        "",
        "| fitted rows | new rows | percentiles | reference groups | explained rows, with sentences "
        "| `paribus score`, five rows | processor time |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in results:
        lines.append(
            f"| {each['rows']:,} | {each['rows_per_second']:,.0f} | {each['percentiles_per_second']:,.0f} "
            f"| {each['references_per_second']:,.0f} | {each['explanations_per_second']:,.0f} "
            f"| {each['shell_seconds']:.2f} s | {each['shell_processor_seconds']:.2f} s |"
        )
    lines += [
        "",
        f"On all {results[0]['cores']} cores, rows per second on the clock:",
        "",
        "| fitted rows | percentiles | reference groups | explained rows, with sentences |",
        "| --- | --- | --- | --- |",
    ]
    for each in results:
        rates = [each[f"{name}_per_second_on_all_cores"] for name in ("percentiles", "references", "explanations")]
        lines.append(f"| {each['rows']:,} | " + " | ".join(f"{each:,.0f}" for each in rates) + " |")
    lines += [
        "",
        "scikit-learn's IsolationForest (100 trees of 256 rows) on the same tables, pickled with joblib:",
        "",
        "| fitted rows | model file | load | first score | both, processor time | memory | new rows |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in results:
        peer = each["peer"]
        lines.append(
            f"| {each['rows']:,} | {peer['model_megabytes']:,.1f} MB | {peer['load_seconds']:.2f} s "
            f"| {peer['first_score_seconds']:.2f} s | {peer['processor_seconds']:.2f} s "
            f"| {peer['own_megabytes']:,.0f} MB | {peer['rows_per_second']:,.0f} |"
        )
    rewrite_part(PAGE, "serving", lines)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use a small table and write nothing")
    parser.add_argument("--page-only", action="store_true", help="only rewrite the page from serving.json")
    arguments = parser.parse_args()
    if arguments.quick:
        measure(5_000, 5_000)
        return
    if not arguments.page_only:
        results = []
        for n_rows in (100_000, 1_000_000):
            results.append(measure(n_rows, 50_000))
            RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    write_page(json.loads(RESULTS.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
