"""The result of a fit: everything that scoring and explaining need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from paribus._common.arrays import Floats, Positions
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
        The results for the fitted rows, each judged out of sample. Results in a file are read when they are
        first needed.
    reach : array
        [row][2]: the distances of the nearest and the farthest reference row, for all fitted rows or a sample.
    threshold : float
        The score above which a row is an anomaly.
    seconds : float
        How long the fit took.
    excluded : array, optional
        Rows that are known to be anomalies and were excluded from the fit.
    fitted_at : str, optional
        The time of the fit, in UTC; now by default.
    note : str
        A note of the user about the fit, such as the name of the table.
    known : sequence of mappings
        The known rows, as plain values.
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
        excluded: Positions | None = None,
        fitted_at: str | None = None,
        note: str = "",
        known: Sequence[Mapping[str, str | None]] = (),
    ) -> None:
        self.table = table
        self.method = method
        self.state = state
        self._judged = judged
        self.reach = reach
        self.threshold = threshold
        self.seconds = seconds
        self.excluded = np.empty(0, dtype=np.int64) if excluded is None else excluded
        self.fitted_at = datetime.now(UTC).isoformat(timespec="seconds") if fitted_at is None else fitted_at
        self.note = note
        self.known = known

    @property
    def learned(self) -> EncodedTable:
        """The table without the behavior of excluded rows."""
        return self.table.without_behavior(self.excluded)

    def __getstate__(self) -> dict[str, Any]:
        # A function that reads a file cannot be pickled.
        return self.__dict__ | {"_judged": self.judged}

    @property
    def judged(self) -> Judged:
        """The results for the fitted rows, each judged out of sample."""
        if not isinstance(self._judged, Judged):
            self._judged = self._judged()
        return self._judged

    @property
    def scores(self) -> Floats:
        """The scores of the fitted rows."""
        return self.method.total(self.judged.partial)


def with_rows(judged: Judged, rows: Positions, found: Judged) -> Judged:
    """The results of all rows, with those of some of them replaced."""
    changed = {}
    for name in ("partial", "kinds", "cell_codes", "cell_codes_given_all"):
        old, new = getattr(judged, name), getattr(found, name)
        if old is not None and new is not None:
            changed[name] = old.copy()
            changed[name][rows] = new
    return replace(judged, **changed)
