"""The result of a fit: everything that scoring and explaining need."""

from __future__ import annotations

from dataclasses import dataclass

from paribus._common.arrays import Floats
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

    @property
    def scores(self) -> Floats:
        """The scores of the fitted rows."""
        return self.method.total(self.judged.partial)
