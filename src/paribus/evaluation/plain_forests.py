"""QCAD built from other packages, as one would write it without paribus: the baseline of speed measurements.

Distances come from the `gower` package, and quantile-forest fits one forest per row and behavioral feature. Both are
installed by `pip install 'paribus[bench]'`.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats

QUANTILES = [i / 100 for i in range(101)]


class PlainForests:
    """One forest per row and behavioral feature, on neighbors from a matrix of all distances.

    Parameters
    ----------
    context : array of shape (rows, contextual features)
        The contextual features, with categories as codes.
    categorical : array of shape (contextual features,)
        Whether each contextual feature is categorical.
    behavior : array of shape (rows, behavioral features)
        The behavioral features.
    n_neighbors, n_trees : int
        As in `QCAD`.
    """

    def __init__(
        self, context: Floats, categorical: npt.NDArray[np.bool_], behavior: Floats, n_neighbors: int, n_trees: int
    ) -> None:
        try:
            import gower
        except ModuleNotFoundError:
            raise ModuleNotFoundError("plain forests need the package gower: pip install 'paribus[bench]'") from None
        self.context = context
        self.behavior = behavior
        self.n_trees = n_trees
        start = time.perf_counter()
        distances = gower.gower_matrix(context, cat_features=categorical.tolist())
        np.fill_diagonal(distances, np.inf)
        self.neighbors = np.argpartition(distances, n_neighbors, axis=1)[:, :n_neighbors]
        self.seconds_for_neighbors = time.perf_counter() - start

    def judge(self, row: int, feature: int) -> Floats:
        """The percentiles of one row and feature."""
        from quantile_forest import RandomForestQuantileRegressor

        group = self.neighbors[row]
        forest = RandomForestQuantileRegressor(
            n_estimators=self.n_trees, min_samples_split=10, max_samples_leaf=None, random_state=0
        )
        forest.fit(self.context[group], self.behavior[group, feature])
        point = self.context[row : row + 1]
        return np.asarray(forest.predict(point, quantiles=QUANTILES, interpolation="lower"))

    def estimate_seconds(self, n_forests: int, seed: int) -> float:
        """Extrapolates the seconds for all rows and features on one core from a sample of forests."""
        random = np.random.default_rng(seed)
        n_rows, n_features = self.behavior.shape
        start = time.perf_counter()
        for _ in range(n_forests):
            self.judge(int(random.integers(n_rows)), int(random.integers(n_features)))
        each = (time.perf_counter() - start) / n_forests
        return float(self.seconds_for_neighbors + each * n_rows * n_features)
