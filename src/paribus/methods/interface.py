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

KIND_NAMES = ("whole", "combination", "value")
"""What can be strange about a row: all of it given its context, values that do not go together, or one value."""

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
class Judged:
    """What a method says about rows, in numbers."""

    partial: Floats
    """Partial scores, [row][behavioral feature]; NaN where a value cannot be judged."""
    kinds: npt.NDArray[np.object_] | None = None
    """What kind of strange each row would be, if the method tells kinds apart."""
    cell_p_values: Floats | None = None
    """[row][behavioral feature]: how probable a value at most as dense is given the context, if the method says so."""
    cell_p_values_given_all: Floats | None = None
    """The same given the context and the other behavioral features."""


@dataclass(frozen=True)
class CellVerdict:
    """How improbable a value is."""

    p_value: float
    """The probability of a value at most as dense, given the context."""
    p_value_given_all: float | None
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
    verdicts: tuple[CellVerdict, ...] | None = None
    """By behavioral feature, if the method has them."""
    kind: str | None = None
    """What kind of strange the row would be, if the method tells kinds apart."""


class FittedMethod(Protocol):
    """Compares rows with the fitted ones."""

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the fitted row that equals it in all features (of several, always the same one), or -1."""

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, and whatever else the method says about each row."""

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
    total: Callable[[Floats], Floats]
    """The scores of rows, from their partial scores."""
    threshold: Callable[[Floats, float | str, float], float]
    """The score above which a row is an anomaly: from the scores of the fitted rows, the parameter `contamination`, and
    the share of ordinary rows that may be flagged."""
    p_values: Callable[[Floats, Floats], Floats]
    """The probability that an ordinary row scores as high: from scores, and those of the fitted rows."""
    compared_with: Callable[[str, int], str]
    """What a row is compared with, in words: from what a row is called and the size of a reference group."""
    full_score: Callable[[Any, int], str]
    """What a partial score of 100 means: from the state and the number of behavioral features."""
    citation: str
    """The method and who published it, in a sentence."""
