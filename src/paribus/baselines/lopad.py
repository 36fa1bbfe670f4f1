"""LoPAD, the local prediction approach to anomaly detection (Lu, Liu, Li, Le and Liu, 2020).

Each variable, contextual or behavioral, is predicted from its Markov blanket by bagged regression trees. A row's
deviation from the prediction becomes a z-score; the score of the row is the sum of its positive z-scores.
"""

from __future__ import annotations

import numpy as np

from paribus._common.arrays import Floats
from paribus._common.threads import resolve_n_jobs
from paribus._common.validation import check_whole_number, is_number
from paribus.baselines.base import Baseline, Rows, merge_rare
from paribus.baselines.markov_blanket import Dependence, fast_iamb
from paribus.baselines.out_of_bag import Bagging
from paribus.tables.table import Columns


class LoPAD(Baseline):
    """Local prediction: every variable from its Markov blanket.

    As in the original, the roles of columns do not matter. A variable without a blanket is predicted by its mean. A
    category deviates by one minus its predicted probability. Predictions are out of bag, since trees that have seen a
    row would reproduce it.

    Parameters
    ----------
    contextual, behavioral, categorical, random_state
        See `Baseline`.
    n_trees : int
        The number of trees, each grown on a bootstrap sample; 200 in the paper.
    min_samples_leaf : int
        The minimum number of rows in a leaf.
    significance : float
        The significance level of the independence tests that find the blankets.
    n_jobs : int
        The number of threads; -1 for all cores.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The sum of the pruned z-scores.
    blankets_ : list of lists of int
        The Markov blanket of each variable. Variables are numbered from 0, contextual ones before behavioral ones.

    Examples
    --------
    >>> from paribus import datasets
    >>> weather = datasets.load("weather")
    >>> detector = LoPAD(weather.contextual, weather.behavioral, n_trees=20).fit(weather.table)
    >>> detector.blankets_[3]  # temperature: month, elevation, zone and wind
    [0, 1, 2, 5]
    """

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_trees: int = 200,
        min_samples_leaf: int = 1,
        significance: float = 0.05,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
    ) -> None:
        super().__init__(contextual, behavioral, categorical=categorical, random_state=random_state)
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.significance = significance
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole_number("n_trees", self.n_trees, 1)
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        resolve_n_jobs(self.n_jobs)
        if not (is_number(self.significance) and 0 < self.significance < 1):
            raise ValueError(f"significance is {self.significance!r}: it must be a probability between 0 and 1")

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        table = rows.pooled(scale_context=True)
        categorical = np.concatenate([rows.categorical, np.zeros(rows.behavior.shape[1], dtype=np.bool_)])
        test = Dependence.of(table, categorical)
        self.blankets_ = [fast_iamb(test, variable, self.significance) for variable in range(table.shape[1])]
        scores = np.zeros(len(table))
        for variable, blanket in enumerate(self.blankets_):
            deviations = self._deviations(table, variable, bool(categorical[variable]), blanket, random)
            scores += pruned_z_scores(deviations)
        return scores

    def _deviations(
        self, table: Floats, variable: int, is_category: bool, blanket: list[int], random: np.random.RandomState
    ) -> Floats:
        values = table[:, variable]
        # Without a blanket, the trees get a constant feature and predict the mean.
        features = table[:, blanket] if blanket else np.zeros((len(table), 1))
        trees = Bagging(self.n_trees if blanket else 1, self.min_samples_leaf, resolve_n_jobs(self.n_jobs))
        if is_category:
            return 1 - trees.probability_of_actual(features, merge_rare(values), random)
        return np.abs(values - trees.expected_values(features, values, random))


def pruned_z_scores(deviations: Floats) -> Floats:
    """The z-scores of deviations, with negative ones set to 0.

    >>> pruned_z_scores(np.array([0.0, 0.0, 3.0]))
    array([0.        , 0.        , 1.41421356])
    """
    spread = deviations.std()
    if spread <= 1e-12:
        return np.zeros_like(deviations)
    return np.asarray(np.maximum((deviations - deviations.mean()) / spread, 0.0))
