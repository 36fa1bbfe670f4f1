"""Robust contextual outlier detection (Liang and Parthasarathy, 2016).

The expected behavior of a row combines the mean of its contextual neighbors (local) with a regression on the context
(global). The more neighbors there are, the more the local mean counts:

    expected = a * local + (1 - a) * global,   a = sqrt(neighbors / maximum number of neighbors of any row).

The score is the sum over features of the squared deviations from it, weighted by the coefficient of determination of
the feature (at least 0).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from paribus._common.arrays import Floats
from paribus._common.validation import check_choice, is_number
from paribus.baselines.base import Baseline, Rows
from paribus.tables.table import Columns

# The number of distances in memory at a time.
BLOCK_SIZE = 2**22
GLOBAL_MODELS = ("linear", "ridge", "tree")


class ROCOD(Baseline):
    """Robust contextual outlier detection: neighbors where there are some, a regression where there are none.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        See `Baseline`.
    neighbor_distance : float
        Rows within this Gower distance in context are neighbors. Liang and Parthasarathy do not specify it. The QCAD
        paper uses 0.9, which makes nearly all rows neighbors; the results page compares both.
    global_model : {"linear", "ridge", "tree"}
        The regression of behavior on context, in which categories are one-hot encoded.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The weighted sum of squared deviations.
    n_neighbors_ : array of shape (rows,)
        The number of neighbors of each row.
    feature_weights_ : array of shape (behavioral features,)
        The weight of each feature's deviations.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> detector = ROCOD(weather.contextual, weather.behavioral).fit(weather.table)
    >>> detector.feature_weights_.round(2)  # temperature, rain, wind
    array([0.94, 0.15, 0.76])
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        neighbor_distance: float = 0.02,
        global_model: str = "linear",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.neighbor_distance = neighbor_distance
        self.global_model = global_model

    def _check_parameters(self) -> None:
        if not (is_number(self.neighbor_distance) and 0 <= self.neighbor_distance <= 1):
            raise ValueError(f"neighbor_distance is {self.neighbor_distance!r}: it must be a distance from 0 to 1")
        check_choice("global_model", self.global_model, GLOBAL_MODELS)

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        design, behavior = rows.design(), rows.behavior
        models = {
            "linear": LinearRegression(),
            "ridge": Ridge(),
            # A tree grown to single rows would reproduce them.
            "tree": DecisionTreeRegressor(min_samples_leaf=10, random_state=random),
        }
        global_behavior = models[self.global_model].fit(design, behavior).predict(design).reshape(behavior.shape)
        self.n_neighbors_, local_behavior = neighbor_means(
            rows.context, rows.categorical, behavior, self.neighbor_distance
        )
        deviations = squared_deviations(behavior, self.n_neighbors_, local_behavior, global_behavior)
        weights = explained_share(behavior, deviations)
        # If no feature is predicted better than by its mean, all get the same weight, since equal scores are useless.
        self.feature_weights_ = weights if weights.any() else np.ones_like(weights)
        return np.asarray(deviations @ self.feature_weights_)


def neighbor_means(
    context: Floats, categorical: npt.NDArray[np.bool_], behavior: Floats, distance: float
) -> tuple[npt.NDArray[np.int64], Floats]:
    """The number of other rows within a Gower distance of each row, and their mean behavior (0 if there are none).

    >>> context, behavior = np.array([[0.0], [1.0], [10.0]]), np.array([[5.0], [7.0], [9.0]])
    >>> neighbor_means(context, np.array([False]), behavior, 0.1)
    (array([1, 1, 0]), array([[7.], [5.], [0.]]))
    """
    n_rows, n_features = context.shape
    width = context.max(axis=0) - context.min(axis=0)
    numbers = context / np.where(~categorical & (width > 0), width, 1.0)
    counts = np.empty(n_rows, dtype=np.int64)
    sums = np.empty_like(behavior)
    size = max(1, BLOCK_SIZE // n_rows)
    for start in range(0, n_rows, size):
        block = np.arange(start, min(start + size, n_rows))
        total = np.zeros((len(block), n_rows))
        for column, is_category in zip(numbers.T, categorical, strict=True):
            difference = column[block, None] - column
            total += difference != 0 if is_category else np.abs(difference)
        # Many distances equal the threshold, so the tolerance keeps rounding errors from deciding.
        near = total <= (distance + 1e-12) * n_features
        near[np.arange(len(block)), block] = False
        counts[block] = near.sum(axis=1)
        sums[block] = near.astype(np.float64) @ behavior
    return counts, sums / np.maximum(counts, 1)[:, None]


def squared_deviations(
    behavior: Floats, n_neighbors: npt.NDArray[np.int64], local_behavior: Floats, global_behavior: Floats
) -> Floats:
    """The squared deviations of behavior from what is expected."""
    local_share = np.sqrt(n_neighbors / max(1, n_neighbors.max()))[:, None]
    return np.asarray(np.square(behavior - local_share * local_behavior - (1 - local_share) * global_behavior))


def explained_share(behavior: Floats, deviations: Floats) -> Floats:
    """The coefficient of determination of each feature, at least 0; 0 for a constant feature."""
    variance = np.square(behavior - behavior.mean(axis=0)).sum(axis=0)
    unexplained = deviations.sum(axis=0) / np.where(variance > 0, variance, 1.0)
    return np.where(variance > 0, np.maximum(1 - unexplained, 0.0), 0.0)
