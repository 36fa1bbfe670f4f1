"""How many of the known errors of real tables each method finds."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from paper.markdown import header, row
from paribus.evaluation import experiments
from paribus.evaluation.real import TOP, Found
from paribus.evaluation.real_tables import real_tables
from paribus.evaluation.results import Result

Table = dict[tuple[str, str], Found]
"""(table, method) -> what was found."""
SAMPLED = "¹"
"""The mark of a cell in which only a sample of the table was ranked."""


def known_errors(results: list[Result], pictures: Path) -> list[str]:
    """Wrong rows in the top 50, precision there, and wrong rows among the flagged ones, table by table."""
    del pictures
    done = [result for result in results if result.error is None and result.found]
    table = {(result.task.dataset, result.task.method): Found(**result.found) for result in done}
    names = [name for name in real_tables() if any(of == name for of, _ in table)]
    methods = [method for method in experiments.REAL_METHODS if any(of == method for _, of in table)]
    flagging = [m for m in methods if any(of == m and each.n_flagged is not None for (_, of), each in table.items())]
    return [
        *_obvious(table, names, methods),
        "",
        f"Wrong rows in the top {TOP}:",
        "",
        *header(["table", "rows", "wrong", "doubtful", *methods]),
        *(_line(table, name, methods) for name in names),
        row(["**mean recall**", "", "", "", *(_mean(table, names, method, "recall_in_top") for method in methods)]),
        row(
            ["**mean precision**", *[""] * 3, *(_mean(table, names, method, "precision_in_top") for method in methods)]
        ),
        "",
        "Wrong rows among all flagged rows:",
        "",
        *header(["table", "wrong", *flagging]),
        *(_flags_line(table, name, flagging) for name in names),
        row(["**mean recall**", "", *(_mean(table, names, method, "recall_of_flags") for method in flagging)]),
        *_failures(results),
    ]


def _obvious(table: Table, names: list[str], methods: list[str]) -> list[str]:
    """A line for each table with errors that any detector should find."""
    lines = []
    for name in names:
        found = {method: table[name, method] for method in methods if (name, method) in table}
        n_obvious = max(each.n_obvious for each in found.values())
        if n_obvious:
            texts = [f"{method} {_count(each.top_obvious)}{_flagged(each)}" for method, each in found.items()]
            lines.append(
                f"- **{name}, {n_obvious} rows that any detector should find,** in the top {TOP}: {', '.join(texts)}."
            )
    return lines


def _flagged(found: Found) -> str:
    return "" if found.flagged_obvious is None else f" ({found.flagged_obvious} flagged)"


def _line(table: Table, name: str, methods: list[str]) -> str:
    cells = {method: table[name, method] for method in methods if (name, method) in table}
    n_rows = max(each.n_rows for each in cells.values())
    best = max(each.top_wrong for each in cells.values())
    texts = []
    for method in methods:
        each = cells.get(method)
        text = "" if each is None else _count(each.top_wrong)
        if each is not None and each.top_wrong == best:
            text = f"**{text}**"
        texts.append(f"{text}{SAMPLED}" if each is not None and each.n_rows < n_rows else text)
    some = next(iter(cells.values()))
    return row([name, f"{n_rows:,}", str(some.n_wrong), str(some.n_doubtful), *texts])


def _flags_line(table: Table, name: str, methods: list[str]) -> str:
    found = [table.get((name, method)) for method in methods]
    texts = ["" if each is None else f"{each.flagged_wrong} of {each.n_flagged:,}" for each in found]
    n_wrong = next(each.n_wrong for (of, _), each in table.items() if of == name)
    return row([name, str(n_wrong), *texts])


def _mean(table: Table, names: list[str], method: str, measure: str) -> str:
    """The mean over tables; empty if the method has not finished all of them."""
    found = [getattr(table[name, method], measure) for name in names if (name, method) in table]
    return f"{fmean(found):.2f}" if len(found) == len(names) and None not in found else ""


def _count(value: float) -> str:
    """A number of rows; it has a fraction if rows are tied."""
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"


def _failures(results: list[Result]) -> list[str]:
    failed = [f"{each.task.method} on {each.task.dataset}: {each.error}" for each in results if each.error is not None]
    return ["", f"Failed: {'; '.join(failed)}."] if failed else []
