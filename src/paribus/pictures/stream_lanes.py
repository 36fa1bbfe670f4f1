"""The numbers behind the timeline of a stream, for every renderer: one lane for each kind of alarm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from paribus._common.text import plain

TITLES = {
    "row": "strangest rows (score)",
    "law": "has the law changed? (evidence)",
    "circumstances": "have circumstances shifted? (evidence)",
}
FIELDS = {"row": "highest_score", "law": "law", "circumstances": "circumstances"}
MAX_MARKS = 200
MAX_NAME_LENGTH = 24
# Labels that are closer than this share of the width would overlap.
MIN_DISTANCE = 0.3
# The width of a letter, as a share of that of the picture.
LETTER = 0.01
# Odd rows are marked at the top, in this share of the height, so that they do not hide the scores.
RUG = 0.12


class Monitored(Protocol):
    """What the picture needs of a monitor."""

    @property
    def history_(self) -> Any:
        """The history, as `stretches` of rows."""

    @property
    def alarms_(self) -> Iterable[Any]:
        """The last alarms."""

    @property
    def limits_(self) -> dict[str, float]:
        """By lane: the evidence at which an alarm is raised, as a decimal logarithm."""


@dataclass(frozen=True)
class Mark:
    """An alarm."""

    at: float
    """The row that raised it."""
    since: float
    """The row with which the change began."""
    sentence: str
    label: str = ""
    """In a few words: which column has changed, and how; none if another alarm right before has one."""


@dataclass(frozen=True)
class Lane:
    """One kind of alarm over time."""

    kind: str
    title: str
    rows: tuple[float, ...]
    """The midpoints of stretches of rows."""
    heights: tuple[float, ...]
    limit: float | None
    """The height at which an alarm is raised; None if that depends on earlier rows."""
    marks: tuple[Mark, ...]

    def is_left(self, mark: Mark) -> bool:
        """Whether there is space for its label to the right of a mark."""
        return mark.at + LETTER * len(mark.label) * (self.rows[-1] - self.rows[0]) < self.rows[-1]


def _marks(alarms: list[Any], width: float) -> tuple[Mark, ...]:
    marks, last = [], -math.inf
    for alarm in alarms:
        label = ""
        if alarm.how is not None and alarm.number - last > MIN_DISTANCE * width:
            label, last = f"{plain(alarm.column, MAX_NAME_LENGTH)}: {alarm.how}", alarm.number
        marks.append(Mark(float(alarm.number), float(alarm.since), alarm.sentence, label))
    return tuple(marks)


def stream_lanes(monitor: Monitored) -> list[Lane]:
    """The three lanes of a monitor. Raises a ValueError if there is nothing to show yet."""
    stretches = monitor.history_.stretches
    if not stretches:
        raise ValueError("there is nothing to draw: the monitor has not judged any row yet")
    rows = tuple(each.first + each.n_rows / 2.0 for each in stretches)
    alarms = list(monitor.alarms_)
    lanes = []
    for kind, title in TITLES.items():
        own = [alarm for alarm in alarms if alarm.kind == kind][-MAX_MARKS:]
        marks = _marks(own, rows[-1] - rows[0])
        # Evidence below that of no change is not informative.
        heights = tuple(max(float(getattr(each, FIELDS[kind])), 0.0) for each in stretches)
        lanes.append(Lane(kind, title, rows, heights, monitor.limits_.get(kind), marks))
    return lanes
