"""
The compiled part of paribus: the engine of QCAD, and forests over whole tables.
"""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class QcadEngine:
    """A fitted table of QCAD, ready to score rows."""

    def __init__(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tie_order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], multiplicities: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], feature_order: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None = None, max_features: int = 0, min_samples_split: int = 10, n_quantiles: int = 100, scale_tails: bool = True) -> None: ...

    def match(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        For each row, the fitted row that equals it in all features (of several, the first when ties are broken), or -1.
        """

    def score(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], want_percentiles: bool = False, n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))] | None]:
        """
        Partial scores [row][feature]; the distances of the nearest and the farthest neighbor [row][2]; and percentiles [row][feature][quantile] if wanted.
        """

    def explain(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """
        Partial scores [row][feature]; percentiles [row][feature][quantile]; the weight of each neighbor [row][feature][k], which sum to 1; fitted rows [row][k], nearest first, and their distances.
        """

    def neighbors(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Fitted rows, nearest first, and their distances."""

class RowIndex:
    """Finds rows of a table by their values: [row][feature]."""

    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    def order(self) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """
        The rows in the order of their hashes, from which the index can be made again.
        """

    def find(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """For each row, the first one of the table that equals it, or -1."""

    def find_all(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """For each row of the table, the first one that equals it."""

def checksum(bytes: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
    """A checksum that finds damage, at several gigabytes per second."""

def describe_groups(groups: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    What the members of weighted groups, [row][member][feature], have in common. Of each feature that is asked for, [feature][row][5]: the weighted quantiles at 5 % and 95 %, the share of the weight between them, and the smallest and the largest value; NaN if one is missing. By row: the fewest members that hold 95 % of the weight; and the sum of the squared weights.
    """

def check_rows(rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], is_number: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_codes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], largest: float) -> tuple[bool, bool]:
    """
    Whether all numbers are within range and all categories codes; and whether all NaN are quiet and positive.
    """

def number_texts(numbers: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], decimals: int, grouped: bool, least: float, limit: float) -> list[str | None]:
    """
    Numbers in fixed notation, as Python's format() writes them, with commas between thousands if they are grouped; None for one whose size is below the least, or not below the limit.
    """

class FeatureKinds:
    """Which features are categorical, and the bins of their categories."""

    def __init__(self, categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], bins: Sequence[Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]]) -> None: ...

    def bins(self) -> list[Annotated[NDArray[numpy.uint8], dict(shape=(None,))]]:
        """By feature, the bin of each category's code; empty for numbers."""

class FeatureTable:
    """A table that forests grow over: [row][feature]."""

    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def kinds(self) -> FeatureKinds:
        """The kinds of features and the bins of categories, which forests need."""

class Samples:
    """The samples of pairs of trees, which have no row in common."""

    def __init__(self, usable: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], originals: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_pairs: int, n_sample: int, seed: int, n_threads: int = 1, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None) -> None: ...

    @staticmethod
    def stored(n_rows: int, rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Samples:
        """The same again from what `arrays` gave."""

    def arrays(self) -> tuple[Annotated[NDArray[numpy.uint32], dict(shape=(None,))], Annotated[NDArray[numpy.uint32], dict(shape=(None,))]]:
        """The rows of one sample after the other, and where each ends."""

    @staticmethod
    def pack(rows: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """The rows of samples as the differences between them."""

    @staticmethod
    def unpack(packed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], ends: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint32], dict(shape=(None,))]:
        """The rows again from what `pack` gave."""

class Target:
    """
    The target of a forest: a column, its distances from a trend, or the classes of its categories.
    """

    @overload
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], column: int, low: float, high: float, placeholders: tuple[float, float] | None = None) -> None: ...

    @overload
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], column: int, low: float, high: float, constant: float, parts: Sequence[tuple[int, float, float, float, float, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None]], seen: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], divisors: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], lowest: float, highest: float, placeholders: tuple[float, float] | None = None) -> None: ...

    @overload
    def __init__(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], column: int, class_of_code: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def values(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """By row; NaN where it is missing."""

    def centers(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The predictions of the trend for rows; out of sample for fitted ones."""

class Forest:
    """A forest over all rows of a table, for one target."""

    @overload
    def __init__(self, table: FeatureTable, samples: Samples, target: Target, features: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], max_features: int, min_samples_leaf: int, seed: int, n_threads: int = 1, progress: object | None = None, keeps_leaves: bool = False) -> None: ...

    @overload
    def __init__(self, kinds: FeatureKinds, samples: Samples, target: Target, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], packed: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def class_shares(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], strength: float, n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        How common each class is in the leaves of rows, [row][class], and last the weight of a prior of that strength.
        """

    def packed(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]:
        """The forest as bytes."""

    def release(self) -> None:
        """Keeps the packed form only."""

    def hold(self, n_threads: int = 1) -> None:
        """
        Keeps the unpacked form, which is faster for repeated calls with few rows.
        """

    def keep(self, keeps: bool) -> None:
        """
        From now on keeps what a call has to unpack; or gives it up, when it has been told so as many times.
        """

    def set_second_target(self, values: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Sets a second target of the fitted rows, whose mean over the leaves of a row can be queried.
        """

    def deviations(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The mean absolute deviation of the target in each row's distribution."""

    def surprises(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], width: float, least_deviation: float, n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Minus the logarithm of each row's smooth density at a value."""

    def quantiles(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n: int, n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        The quantiles of each row's distribution at the middles of n equal shares: [row][n].
        """

    def atoms(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Values that represent each row's distribution, with equal weights: one of each tree used.
        """

    def weights(self, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fitted: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        The weight of each fitted row in the distribution of one row; they sum to 1.
        """

def splice_forests(older: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_dropped: int, newer: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
    """
    A packed forest without its first trees, and with those of another one of the same features at its end.
    """

class Smoothing:
    """How the distributions of a column are smoothed."""

    def __init__(self, shape: str, center: float, unit: float, width: float, surprise_width: float, resolution: float, tail_probability: float) -> None: ...

    def transformed(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Values on the scale on which they are smoothed."""

    def slopes(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The derivative of that scale at some values."""

class FoundLeaves:
    """The leaves that rows were found in, of forests over one table."""

    def __init__(self, forests: Sequence[Forest], n_rows: int) -> None: ...

    def can_store(self) -> bool:
        """
        Whether leaves can be stored: those of forests that keep them, if there are not too many.
        """

    def second_means(self, values: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        What second_means returns if the values, by row of the table, are the second target of the forests. All leaves must have been stored.
        """

def column_evidence(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None, leaves: FoundLeaves | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
    """
    Of each value: minus the logarithm of the probability of one at most as dense, not calibrated; minus the logarithm of its density in each view, [row][view]; and the mean of the second target in its leaves. A view is a forest, what to add to its values by row, its share, the least kernel width, and the least deviation. The leaves are stored if they can be, once only; after an error, none are.
    """

def column_findings(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]]:
    """
    What column_evidence and column_distributions say of rows, whose leaves are found once.
    """

def second_means(forests: Sequence[Forest], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    The mean of the second target over the leaves of each row, in all forests.
    """

def column_quantiles(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    The quantiles of the smooth distributions of rows at some levels: [row][level].
    """

def column_distributions(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]]:
    """
    What column_quantiles returns, and the atoms of each view, [view][row][pair], of rows whose leaves are found once.
    """

def quantiles_of_atoms(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, atoms: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], levels: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
    """
    What column_quantiles returns, given the atoms of each view, [view][row][pair].
    """

def reference_rows(features: Sequence[Sequence[tuple[Forest, float]]], fitted_rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ranges: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_reference: int, n_threads: int = 1) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))]]:
    """
    The fitted rows that share most leaves with rows, nearest first, -1 where there are fewer; their distances; and their weights, [row][feature][reference row]. A feature is a list of forests and their shares.
    """

def column_surprises(atoms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_own: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Minus the logarithm of the smooth density around atoms at some values, without the value itself if it is one.
    """

def update_change_tests(lengths: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], variances: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], shares: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], payoffs: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], statistics: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], patience: float, limit: float, counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None, None), order='C', device='cpu')], block_counts: Annotated[NDArray[numpy.int32], dict(shape=(None, None, None, None), order='C', device='cpu')], sums: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], in_block: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], wealth: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], best: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu')], begun: Annotated[NDArray[numpy.int64], dict(shape=(None, None, None), order='C', device='cpu')], n_in_group: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], is_over: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')], levels: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], cells: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], groups: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], random: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], number: int, is_known: bool) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
    """
    Tests rows of a stream for changes, one after the other, and updates the tests in place. By column: the row that settled a change, or -1.
    """

def kernel() -> str:
    """The build of the hot loops in use."""

def kernels() -> list[str]:
    """The builds that this machine can run, the fastest last."""

def use_kernel(name: str) -> None:
    """Chooses the build in use; all give the same bits."""
