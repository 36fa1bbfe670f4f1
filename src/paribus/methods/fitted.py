"""The result of a fit: everything that scoring and explaining need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paribus._common.arrays import Floats
from paribus.methods.interface import Judged, Method, MethodState
from paribus.tables.encoded_table import EncodedTable


class Fitted:
    """The fitted table, the state of the method, and the scores.

    Parameters
    ----------
    table : EncodedTable
        The fitted table.
    method : Method
        The method that was fitted.
    state : MethodState
        The state of the method.
    judged : Judged, or a function that makes it
        What the method says about the fitted rows, each judged out of sample. What comes from a file is made when it is
        first needed.
    reach : array
        [row][2]: the distances of the nearest and the farthest reference row, for all fitted rows or a sample.
    threshold : float
        The score above which a row is an anomaly.
    seconds : float
        How long the fit took.
    """

    def __init__(
        self,
        table: EncodedTable,
        method: Method,
        state: MethodState,
        judged: Judged | Callable[[], Judged],
        reach: Floats,
        threshold: float,
        seconds: float,
    ) -> None:
        self.table = table
        self.method = method
        self.state = state
        self._judged = judged
        self.reach = reach
        self.threshold = threshold
        self.seconds = seconds

    def __getstate__(self) -> dict[str, Any]:
        # A function that reads a file cannot be pickled.
        return self.__dict__ | {"_judged": self.judged}

    @property
    def judged(self) -> Judged:
        """What the method says about the fitted rows, each judged out of sample."""
        if not isinstance(self._judged, Judged):
            self._judged = self._judged()
        return self._judged

    @property
    def scores(self) -> Floats:
        """The scores of the fitted rows."""
        return self.method.total(self.judged.partial)
