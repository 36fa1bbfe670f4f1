"""Means of many cells, and how pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import TypeAlias

from paribus.evaluation import experiments
from paribus.evaluation.results import Mean, is_generated
from paribus.evaluation.statistics import ranks

Table: TypeAlias = dict[tuple[str, str], Mean]
"""Data set and method -> mean over trials."""


def paper_names() -> list[str]:
    """The names of the paper's data sets."""
    return [summary.name for summary in experiments.paper_sets()]


def average_ranks(table: Table, names: list[str], methods: list[str]) -> dict[str, float]:
    """The rank of each method, 1 is the best, as the mean over data sets."""
    values = [[table[name, method].mean for method in methods] for name in names]
    return dict(zip(methods, ranks(values).mean(axis=0).tolist(), strict=True))


def complete(table: Table, methods: list[str], names: list[str] | None = None) -> list[str]:
    """The data sets that all methods have finished, of the paper's or of others."""
    return [name for name in names or paper_names() if all((name, method) in table for method in methods)]


def mean_over(table: Table, names: Iterable[str], method: str) -> float | None:
    """The mean over data sets, if the method has finished them all."""
    found = [table.get((name, method)) for name in names]
    return fmean(each.mean for each in found if each is not None) if found and all(found) else None


def kinds(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """The paper's data sets by kind: those that are real, and those that are generated."""
    parts = [("real", [n for n in names if not is_generated(n)]), ("generated", [n for n in names if is_generated(n)])]
    return [(title, chosen) for title, chosen in parts if chosen]


def best_bold(cells: list[Mean | None], usual: int) -> list[str]:
    """The cells of a line, the best (by two digits) bold; trials in brackets where there are fewer than usual."""
    best = max(round(cell.mean, 2) for cell in cells if cell is not None)
    texts = []
    for cell in cells:
        text = text_of(cell) if cell is None or round(cell.mean, 2) < best else f"**{cell}**"
        texts.append(f"{text} ({cell.n_trials})" if cell is not None and cell.n_trials < usual else text)
    return texts


def listed(order: list[tuple[str, float]]) -> str:
    """Methods and their ranks."""
    return ", ".join(f"{method} {rank:.2f}" for method, rank in order)


def number(value: float | None) -> str:
    """A mean of means; nothing if there is none."""
    return "" if value is None else f"{value:.3f}"


def text_of(value: Mean | None) -> str:
    """A mean with its deviation; nothing if there is none."""
    return "" if value is None else str(value)


def met(is_met: bool) -> str:
    """Whether what was asked for is there."""
    return "met" if is_met else "not met"
