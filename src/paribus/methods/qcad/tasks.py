"""The rows of a fitted table, scored against each other by workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._common.workers import Workers
from paribus.methods.interface import RowBatch
from paribus.methods.qcad.model import QcadModel
from paribus.methods.qcad.state import QcadState
from paribus.tables.encoded_table import EncodedTable

# Blocks of rows per worker: several, so that the load is balanced.
BLOCKS_PER_SLOT = 4
MIN_BLOCK = 256


@dataclass(frozen=True, eq=False)
class ScoringData:
    """The data that all blocks share."""

    table: EncodedTable = field(repr=False)
    state: QcadState
    fitted: Positions = field(repr=False)


def score_elsewhere(workers: Workers, rows: RowBatch, table: EncodedTable, state: QcadState) -> tuple[Floats, Floats]:
    """Partial scores of all fitted rows, and for each the distances of the nearest and the farthest neighbor."""
    n_rows = len(rows.context)
    size = max(MIN_BLOCK, -(-n_rows // (BLOCKS_PER_SLOT * workers.n_slots)))
    blocks = [(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size)]
    parts: list[tuple[Floats, Floats]] = []
    with workers.share(ScoringData(table, state, rows.fitted)) as shared:
        for (_, end), part in zip(blocks, workers.run(score_block, [shared], blocks), strict=True):
            parts.append(part)
            if rows.tick is not None:
                rows.tick(end)
    return np.concatenate([partial for partial, _ in parts]), np.concatenate([reach for _, reach in parts])


def score_block(shared: tuple[ScoringData], block: tuple[int, int], n_threads: int) -> tuple[Floats, Floats]:
    """Scores some of the rows."""
    (data,), some = shared, slice(*block)
    rows = RowBatch(data.table.context(some), data.table.behavior(some), data.fitted[some], n_threads)
    return _model(data).score_and_reach(rows)


@lru_cache(maxsize=1)
def _model(data: ScoringData) -> QcadModel:
    """The same, cached for all blocks that a worker scores."""
    return QcadModel(data.table, data.state)
