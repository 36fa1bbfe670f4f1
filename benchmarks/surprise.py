"""The speed of ConditionalSurprise: on a million rows, on new rows, and of one forest next to quantile-forest's.

Writes `surprise.json` next to this file, and a table of docs/methods/performance.md from it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from paper.markdown import rewrite_part
from quantile_forest import RandomForestQuantileRegressor
from sklearn.ensemble import RandomForestRegressor

from paribus import ConditionalSurprise
from paribus._core import FeatureTable, Forest, Samples, Target

HERE = Path(__file__).parent
RESULTS = HERE / "surprise.json"
PAGE = HERE.parent / "docs" / "methods" / "performance.md"
N_CONTEXTUAL = N_BEHAVIORAL = 5
N_TREES, MIN_SAMPLES_LEAF, N_QUANTILES = 64, 4, 101
MAX_SAMPLES = 2**15

Floats = np.ndarray[Any, np.dtype[np.float64]]
# A sample of half the rows, drawn with replacement, leaves out a given row with probability e^-0.5.
PEER_TREES = round(N_TREES / 2 / 0.6065)


def make_table(n_rows: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Five contextual features, and five behavioral features that depend on them nonlinearly."""
    random = np.random.default_rng(seed)
    context = random.normal(size=(n_rows, N_CONTEXTUAL))
    slopes = np.random.default_rng(1).normal(size=(N_CONTEXTUAL, N_BEHAVIORAL))
    behavior = np.sin(context @ slopes) + 0.1 * random.normal(size=(n_rows, N_BEHAVIORAL))
    return np.hstack([context, behavior])


def seconds(work: Callable[[], object]) -> float:
    """The duration of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# Read from /proc, which does not include the memory of the parent process.
FIT = """
import re, sys, time
import numpy as np
sys.path.insert(0, sys.argv[2])
from surprise import N_CONTEXTUAL, make_table
from paribus import ConditionalSurprise
table = make_table(int(sys.argv[1]))
start, busy = time.perf_counter(), time.process_time()
ConditionalSurprise(list(range(N_CONTEXTUAL))).fit(table)
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(time.perf_counter() - start, time.process_time() - busy, peak)
"""


def fit(n_rows: int) -> dict[str, Any]:
    """Fits and scores a table in a subprocess, and measures it."""
    command = [sys.executable, "-c", FIT, str(n_rows), str(HERE)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    elapsed, busy, kilobytes = (float(each) for each in re.findall(r"[\d.e+-]+", output))
    print(f"{n_rows:,} rows: {elapsed:.1f} s, {busy:.1f} s of processor time, {kilobytes / 1024:.0f} MB", flush=True)
    return {"rows": n_rows, "seconds": elapsed, "processor_seconds": busy, "megabytes": kilobytes / 1024}


def as_columns(table: Floats, n_text: int) -> dict[str, Any]:
    """The table by name; the first columns as twenty categories each."""
    columns: dict[str, Any] = {f"column_{place}": column for place, column in enumerate(table.T)}
    names = np.array([f"category {place}" for place in range(20)])
    for name in list(columns)[:n_text]:
        columns[name] = names[np.digitize(columns[name], np.linspace(-2, 2, 19))]
    return columns


def score_new_rows(n_rows: int, n_new: int, n_text: int) -> dict[str, Any]:
    """The number of new rows scored per second against a fitted table, and the processor time of each."""
    table, new = as_columns(make_table(n_rows), n_text), as_columns(make_table(n_new, seed=2), n_text)
    names = list(table)
    detector = ConditionalSurprise(names[:N_CONTEXTUAL], names[N_CONTEXTUAL:]).fit(table)
    times = [seconds(lambda: detector.anomaly_score(new)) for _ in range(3)]
    rate = n_new / float(np.median(times))
    detector.n_jobs = 1
    start = time.process_time()
    detector.anomaly_score(new)
    microseconds = (time.process_time() - start) / n_new * 1e6
    print(
        f"{rate:,.0f} new rows per second against {n_rows:,}, {n_text} text columns; {microseconds:.0f} us", flush=True
    )
    return {
        "rows": n_rows,
        "new_rows": n_new,
        "text_columns": n_text,
        "rows_per_second": rate,
        "microseconds_on_one_thread": microseconds,
    }


def beside_quantile_forest(n_rows: int, n_rounds: int) -> dict[str, Any]:
    """Grows one forest and predicts 101 out-of-bag quantiles of every row, side by side with quantile-forest."""
    table = make_table(n_rows)
    context, target = np.ascontiguousarray(table[:, :N_CONTEXTUAL]), np.ascontiguousarray(table[:, N_CONTEXTUAL])
    cores = int(cpu_count())
    everybody = np.arange(n_rows)

    def ours() -> None:
        forest = grow_forest(context, target, 4, n_rows // 2, cores)
        forest.quantiles(context, everybody, N_QUANTILES, cores)

    def theirs() -> None:
        # The same numbers of rows and features, and enough trees that on average 32 have not seen a row, as in ours.
        forest = RandomForestQuantileRegressor(
            n_estimators=PEER_TREES,
            min_samples_leaf=MIN_SAMPLES_LEAF,
            max_features=4,
            max_samples=0.5,
            max_samples_leaf=None,
            n_jobs=cores,
            random_state=0,
        )
        forest.fit(context, target)
        forest.predict(context, quantiles=np.linspace(0, 1, N_QUANTILES).tolist(), oob_score=True)

    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(n_rounds):
        times["ours"].append(seconds(ours))
        times["theirs"].append(seconds(theirs))
    mine, other = (float(np.median(each)) for each in times.values())
    print(f"{n_rows:,} rows: {mine:.1f} s, quantile-forest {other:.1f} s, {other / mine:.1f} times", flush=True)
    return {"rows": n_rows, "seconds": mine, "peer_seconds": other, "times_faster": other / mine}


def grow_forest(context: Floats, target: Floats, max_features: int, n_sample: int, n_threads: int) -> Forest:
    """One forest for a target that is not part of the table."""
    features = FeatureTable(context, np.zeros(context.shape[1], dtype=np.uint8))
    samples = Samples(np.ones(len(target), dtype=np.uint8), None, N_TREES // 2, n_sample, 0, n_threads)
    column = Target(np.ascontiguousarray(target[:, None]), 0, -np.inf, np.inf)
    used = np.arange(context.shape[1], dtype=np.uint16)
    return Forest(features, samples, column, used, max_features, MIN_SAMPLES_LEAF, 0, n_threads)


def beside_other_forests(n_rows: int, n_rounds: int) -> dict[str, Any]:
    """Grows one forest on one thread, side by side with scikit-learn and LightGBM, by processor time."""
    # The page is checked where only what tests need is installed.
    from lightgbm import LGBMRegressor

    table = make_table(n_rows)
    context, target = np.ascontiguousarray(table[:, :-1]), np.ascontiguousarray(table[:, -1])
    n_sample = min(MAX_SAMPLES, n_rows // 2)
    n_leaves = 2

    def ours() -> None:
        grow_forest(context, target, 6, n_sample, 1)

    def scikit_learn() -> None:
        nonlocal n_leaves
        forest = RandomForestRegressor(
            N_TREES, min_samples_leaf=MIN_SAMPLES_LEAF, max_features=6, max_samples=n_sample, n_jobs=1, random_state=0
        )
        forest.fit(context, target)
        n_leaves = round(float(np.mean([tree.get_n_leaves() for tree in forest.estimators_])))

    def lightgbm() -> None:
        # As many leaves as scikit-learn's trees have on average.
        LGBMRegressor(
            boosting_type="rf", n_estimators=N_TREES, num_leaves=n_leaves, min_child_samples=MIN_SAMPLES_LEAF,
            subsample=n_sample / n_rows, subsample_freq=1, feature_fraction_bynode=6 / 9, min_child_weight=0.0,
            n_jobs=1, random_state=0, verbose=-1,
        ).fit(context, target)  # fmt: skip

    works = {"ours": ours, "scikit-learn": scikit_learn, "LightGBM": lightgbm}
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    medians = {name: float(np.median(each)) for name, each in times.items()}
    print(
        f"{n_rows:,} rows, one forest:", ", ".join(f"{name} {each:.2f} s" for name, each in medians.items()), flush=True
    )
    return {
        "rows": n_rows,
        "sample": n_sample,
        "leaves": n_leaves,
        "seconds": medians["ours"],
        "scikit_learn_seconds": medians["scikit-learn"],
        "lightgbm_seconds": medians["LightGBM"],
    }


def measure_growth(quick: bool) -> dict[str, Any]:
    """Measures how fast a forest grows."""
    return beside_other_forests(10_000 if quick else 100_000, 1 if quick else 3)


def measure(quick: bool) -> dict[str, Any]:
    """Runs all measurements."""
    sizes = [5_000] if quick else [10_000, 100_000, 1_000_000]
    return {
        "cores": int(cpu_count()),
        "growth": measure_growth(quick),
        "peer": beside_quantile_forest(5_000 if quick else 50_000, 1 if quick else 3),
        "new_rows": [score_new_rows(*((5_000, 5_000) if quick else (100_000, 65_536)), n) for n in (0, 3)],
        "fits": [fit(size) for size in sizes],
    }


def write_page(results: dict[str, Any]) -> None:
    """Writes the table into docs/methods/performance.md, between its marks."""
    peer = results["peer"]
    lines = [
        f"Measured on {results['cores']} core{'s' * (results['cores'] > 1)}; {N_CONTEXTUAL} contextual and "
        f"{N_BEHAVIORAL} behavioral features, the default parameters.",
        "",
        "| rows | fit and score | processor time | peak memory of the process |",
        "| --- | --- | --- | --- |",
    ]
    for each in results["fits"]:
        lines.append(
            f"| {each['rows']:,} | {each['seconds']:,.1f} s | {each['processor_seconds']:,.1f} s "
            f"| {each['megabytes']:,.0f} MB |"
        )
    for new in results["new_rows"]:
        kind = f"{new['text_columns']} of them text" if new["text_columns"] else "all of them numbers"
        lines += [
            "",
            f"{new['new_rows']:,} new rows against {new['rows']:,} fitted ones, 10 columns, {kind}: "
            f"**{new['rows_per_second']:,.0f} per second**; {new['microseconds_on_one_thread']:.0f} microseconds of "
            "processor time for a row on one thread.",
        ]
    lines += [
        "",
        f"One forest of {N_TREES} trees on {peer['rows']:,} rows, grown and evaluated at {N_QUANTILES} quantiles of "
        f"each row by the {N_TREES // 2} trees that have not seen it: {peer['seconds']:.1f} s. quantile-forest with "
        f"{PEER_TREES} trees, of which on average as many have not seen a row: {peer['peer_seconds']:.1f} s, "
        f"**{peer['times_faster']:.1f} times** as long.",
    ]
    growth = results["growth"]
    others = " and ".join(
        f"{name} {growth[key]:.1f} s, **{growth[key] / growth['seconds']:.1f} times** as long"
        for name, key in (
            ("scikit-learn's RandomForestRegressor", "scikit_learn_seconds"),
            ("LightGBM in `rf` mode with as many leaves", "lightgbm_seconds"),
        )
    )
    lines += [
        "",
        f"One forest of {N_TREES} trees on {growth['sample']:,} of {growth['rows']:,} rows, 9 features, one thread: "
        f"{growth['seconds']:.2f} s of processor time; {others}.",
    ]
    rewrite_part(PAGE, "surprise", lines)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="use small sizes and write nothing")
    parser.add_argument("--growth-only", action="store_true", help="measure only how fast a forest grows")
    parser.add_argument("--page-only", action="store_true", help="only rewrite the page from surprise.json")
    arguments = parser.parse_args()
    if arguments.quick:
        measure_growth(quick=True) if arguments.growth_only else measure(quick=True)
        return
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    if arguments.growth_only:
        results["growth"] = measure_growth(quick=False)
    elif not arguments.page_only:
        results = measure(quick=False)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    write_page(results)


if __name__ == "__main__":
    main()
