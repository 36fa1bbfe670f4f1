"""Does teaching help? Real anomalies found in the first 50 answers, of tables with two kinds, one of them of interest.

Adds to `teaching.jsonl` next to this file what is not in it yet, and writes docs/results/teaching.md from it. Takes
5 minutes of processor time in all. `--page` only writes the page. The tables of the paper are in the folder that
PARIBUS_DATA names.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import NormalDist, fmean, variance
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
# The share of rows that are changed, for each kind.
RATE = 0.03
FIRST, LAST = "first columns", "last columns"
PAIRS = ((FIRST, LAST), (LAST, FIRST), ("single", "common"), ("swap", "shift"), ("small", "scale"))
"""What is of interest, and what is not: an injection scheme, or "perturb" in half of the behavioral columns."""
REAL = ("BodyFat", "Energy", "ForestFires", "HeartFailure", "Hepatitis", "LiverPatient", "QSRanking")
"""The real tables of the paper with at least two behavioral columns, which halves need, and at most 2,000 rows."""
MADE = tuple(f"Syn{number}" for number in range(1, 11))
"""The generated tables of the paper."""
MADE_ROWS = 1000
"""How many rows of these are used: as many as the generated held-out tables have."""
N_SEEDS = 3
"""How often each case is drawn, which shows how much is noise. Forests, which take longest, see the first draw."""
FORESTS = ("AADForest", "PineForest")
METHODS = ("no teaching", "paribus", "paribus, most telling first", *FORESTS)
N_TELLING = 10
"""The number of answers about the most telling row, before those about the highest rows."""

Flags = npt.NDArray[np.bool_]
Ask = Callable[[list[int], list[bool]], int]
"""Takes the rows asked about and whether they were of interest, and returns the next row."""


@dataclass(frozen=True)
class Cell:
    """What one method found in one table."""

    table: str
    of_interest: str
    other: str
    seed: int
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


def _sample(data: Dataset) -> Dataset:
    """Some rows of a table."""
    rows = np.sort(np.random.default_rng(0).permutation(data.n_rows)[:MADE_ROWS])
    table = {name: _objects(column)[rows].tolist() for name, column in data.table.items()}
    return replace(data, n_rows=MADE_ROWS, table=table)


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


def ask_forest(forest: Any, numbers: npt.NDArray[np.float64]) -> Ask:
    """A forest of coniferest: grown anew, or its weights learned again, after each answer, as its sessions do."""
    from coniferest.label import Label

    forest.fit(numbers)

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


def run(done: set[tuple[str, str, str, int, str]]) -> Iterator[Cell]:
    """Measures all cases and methods but those that are done."""
    from coniferest.aadforest import AADForest
    from coniferest.pineforest import PineForest

    for name, seed in product((*GENERATED, *SHIPPED, *REAL, *MADE), range(N_SEEDS)):
        if name in MADE:
            data = _sample(datasets.load(name))
        else:
            data = datasets.load(name) if name in REAL else load_heldout(f"{name} / swap")[0]
        for place, (interesting, other) in enumerate(PAIRS):
            wanted = [each for each in METHODS if (name, interesting, other, seed, each) not in done]
            wanted = [each for each in wanted if seed == 0 or each not in FORESTS]
            if not wanted:
                continue
            table, is_one = two_kinds(data, interesting, other, place + len(PAIRS) * seed)
            detector = ConditionalSurprise(
                data.contextual, data.behavioral, categorical=data.categorical or None, random_state=seed
            )
            detector.fit(table)
            numbers = as_numbers(data, table)
            ways: dict[str, Callable[[], Ask]] = {
                "no teaching": partial(ask_nothing, detector),
                "paribus": partial(ask_taught, detector, 0),
                "paribus, most telling first": partial(ask_taught, detector, N_TELLING),
                "AADForest": partial(ask_forest, AADForest(random_seed=0, n_jobs=1), numbers),
                "PineForest": partial(ask_forest, PineForest(random_seed=0, n_jobs=1), numbers),
            }
            for method in wanted:
                found = count_found(ways[method](), is_one)
                yield Cell(name, interesting, other, seed, method, found, int(is_one.sum()))


def write_page(cells: list[Cell]) -> None:
    """Writes the tables of the page: means over the first draw of each case, and the noise between draws."""
    # A case that was not drawn as often as the others, because the run was stopped, is left out.
    last = {_case(cell) for cell in cells if cell.seed == N_SEEDS - 1}
    cells = [cell for cell in cells if _case(cell) in last]
    gains = _gains(cells)
    cells = [cell for cell in cells if cell.seed == 0]
    methods = [method for method in METHODS if any(cell.method == method for cell in cells)]
    lines = header(["of interest", "not of interest", "there", *methods])
    for interesting, other in PAIRS:
        chosen = [cell for cell in cells if (cell.of_interest, cell.other) == (interesting, other)]
        lines.append(row([interesting, other, *_means(chosen, methods)]))
    lines.append(row(["**mean**", "", *(f"**{each}**" for each in _means(cells, methods))]))
    rewrite_part(PAGE, "teaching", [*lines, "", *gains])
    by_table = header(["table", "there", *methods])
    for name in dict.fromkeys(cell.table for cell in cells):
        by_table.append(row([name, *_means([cell for cell in cells if cell.table == name], methods)]))
    rewrite_part(PAGE, "tables", by_table)


def _means(cells: list[Cell], methods: list[str]) -> list[str]:
    """The mean number of rows that are there, and that each method finds."""
    there = fmean(min(cell.there, N_ANSWERS) for cell in cells)
    found = [fmean(cell.found for cell in cells if cell.method == method) for method in methods]
    return [f"{each:.1f}" for each in (there, *found)]


def _gains(cells: list[Cell]) -> list[str]:
    """How much teaching gains over no teaching, in single runs and by case, and whether any loss exceeds noise."""
    found = {(*_case(cell), cell.seed, cell.method): cell.found for cell in cells}
    runs = {key[:4]: number - found[*key[:4], "no teaching"] for key, number in found.items() if key[4] == "paribus"}
    cases = {run[:3]: [runs[other] for other in runs if other[:3] == run[:3]] for run in runs}
    noise = (sum(variance(gains) for gains in cases.values()) / len(cases)) ** 0.5
    # The standard error of the mean of a case; the lowest of this many means is expected this far below 0 by chance.
    error = noise / N_SEEDS**0.5
    lowest = NormalDist().inv_cdf(1.0 / len(cases)) * error
    means = {case: fmean(gains) for case, gains in cases.items()}
    losses = sorted((case for case in cases if means[case] < lowest), key=lambda case: means[case])
    worst = min(means, key=lambda case: means[case])
    named = "; ".join(f"{case[0]}, {case[1]} against {case[2]} ({means[case]:+.1f})" for case in losses)
    return [
        f"Of {len(runs)} runs, teaching finds more rows than no teaching in {sum(g > 0 for g in runs.values())}, as "
        f"many in {sum(g == 0 for g in runs.values())}, and fewer in {sum(g < 0 for g in runs.values())}: by 1 row in "
        f"{sum(g == -1 for g in runs.values())}, by more in {sum(g < -1 for g in runs.values())}, by "
        f"{-min(runs.values())} at most.",
        "",
        f"Each of the {len(cases)} cases was drawn {N_SEEDS} times. Between draws of a case, the gain has a standard "
        f"deviation of {noise:.1f} rows, so the mean of a case has a standard error of {error:.1f}, and the lowest of "
        f"{len(cases)} means would be about {lowest:.1f} if teaching made no difference. The lowest mean gain is "
        f"{means[worst]:+.1f} ({worst[0]}, {worst[1]} against {worst[2]}). "
        + (f"Below what chance explains: {named}." if losses else "No case loses more than chance explains."),
    ]


def _case(cell: Cell) -> tuple[str, str, str]:
    return cell.table, cell.of_interest, cell.other


def read() -> list[Cell]:
    """What was measured."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [Cell(**json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="only write the page")
    if not parser.parse_args().page:
        done = {(*_case(cell), cell.seed, cell.method) for cell in read()}
        with RESULTS.open("a", encoding="utf-8") as file:
            for cell in run(done):
                print(json.dumps(asdict(cell)), file=file, flush=True)
    write_page(read())


if __name__ == "__main__":
    main()
