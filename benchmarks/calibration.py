"""Whether the probabilities of ConditionalSurprise hold: flags of clean tables, ranges, categories, and lists of rows.

Writes `calibration.json` next to this file, and docs/results/calibration.md from it. Exits with 1 if a figure is
outside of its bounds. `--quick` takes a minute and writes nothing; `--part`, `--kind` and `--rows` measure some of
the lines again, and leave the others as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise
from paribus.datasets import inject
from paribus.evaluation.real_tables import load_real, package_of

HERE = Path(__file__).parent
RESULTS = HERE / "calibration.json"
PAGE = HERE.parent / "docs" / "results" / "calibration.md"

Array = np.ndarray[Any, np.dtype[np.float64]]

CONTEXTUAL = ["x0", "x1", "x2", "x3", "group"]
COLUMN_KINDS = ("normal", "heavy-tailed", "skewed", "count")
CLASS_KINDS = ("category", "boolean")
# The columns of a table of several kinds, in turn.
IN_TURN = {"mixed": COLUMN_KINDS, "every kind": ("category", "normal", "boolean", "heavy-tailed", "skewed", "count")}
TABLE_KINDS = (*COLUMN_KINDS, *CLASS_KINDS, *IN_TURN)
RANGE_KINDS = (*COLUMN_KINDS, "zero-inflated", "two-branched")
# The bounds of the percentage of ordinary rows that are flagged, on average over the tables of a line.
FLAGGED = (0.05, 0.2)
# The same for tables of fewer rows than `LONG`, whose tails are hardly known.
FLAGGED_SHORT, LONG = (0.0, 0.8), 2_000
# The bounds of the share of values in 90 % ranges, and below medians; where values repeat, at least or at most.
HELD, BELOW = (0.88, 0.92), (0.48, 0.52)
# The most by which the stated probability of categories may differ from how often they occur, and the limits of the
# probabilities that are taken together.
SHARE_ERROR, SHARE_LIMITS = 0.03, (0.0, 0.05, 0.5, 1.0)
# The number of tables of a line: what one of them flags depends on what was learned from it. Short tables are more, so
# that a line has enough rows. Of the largest there is one, since each takes minutes.
N_TABLES, MIN_ROWS, MAX_CELLS = 4, 4_000, 100_000
CATEGORIES = np.array(["a", "b", "c", "d"])
# The numbers of rows of clean tables.
SIZES = (100, 400, 2_000, 20_000)
# Tables of packages, with real columns.
REAL = ("weather", "diamonds")
# The number of their rows that are judged; more are not needed.
MAX_ASKED = 4_000
# What tells the lines of a part apart.
KEYS = {
    "flags": ("table", "rows", "behavioral"),
    "ranges": ("table", "column"),
    "shares": ("column", "at_least"),
    "selections": ("scheme", "rate"),
}

Results = dict[str, list[dict[str, Any]]]


def clean_table(kind: str, n_rows: int, n_behavioral: int, seed: int) -> dict[str, Any]:
    """A table without anomalies: four numbers and a category as context, of which three matter."""
    random = np.random.default_rng([seed, n_rows, n_behavioral, sum(kind.encode())])
    x, group = random.normal(size=(4, n_rows)), random.integers(0, 5, size=n_rows)
    level = np.sin(2 * x[0]) + 0.5 * x[1] + np.array([0.0, 0.5, 1.0, -1.0, 2.0])[group]
    table: dict[str, Any] = {f"x{i}": each for i, each in enumerate(x)} | {"group": group.astype(np.float64)}
    for place in range(n_behavioral):
        of = IN_TURN[kind][place % len(IN_TURN[kind])] if kind in IN_TURN else kind
        table[f"b{place}"] = _column(random, of, level * (1 + 0.5 * place / n_behavioral), x[0])
    return table


def _column(random: np.random.Generator, kind: str, level: Array, x: Array) -> Any:
    if kind == "boolean":
        return random.random(len(level)) < 1 / (1 + np.exp(-2 * level))
    if kind == "category":
        odds = np.exp(np.outer(level, np.linspace(-1.5, 1.5, len(CATEGORIES)))).cumsum(axis=1)
        return CATEGORIES[(odds / odds[:, -1:] > random.random((len(level), 1))).argmax(axis=1)]
    noise = random.normal(size=len(level))
    if kind == "heavy-tailed":
        return np.asarray(level + 0.5 * random.standard_t(2, size=len(level)))
    if kind == "skewed":
        return np.asarray(np.exp(0.5 * level + 0.7 * noise))
    if kind == "count":
        return np.asarray(random.poisson(np.exp(0.5 * level + 1)), dtype=np.float64)
    if kind == "zero-inflated":
        return np.where(random.random(len(level)) < 0.6, 0.0, np.exp(0.4 * level + 0.5 * noise))
    if kind == "two-branched":
        return np.asarray(np.where(random.random(len(level)) < 0.5, 1.0, -1.0) * (2 + np.abs(x)) + 0.2 * noise)
    return np.asarray(level + 0.5 * noise)


def fit(table: Any, contextual: list[str], behavioral: list[str], categorical: list[str] | None) -> ConditionalSurprise:
    """A detector with default parameters."""
    return ConditionalSurprise(contextual, behavioral, categorical=categorical).fit(table)


def measure_flags(sizes: list[int], widths: list[int], kinds: list[str]) -> Iterator[dict[str, Any]]:
    """The share of flagged rows of clean tables, fitted and new."""
    for n_rows in sizes:
        for kind in kinds:
            for n_behavioral in widths if n_rows >= LONG else widths[:2]:
                n_tables = 1 if n_rows * n_behavioral > MAX_CELLS else max(N_TABLES, MIN_ROWS // n_rows)
                names = [f"b{place}" for place in range(n_behavioral)]
                fitted, new = [], []
                for seed in range(n_tables):
                    detector = fit(clean_table(kind, n_rows, n_behavioral, seed), CONTEXTUAL, names, ["group"])
                    fitted.append(float((detector.labels_ == -1).mean()))
                    others = clean_table(kind, min(n_rows, 5_000), n_behavioral, 1_000 + seed)
                    new.append(float((detector.predict(others) == -1).mean()))
                found = {
                    "table": kind,
                    "rows": n_rows,
                    "behavioral": n_behavioral,
                    "tables": n_tables,
                    "flagged": 100 * float(np.mean(fitted)),
                    "flagged_new": 100 * float(np.mean(new)),
                }
                print(found, flush=True)
                yield found


def coverage(values: Array, percentiles: Array) -> dict[str, Any]:
    """How many values lie within the 90 % range and below the median, at least and at most where values repeat."""
    low, middle, high = percentiles[:, 5], percentiles[:, 50], percentiles[:, 95]
    return {
        "values": len(values),
        "inside": float(((values > low) & (values < high)).mean()),
        "inside_or_at_end": float(((values >= low) & (values <= high)).mean()),
        "below": float((values < middle).mean()),
        "below_or_at": float((values <= middle).mean()),
    }


def measure_ranges(n_rows: int, n_tables: int, real: bool) -> Iterator[dict[str, Any]]:
    """What ranges hold of new rows of generated tables, and of fitted rows, which are judged out of sample."""
    for kind in RANGE_KINDS:
        values, percentiles = [], []
        for seed in range(n_tables):
            detector = fit(clean_table(kind, n_rows, 1, seed), CONTEXTUAL, ["b0"], ["group"])
            new = clean_table(kind, MAX_ASKED // n_tables, 1, 1_000 + seed)
            values.append(new["b0"])
            percentiles.append(detector.percentiles(new)[:, 0])
        found = {"table": "generated", "column": kind, **coverage(np.concatenate(values), np.concatenate(percentiles))}
        print(found, flush=True)
        yield found
    for name in REAL if real else ():
        if find_spec(package_of(name)) is None:
            continue
        table = load_real(name)
        detector = fit(table.frame, table.contextual, table.behavioral, None)
        asked = table.frame.sample(min(MAX_ASKED, len(table.frame)), random_state=0)
        percentiles_of_all = detector.percentiles(asked)
        for place, column in enumerate(table.behavioral):
            some = asked[column].to_numpy(dtype=np.float64, na_value=np.nan)
            known = ~np.isnan(some)
            found = {"table": name, "column": column, **coverage(some[known], percentiles_of_all[known, place])}
            print(found, flush=True)
            yield found


def measure_shares(n_rows: int, n_tables: int) -> Iterator[dict[str, Any]]:
    """How often categories occur in new rows, by the probability that is stated for them."""
    for kind, classes in {"category": CATEGORIES, "boolean": np.array([False, True])}.items():
        stated, is_true = [], []
        for seed in range(n_tables):
            detector = fit(clean_table(kind, n_rows, 1, seed), CONTEXTUAL, ["b0"], ["group"])
            new = clean_table(kind, MAX_ASKED // (4 * n_tables), 1, 1_000 + seed)
            for each in classes:
                # What would be stated if the row had this category.
                asked = new | {"b0": np.full(len(new["b0"]), each)}
                for explanation in detector.explain_all(len(new["b0"]), rows=asked):
                    stated.append(explanation.behavior[0].as_row()["probability"])
                    is_true.append(new["b0"][explanation.row] == each)
        probabilities, truth = np.array(stated, dtype=np.float64), np.array(is_true)
        for low, high in pairwise(SHARE_LIMITS):
            some = (probabilities > low) & (probabilities <= high)
            found = {
                "column": kind,
                "at_least": low,
                "at_most": high,
                "values": int(some.sum()),
                "stated": float(probabilities[some].mean()),
                "true": float(truth[some].mean()),
            }
            print(found, flush=True)
            yield found


def measure_selections(n_rows: int, n_tables: int) -> Iterator[dict[str, Any]]:
    """The share of ordinary rows among selected ones, where it is known which rows were changed."""
    names = ["b0", "b1", "b2", "b3"]
    for scheme in ("perturb", "single", "common", "swap"):
        for rate in (0.0, 0.01, 0.04, 0.1):
            n_selected, n_false, n_found, expected = 0, 0, 0, 0.0
            for seed in range(n_tables):
                clean = clean_table("mixed", n_rows, 4, seed)
                table, labels = inject(clean, CONTEXTUAL, names, n=round(rate * n_rows), seed=seed, scheme=scheme)
                detector = fit(table, CONTEXTUAL, names, ["group"])
                chosen = detector.select(fdr=0.1)
                n_selected += len(chosen)
                n_false += int((labels[chosen] == 0).sum())
                n_found += int(labels[chosen].sum())
                expected += detector.false_share(len(chosen)) * len(chosen) if len(chosen) else 0.0
            found = {
                "scheme": scheme,
                "rate": rate,
                "tables": n_tables,
                "rows": n_rows,
                "selected": n_selected,
                "false": n_false,
                "expected_false": expected,
                "found": n_found / (n_tables * round(rate * n_rows)) if rate else None,
            }
            print(found, flush=True)
            yield found


def problems(results: Results) -> list[str]:
    """What is outside of its bounds."""
    found = []
    for each in results["flags"]:
        # A table of 2,000 rows has 2 false alarms by design: the mean over a few varies by chance.
        spread = 2 * np.sqrt(0.1 / 100 / (each["rows"] * each["tables"])) * 100
        low, high = FLAGGED if each["rows"] >= LONG else FLAGGED_SHORT
        if not low - spread <= each["flagged"] <= high + spread:
            found.append(f"{each['table']}, {each['rows']:,} x {each['behavioral']}: {each['flagged']:.2f} % flagged")
    for each in results["ranges"]:
        spread = 2 * np.sqrt(0.25 / each["values"])
        held = each["inside"] - spread <= HELD[1] and each["inside_or_at_end"] + spread >= HELD[0]
        below = each["below"] - spread <= BELOW[1] and each["below_or_at"] + spread >= BELOW[0]
        if not (held and below):
            found.append(f"{each['table']}, {each['column']}: ranges or medians do not hold")
    for each in results["shares"]:
        spread = 2 * np.sqrt(each["stated"] * (1 - each["stated"]) / each["values"])
        if abs(each["stated"] - each["true"]) > SHARE_ERROR + spread:
            found.append(f"{each['column']}: {each['true']:.3f} of those that are stated to be {each['stated']:.3f}")
    return found


def flags_part(results: list[dict[str, Any]]) -> list[str]:
    """Per cent of rows flagged, by table and number of columns."""
    widths = list(dict.fromkeys(each["behavioral"] for each in results))
    lines = header(["rows", "columns of", *(f"{width} behavioral" for width in widths)])
    by = {(each["rows"], each["table"], each["behavioral"]): each for each in results}
    for n_rows, table in dict.fromkeys((each["rows"], each["table"]) for each in results):
        cells = [by.get((n_rows, table, width)) for width in widths]
        shown = ["" if each is None else f"{each['flagged']:.2f} / {each['flagged_new']:.2f}" for each in cells]
        lines.append(row([f"{n_rows:,}", table, *shown]))
    return lines


def ranges_part(results: list[dict[str, Any]]) -> list[str]:
    """Shares inside of ranges and below medians."""
    lines = header(["table", "column", "values", "within the 90 % range", "below the median"])
    for each in results:
        spans = [
            f"{low:.3f}" if high - low < 0.0005 else f"{low:.3f} to {high:.3f}"
            for low, high in (
                (each["inside"], each["inside_or_at_end"]),
                (each["below"], each["below_or_at"]),
            )
        ]
        lines.append(row([each["table"], each["column"], f"{each['values']:,}", *spans]))
    return lines


def shares_part(results: list[dict[str, Any]]) -> list[str]:
    """How often categories occur, by their stated probability."""
    lines = header(["column", "stated", "values", "stated on average", "occurs"])
    for each in results:
        span = f"{100 * each['at_least']:.0f} to {100 * each['at_most']:.0f} %"
        figures = [f"{each['values']:,}", f"{100 * each['stated']:.1f} %", f"{100 * each['true']:.1f} %"]
        lines.append(row([each["column"], span, *figures]))
    return lines


def selections_part(results: list[dict[str, Any]]) -> list[str]:
    """False rows among selected ones, stated and true."""
    lines = header(["anomalies", "rate", "selected", "of these ordinary", "expected", "anomalies found"])
    for each in results:
        n = max(each["selected"], 1)
        share = "" if each["found"] is None else f"{each['found']:.2f}"
        lines.append(
            row(
                [
                    each["scheme"] if each["rate"] else "none",
                    f"{100 * each['rate']:g} %",
                    f"{each['selected']:,}",
                    f"{each['false']} ({100 * each['false'] / n:.0f} %)",
                    f"{each['expected_false']:.0f} ({100 * each['expected_false'] / n:.0f} %)",
                    share,
                ]
            )
        )
    return lines


def write_page(results: Results) -> None:
    """Writes the parts of the page."""
    rewrite_part(PAGE, "flags", flags_part(results["flags"]))
    rewrite_part(PAGE, "ranges", ranges_part(results["ranges"]))
    rewrite_part(PAGE, "shares", shares_part(results["shares"]))
    rewrite_part(PAGE, "selections", selections_part(results["selections"]))


def merged(part: str, old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of a part, of which some were measured again, in the order in which a whole run has them."""
    lines = {tuple(each[key] for key in KEYS[part]): each for each in (*old, *new)}
    if part == "flags":
        return sorted(lines.values(), key=lambda each: (each["rows"], TABLE_KINDS.index(each["table"])))
    return list(lines.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute: small tables, nothing is written")
    parser.add_argument("--page", action="store_true", help="write the page from the file, without measuring")
    parser.add_argument("--part", action="append", choices=list(KEYS), help="measure only these")
    parser.add_argument("--kind", action="append", choices=TABLE_KINDS, help="flags of only these kinds of tables")
    parser.add_argument("--rows", action="append", type=int, choices=SIZES, help="flags of only tables this long")
    given = parser.parse_args()
    if given.page:
        write_page(json.loads(RESULTS.read_text(encoding="utf-8")))
        return 0
    sizes = given.rows or ([2_000] if given.quick else list(SIZES))
    widths = [1, 3] if given.quick else [1, 3, 10, 30]
    measures: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "flags": lambda: measure_flags(sizes, widths, given.kind or list(TABLE_KINDS)),
        "ranges": lambda: measure_ranges(2_000, 2 if given.quick else 4, real=not given.quick),
        "shares": lambda: measure_shares(2_000, 1 if given.quick else 4),
        "selections": lambda: iter(()) if given.quick else measure_selections(2_000, 2),
    }
    measured = {part: list(measure()) for part, measure in measures.items() if not given.part or part in given.part}
    known: Results = json.loads(RESULTS.read_text(encoding="utf-8")) if given.part or given.kind or given.rows else {}
    results = {part: merged(part, known.get(part, []), measured.get(part, [])) for part in KEYS}
    if not given.quick:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        write_page(results)
    found = problems(results)
    n_figures = sum(len(results[part]) for part in ("flags", "ranges", "shares"))
    print(*found, f"{len(found)} of {n_figures} figures out of bounds", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
