"""What a fit leaves behind: everything that later questions are answered from."""

from __future__ import annotations

from dataclasses import dataclass

from paribus._common.arrays import Floats
from paribus.methods.interface import Judged, Method, MethodState
from paribus.tables.encoded_table import EncodedTable


@dataclass(frozen=True)
class Fitted:
    """The fitted table, the state of the method, and the scores."""

    table: EncodedTable
    method: Method
    state: MethodState
    judged: Judged
    """What is said of the fitted rows, each judged by what has not seen it."""
    reach: Floats
    """[row][2]: the distances of the nearest and of the farthest reference row; of all fitted rows, or of some."""
    threshold: float
    """The score above which a row is an anomaly."""
    seconds: float
    """How long the fit took."""

    @property
    def scores(self) -> Floats:
        """The scores of the fitted rows."""
        return self.method.total(self.judged.partial)
