"""Finds groups of flagged rows with the same cause.

Rows are off in the same way if the same column has the same value or category, or lies on the same side of its usual
range. Among such rows, conditions on the context are searched for under which they are more frequent than elsewhere. A
group is kept if chance does not explain its size, judged by the p-values of its rows and of all rows in the same
circumstances, and corrected for the number of rules tried; other rows stay without a group. Nothing is random, so the
same rows give the same groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import evenly
from paribus.explain.chance import MIN_ROWS, chance, log_chance_of_share, ordinary_share, slices, tie_chance
from paribus.explain.context import ContextColumn
from paribus.explain.finding import Finding
from paribus.explain.group import AnomalyGroup, Circumstance, Direction
from paribus.tables.column_format import ColumnFormat

# The maximum probability by chance of a group, and of a condition.
MAX_P = 0.001
# Rows that share a value are a group if at least this share of all rows with the value is flagged for it, ...
MIN_VALUE_SHARE = 0.5
# ... and if the value is this many times as frequent among them as other values, or lies apart from all others.
MIN_VALUE_EXCESS = 3.0
# The maximum number of conditions on the context in a rule.
MAX_CONDITIONS = 3
# Quantiles of a numeric contextual feature between which conditions are tried.
N_BINS = 16
# Under a condition, the rows must be at least this many times as frequent as elsewhere.
MIN_RISE = 2.0
# Rows at the end of a column follow a trend if at least this share of the rows beyond them are as far off; ...
MIN_TREND = 0.25
# ... it is determined from this many rows at most.
MAX_COMPARED = 100
# Other columns that are off in at least this share of the rows are mentioned.
MIN_ALSO = 0.8

Flags = npt.NDArray[np.bool_]
# How a value is off: on which side, or by being a rare category, from this number on.
DIRECTIONS: dict[int, Direction] = {1: "above", -1: "below", 0: "odd"}
AS_USUAL, FIRST_CATEGORY = 9, 10


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
    sources: Sequence[str]
    """The column of each behavioral feature; one that says whether a value is missing has the column of the value."""
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
        # [finding][feature]: how it is off.
        self._off = np.full((len(findings), len(table.names)), AS_USUAL, dtype=np.int64)
        self._usual = np.full((len(findings), len(table.names), 2), np.nan)
        for row, finding in enumerate(findings):
            for value in finding.values:
                self._usual[row, place[value.name]] = value.lower, value.upper
                if value.is_off:
                    is_named = value.is_category and value.value >= 0
                    self._off[row, place[value.name]] = FIRST_CATEGORY + int(value.value) if is_named else value.sign
        self._rows = np.array([finding.position for finding in findings], dtype=np.int64)
        self._p = np.array([finding.p_value for finding in findings])
        self._is_free = np.ones(len(findings), dtype=bool)
        self._bins = [_Bins.of(table.context[:, c], column) for c, column in enumerate(table.columns)]
        self._n_conditions = sum(len(bins.conditions) for bins in self._bins)
        self._slices = [
            slices(table.context[:, c], is_category=column.codes is not None) for c, column in enumerate(table.columns)
        ]

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
            other_p_value = min(1.0, len(candidates) * by_ties)
            group = self._make(members, feature, "equal", (), self._is_scored, len(candidates), other_p_value)
            if group is not None:
                groups.append(group)
        return groups

    def of_directions(self) -> list[AnomalyGroup]:
        """Groups of rows in which a column is off in the same direction, each in its circumstances."""
        groups: list[AnomalyGroup] = []
        features, offs = np.nonzero(np.array([[(row == off).any() for off in self._ways] for row in self._off.T]))
        # By way: the rows that are off in it.
        ways = {(int(f), self._ways[o]): self._off[:, f] == self._ways[o] for f, o in zip(features, offs, strict=True)}
        n_ways = len(ways)
        # By way: the rows of the table among which causes are searched for.
        left = dict.fromkeys(ways, self._is_scored)
        while ways:
            way = max(ways, key=lambda each: int((self._is_free & ways[each]).sum()))
            members = np.flatnonzero(self._is_free & ways[way])
            feature, off = way
            conditions, is_inside = self._circumstances(members, left[way])
            inside = members[self._hold(conditions, self._rows[members])]
            n_tries = n_ways * max(1, self._n_conditions) ** len(conditions)
            group = self._make(inside, feature, DIRECTIONS.get(off, "equal"), conditions, is_inside, n_tries)
            if group is not None:
                groups.append(group)
            if not conditions:
                del ways[way]
            elif group is None:
                # Chance explains these rows. There may be a cause elsewhere.
                ways[way][inside] = False
                left[way] = left[way] & ~is_inside
        return groups

    @cached_property
    def _ways(self) -> list[int]:
        """All ways to be off."""
        return [off for off in np.unique(self._off).tolist() if off != AS_USUAL]

    def _count(self, rows: Flags) -> int:
        """The number of rows that these represent."""
        return round(float(self._table.weights[rows].sum()))

    @cached_property
    def _is_scored(self) -> Flags:
        return ~np.isnan(self._table.p_values)

    def _circumstances(self, members: Positions, is_left: Flags) -> tuple[tuple[Circumstance, ...], Flags]:
        """Conditions under which the rows are far more frequent than elsewhere, the strongest first.

        Their ends are those of the rows. The rows of the table among which these were found come with them: more rows
        satisfy the conditions that were tried than those with tight ends.
        """
        table = self._table
        chosen: list[Circumstance] = []
        is_inside = is_left
        while len(chosen) < MAX_CONDITIONS and len(members) >= MIN_ROWS:
            n_inside, n_members = self._count(is_inside), len(members)
            best: tuple[float, int, Circumstance] | None = None
            for place, bins in enumerate(self._bins):
                if any(each.column is table.columns[place] for each in chosen) or not bins.conditions:
                    continue
                k, n = bins.count(self._rows[members]), bins.count(is_inside, table.weights[is_inside])
                elsewhere = (n_members - k + 1) / np.maximum(n_inside - n, 1)
                is_risen = (k >= MIN_ROWS) & (n < n_inside) & (k >= MIN_RISE * n * elsewhere)
                # Those of at least this many, if the rows were spread evenly.
                log_p = np.where(is_risen, log_chance_of_share(k, n_members, n / n_inside), 0.0)
                lowest = int(np.argmin(log_p))
                if best is None or log_p[lowest] < best[0]:
                    best = float(log_p[lowest]), place, bins.conditions[lowest]
            if best is None or best[0] + np.log(max(1, self._n_conditions)) > np.log(MAX_P):
                break
            _, place, condition = best
            members = members[condition.holds(table.context[self._rows[members], place])]
            chosen.append(_tightened(condition, table.context[self._rows[members], place]))
            is_inside = is_inside & condition.holds(table.context[:, place])
        return tuple(chosen), is_inside

    def _hold(self, conditions: Sequence[Circumstance], rows: Positions | slice) -> Flags:
        context = self._table.context[rows]
        holds = np.ones(len(context), dtype=bool)
        for condition in conditions:
            holds &= condition.holds(context[:, self._place(condition)])
        return holds

    def _place(self, condition: Circumstance) -> int:
        return next(p for p, column in enumerate(self._table.columns) if column is condition.column)

    def _make(
        self,
        members: Positions,
        feature: int,
        direction: Direction,
        conditions: tuple[Circumstance, ...],
        is_inside: Flags,
        n_tries: int,
        other_p_value: float = 1.0,
    ) -> AnomalyGroup | None:
        """The group of these rows, which are then taken; None if there are few, or no more than by chance.

        `is_inside` are the rows of the table among which they were found.
        """
        if len(members) < MIN_ROWS:
            return None
        table = self._table
        n_inside = self._count(is_inside)
        is_other = is_inside.copy()
        is_other[self._rows[members]] = False
        slicings = [each[is_other] for each in self._slices]
        share = ordinary_share(table.p_values[is_other], table.weights[is_other], slicings)
        p_value = min(chance(self._p[members], n_inside, n_tries, share), other_p_value)
        if p_value > MAX_P or self._is_trend(members, feature, direction, conditions):
            return None
        rows = self._rows[members]
        order = np.lexsort((rows, self._p[members]))
        values = table.behavior[rows, feature]
        low, high = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        if direction == "equal":
            is_there = self._hold(conditions, slice(None)) & self._is_scored
            n_matching = self._count(is_there & (table.behavior[:, feature] == low))
        else:
            n_matching = int(self._hold(conditions, self._rows).sum())
        sign = self._off[members[0], feature]
        n_alike = int((self._off[:, feature] == sign).sum())
        example = members[order[:1]]
        shown = members if direction == "equal" else example
        leading = next(each for each in self._findings[example[0]].values if each.name == table.names[feature])
        usual = self._usual[shown, feature]
        usual_low, usual_high = (np.nan, np.nan) if np.isnan(usual).all() else np.nanmedian(usual, axis=0)
        times = None if table.times is None else table.times[rows]
        has_time = times is not None and not np.isnan(times).any()
        when = times if times is not None and has_time else rows
        first, last = (when.min(), when.max()) if has_time else (table.label(int(end)) for end in _ends(rows))
        also = self._also(members, feature)
        self._is_free[members] = False
        return AnomalyGroup(
            number=0,
            column=table.sources[feature],
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
            expected=n_inside * share(float(np.median(self._p[members]))) if p_value < other_p_value else 0.0,
            p_value=p_value,
            first=first,
            last=last,
            has_time=has_time,
            _format=table.formats[feature],
            _usual_category=leading.range_text if leading.is_category else "",
            _context=tuple(column.name for column in table.columns),
            _time=table.time_format if has_time else None,
        )

    def _is_trend(
        self, members: Positions, feature: int, direction: Direction, conditions: Sequence[Circumstance]
    ) -> bool:
        """Whether rows at the end of a column are off because the behavior goes on rising or falling there.

        They are compared with rows that are less extreme. If that is the reason, most rows beyond them are even
        farther off.
        """
        if direction not in ("above", "below"):
            return False
        table = self._table
        behavior = table.behavior[:, feature] * (1.0 if direction == "above" else -1.0)
        rows = self._rows[evenly(members, MAX_COMPARED)]
        for condition in conditions:
            place = self._place(condition)
            if condition.column.codes is not None or np.isnan(condition.low):
                continue
            is_there = self._hold([each for each in conditions if each is not condition], slice(None))
            for values, end in ((table.context[:, place], condition.high), (-table.context[:, place], -condition.low)):
                if (values > end).mean() > 1.0 / N_BINS:
                    continue
                shares = [
                    float((behavior[beyond] >= behavior[row]).mean())
                    for row in rows
                    if (beyond := is_there & (values > values[row])).any()
                ]
                if shares and np.mean(shares) >= MIN_TREND:
                    return True
        return False

    def _also(self, members: Positions, feature: int) -> tuple[str, ...]:
        """Other columns that are off in most of the rows."""
        words = []
        for other, form in enumerate(self._table.formats):
            for off in self._ways:
                is_off = self._off[members, other] == off
                if off == 0 or other == feature or is_off.mean() < MIN_ALSO:
                    continue
                values = self._table.behavior[self._rows[members[is_off]], other]
                if (values == values[0]).all():
                    words.append(f"{form.title} is {form(values[0])}")
                else:
                    words.append(f"{form.title} is {DIRECTIONS[off]} what is usual")
        return tuple(words)


@dataclass(frozen=True)
class _Bins:
    """The conditions on a column that are tried: each category, missing values, and intervals between quantiles."""

    conditions: list[Circumstance]
    first: Positions
    """The first bin of each condition."""
    last: Positions
    """The last bin of each condition."""
    bins: npt.NDArray[np.int32] = field(repr=False)
    """The bin of each row: bins are the edges of intervals and what lies between two of them, in turn."""

    @classmethod
    def of(cls, values: Floats, column: ContextColumn) -> _Bins:
        """The bins of a column."""
        inner = values[~np.isnan(values)]
        edges = known = np.unique(inner)
        found: list[tuple[int, int]] = []
        if column.codes is not None or len(known) <= N_BINS:
            found = [(place, place) for place in range(len(known))]
        else:
            edges = np.unique(np.quantile(inner, np.linspace(0, 1, N_BINS + 1)))
        if column.codes is None:
            ends = range(len(edges))
            found += [(low, high) for low in ends for high in ends[low + 1 :] if (low, high) != (0, len(edges) - 1)]
        conditions = [Circumstance(column, float(edges[low]), float(edges[high])) for low, high in found]
        bins = np.searchsorted(edges, values, "left") + np.searchsorted(edges, values, "right")
        first, last = (np.array([2 * pair[end] + 1 for pair in found], dtype=np.int64) for end in (0, 1))
        if len(inner) < len(values):
            conditions.append(Circumstance(column, np.nan, np.nan))
            first, last = np.append(first, 2 * len(edges)), np.append(last, 2 * len(edges))
        return cls(conditions, first, last, bins.astype(np.int32))

    def count(self, rows: Positions | Flags, weights: Floats | None = None) -> Floats:
        """How many of some rows, or of what they represent, satisfy each condition."""
        totals = np.cumsum(np.bincount(self.bins[rows], weights, minlength=int(self.last.max()) + 1))
        return np.asarray(totals[self.last] - np.where(self.first > 0, totals[self.first - 1], 0.0), dtype=np.float64)


def _tightened(condition: Circumstance, values: Floats) -> Circumstance:
    """The condition with ends that the rows have."""
    if np.isnan(condition.low):
        return condition
    return Circumstance(condition.column, float(values.min()), float(values.max()))


def _ends(rows: Positions) -> tuple[int, int]:
    return int(rows.min()), int(rows.max())
