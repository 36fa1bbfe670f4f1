"""Out-of-bag predictions of bagged trees."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from paribus._common.arrays import Floats


@dataclass(frozen=True)
class Bagging:
    """Trees, each grown on a bootstrap sample of the rows, with all features at every split.

    A row is predicted only by trees whose bootstrap sample does not contain it.
    """

    n_trees: int
    min_samples_leaf: int = 1
    n_jobs: int = 1

    def expected_values(self, features: Floats, target: Floats, random: np.random.RandomState) -> Floats:
        """The mean prediction for each row; the overall mean for a row that all trees have seen."""
        forest = self._grow(RandomForestRegressor, features, target, random)
        return np.asarray(np.where(_ever_left_out(forest), forest.oob_prediction_, target.mean()))

    def probability_of_actual(
        self, features: Floats, codes: npt.NDArray[np.int64], random: np.random.RandomState
    ) -> Floats:
        """The predicted probability of each row's category; its overall share for a row that all trees have seen."""
        forest = self._grow(RandomForestClassifier, features, codes, random)
        columns = np.searchsorted(forest.classes_, codes)
        probabilities = forest.oob_decision_function_[np.arange(len(codes)), columns]
        shares = np.bincount(columns)[columns] / len(codes)
        return np.where(_ever_left_out(forest), probabilities, shares)

    def _grow(self, kind: type, features: Floats, target: npt.NDArray[Any], random: np.random.RandomState) -> Any:
        forest = kind(
            n_estimators=self.n_trees,
            max_features=None,
            min_samples_leaf=self.min_samples_leaf,
            oob_score=True,
            n_jobs=self.n_jobs,
            random_state=random,
        )
        # For rows that all trees have seen, scikit-learn warns or divides 0 by 0.
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            # A column with a different name in each row has many classes, which is harmless.
            warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
            return forest.fit(features, target)


def _ever_left_out(forest: Any) -> npt.NDArray[np.bool_]:
    n_rows = len(forest.estimators_samples_[0])
    left_out = np.zeros(n_rows, dtype=np.bool_)
    for sample in forest.estimators_samples_:
        left_out |= np.bincount(sample, minlength=n_rows) == 0
    return left_out
