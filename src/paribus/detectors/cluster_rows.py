"""Rows of a frame, scored on the workers of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from paribus.detectors.base import ContextualDetector
from paribus.detectors.load import load
from paribus.engines.interface import SharedFile
from paribus.tables.roles import find_columns
from paribus.tables.row_reading import RowReader
from paribus.tables.table import Table

TIE = "paribus_tie"
"""A column that orders rows with equal scores in the same way on every engine."""


@dataclass(frozen=True)
class ScoreRows:
    """Scores batches on a worker, with a model that it reads from a file once."""

    model: SharedFile
    keep: tuple[str, ...]
    roles: tuple[str, ...]
    categories: frozenset[str]
    """Those of the roles that are categorical."""
    sentences: bool
    n_threads: int
    has_tie: bool
    """Whether to add a column that orders rows with equal scores."""

    def __call__(self, batch: Any) -> Any:
        """Scores a batch. An error names the column."""
        return self.score(load_once(self.model.path(), self.n_threads), batch)

    def score(self, detector: ContextualDetector, batch: Any) -> Any:
        """Scores a batch with a detector."""
        try:
            keep = [*self.keep, TIE] if self.has_tie else self.keep
            rows = self._with_tie(batch) if self.has_tie else batch
            return detector.score_batch(rows, keep=keep, sentences=self.sentences)
        except Exception as error:
            raise ValueError(f"a batch cannot be scored: {self._named(batch, error)}") from error

    def _named(self, batch: Any, error: Exception) -> str:
        """The error, and its column."""
        said = " ".join(str(error).split()) or type(error).__name__
        if any(f"'{name}'" in said for name in self.roles):
            return said
        table = Table(batch)
        for name in self.roles:
            try:
                position = table.find_column(name)
                table.categories(position) if name in self.categories else table.numbers(position)
            except Exception:
                return f"column '{name}': {said}"
        return f"{said} (its columns are {', '.join(self.roles)})"

    def _with_tie(self, batch: Any) -> Any:
        table = Table(batch)
        positions = find_columns(table, self.roles)
        named = frozenset(p for p, name in zip(positions, self.roles, strict=True) if name in self.categories)
        # As many bits as a float holds exactly.
        ties = (RowReader(tuple(positions), named).hashes(table) >> np.uint64(11)).astype(np.float64)
        if hasattr(batch, "append_column"):
            import pyarrow

            return batch.append_column(TIE, pyarrow.array(ties))
        return batch.assign(**{TIE: ties})


@lru_cache(maxsize=2)
def load_once(path: str, n_threads: int) -> ContextualDetector:
    """Reads a model, once per process: its arrays are mapped into memory."""
    detector: ContextualDetector = load(path).set_params(n_jobs=n_threads, progress=False)
    return detector
