"""A fit as independent tasks on workers.

First, the forest of each view of each column under each condition is grown, and collected as it is stored. Then each
column is calibrated under each condition, with its forests: how widely to smooth is learned from all of its views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.workers import Workers
from paribus._core import FeatureKinds, FeatureTable, Samples
from paribus.methods.surprise.categories import CategoricalColumn, Categories
from paribus.methods.surprise.learned import Learned, LearnedCategories
from paribus.methods.surprise.mixture import ConditionalColumn
from paribus.methods.surprise.state import Summary
from paribus.methods.surprise.views import Asked, Bytes, Features, Flags, ForestSettings, GrownView, Growth
from paribus.tables.encoded_table import RowNumbers


@dataclass(frozen=True, eq=False)
class FitData:
    """The data that all tasks of a fit share."""

    rows: Floats = field(repr=False)
    """The table: [row][feature], with timestamps split into parts."""
    fitted: Positions = field(repr=False)
    """By row: the first row that equals it."""
    unfamiliar: Flags | None = field(repr=False)
    """[row][behavioral feature]: whether no other row has a category of the context."""
    categorical: npt.NDArray[np.uint8]
    bins: list[Bytes] = field(repr=False)
    """By feature: the bin of each category's code."""
    samples: list[tuple[RowNumbers, RowNumbers]] = field(repr=False)
    """The rows of one sample after the other, and where each ends."""


@dataclass(frozen=True)
class ColumnTask:
    """A column to fit under a condition."""

    column: int
    """Of the table."""
    summary: Summary
    features: Features
    """The columns that it is conditioned on."""
    samples: int
    """Which samples its trees grow on."""
    settings: ForestSettings
    seed: int

    def growth(self, data: FitData, n_threads: int) -> Growth:
        """What the column is fitted from."""
        samples = Samples.stored(len(data.rows), *data.samples[self.samples])
        asked = Asked(data.rows, data.fitted, n_threads, unfamiliar=data.unfamiliar)
        return Growth(samples, asked, data.categorical, self.settings, self.seed)


@dataclass(frozen=True)
class FittedColumn:
    """A column that was fitted by tasks."""

    evidence: Floats
    surprises: Floats
    to_learn: tuple[Floats, Floats] | None
    learned: Learned | LearnedCategories


def make_column(
    rows: Floats, column: int, summary: Summary, features: Features
) -> ConditionalColumn | CategoricalColumn:
    """A column under a condition, not fitted yet."""
    if isinstance(summary, Categories):
        return CategoricalColumn(rows, column, summary, features)
    return ConditionalColumn(rows, column, *summary, features)


def fit_elsewhere(
    workers: Workers, data: FitData, tasks: Sequence[ColumnTask], n_views: Sequence[int]
) -> Iterator[tuple[FittedColumn, list[Bytes]]]:
    """Has workers fit the columns. Returns the results in the order of tasks, with their forests.

    `n_views` is the maximum number of views of each.
    """
    with workers.share(data) as shared:
        views = [(place, number) for place, n in enumerate(n_views) for number in range(n)]
        found = workers.run(grow_view, [shared], [(tasks[place], number) for place, number in views])
        grown: list[list[GrownView]] = [[] for _ in tasks]
        for (place, _), view in zip(views, found, strict=True):
            if view is not None:
                grown[place].append(view)
        with workers.share(grown) as shared_views:
            places = list(enumerate(tasks))
            for fitted, its in zip(workers.run(calibrate, [shared, shared_views], places), grown, strict=True):
                yield fitted, [view.packed for view in its]


def grow_view(shared: tuple[FitData], task: tuple[ColumnTask, int], n_threads: int) -> GrownView | None:
    """Grows the forest of a view of a column."""
    (data,), (its, number) = shared, task
    column = make_column(data.rows, its.column, its.summary, its.features)
    return column.grow_view(number, _feature_table(data), its.growth(data, n_threads))


def calibrate(
    shared: tuple[FitData, list[list[GrownView]]], task: tuple[int, ColumnTask], n_threads: int
) -> FittedColumn:
    """Learns everything else about a column."""
    (data, grown), (place, its) = shared, task
    column = make_column(data.rows, its.column, its.summary, its.features)
    kinds = FeatureKinds(data.categorical, data.bins)
    return FittedColumn(*column.fit_grown(grown[place], kinds, its.growth(data, n_threads)), column.learned)


@lru_cache(maxsize=1)
def _feature_table(data: FitData) -> FeatureTable:
    """The same, cached for all tasks that a worker runs."""
    return FeatureTable(data.rows, data.categorical)
