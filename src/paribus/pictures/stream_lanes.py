"""The numbers behind the timeline of a stream, for every renderer: one lane for each kind of alarm."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

TITLES = {
    "row": "strangest rows (score)",
    "law": "has the law changed? (evidence)",
    "circumstances": "have circumstances shifted? (evidence)",
}
FIELDS = {"row": "highest_score", "law": "law", "circumstances": "circumstances"}
MAX_MARKS = 200


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
        marks = tuple(Mark(float(each.number), float(each.since), each.sentence) for each in own)
        # Evidence below that of no change is not informative.
        heights = tuple(max(float(getattr(each, FIELDS[kind])), 0.0) for each in stretches)
        lanes.append(Lane(kind, title, rows, heights, monitor.limits_.get(kind), marks))
    return lanes
