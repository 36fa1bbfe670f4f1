"""The residual isolation forest (2025): an isolation forest on what the context does not explain."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import IsolationForest

from paribus._common.arrays import Floats
from paribus._common.threads import resolve_n_jobs
from paribus._common.validation import check_whole_number
from paribus.baselines.base import Baseline, Rows, min_max
from paribus.baselines.out_of_bag import Bagging
from paribus.tables.table import Columns


class RIF(Baseline):
    """Residual isolation forest: random forests predict the behavior, an isolation forest scores the residuals.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        See `Baseline`. Categories are used by their codes.
    n_trees : int
        The number of trees of the random forest of each behavioral feature. Residuals are out of bag.
    n_isolation_trees : int
        The number of trees of the isolation forest.
    min_samples_leaf : int
        The minimum number of rows in a leaf of the random forests.
    n_jobs : int
        The number of threads; -1 for all cores.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The score of the isolation forest, from 0 to 1.
    residuals_ : array of shape (rows, behavioral features)
        Behavior, scaled to [0, 1], minus its prediction.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> detector = RIF(weather.contextual, weather.behavioral).fit(weather.table)
    >>> detector.anomaly_scores_.argmax()
    np.int64(1204)
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_trees: int = 100,
        n_isolation_trees: int = 100,
        min_samples_leaf: int = 5,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.n_trees = n_trees
        self.n_isolation_trees = n_isolation_trees
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        for name in ("n_trees", "n_isolation_trees", "min_samples_leaf"):
            check_whole_number(name, getattr(self, name), 1)
        resolve_n_jobs(self.n_jobs)

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        trees = Bagging(self.n_trees, self.min_samples_leaf, resolve_n_jobs(self.n_jobs))
        # scikit-learn's trees use single precision, in which the days of unscaled timestamps would be lost.
        context = min_max(rows.context)
        expected = [trees.expected_values(context, behavior, random) for behavior in rows.behavior.T]
        self.residuals_ = rows.behavior - np.column_stack(expected)
        forest = IsolationForest(n_estimators=self.n_isolation_trees, random_state=random).fit(self.residuals_)
        return np.asarray(-forest.score_samples(self.residuals_))
