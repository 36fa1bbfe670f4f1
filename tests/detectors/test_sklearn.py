"""The contract of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from paribus import QCAD, ConditionalSurprise
from tests.support.detectors import DetectorClass, for_both, quick


# Some checks want outliers in tables that have none.
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [QCAD(contextual=[0], n_trees=10), ConditionalSurprise(contextual=[0], n_trees=8, contamination=0.1)]
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    """Tests the checks that scikit-learn has for estimators, without expected failures."""
    check(estimator)


@for_both
def test_clone_pickle_and_pipeline_give_the_same_scores(make: DetectorClass) -> None:
    """Tests that clones, pickled copies and pipelines give the same scores."""
    random = np.random.default_rng(0)
    table = random.normal(size=(80, 4))
    detector = quick(make, [0, 1]).fit(table)
    stored = pickle.loads(pickle.dumps(detector))
    np.testing.assert_array_equal(stored.anomaly_score(table), detector.anomaly_scores_)
    np.testing.assert_array_equal(clone(detector).fit(table).anomaly_scores_, detector.anomaly_scores_)
    piped = make_pipeline(StandardScaler(), quick(make, [0, 1])).fit(table)
    assert piped.predict(table).shape == (80,)


@for_both
def test_set_params_changes_the_next_fit(make: DetectorClass) -> None:
    """Tests that parameters that are set after a fit apply to the next fit, and only to it."""
    table = np.random.default_rng(0).normal(size=(60, 3))
    detector = quick(make, [0]).fit(table)
    before = detector.anomaly_scores_
    detector.set_params(n_trees=20)
    np.testing.assert_array_equal(detector.anomaly_score(table), before)
    assert not np.array_equal(detector.fit(table).anomaly_scores_, before)
