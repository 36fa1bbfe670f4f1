"""Finds groups of flagged rows with the same cause.

Rows are off in the same way if the same column has the same value, or lies on the same side of its usual range. Among
such rows, conditions on the context are searched for under which they are more frequent than elsewhere. A group is kept
if chance does not explain its size, judged by the p-values of its rows and corrected for the number of rules tried;
other rows stay without a group. Nothing is random, so the same rows give the same groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.explain.context import ContextColumn
from paribus.explain.finding import Finding
from paribus.explain.group import AnomalyGroup, Circumstance, Direction
from paribus.tables.column_format import ColumnFormat

# The minimum size of a group.
MIN_ROWS = 3
# The maximum probability by chance of a group, and of a condition.
MAX_P = 0.001
# Rows that share a value are a group if at least this share of all rows with the value is flagged for it, ...
MIN_VALUE_SHARE = 0.5
# ... and if the value is this many times as frequent among them as other values, or lies apart from all others.
MIN_VALUE_EXCESS = 3.0
# A value lies apart if its distance from all others is at least this many times the median distance between neighbors.
MIN_GAP = 5.0
# The maximum number of conditions on the context in a rule.
MAX_CONDITIONS = 3
# Quantiles of a numeric contextual feature between which conditions are tried.
N_BINS = 16
# Under a condition, the rows must be at least this many times as frequent as elsewhere.
MIN_RISE = 2.0
# Other columns that are off in at least this share of the rows are mentioned.
MIN_ALSO = 0.8

Flags = npt.NDArray[np.bool_]
SIGNS: dict[int, Direction] = {1: "above", -1: "below", 0: "odd"}


@dataclass(frozen=True)
class GroupedTable:
    """The rows among which groups are searched."""

    context: Floats = field(repr=False)
    """[row][contextual feature]: encoded."""
    behavior: Floats = field(repr=False)
    """[row][behavioral feature]"""
    p_values: Floats = field(repr=False)
    """The p-value of each row; NaN for a row without a score."""
    columns: Sequence[ContextColumn]
    names: Sequence[str]
    """The names of the behavioral features."""
    formats: Sequence[ColumnFormat]
    labels: npt.NDArray[Any] | None
    """The labels of the rows; None for their positions."""
    times: Floats | None
    """The time of each row; None if the table has no timestamps."""
    time_format: ColumnFormat | None
    weights: Floats = field(repr=False)
    """The number of rows that each row represents: more than 1 in a sample."""

    def label(self, row: int) -> Any:
        """The label of a row, or its position."""
        return row if self.labels is None else self.labels[row]


def find_groups(findings: Sequence[Finding], table: GroupedTable) -> list[AnomalyGroup]:
    """Finds the groups of flagged rows, the largest first."""
    search = _Search(findings, table)
    found = [*search.of_equal_values(), *search.of_directions()]
    found.sort(key=lambda group: (-group.size, int(group.positions.min())))
    return [replace(group, number=number) for number, group in enumerate(found, 1)]


class _Search:
    """Rows that have no group yet, and the ways in which they are off."""

    def __init__(self, findings: Sequence[Finding], table: GroupedTable) -> None:
        self._table = table
        self._findings = findings
        place = {name: number for number, name in enumerate(table.names)}
        # [finding][feature]: 1 above, -1 below, 0 odd in another way; 9 as usual.
        self._off = np.full((len(findings), len(table.names)), 9, dtype=np.int64)
        self._usual = np.full((len(findings), len(table.names), 2), np.nan)
        for row, finding in enumerate(findings):
            for value in finding.values:
                self._usual[row, place[value.name]] = value.lower, value.upper
                if value.is_off:
                    self._off[row, place[value.name]] = value.sign
        self._rows = np.array([finding.position for finding in findings], dtype=np.int64)
        self._p = np.array([finding.p_value for finding in findings])
        self._is_free = np.ones(len(findings), dtype=bool)
        self._bins = [_bins(table.context[:, c], column) for c, column in enumerate(table.columns)]
        self._n_conditions = sum(len(bins) for bins in self._bins)

    def of_equal_values(self) -> list[AnomalyGroup]:
        """Groups of rows that have one and the same value where another one is usual."""
        candidates = []
        for feature in range(len(self._table.names)):
            column = self._table.behavior[:, feature]
            for sign in (1, -1):
                values = column[self._rows[self._off[:, feature] == sign]]
                counts = Counter(values.tolist())
                typical = float(np.median(list(counts.values()))) if counts else 1.0
                for value, count in counts.items():
                    if count < MIN_ROWS or count < MIN_VALUE_SHARE * self._count(column == value):
                        continue
                    by_ties = tie_chance(column, value, len(values), self._table.weights)
                    if count >= MIN_VALUE_EXCESS * typical or by_ties <= MAX_P:
                        candidates.append((-count, feature, sign, value, by_ties))
        groups = []
        for _, feature, sign, value, by_ties in sorted(candidates):
            has_value = self._table.behavior[self._rows, feature] == value
            members = np.flatnonzero(self._is_free & (self._off[:, feature] == sign) & has_value)
            group = self._make(members, feature, "equal", (), len(candidates), min(1.0, len(candidates) * by_ties))
            if group is not None:
                groups.append(group)
        return groups

    def of_directions(self) -> list[AnomalyGroup]:
        """Groups of rows in which a column is off in the same direction, each in its circumstances."""
        groups: list[AnomalyGroup] = []
        ways = [(feature, sign) for feature in range(len(self._table.names)) for sign in SIGNS]
        while ways:
            counts = [int((self._is_free & (self._off[:, feature] == sign)).sum()) for feature, sign in ways]
            most = int(np.argmax(counts))
            feature, sign = ways[most]
            members = np.flatnonzero(self._is_free & (self._off[:, feature] == sign))
            conditions = self._circumstances(members) if counts[most] >= MIN_ROWS else ()
            inside = members[self._hold(conditions, self._rows[members])]
            n_tries = len(ways) * max(1, self._n_conditions) ** len(conditions)
            group = self._make(inside, feature, SIGNS[sign], conditions, n_tries)
            if group is not None:
                groups.append(group)
            if group is None or not conditions:
                ways.pop(most)
        return groups

    def _count(self, rows: Flags) -> int:
        """The number of rows that these represent."""
        return round(float(self._table.weights[rows].sum()))

    def _circumstances(self, members: Positions) -> tuple[Circumstance, ...]:
        """Conditions under which the rows are far more frequent than elsewhere, the strongest first."""
        from scipy.stats import binom

        table = self._table
        chosen: list[Circumstance] = []
        is_inside = ~np.isnan(table.p_values)
        while len(chosen) < MAX_CONDITIONS:
            n_inside, n_members = self._count(is_inside), len(members)
            best: tuple[float, int, Circumstance] | None = None
            for place, bins in enumerate(self._bins):
                if any(each.column is table.columns[place] for each in chosen):
                    continue
                for condition in bins:
                    k = int(condition.holds(table.context[self._rows[members], place]).sum())
                    if k < MIN_ROWS or k == n_inside:
                        continue
                    n = self._count(condition.holds(table.context[:, place]) & is_inside)
                    if n == n_inside or k / n < MIN_RISE * (n_members - k + 1) / max(n_inside - n, 1):
                        continue
                    # The log-probability of at least this many, if the rows were spread evenly.
                    log_p = float(binom.logsf(k - 1, n_members, n / n_inside))
                    if best is None or log_p < best[0]:
                        best = log_p, place, condition
            if best is None or best[0] + np.log(max(1, self._n_conditions)) > np.log(MAX_P):
                break
            _, place, condition = best
            members = members[condition.holds(table.context[self._rows[members], place])]
            chosen.append(_tightened(condition, table.context[self._rows[members], place]))
            is_inside &= condition.holds(table.context[:, place])
        return tuple(chosen)

    def _hold(self, conditions: Sequence[Circumstance], rows: Positions | slice) -> Flags:
        context = self._table.context[rows]
        holds = np.ones(len(context), dtype=bool)
        for condition in conditions:
            place = next(p for p, column in enumerate(self._table.columns) if column is condition.column)
            holds &= condition.holds(context[:, place])
        return holds

    def _make(
        self,
        members: Positions,
        feature: int,
        direction: Direction,
        conditions: tuple[Circumstance, ...],
        n_tries: int,
        other_p_value: float = 1.0,
    ) -> AnomalyGroup | None:
        """The group of these rows, which are then taken; None if there are few, or no more than by chance."""
        if len(members) < MIN_ROWS:
            return None
        table = self._table
        is_inside = self._hold(conditions, slice(None)) & ~np.isnan(table.p_values)
        n_inside = self._count(is_inside)
        p_value = min(chance(self._p[members], n_inside, n_tries), other_p_value)
        if p_value > MAX_P:
            return None
        rows = self._rows[members]
        order = np.lexsort((rows, self._p[members]))
        values = table.behavior[rows, feature]
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if direction == "equal":
            n_matching = self._count(is_inside & (table.behavior[:, feature] == low))
        else:
            n_matching = int(self._hold(conditions, self._rows).sum())
        sign = self._off[members[0], feature]
        n_alike = int((self._off[:, feature] == sign).sum())
        example = members[order[:1]]
        shown = members if direction == "equal" else example
        usual_low, usual_high = np.nanmedian(self._usual[shown, feature], axis=0)
        times = None if table.times is None else table.times[rows]
        has_time = times is not None and not np.isnan(times).any()
        when = times if times is not None and has_time else rows
        first, last = (when.min(), when.max()) if has_time else (table.label(int(end)) for end in _ends(rows))
        also = self._also(members, feature)
        self._is_free[members] = False
        return AnomalyGroup(
            number=0,
            column=table.names[feature],
            direction=direction,
            low=low,
            high=high,
            value=float(table.behavior[self._rows[example[0]], feature]),
            usual_low=float(usual_low),
            usual_high=float(usual_high),
            circumstances=conditions,
            also=also,
            positions=rows[order],
            labels=tuple(table.label(int(row)) for row in rows[order]),
            n_matching=n_matching,
            coverage=len(members) / n_alike,
            expected=float(n_inside * np.median(self._p[members])) if p_value < other_p_value else 0.0,
            p_value=p_value,
            first=first,
            last=last,
            has_time=has_time,
            _format=table.formats[feature],
            _context=tuple(column.name for column in table.columns),
            _time=table.time_format if has_time else None,
        )

    def _also(self, members: Positions, feature: int) -> tuple[str, ...]:
        """Other columns that are off in most of the rows."""
        words = []
        for other, form in enumerate(self._table.formats):
            for sign in (1, -1):
                is_off = self._off[members, other] == sign
                if other == feature or is_off.mean() < MIN_ALSO:
                    continue
                values = self._table.behavior[self._rows[members[is_off]], other]
                if (values == values[0]).all():
                    words.append(f"{form.title} is {form(values[0])}")
                else:
                    words.append(f"{form.title} is {SIGNS[sign]} what is usual")
        return tuple(words)


def chance(p_values: Floats, n_rows: int, n_tries: int) -> float:
    """The probability that as many of `n_rows` ordinary rows are as unusual, for the most significant quarters of them.

    >>> chance(np.array([1e-9, 1e-8, 1e-7]), 1000, 1) < 1e-9, chance(np.array([9e-4, 8e-4, 7e-4]), 3000, 1)
    (True, 1.0)
    """
    from scipy.stats import binom

    ranked = np.sort(p_values)
    numbers = sorted({-(-len(ranked) * quarter // 4) for quarter in (1, 2, 3, 4)})
    lowest = min(float(binom.sf(number - 1, n_rows, ranked[number - 1])) for number in numbers)
    return min(1.0, lowest * len(numbers) * n_tries)


def tie_chance(column: Floats, value: float, n_rows: int, weights: Floats | None = None) -> float:
    """The probability that as many of `n_rows` rows share a value by chance, if it lies apart from all others; else 1.

    Values next to others, such as the highest counts, are frequent among flagged rows anyway. `weights` are the numbers
    of rows that values represent.

    >>> column = np.append(np.linspace(0, 1, 1000), [-99.0] * 4)
    >>> tie_chance(column, -99.0, 6) < 1e-6, tie_chance(column, 1.0, 6)
    (True, 1.0)
    """
    from scipy.stats import binom

    is_there = ~np.isnan(column)
    known, places = np.unique(column[is_there], return_inverse=True)
    counts = np.bincount(places, None if weights is None else weights[is_there], minlength=len(known))
    is_own = known == value
    count, others = round(float(counts[is_own].sum())), known[~is_own]
    if count < MIN_ROWS or len(others) < MIN_ROWS:
        return 1.0
    if np.abs(others - value).min() < MIN_GAP * np.median(np.diff(others)):
        return 1.0
    # Where none of n rows lies, it is improbable that more than 3 / n of all do.
    tie = min(1.0, 3.0 / float(counts[~is_own].sum()))
    return float(binom.sf(min(count, n_rows) - 2, max(n_rows - 1, 1), tie))


def _bins(values: Floats, column: ContextColumn) -> list[Circumstance]:
    """The conditions on a column that are tried: each category, missing values, and intervals between quantiles."""
    found = [Circumstance(column, np.nan, np.nan)] if np.isnan(values).any() else []
    known = np.unique(values[~np.isnan(values)])
    if column.codes is not None or len(known) <= N_BINS:
        found += [Circumstance(column, float(value), float(value)) for value in known]
    if column.codes is None and len(known) > 1:
        inner = values[~np.isnan(values)]
        edges = known if len(known) <= N_BINS else np.unique(np.quantile(inner, np.linspace(0, 1, N_BINS + 1)))
        found += [
            Circumstance(column, float(low), float(high))
            for place, low in enumerate(edges)
            for high in edges[place + 1 :]
            if (low, high) != (edges[0], edges[-1])
        ]
    return found


def _tightened(condition: Circumstance, values: Floats) -> Circumstance:
    """The condition with ends that the rows have."""
    if np.isnan(condition.low):
        return condition
    return Circumstance(condition.column, float(values.min()), float(values.max()))


def _ends(rows: Positions) -> tuple[int, int]:
    return int(rows.min()), int(rows.max())
