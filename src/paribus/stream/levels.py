"""Where rows lie in what a detector expects: each behavior given its context, and each contextual column."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus.detectors.row_scorer import RowScorer
from paribus.detectors.surprise import ConditionalSurprise
from paribus.stream.randomness import uniform_rows
from paribus.stream.surroundings import Surroundings

# Seeds of what is drawn at random, so that nothing is drawn twice.
OF_FITTED, OF_BEHAVIOR, OF_CONTEXT = range(1, 4)


class Levels:
    """Levels of rows, between 0 and 1. Values that repeat have an interval of levels, in which one is drawn.

    Parameters
    ----------
    detector : ConditionalSurprise
        A fitted detector.
    seed : int
        The seed of what is drawn at random.
    context : array, optional
        [row][contextual feature]: contexts that are known, encoded; by default those of the fitted rows.
    """

    def __init__(self, detector: ConditionalSurprise, seed: int, context: Floats | None = None) -> None:
        self.detector = detector
        self.scorer: RowScorer = detector.scorer()
        self._seed = seed
        view = detector.view()
        self._store = view.store
        self.names = view.behavior_names
        self.other_context = context
        """Known contexts other than those of the fitted rows."""
        self.surroundings = Surroundings(view.store.context(slice(None)) if context is None else context, view.context)

    def __getstate__(self) -> dict[str, Any]:
        # It is made again from the detector.
        return {name: value for name, value in self.__dict__.items() if name != "scorer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.scorer = self.detector.scorer()

    @property
    def n_fitted(self) -> int:
        """The number of fitted rows."""
        return self._store.n_rows

    def fitted_context(self, rows: npt.NDArray[np.int64]) -> Floats:
        """The contexts of fitted rows."""
        return self._store.context(rows)

    def of_fitted(self, rows: npt.NDArray[np.int64]) -> Floats:
        """[row][behavior]: the levels of fitted rows, each by trees that have not seen it."""
        return self.scorer.fitted_levels(rows, uniform_rows(self._seed + OF_FITTED, 0, len(rows), len(self.names)))

    def of_behavior(self, context: Floats, behavior: Floats, first: int) -> Floats:
        """[row][behavior]: the levels of successive new rows, the first of which has a number."""
        share = uniform_rows(self._seed + OF_BEHAVIOR, first, len(context), len(self.names))
        return self.scorer.levels(context, behavior, share)

    def of_context(self, context: Floats, first: int) -> Floats:
        """[row][contextual column that is watched, and last the cell]."""
        n = len(self.surroundings.watched) + 1
        return self.surroundings.levels(context, uniform_rows(self._seed + OF_CONTEXT, first, len(context), n))
