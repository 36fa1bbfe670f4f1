"""Every rival on the paper's data, next to what the paper reports.

Cells (a data set, a rival, an injection) are appended to `rivals.csv` next to this file as they finish, small tables
first, and are not run again: a run that is broken off goes on where it was. Delete lines to have them run anew. In the
end, or with --page-only, the tables of docs/results.md are written from it.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from page import replace_part

from paribus import baselines, datasets
from paribus.evaluation.experiments import Mean, append_cell, means, paper_means, read_cells, run_cell

HERE = Path(__file__).parent
RESULTS = HERE / "rivals.csv"
PAGE = HERE.parent / "docs" / "results.md"

TRIALS = 3
# Slower than the rest by far on tables of this many rows or more: one trial has to do.
ONE_TRIAL_FROM = {"SOD": 1500, "LoPAD": 1500, "RIF": 4000, "CAD": 4000}
# Not worth the hours: these only check that smaller tables give the paper's numbers.
NEVER_FROM = {"SOD, as in the paper": 2500}
# LoPAD grows a forest per column: on tables of this many values or more, 50 bags instead of 200.
FEWER_BAGS_FROM = 50_000
FEWER_BAGS = 50
# A difference that is neither above this nor above the paper's own deviation is none.
REACH = 0.05
GROUPS = (["CAD", "ROCOD", "LoPAD", "RIF"], ["IForest", "LOF", "KNN", "SOD", "HBOS"])
# As the paper ran them, where the rival's best setting is another one.
AS_IN_THE_PAPER: dict[str, dict[str, Any]] = {
    "ROCOD": {"neighbor_distance": 0.9},
    "LOF": {"scale_context": False},
    "KNN": {"scale_context": False},
    "SOD": {"scale_context": False},
}
SUFFIX = ", as in the paper"
ALL = baselines.names() + [rival + SUFFIX for rival in AS_IN_THE_PAPER]


def plan(rivals: list[str], names: list[str]) -> Iterator[tuple[str, str, int]]:
    """Every cell: first trials first, small tables first."""
    sets = sorted((s for s in datasets.summaries() if s.name in names), key=lambda s: s.n_rows * len(s.contextual))
    for trial in range(TRIALS):
        for each in sets:
            for rival in rivals:
                if each.n_rows >= NEVER_FROM.get(rival, 10**9):
                    continue
                if trial == 0 or each.n_rows < ONE_TRIAL_FROM.get(rival.removesuffix(SUFFIX), 10**9):
                    yield each.name, rival, trial


def run(rivals: list[str], names: list[str]) -> None:
    """Runs what is not there yet."""
    done = {cell.key for cell in read_cells(RESULTS)}
    for key in plan(rivals, names):
        if key not in done:
            dataset, label, trial = key
            rival = label.removesuffix(SUFFIX)
            cell = run_cell(dataset, rival, trial, label=label, **settings(dataset, label))
            append_cell(RESULTS, cell)
            print(
                f"{cell.dataset}, {cell.method}, trial {cell.trial}: {cell.prc_auc:.3f} in {cell.seconds} s", flush=True
            )


def settings(dataset: str, label: str) -> dict[str, Any]:
    """What is not the rival's default."""
    if label.endswith(SUFFIX):
        return AS_IN_THE_PAPER[label.removesuffix(SUFFIX)]
    each = next(s for s in datasets.summaries() if s.name == dataset)
    n_values = each.n_rows * (len(each.contextual) + len(each.behavioral))
    return {"n_trees": FEWER_BAGS} if label == "LoPAD" and n_values >= FEWER_BAGS_FROM else {}


def judge(ours: Mean, paper: Mean) -> int:
    """1 if we are above the paper's value by more than chance, -1 if below, 0 if within reach."""
    difference = ours.mean - paper.mean
    if abs(difference) <= max(REACH, paper.deviation or 0.0) + 1e-9:
        return 0
    return 1 if difference > 0 else -1


def write_page() -> None:
    """Puts the tables into docs/results.md."""
    ours, paper = means(read_cells(RESULTS)), paper_means()
    names = [s.name for s in datasets.summaries() if s.n_anomalies is not None]
    lines = []
    for group in GROUPS:
        lines += ["", "| data set | " + " | ".join(group) + " |", "| --- |" + " --- |" * len(group)]
        for name in names:
            shown = [_show(ours.get((name, rival)), paper.get((name, rival))) for rival in group]
            lines.append(f"| {name} | " + " | ".join(shown) + " |")
    replace_part(PAGE, "tables", lines[1:])
    replace_part(PAGE, "reach", _reach(names, ours, paper))


def _show(found: Mean | None, reported: Mean | None) -> str:
    if found is None:
        return "?" if reported is None else f"? / {reported.mean:.2f}"
    if reported is None:
        return f"{found.mean:.2f}"
    mark = {1: " ▲", -1: " ▼", 0: ""}[judge(found, reported)]
    return f"{found.mean:.2f} / {reported.mean:.2f}{mark}"


def _reach(names: list[str], ours: dict[tuple[str, str], Mean], paper: dict[tuple[str, str], Mean]) -> list[str]:
    lines = [
        "| rival | mean here | in the paper | within reach | better here | worse here | worse, and by how much |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for label in ALL:
        rival = label.removesuffix(SUFFIX)
        found = {name: ours[name, label] for name in names if (name, label) in ours}
        reported = {name: paper[name, rival] for name in found if (name, rival) in paper}
        if not reported:
            continue
        verdicts = {name: judge(found[name], reported[name]) for name in reported}
        worse = [f"{name} {reported[name].mean - found[name].mean:.2f}" for name in reported if verdicts[name] == -1]
        means = [fmean(each.mean for each in values.values()) for values in (found, reported)]
        counts = [sum(verdict == wanted for verdict in verdicts.values()) for wanted in (0, 1, -1)]
        lines.append(
            f"| {label} | {means[0]:.2f} | {means[1]:.2f} | {counts[0]} | {counts[1]} | {counts[2]} "
            f"| {', '.join(worse) or 'none'} |"
        )
    return lines


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true", help="write the page again from rivals.csv")
    parser.add_argument("--rivals", nargs="*", default=ALL, help="only these")
    parser.add_argument("--datasets", nargs="*", help="only these")
    arguments = parser.parse_args()
    if not arguments.page_only:
        every = [s.name for s in datasets.summaries() if s.n_anomalies is not None]
        if "PARIBUS_DATA" not in os.environ:
            print("The paper's files are downloaded on first use; PARIBUS_DATA may name a folder that has them.")
        run(arguments.rivals, arguments.datasets or every)
    write_page()


if __name__ == "__main__":
    main()
