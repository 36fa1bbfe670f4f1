"""The fitted rows that a row is compared with: those that share most leaves with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.statistics import evenly
from paribus._core import reference_rows
from paribus.methods.surprise.categories import CategoricalColumn
from paribus.methods.surprise.mixture import ConditionalColumn
from paribus.methods.surprise.views import Asked

# The number of fitted rows from which the usual distance of reference rows is estimated.
REACH_SAMPLE_SIZE = 200

AnyColumn: TypeAlias = ConditionalColumn | CategoricalColumn


class ReferenceGroups:
    """Finds the reference groups of rows.

    Parameters
    ----------
    rows : array
        The table: [row][feature], contextual ones first.
    ranges : array
        By contextual feature: the range of its values.
    categorical : array
        By feature: whether it holds categories.
    size : int
        The number of rows of a group.
    columns : sequence
        Behavioral features given the context: their forests have the leaves.
    """

    def __init__(
        self,
        rows: Floats,
        ranges: Floats,
        categorical: npt.NDArray[np.uint8],
        size: int,
        columns: Sequence[AnyColumn],
    ) -> None:
        self._rows, self._context = rows, rows[:, : len(ranges)]
        self._ranges, self._is_category = ranges, categorical[: len(ranges)].astype(bool)
        self._size, self._columns = size, columns

    def find(self, asked: Asked) -> tuple[Positions, Floats, Floats]:
        """The rows that count most for each row, nearest first, -1 where there are fewer; distances; and weights."""
        positions, distances, weights = reference_rows(
            [column.counted_forests for column in self._columns],
            self._rows,
            np.where(self._is_category, 0.0, self._ranges),
            asked.rows,
            asked.fitted,
            self._size,
            asked.n_threads,
        )
        # If all columns are constant, there is no forest to weight rows.
        for row in np.flatnonzero(positions[:, 0] < 0).tolist():
            self._fill_up(asked, row, positions[row], distances[row])
            weights[row] = 1.0 / self._size
        return positions, distances, weights

    def find_full(self, asked: Asked) -> tuple[Positions, Floats]:
        """The same rows and distances; if too few rows share any leaves, the nearest of the others are added."""
        positions, distances, _ = self.find(asked)
        for row in np.flatnonzero(positions[:, -1] < 0).tolist():
            self._fill_up(asked, row, positions[row], distances[row])
        return positions, distances

    def _fill_up(self, asked: Asked, row: int, positions: Positions, distances: Floats) -> None:
        """Adds the nearest rows until there are enough reference rows."""
        context = asked.rows[row, : len(self._ranges)]
        found = positions[positions >= 0]
        others = np.setdiff1d(np.arange(len(self._context)), np.append(found, asked.fitted[row]))
        apart = self.distances(context, others)
        more = np.argsort(apart, kind="stable")[: self._size - len(found)]
        near = np.append(distances[: len(found)], apart[more])
        order = np.argsort(near, kind="stable")
        positions[:], distances[:] = np.append(found, others[more])[order], near[order]

    def distances(self, context: Floats, chosen: Positions) -> Floats:
        """Gower's, as in QCAD: the mean over the features that both rows have."""
        others = self._context[chosen]
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.abs(others - context) / np.where(self._ranges > 0, self._ranges, 1.0)
        different = self._is_category | ~(self._ranges > 0)
        apart[:, different] = others[:, different] != context[different]
        known = ~(np.isnan(others) | np.isnan(context))
        counted = known.sum(axis=1)
        return np.where(counted > 0, np.where(known, apart, 0.0).sum(axis=1) / np.maximum(counted, 1), 1.0)

    def reach(self) -> Floats:
        """The distances of the nearest and the farthest reference row, for some of the fitted rows."""
        some = evenly(np.arange(len(self._context)), REACH_SAMPLE_SIZE)
        positions, distances, _ = self.find(Asked(self._rows[some], some))
        last = np.maximum((positions >= 0).sum(axis=1), 1) - 1
        return np.column_stack([distances[:, 0], distances[np.arange(len(some)), last]])
