"""Means over data sets and methods, and their texts on pages."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TypeAlias

from paribus.evaluation import experiments
from paribus.evaluation.results import Mean, is_generated
from paribus.evaluation.statistics import ranks

Table: TypeAlias = dict[tuple[str, str], Mean]
"""(data set, method) -> mean over trials."""


def paper_names() -> list[str]:
    """The names of the paper's data sets."""
    return [summary.name for summary in experiments.paper_sets()]


def average_ranks(table: Table, names: list[str], methods: list[str]) -> dict[str, float]:
    """The average rank of each method over data sets; 1 is the best."""
    values = [[table[name, method].mean for method in methods] for name in names]
    return dict(zip(methods, ranks(values).mean(axis=0).tolist(), strict=True))


def complete(table: Table, methods: list[str], names: list[str] | None = None) -> list[str]:
    """The data sets that all methods have finished, among the given ones or those of the paper."""
    return [name for name in names or paper_names() if all((name, method) in table for method in methods)]


def mean_over(table: Table, names: Iterable[str], method: str) -> float | None:
    """The mean over data sets; None if the method has not finished all of them."""
    found = [table.get((name, method)) for name in names]
    return fmean(each.mean for each in found if each is not None) if found and all(found) else None


def kinds(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The paper's data sets by kind: real ones and generated ones."""
    parts = [("real", [n for n in names if not is_generated(n)]), ("generated", [n for n in names if is_generated(n)])]
    return [(title, chosen) for title, chosen in parts if chosen]


def best_bold(cells: list[Mean | None], usual: int) -> list[str]:
    """The cells of a line: the best (to two digits) in bold, and the number of trials if it is lower than usual."""
    best = max(round(cell.mean, 2) for cell in cells if cell is not None)
    texts = []
    for cell in cells:
        text = text_of(cell) if cell is None or round(cell.mean, 2) < best else f"**{cell}**"
        texts.append(f"{text} ({cell.n_trials})" if cell is not None and cell.n_trials < usual else text)
    return texts


def listed(order: list[tuple[str, float]]) -> str:
    """Methods with their ranks, separated by commas."""
    return ", ".join(f"{method} {rank:.2f}" for method, rank in order)


def number(value: float | None) -> str:
    """A mean of means as text; empty for None."""
    return "" if value is None else f"{value:.3f}"


def text_of(value: Mean | None) -> str:
    """A mean with its deviation as text; empty for None."""
    return "" if value is None else str(value)


def met(is_met: bool) -> str:
    """Whether a requirement is met, as text."""
    return "met" if is_met else "not met"
