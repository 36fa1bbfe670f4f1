"""The residual isolation forest (2025): isolates what the context does not explain."""

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
    """Residual isolation forest: a random forest expects each behavior, an isolation forest looks at what is left.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        As for every rival; see `Baseline`. Categories are used by their codes.
    n_trees : int
        Trees of the random forest of each behavior. Residuals are out of bag.
    n_isolation_trees : int
        Trees of the isolation forest.
    min_samples_leaf : int
        The smallest leaf of the random forests.
    n_jobs : int
        Threads; -1 for as many as there are cores.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The isolation forest's score, from 0 to 1.
    residuals_ : array of shape (rows, behavioral features)
        Behavior, scaled to [0, 1], minus what was expected.

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
        # scikit-learn's trees know single precision: what is a day in a date is lost in it, unless it is scaled.
        context = min_max(rows.context)
        expected = [trees.expected_values(context, behavior, random) for behavior in rows.behavior.T]
        self.residuals_ = rows.behavior - np.column_stack(expected)
        forest = IsolationForest(n_estimators=self.n_isolation_trees, random_state=random).fit(self.residuals_)
        return np.asarray(-forest.score_samples(self.residuals_))
