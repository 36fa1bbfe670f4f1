"""Does teaching help? Real anomalies found in the first 50 answers, of tables with two kinds, one of them of interest.

Adds to `teaching.jsonl` next to this file what is not in it yet, and writes docs/results/teaching.md from it. Takes 15
minutes of processor time in all. `--page` only writes the page.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise, datasets
from paribus.datasets import Dataset, inject
from paribus.evaluation.heldout import GENERATED, SHIPPED, load_heldout

HERE = Path(__file__).parent
RESULTS = HERE / "teaching.jsonl"
PAGE = HERE.parent / "docs" / "results" / "teaching.md"

N_ANSWERS = 50
# Of each kind, so many rows are changed.
RATE = 0.03
FIRST, LAST = "first columns", "last columns"
PAIRS = ((FIRST, LAST), (LAST, FIRST), ("single", "common"), ("swap", "shift"), ("small", "scale"))
"""What is of interest, and what is not: an injection scheme, or "perturb" in half of the behavioral columns."""
PAPER = ("HeartFailure", "Hepatitis", "LiverPatient", "QSRanking", "ForestFires")
"""The tables of the paper with at least six behavioral columns: each half of them has several."""
METHODS = ("no teaching", "paribus", "paribus, most telling first", "AADForest", "PineForest")
N_TELLING = 10
"""Answers for which the most telling row is asked about, before the highest ones are."""

Flags = npt.NDArray[np.bool_]
Ask = Callable[[list[int], list[bool]], int]
"""Takes the rows asked about and whether they were of interest, and returns the next row."""


@dataclass(frozen=True)
class Cell:
    """What one method found in one table."""

    table: str
    of_interest: str
    other: str
    method: str
    found: int
    there: int


def two_kinds(data: Dataset, interesting: str, other: str, seed: int) -> tuple[dict[str, Any], Flags]:
    """A table with two kinds of anomalies, and which rows are of the first."""
    n = max(10, round(RATE * data.n_rows))
    one, is_one = _injected(data, interesting, n, 2 * seed + 1)
    two, is_two = _injected(data, other, n, 2 * seed + 2)
    chosen = (is_two == 1) & (is_one == 0)
    table = {name: np.where(chosen, _objects(two[name]), _objects(one[name])).tolist() for name in one}
    return table, is_one == 1


def _injected(data: Dataset, kind: str, n: int, seed: int) -> tuple[dict[str, Any], Any]:
    half = len(data.behavioral) // 2
    columns = {FIRST: data.behavioral[:half], LAST: data.behavioral[half:]}.get(kind, data.behavioral)
    scheme = "perturb" if kind in (FIRST, LAST) else kind
    return inject(data.table, data.contextual, columns, n=n, seed=seed, scheme=scheme)


def _objects(column: Any) -> npt.NDArray[np.object_]:
    values = np.empty(len(column), dtype=object)
    values[:] = list(column)
    return values


def count_found(ask: Ask, is_interesting: Flags) -> int:
    """How many rows of interest are among those asked about."""
    rows: list[int] = []
    answers: list[bool] = []
    for _ in range(min(N_ANSWERS, len(is_interesting))):
        row = ask(rows, answers)
        rows.append(row)
        answers.append(bool(is_interesting[row]))
    return sum(answers)


def ask_nothing(detector: ConditionalSurprise) -> Ask:
    order = np.argsort(-detector.anomaly_scores_, kind="stable")
    return lambda rows, answers: int(order[len(rows)])


def ask_taught(detector: ConditionalSurprise, n_telling: int) -> Ask:
    def ask(rows: list[int], answers: list[bool]) -> int:
        known = [
            {"row": row, "status": "confirmed" if is_real else "false alarm"}
            for row, is_real in zip(rows, answers, strict=True)
        ]
        found = detector.teach(known).next_row("most telling" if 0 < len(rows) <= n_telling else "highest")
        assert found is not None
        return found

    return ask


def ask_forest(make: Callable[[], Any], numbers: npt.NDArray[np.float64]) -> Ask:
    """A forest of coniferest: grown anew, or its weights learned again, after each answer, as its sessions do."""
    from coniferest.label import Label

    forest = make().fit(numbers)

    def ask(rows: list[int], answers: list[bool]) -> int:
        if rows:
            labels = np.array([Label.ANOMALY if each else Label.REGULAR for each in answers])
            forest.fit_known(numbers, numbers[rows], labels)
        scores = np.array(forest.score_samples(numbers))
        scores[rows] = np.inf
        return int(np.argmin(scores))

    return ask


def as_numbers(data: Dataset, table: dict[str, Any]) -> npt.NDArray[np.float64]:
    """Context and behavior as numbers: categories become indicators, missing values the median."""
    columns = []
    for name in [*data.contextual, *data.behavioral]:
        values = table[name]
        if name in data.categorical or any(isinstance(value, str) for value in values):
            texts = np.array([str(value) for value in values])
            columns += [(texts == each).astype(float) for each in np.unique(texts)]
        else:
            numbers = np.array(values, dtype=float)
            columns.append(np.where(np.isnan(numbers), np.nanmedian(numbers), numbers))
    return np.ascontiguousarray(np.column_stack(columns))


def run(done: set[tuple[str, str, str]]) -> Iterator[Cell]:
    """Measures all cases but those that are done."""
    from coniferest.aadforest import AADForest
    from coniferest.pineforest import PineForest

    names = [(name, True) for name in (*GENERATED, *SHIPPED)] + [(name, False) for name in PAPER]
    for name, is_heldout in names:
        data = load_heldout(f"{name} / swap")[0] if is_heldout else datasets.load(name)
        for seed, (interesting, other) in enumerate(PAIRS):
            if (name, interesting, other) in done:
                continue
            table, is_one = two_kinds(data, interesting, other, seed)
            detector = ConditionalSurprise(data.contextual, data.behavioral, categorical=data.categorical or None)
            detector.fit(table)
            numbers = as_numbers(data, table)
            ways: dict[str, Ask] = {
                "no teaching": ask_nothing(detector),
                "paribus": ask_taught(detector, 0),
                "paribus, most telling first": ask_taught(detector, N_TELLING),
                "AADForest": ask_forest(lambda: AADForest(random_seed=0, n_jobs=2), numbers),
                "PineForest": ask_forest(lambda: PineForest(random_seed=0, n_jobs=2), numbers),
            }
            cells = []
            for method, ask in ways.items():
                cell = Cell(name, interesting, other, method, count_found(ask, is_one), int(is_one.sum()))
                cells.append(cell)
            yield from cells


def write_page(cells: list[Cell]) -> None:
    """Writes the tables of the page."""
    found = {(cell.table, cell.of_interest, cell.other, cell.method): cell.found for cell in cells}
    there = {(cell.table, cell.of_interest, cell.other): min(cell.there, N_ANSWERS) for cell in cells}
    methods = [method for method in METHODS if any(cell.method == method for cell in cells)]
    lines = header(["of interest", "not of interest", "there", *methods])
    for interesting, other in PAIRS:
        cases = [case for case in there if case[1:] == (interesting, other)]
        means = [f"{fmean(found[*case, method] for case in cases):.1f}" for method in methods]
        lines.append(row([interesting, other, f"{fmean(there[case] for case in cases):.1f}", *means]))
    means = [f"**{fmean(found[*case, method] for case in there):.1f}**" for method in methods]
    lines.append(row(["**mean**", "", f"{fmean(there.values()):.1f}", *means]))
    gains = {case: found[*case, "paribus"] - found[*case, "no teaching"] for case in there}
    worst = min(gains, key=lambda case: gains[case])
    lines += [
        "",
        f"Of {len(gains)} cases, teaching finds more rows than no teaching in {sum(g > 0 for g in gains.values())}, "
        f"as many in {sum(g == 0 for g in gains.values())}, and fewer in {sum(g < 0 for g in gains.values())}; by "
        f"{-min(gains.values())} at most ({worst[0]}, {worst[1]} against {worst[2]}).",
    ]
    rewrite_part(PAGE, "teaching", lines)
    by_table = header(["table", "there", *methods])
    for table in dict.fromkeys(cell.table for cell in cells):
        cases = [case for case in there if case[0] == table]
        means = [f"{fmean(found[*case, method] for case in cases):.1f}" for method in methods]
        by_table.append(row([table, f"{fmean(there[case] for case in cases):.1f}", *means]))
    rewrite_part(PAGE, "tables", by_table)


def read() -> list[Cell]:
    """What was measured."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [Cell(**json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    if not parser.parse_args().page:
        done = {(cell.table, cell.of_interest, cell.other) for cell in read() if cell.method == METHODS[-1]}
        with RESULTS.open("a", encoding="utf-8") as file:
            for cell in run(done):
                print(json.dumps(asdict(cell)), file=file, flush=True)
    write_page(read())


if __name__ == "__main__":
    main()
