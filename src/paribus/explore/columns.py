"""Columns for the page: their types, small histograms, and the advice on their roles."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import plain
from paribus.advice.suggestion import Advice
from paribus.pictures.geometry import window
from paribus.tables.column import Kind, is_missing
from paribus.tables.column_format import ColumnFormat
from paribus.tables.table import Table

N_BINS = 24
MAX_BARS = 40
N_CATEGORIES = 6
CONTEXT, BEHAVIOR, ID, NONE = ROLES = ("context", "behavior", "id", "none")


class TableColumns:
    """The columns of a table, their formats, and their values as numbers; each is computed when it is first needed."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns
        self.table = Table(columns)
        self.names = list(columns)
        self._numbers: dict[str, Floats | None] = {}
        self._formats: dict[str, ColumnFormat] = {}

    def numbers(self, name: str) -> Floats | None:
        """The values of a column as numbers; None if it has none, or if one is infinite or too large."""
        if name not in self._numbers:
            place = self.table.find_column(name)
            try:
                is_number = self.table.kind(place).is_number
                self._numbers[name] = self.table.numbers(place) if is_number else None
            except ValueError:
                self._numbers[name] = None
        return self._numbers[name]

    def format(self, name: str) -> ColumnFormat:
        """How the values of a column are written."""
        if name not in self._formats:
            self._formats[name] = ColumnFormat.fit(self.table, self.table.find_column(name), self.numbers(name))
        return self._formats[name]

    def text(self, name: str, row: int, longest: int = 60) -> str:
        """One value as text."""
        numbers = self.numbers(name)
        if numbers is not None:
            return self.format(name)(numbers[row])
        cell = self.columns[name][row]
        return "missing" if is_missing(cell) else plain(cell, longest)

    def summary(self, name: str) -> dict[str, Any]:
        """The type, missing and distinct values, and a histogram of a column."""
        place = self.table.find_column(name)
        numbers = self.numbers(name)
        found: dict[str, Any] = {"name": name, "type": self.table.kind(place).value}
        if numbers is not None:
            known = numbers[~np.isnan(numbers)]
            found |= {"missing": len(numbers) - len(known), "distinct": len(np.unique(known))}
            if known.size:
                low, high = window(known)
                write = self.format(name)
                counts = _counts(known, low, high, is_whole=write.kind is Kind.NUMERIC and write.decimals == 0)
                found["histogram"] = {"counts": counts.tolist(), "low": write(low), "high": write(high)}
            return found
        values = [value for value in self.columns[name].tolist() if not is_missing(value)]
        counted = Counter(str(value) for value in values)
        top = [[plain(value, 30), count] for value, count in counted.most_common(N_CATEGORIES)]
        return found | {"missing": self.table.n_rows - len(values), "distinct": len(counted), "categories": top}


def _counts(known: Floats, low: float, high: float, *, is_whole: bool) -> npt.NDArray[np.int64]:
    """The heights of a histogram; few whole numbers have a bar each, so that none falls between two."""
    n_bins, ends = N_BINS, (low, high if high > low else low + 1.0)
    if is_whole and high - low < MAX_BARS:
        n_bins, ends = round(high - low) + 1, (round(low) - 0.5, round(high) + 0.5)
    counts, _ = np.histogram(known.clip(low, high), n_bins, ends)
    return counts


def advice_dict(advice: Advice) -> dict[str, Any]:
    """The advice, by column, for the page."""
    looks = {look.name: {"looks_like": look.nature.value, "why": look.why} for look in advice.looks}
    steps = {step.name: (place, step) for place, step in enumerate(advice.steps, 1)}
    columns = []
    for name, look in looks.items():
        said: dict[str, Any] = {**look, "name": name, "left_out": advice.left_out.get(name)}
        if name in steps:
            number, step = steps[name]
            said["place"] = number
            if step.adds:
                said |= {"adds": step.bits, "most_for": step.most_for}
        if name in advice.candidates and advice.measured:
            place = advice.candidates.index(name)
            said["gains"] = [
                {"behavior": behavior, "alone": advice.alone[b][place].bits, "beyond": advice.beyond[b][place].bits}
                for b, behavior in enumerate(advice.measured)
            ]
        columns.append(said)
    return {"columns": columns, "alarms": list(advice.alarms), "roles": proposed_roles(advice)}


def proposed_roles(advice: Advice) -> dict[str, str]:
    """The role of each column that the advice proposes."""
    context = advice.contextual or list(advice.candidates)
    roles = dict.fromkeys((look.name for look in advice.looks), NONE)
    roles |= dict.fromkeys(context, CONTEXT) | dict.fromkeys(advice.behavioral, BEHAVIOR)
    if advice.id is not None:
        roles[advice.id] = ID
    return roles
