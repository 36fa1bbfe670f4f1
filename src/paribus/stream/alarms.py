"""The output of a monitor: a verdict on each row, and three kinds of alarms, each with a sentence."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from paribus._common.text import plain
from paribus.stream.bets import SHAPE
from paribus.stream.change import Change

ROW, LAW, CIRCUMSTANCES = "row", "law", "circumstances"
KINDS = (ROW, LAW, CIRCUMSTANCES)
# Alarms that are kept, about rows and about changes.
N_ALARMS = 1_000


@dataclass(frozen=True)
class Alarm:
    """An alarm: an odd row, or a change of the stream."""

    kind: str
    """"row": a row is odd. "law": behavior given its context has changed. "circumstances": only contexts have."""
    number: int
    """The row at which it was raised, counted from 0."""
    since: int
    """The row at which the change most probably began."""
    sentence: str
    column: str | None = None
    """The behavioral or contextual column that has changed."""
    how: str | None = None
    """"higher", "lower", "more spread out", "less spread out" or "distributed differently"."""
    region: str | None = None
    """The part of the context in which it has changed; None if it has changed everywhere."""
    evidence: float | None = None
    """The evidence E of a change: without one, at most 1 in E streams of any length would have as much."""
    time: str | None = None
    since_time: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, without fields that are not set."""
        return {name: value for name, value in self.__dict__.items() if value is not None}


@dataclass(frozen=True)
class RowVerdict:
    """The verdict on one row, from before it was learned."""

    number: int
    """The number of the row in the stream, from 0."""
    score: float
    """Minus the decimal logarithm of the p-value; NaN if the row cannot be judged."""
    p_value: float
    """The probability that a recent ordinary row is at least as strange."""
    kind: str | None = None
    """What is strange: the "whole" row, the "combination" of its values, or one "value"."""
    is_odd: bool = False
    """Whether it is among the rows of which at most a share of `fdr` is expected to be ordinary."""
    is_certain: bool = True
    """Whether the reference has rows in its circumstances."""
    is_learned: bool = False
    """Whether the monitor will learn from it."""
    parts: dict[str, float] = field(default_factory=dict)
    """What each behavioral column contributes to the score."""
    alarms: tuple[Alarm, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values; missing numbers are None."""
        return {
            "number": self.number,
            "score": None if self.score != self.score else round(self.score, 6),
            "p_value": None if self.p_value != self.p_value else self.p_value,
            "kind": self.kind,
            "odd": self.is_odd,
            "certain": self.is_certain,
            "learned": self.is_learned,
            "parts": {name: round(part, 6) for name, part in self.parts.items() if part == part},
            "alarms": [alarm.to_dict() for alarm in self.alarms],
        }


class AlarmLog:
    """The last alarms, in the order in which they were raised: those about rows do not push out those about changes."""

    def __init__(self) -> None:
        self._about_rows: deque[Alarm] = deque(maxlen=N_ALARMS)
        self._about_changes: deque[Alarm] = deque(maxlen=N_ALARMS)

    def add(self, alarms: Iterable[Alarm]) -> None:
        """Adds alarms."""
        for alarm in alarms:
            (self._about_rows if alarm.kind == ROW else self._about_changes).append(alarm)

    @property
    def alarms(self) -> list[Alarm]:
        """All that are kept."""
        return sorted([*self._about_rows, *self._about_changes], key=lambda alarm: alarm.number)


def odds(evidence: float) -> str:
    """The strength of evidence in words.

    >>> odds(12_345.0), odds(1e12)
    ('1 in 12,000', 'fewer than 1 in a million')
    """
    if evidence >= 1e6:
        return "fewer than 1 in a million"
    # 1 / 1e-5 is a little below 100,000.
    whole = int(evidence * (1.0 + 1e-9))
    digits = 10 ** max(len(str(whole)) - 2, 0)
    return f"1 in {whole // digits * digits:,}"


def say_row(number: int, p_value: float, column: str, time: str | None) -> str:
    """The sentence about an odd row.

    >>> say_row(120, 1e-5, "wind", None)
    'Row 120 is odd, mostly in wind: 1 in 100,000 ordinary rows would be as strange.'
    """
    rarity = "fewer than 1 in a billion" if p_value < 1e-9 else odds(1.0 / p_value)
    return f"Row {number:,}{_at(time)} is odd, mostly in {plain(column)}: {rarity} ordinary rows would be as strange."


def say_law(change: Change, column: str, region: str | None, since_time: str | None) -> str:
    """The sentence about behavior that has changed.

    >>> print(say_law(Change(0, "higher", 0, 300, 2e4), "wind", None, None))
    wind is higher than it was in the same circumstances, since about row 300. Evidence this strong turns up in 1 in
    20,000 streams without a change.
    """
    where = "" if region is None else f", where {region}"
    return (
        f"{plain(column)} is {_than(change.how)} in the same circumstances{where}, since about row {change.since:,}"
        f"{_at(since_time)}. Evidence this strong turns up in {odds(change.evidence)} streams without a change."
    )


def say_circumstances(change: Change, column: str, has_order: bool, since_time: str | None) -> str:
    """The sentence about circumstances that have shifted.

    >>> print(say_circumstances(Change(0, "higher", 0, 300, 2e4), "elevation", True, None))
    The circumstances have shifted: elevation is higher than it was, since about row 300. Verdicts on rows in new
    circumstances are less certain.
    """
    how = _than(change.how if has_order else SHAPE)
    return (
        f"The circumstances have shifted: {plain(column)} is {how}, since about row {change.since:,}{_at(since_time)}. "
        "Verdicts on rows in new circumstances are less certain."
    )


def _than(how: str) -> str:
    return f"{how} than it was"


def _at(time: str | None) -> str:
    return "" if time is None else f" ({time})"
