"""What a method of detection is, apart from the frame around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from paribus.conditional import Density
from paribus.values import Floats

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AskedRows:
    """Rows to compare with the fitted ones."""

    context: Floats
    """Rows x contextual features, as encoded."""
    behavior: Floats
    """Rows x behavioural features."""
    fitted: Positions
    """The fitted row that each one equals, which it is not compared with; -1 if there is none."""
    n_threads: int
    tick: Callable[[int], object] | None = None


@dataclass(frozen=True)
class RowFindings:
    """What a judge says of one row."""

    partial_scores: Floats
    """By behavioural feature."""
    percentiles: Floats
    """[behavioural feature][quantile]"""
    central: Floats
    """[behavioural feature][3]: the 5 % percentile, the median, and the 95 % percentile."""
    neighbors: Positions
    """The fitted rows that it is compared with, nearest first, ..."""
    distances: Floats
    """... how far away they are, ..."""
    weights: Floats
    """... and how much each counts: [behavioural feature][neighbour], 1 in all."""
    surprises: tuple[Surprise, ...] | None = None
    """By behavioural feature, if the method knows them."""


@dataclass(frozen=True)
class Surprise:
    """How improbable a value is, against a usual one."""

    given_context: float
    """By how many nats it is more surprising than the value of a usual row, given the context; never below 0."""
    given_all: float | None
    """The same, given the context and the other behavioural features; None if there are none."""
    density: Density
    """Of the feature in the row's context."""


class Judge(Protocol):
    """Compares rows with the fitted ones."""

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""

    def score(self, rows: AskedRows) -> Floats:
        """Partial scores, rows x behavioural features; NaN where a row cannot be judged."""

    def percentiles(self, rows: AskedRows) -> npt.NDArray[np.float64]:
        """[row][behavioural feature][quantile]: distributions in the contexts of rows. Behaviour may be missing."""

    def neighbors(self, rows: AskedRows) -> tuple[Positions, Floats]:
        """The fitted rows that each row is compared with, nearest first, and how far away they are."""

    def find(self, rows: AskedRows) -> list[RowFindings]:
        """All that is to be said of each row."""
