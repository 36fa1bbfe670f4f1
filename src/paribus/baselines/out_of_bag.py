"""What bagged trees expect of a row that they have not seen."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from paribus.table import Floats


def expected_values(
    features: Floats,
    target: Floats,
    random: np.random.RandomState,
    *,
    n_trees: int,
    max_features: float | None = None,
    min_samples_leaf: int = 1,
    n_jobs: int = 1,
) -> Floats:
    """The mean prediction of the trees whose bootstrap left a row out; the overall mean if there is no such tree."""
    forest = RandomForestRegressor(
        n_trees,
        max_features=max_features,
        min_samples_leaf=min_samples_leaf,
        oob_score=True,
        n_jobs=n_jobs,
        random_state=random,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        forest.fit(features, target)
    return np.asarray(np.where(_ever_left_out(forest), forest.oob_prediction_, target.mean()))


def probability_of_actual(
    features: Floats,
    codes: npt.NDArray[np.int64],
    random: np.random.RandomState,
    *,
    n_trees: int,
    min_samples_leaf: int = 1,
    n_jobs: int = 1,
) -> Floats:
    """The probability that those trees give to the category that a row has; its overall share without such a tree."""
    forest = RandomForestClassifier(
        n_trees,
        max_features=None,
        min_samples_leaf=min_samples_leaf,
        oob_score=True,
        n_jobs=n_jobs,
        random_state=random,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
        # Rows without a vote get 0/0 here.
        with np.errstate(invalid="ignore"):
            forest.fit(features, codes)
    columns = np.searchsorted(forest.classes_, codes)
    probabilities = forest.oob_decision_function_[np.arange(len(codes)), columns]
    shares = np.bincount(columns)[columns] / len(codes)
    return np.where(_ever_left_out(forest), probabilities, shares)


def _ever_left_out(forest: RandomForestRegressor | RandomForestClassifier) -> npt.NDArray[np.bool_]:
    n_rows = len(forest.estimators_samples_[0])
    left_out = np.zeros(n_rows, dtype=np.bool_)
    for sample in forest.estimators_samples_:
        left_out |= np.bincount(sample, minlength=n_rows) == 0
    return left_out
