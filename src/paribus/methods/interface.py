"""What a fitted method answers, whichever method it is, and how a method describes itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.untrusted import Fields
from paribus.methods.density import Density
from paribus.tables.encoded_table import EncodedTable

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class RowBatch:
    """Rows to compare with the fitted ones."""

    context: Floats
    """[row][contextual feature], as encoded."""
    behavior: Floats
    """[row][behavioral feature]"""
    fitted: Positions
    """The fitted row that each row equals, which it is not compared with; -1 if there is none."""
    n_threads: int
    tick: Callable[[int], object] | None = None
    """Called with the number of rows done."""


@dataclass(frozen=True)
class Surprise:
    """How improbable a value is, compared with a usual one."""

    given_context: float
    """By how many nats it is more surprising than the value of a usual row, given the context; never below 0."""
    given_all: float | None
    """The same given the context and the other behavioral features; None if there are none."""
    density: Density
    """The distribution of the feature in the row's context."""


@dataclass(frozen=True)
class RowFindings:
    """Everything that a method says about one row."""

    partial_scores: Floats
    """By behavioral feature."""
    percentiles: Floats
    """[behavioral feature][quantile]"""
    central: Floats
    """[behavioral feature][3]: the 5 % percentile, the median, and the 95 % percentile."""
    neighbors: Positions
    """The fitted rows that the row is compared with, nearest first."""
    distances: Floats
    """The distance of each of these rows."""
    weights: Floats
    """How much each of these rows counts: [behavioral feature][neighbor]; each feature's weights sum to 1."""
    surprises: tuple[Surprise, ...] | None = None
    """By behavioral feature, if the method has them."""


class FittedMethod(Protocol):
    """Compares rows with the fitted ones."""

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""

    def score(self, rows: RowBatch) -> Floats:
        """Partial scores, [row][behavioral feature]; NaN where a value cannot be judged."""

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """[row][behavioral feature][quantile]: distributions in the contexts of rows. Behavior may be missing."""

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The fitted rows that each row is compared with, nearest first, and their distances."""

    def find(self, rows: RowBatch) -> list[RowFindings]:
        """Everything there is to say about each row."""


class MethodState(Protocol):
    """What a method keeps of a fit, besides the table."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""


@dataclass(frozen=True)
class Method:
    """A method of detection: how its fitted state is used, stored and described.

    Everything that differs between methods outside of their own folder is asked here.
    """

    name: str
    """The name of its estimator, which model files carry."""
    restore: Callable[[EncodedTable, Any, int], FittedMethod]
    """The fitted method, from the table, the state and a number of threads."""
    pack: Callable[[Any], tuple[dict[str, Any], Arrays]]
    """The state as fields of a header and arrays."""
    unpack: Callable[[Fields, Arrays, EncodedTable], MethodState]
    """The state again, from parts that may have been tampered with."""
    compared_with: Callable[[str, int], str]
    """What a row is compared with, in words: from what a row is called and the size of a reference group."""
    full_score: Callable[[Any, int], str]
    """What a partial score of 100 means: from the state and the number of behavioral features."""
    citation: str
    """The method and who published it, in a sentence."""
