"""The history of a stream in a bounded number of intervals, for the timeline."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from paribus._common.arrays import Floats
from paribus.stream.alarms import RowVerdict

# Intervals are merged in pairs when there are twice as many.
N_STRETCHES = 500
FIRST_LENGTH = 16


@dataclass
class Stretch:
    """Some successive rows."""

    first: int
    n_rows: int
    highest_score: float
    n_odd: int
    law: float
    """The maximum evidence, over columns and these rows, that the law has changed; as a decimal logarithm."""
    circumstances: float

    def join(self, other: Stretch) -> None:
        """Merges the interval that follows."""
        self.n_rows += other.n_rows
        self.n_odd += other.n_odd
        for name in ("highest_score", "law", "circumstances"):
            setattr(self, name, max(getattr(self, name), getattr(other, name)))


class History:
    """Intervals of a stream; the longer the stream, the longer each."""

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []
        self._length = FIRST_LENGTH

    def add(self, first: int, verdicts: list[RowVerdict], law: Floats, circumstances: Floats) -> None:
        """Adds rows, and the evidence of each column after them."""
        scores = [verdict.score for verdict in verdicts if verdict.score == verdict.score]
        n_odd = sum(verdict.is_odd for verdict in verdicts)
        stretch = Stretch(first, len(verdicts), max(scores, default=0.0), n_odd, _highest(law), _highest(circumstances))
        if self.stretches and self.stretches[-1].n_rows < self._length:
            self.stretches[-1].join(stretch)
        else:
            self.stretches.append(stretch)
        if len(self.stretches) >= 2 * N_STRETCHES:
            for left, right in zip(self.stretches[::2], self.stretches[1::2], strict=False):
                left.join(right)
            self.stretches = self.stretches[::2]
            self._length *= 2

    def state(self) -> dict[str, Any]:
        """The same as plain values."""
        return {"length": self._length, "stretches": [list(asdict(each).values()) for each in self.stretches]}

    @classmethod
    def of(cls, state: dict[str, Any]) -> History:
        """Restores the history from what `state` returned."""
        history = cls()
        history._length = int(state["length"])
        history.stretches = [Stretch(*each) for each in state["stretches"]]
        return history


def _highest(evidence: Floats) -> float:
    return float(np.log10(max(float(evidence.max(initial=1e-9)), 1e-9)))
