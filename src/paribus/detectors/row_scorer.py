"""Rows as arrays, scored repeatedly with little overhead, for streams and services."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import LARGEST_NUMBER, Floats
from paribus.methods.fitted import Fitted
from paribus.methods.interface import FittedMethod, Judged, RowBatch
from paribus.methods.null import ScoreNull
from paribus.tables.column import Kind


class RowScorer:
    """Encodes and judges rows. A row gets the same bits as from the detector.

    Parameters
    ----------
    fitted : Fitted
        The result of the fit.
    method : FittedMethod
        The fitted method.
    encode : function
        Encodes any table.
    n_threads : int
        The number of threads.
    """

    def __init__(
        self,
        fitted: Fitted,
        method: FittedMethod,
        encode: Callable[[Any], tuple[Floats, Floats]],
        n_threads: int,
    ) -> None:
        table = fitted.table
        self._fitted, self._method, self._n_threads = fitted, method, n_threads
        self._encode = encode
        self._behavior_encoding = table.behavior_encoding
        names = [table.name(position) for position in [*table.roles.contextual, *table.roles.behavioral]]
        held = [*table.encoding.held, *[Kind.NUMERIC.value] * len(table.behavior_encoding.codes)]
        self._columns = list(zip(names, [*table.encoding.codes, *table.behavior_encoding.codes], held, strict=True))
        self._n_contextual = table.n_contextual
        self._by_name = table.roles.by_name
        hold = getattr(method, "hold", None)
        if hold is not None:
            hold(n_threads)

    @property
    def names(self) -> list[str]:
        """The names of the columns that rows must have, the contextual ones first."""
        return [name for name, _, _ in self._columns]

    def encodes_like(self, other: RowScorer) -> bool:
        """Whether another scorer encodes rows to the same arrays: it has the same columns and codes of categories."""
        return self._columns == other._columns

    def encode(self, rows: Any) -> tuple[Floats, Floats]:
        """The contextual and the behavioral features of a table, or of a single row as a dict."""
        if isinstance(rows, Mapping) and self._by_name:
            values = self._encode_plain(rows)
            if values is not None:
                context, behavior = values[None, : self._n_contextual], values[None, self._n_contextual :]
                return np.ascontiguousarray(context), self._behavior_encoding.with_missing(behavior)
            rows = {name: _as_column(value) for name, value in rows.items()}
        return self._encode(rows)

    def _encode_plain(self, row: Mapping[str, Any]) -> Floats | None:
        """The values of a row of plain numbers and text; None if it needs the general encoder."""
        values = np.empty(len(self._columns))
        for place, (name, codes, held) in enumerate(self._columns):
            value = row.get(name, row)
            if value is None:
                values[place] = math.nan
            elif codes is None:
                if type(value) not in (float, int) or held != Kind.NUMERIC.value:
                    return None
                if not abs(value) <= LARGEST_NUMBER and value == value:
                    return None
                values[place] = value
            elif type(value) is str and value in codes:
                values[place] = codes[value]
            else:
                return None
        return values

    def judge(self, context: Floats, behavior: Floats) -> Judged:
        """The results of the method for encoded rows."""
        return self._method.judge(self._batch(context, behavior))

    @property
    def null(self) -> ScoreNull:
        """How odds become scores: what odds are worth among the fitted rows."""
        found: ScoreNull = self._method.null  # type: ignore[attr-defined]
        return found

    def levels(self, context: Floats, behavior: Floats, share: Floats) -> Floats:
        """The share of its distribution given the context that lies below each value: see `SurpriseModel.levels`."""
        return self._levels(self._batch(context, behavior), share)

    def fitted_levels(self, rows: npt.NDArray[np.int64], share: Floats) -> Floats:
        """The same for fitted rows, by position; out of sample."""
        table = self._fitted.table
        return self._levels(RowBatch(table.context(rows), table.behavior(rows), rows, self._n_threads), share)

    def _levels(self, batch: RowBatch, share: Floats) -> Floats:
        found: Floats = self._method.levels(batch, share)  # type: ignore[attr-defined]
        return found

    def _batch(self, context: Floats, behavior: Floats) -> RowBatch:
        return RowBatch(context, behavior, self._method.match(context, behavior), self._n_threads)


def _as_column(value: Any) -> Any:
    return value if isinstance(value, list | np.ndarray) or hasattr(value, "__arrow_c_stream__") else [value]
