"""The result of a fit: everything that scoring and explaining need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus.methods.interface import Judged, Method, MethodState
from paribus.tables.encoded_table import EncodedTable


@dataclass(frozen=True)
class Fitted:
    """The fitted table, the state of the method, and the scores."""

    table: EncodedTable
    """The fitted table."""
    method: Method
    """The method that was fitted."""
    state: MethodState
    """The state of the method."""
    judged: Judged
    """What the method says about the fitted rows, each judged out of sample."""
    reach: Floats
    """[row][2]: the distances of the nearest and the farthest reference row, for all fitted rows or a sample."""
    threshold: float
    """The score above which a row is an anomaly."""
    seconds: float
    """How long the fit took."""
    excluded: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    """Rows that are known to be anomalies, from which nothing was learned."""
    fitted_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    """When the fit was, in UTC."""
    note: str = ""
    """What the user wants to remember about the fit, such as the name of the table."""

    @property
    def scores(self) -> Floats:
        """The scores of the fitted rows."""
        return self.method.total(self.judged.partial)

    @property
    def learned(self) -> EncodedTable:
        """The table without the behavior of rows that nothing was learned from."""
        return self.table.without_behavior(self.excluded)


def with_rows(judged: Judged, rows: Positions, found: Judged) -> Judged:
    """What is said about all rows, after some of them were judged again."""
    changed = {}
    for name in ("partial", "kinds", "cell_p_values", "cell_p_values_given_all"):
        old, new = getattr(judged, name), getattr(found, name)
        if old is not None and new is not None:
            changed[name] = old.copy()
            changed[name][rows] = new
    return replace(judged, **changed)
