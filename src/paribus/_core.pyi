"""
The compiled part of paribus: the engine of QCAD, and forests over whole tables.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


class QcadEngine:
    """A fitted table of QCAD, ready to be asked about rows."""

    def __init__(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], tie_order: Annotated[NDArray[numpy.uint32], dict(shape=(None,), order='C', device='cpu', writable=False)], multiplicities: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], feature_order: Annotated[NDArray[numpy.uint16], dict(shape=(None, None, None), order='C', device='cpu', writable=False)] | None = None, max_features: int = 0, min_samples_split: int = 10, n_quantiles: int = 100, scale_tails: bool = True) -> None: ...

    def match(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        For each row, the fitted row that equals it in all features (of several, the first when ties are broken), or -1.
        """

    def score(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], want_percentiles: bool = False, n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))] | None]:
        """
        Partial scores [row][feature]; the distances of the nearest and the farthest neighbour [row][2]; and percentiles [row][feature][quantile] if wanted.
        """

    def explain(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], behavior: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """
        Partial scores [row][feature]; percentiles [row][feature][quantile]; how much each neighbour counts [row][feature][k], 1 in all; fitted rows [row][k], nearest first, and their distances.
        """

    def neighbors(self, context: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], excluded: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Fitted rows, nearest first, and their distances."""

class FeatureTable:
    """A table that forests grow over: [feature][row]."""

    def __init__(self, columns: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], categorical: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def match(self, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """
        For each row, the first fitted row that equals it in all features, or -1.
        """

class Forest:
    """A forest over all rows of a table, for one target."""

    def __init__(self, table: FeatureTable, target: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], features: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], max_features: int, min_samples_leaf: int, n_pairs: int, n_sample: int, seed: int, originals: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, n_threads: int = 1, progress: object | None = None) -> None: ...

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
        Values that represent each row's distribution, all alike: one of each tree asked.
        """

    def weights(self, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], fitted: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """
        How much each fitted row counts in the distribution of one row, 1 in all.
        """

class Smoothing:
    """How the distributions of a column are smoothed."""

    def __init__(self, shape: str, center: float, unit: float, width: float, surprise_width: float, resolution: float, tail_probability: float) -> None: ...

    def transformed(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """Values on the scale on which they are smoothed."""

    def slopes(self, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """The derivative of that scale at some values."""

def column_evidence(views: Sequence[tuple[Forest, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, float, float, float]], smoothing: Smoothing, rows: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], fitted: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1, progress: object | None = None) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
    """
    Of each value: minus the logarithm of the probability of one at most as dense, not calibrated; and minus the logarithm of its density in each view, [row][view]. A view is a forest, what to add to its values by row, its share, the least kernel width, and the least deviation.
    """

def column_surprises(atoms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: float, values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], is_own: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], n_threads: int = 1) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """
    Minus the logarithm of the smooth density around atoms at some values, without the value itself if it is one.
    """

def kernel() -> str:
    """The build of the hot loops in use."""

def kernels() -> list[str]:
    """The builds that this machine can run, the fastest last."""

def use_kernel(name: str) -> None:
    """Chooses the build in use; all give the same bits."""
