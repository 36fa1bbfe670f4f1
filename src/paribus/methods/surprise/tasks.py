"""A fit as independent tasks: one for each column under each condition, which grows its forests and calibrates them.

The forests of a column, one for each view, are in one task, because how widely to smooth is learned from all of them
together; apart, they would have to be sent to the workers once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._core import FeatureTable, Samples
from paribus.methods.surprise.categories import CategoricalColumn, Categories, LearnedCategories
from paribus.methods.surprise.mixture import ConditionalColumn, Learned
from paribus.methods.surprise.state import Summary
from paribus.methods.surprise.views import Asked, Bytes, Features, ForestSettings
from paribus.tables.encoded_table import RowNumbers


@dataclass(frozen=True, eq=False)
class FitData:
    """The data that all tasks of a fit share."""

    rows: Floats = field(repr=False)
    """The table: [row][feature], with timestamps split into parts."""
    fitted: Positions = field(repr=False)
    """By row: the first row that equals it."""
    categorical: npt.NDArray[np.uint8]
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


@dataclass(frozen=True)
class FittedColumn:
    """The result of a task."""

    evidence: Floats
    surprises: Floats
    to_learn: tuple[Floats, Floats] | None
    learned: Learned | LearnedCategories
    packed: list[Bytes]


def make_column(
    rows: Floats, column: int, summary: Summary, features: Features
) -> ConditionalColumn | CategoricalColumn:
    """A column under a condition, not fitted yet."""
    if isinstance(summary, Categories):
        return CategoricalColumn(rows, column, summary, features)
    return ConditionalColumn(rows, column, *summary, features)


def fit_column(data: FitData, task: ColumnTask, n_threads: int) -> FittedColumn:
    """Runs a task."""
    column = make_column(data.rows, task.column, task.summary, task.features)
    evidence, surprises, to_learn = column.fit(
        _feature_table(data),
        Samples.stored(len(data.rows), *data.samples[task.samples]),
        Asked(data.rows, data.fitted, n_threads),
        data.categorical,
        task.settings,
        task.seed,
        lambda share: None,
    )
    return FittedColumn(evidence, surprises, to_learn, column.learned, column.packed)


@lru_cache(maxsize=1)
def _feature_table(data: FitData) -> FeatureTable:
    """The same, cached for all tasks that a worker runs."""
    return FeatureTable(data.rows, data.categorical)
