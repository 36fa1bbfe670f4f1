"""The interface of methods: how a fitted method is used, and how a method describes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.untrusted import Fields
from paribus.methods.cell_codes import Codes, decode
from paribus.methods.density import Density
from paribus.tables.encoded_table import EncodedTable

KIND_NAMES = ("whole", "combination", "value")
"""Kinds of anomalies: the whole row given its context, values that do not go together, or a single value."""

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
StoredArrays: TypeAlias = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class RowBatch:
    """Rows to compare with the fitted ones."""

    context: Floats
    """[row][contextual feature]: the encoded contextual values."""
    behavior: Floats
    """[row][behavioral feature]: the behavioral values."""
    fitted: Positions
    """The fitted row that is identical to each row, which the row is not compared with; -1 if there is none."""
    n_threads: int
    """The number of threads to use."""
    tick: Callable[[int], object] | None = None
    """A function that is called with the number of rows done."""

    def part(self, rows: slice) -> RowBatch:
        """Successive rows of the batch."""
        tick, begin = self.tick, rows.start
        return RowBatch(
            self.context[rows],
            self.behavior[rows],
            self.fitted[rows],
            self.n_threads,
            None if tick is None else lambda n_done: tick(begin + n_done),
        )


@dataclass(frozen=True)
class Judged:
    """The results of a method for some rows."""

    partial: Floats
    """Partial scores, [row][behavioral feature]; NaN where a value cannot be scored."""
    kinds: npt.NDArray[np.object_] | None = None
    """The most probable kind of anomaly of each row; None if the method has no kinds."""
    cell_codes: Codes | None = None
    """[row][behavioral feature]: the p-values of values given the context, in two bytes each; None if unknown."""
    cell_codes_given_all: Codes | None = None
    """[row][behavioral feature]: the same given everything else in the row."""

    @property
    def cell_p_values(self) -> Floats | None:
        """[row][behavioral feature]: the probability of a value at most as dense given the context."""
        return None if self.cell_codes is None else decode(self.cell_codes)

    @property
    def cell_p_values_given_all(self) -> Floats | None:
        """[row][behavioral feature]: the probability of a value at most as dense given everything else in the row."""
        return None if self.cell_codes_given_all is None else decode(self.cell_codes_given_all)

    def take(self, rows: Positions | slice) -> Judged:
        """The results for some of the rows."""
        return Judged(*(None if each is None else each[rows] for each in vars(self).values()))  # type: ignore[arg-type]


@dataclass(frozen=True)
class CategoryShares:
    """The distribution of a column of categories in the context of a row."""

    probabilities: Floats
    """By code."""
    unseen: float
    """The probability of a category that the fitted table does not have."""

    def of(self, code: float) -> float:
        """The probability of a category.

        >>> CategoryShares(np.array([0.7, 0.2]), 0.1).of(2.0)
        0.1
        """
        return float(self.probabilities[int(code)]) if 0 <= code < len(self.probabilities) else self.unseen


@dataclass(frozen=True)
class KnownDensity:
    """Returns a distribution that has been computed."""

    density: Density

    def __call__(self) -> Density:
        """The distribution."""
        return self.density


class CellVerdict(NamedTuple):
    """How improbable a value is."""

    p_value: float
    """The probability of a value at most as dense given the context."""
    p_value_given_all: float | None
    """The probability of a value at most as dense given the context and all other behavioral features.

    None if there are no other behavioral features.
    """
    get_density: Callable[[], Density] | None
    """Returns the distribution of the feature in the row's context; None if it is categorical."""
    usual_given_all: tuple[float, float] | None = None
    """What 90 % of rows with the same context and the same other values have; None if it is of no interest."""
    shares: CategoryShares | None = None
    """The same if it is categorical."""

    @property
    def density(self) -> Density | None:
        """The distribution of the feature in the row's context; None if it is categorical."""
        return None if self.get_density is None else self.get_density()

    def __reduce__(self) -> tuple[Any, ...]:
        # A function that knows the rows around cannot be pickled.
        density = self.density
        get_density = None if density is None else KnownDensity(density)
        return CellVerdict, (self.p_value, self.p_value_given_all, get_density, self.usual_given_all, self.shares)


@dataclass(frozen=True)
class Findings:
    """All results of a method for some rows: what a sentence needs as arrays, and what few rows need as functions."""

    partial_scores: Floats
    """[row][behavioral feature]"""
    central: Floats
    """[row][behavioral feature][3]: the 5 % percentile, the median, and the 95 % percentile."""
    neighbors: Positions
    """[row][neighbor]: the fitted rows that each row is compared with, nearest first; -1 where there are fewer."""
    distances: Floats
    """[row][neighbor]: the distance of each of these rows."""
    weights: Floats
    """[row][behavioral feature][neighbor]: how much each neighbor counts; the weights of a feature sum to 1."""
    percentiles: Callable[[int, int], Floats]
    """Returns the distribution of a behavioral feature in a row's context, given the row and the feature."""
    has_one_value: npt.NDArray[np.bool_]
    """[row][behavioral feature]: whether all percentiles are equal."""
    kinds: npt.NDArray[np.object_] | None = None
    """The most probable kind of anomaly of each row, if the method has kinds."""
    p_values: Floats | None = None
    """[row][behavioral feature]: as in the verdicts; None if the method has none."""
    p_values_given_all: Floats | None = None
    """[row][behavioral feature]: as in the verdicts; None if they have none."""
    verdict: Callable[[int, int], CellVerdict] | None = None
    """Returns the verdict on a value, given the row and the feature; None if the method has none."""

    @staticmethod
    def joined(parts: Sequence[tuple[Positions, Findings]]) -> Findings:
        """The findings about rows that were found in several parts, each given with the rows that it has."""
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        own = [(part, place) for rows, part in parts for place in range(len(rows))]
        own = [own[place] for place in order.tolist()]
        width = max(part.neighbors.shape[1] for _, part in parts)

        def join(name: str, filler: float | None = None) -> Any:
            arrays = [getattr(part, name) for _, part in parts]
            if any(each is None for each in arrays):
                return None
            if filler is not None:
                ends = [(0, 0)] * (arrays[0].ndim - 1)
                arrays = [np.pad(each, [*ends, (0, width - each.shape[-1])], constant_values=filler) for each in arrays]
            return np.concatenate(arrays)[order]

        def percentiles(row: int, feature: int) -> Floats:
            part, place = own[row]
            return part.percentiles(place, feature)

        def verdict(row: int, feature: int) -> CellVerdict:
            part, place = own[row]
            assert part.verdict is not None
            return part.verdict(place, feature)

        return Findings(
            join("partial_scores"),
            join("central"),
            join("neighbors", -1),
            join("distances", 0.0),
            join("weights", 0.0),
            percentiles,
            join("has_one_value"),
            join("kinds"),
            join("p_values"),
            join("p_values_given_all"),
            None if parts[0][1].verdict is None else verdict,
        )


class FittedMethod(Protocol):
    """Compares rows with the fitted ones."""

    def match(self, context: Floats, behavior: Floats) -> Positions:
        """For each row, the position of the fitted row that is identical to it, or -1; of several, always the same."""

    def judge(self, rows: RowBatch) -> Judged:
        """Partial scores, and the other results for each row."""

    def percentiles(self, rows: RowBatch) -> npt.NDArray[np.float64]:
        """The distributions in the contexts of rows, [row][behavioral feature][quantile]. Behavior may be missing."""

    def neighbors(self, rows: RowBatch) -> tuple[Positions, Floats]:
        """The fitted rows that each row is compared with, nearest first, and their distances."""

    def find(self, rows: RowBatch, judged: Judged | None = None) -> Findings:
        """Everything that an explanation needs to know about rows; `judged` is what `judge` said, if it is known."""


class MethodState(Protocol):
    """What a method learned from a fit, besides the table."""

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""


def _no_array(name: str) -> bool:
    return False


@dataclass(frozen=True)
class Method:
    """A detection method: how its fitted state is used, stored and described.

    Outside the folders of the methods, this is the only place that knows what differs between them.
    """

    name: str
    """The name of the estimator, as stored in model files."""
    restore: Callable[[EncodedTable, Any, int], FittedMethod]
    """Returns the fitted method, given the table, the state and a number of threads."""
    pack: Callable[[Any], tuple[dict[str, Any], Arrays]]
    """Returns the state as header fields and arrays."""
    unpack: Callable[[Fields, StoredArrays, EncodedTable], MethodState]
    """Returns the state, given header fields and arrays that are not trusted."""
    total: Callable[[Floats], Floats]
    """Returns the scores of rows, given their partial scores."""
    threshold: Callable[[Floats, float | str, float], float]
    """Returns the score above which a row is an anomaly.

    Given the scores of the fitted rows, the parameter `contamination`, and the share of ordinary rows to be flagged.
    """
    p_values: Callable[[Floats, Callable[[], Floats]], Floats]
    """Returns the probability that an ordinary row scores as high.

    Given scores, and a function that returns those of the fitted rows, which not all methods need.
    """
    compared_with: Callable[[str, int], str]
    """Returns what a row is compared with, in words, given the word for a row and the size of a reference group."""
    full_partial_score: float
    """The partial score at which the bar of a feature is full."""
    full_score: Callable[[Any, int], str]
    """Returns what scores mean and how they are made up, given the state and the number of behavioral features."""
    citation: str
    """A sentence that names the method and its publication."""
    verifies_itself: Callable[[str], bool] = _no_array
    """Whether an array of a model file, by name, is verified by the method that uses it, part by part."""
