"""An independent oracle: quantile-forest, on the same reference group."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from quantile_forest import RandomForestQuantileRegressor

from paribus import QCAD
from tests.oracles import qcad as oracles


@given(
    seed=st.integers(0, 2**32 - 1),
    n_features=st.integers(1, 4),
    k=st.integers(20, 150),
    min_samples_split=st.integers(2, 20),
)
@settings(max_examples=20)
def test_one_tree_gives_the_percentiles_of_quantile_forest(
    seed: int, n_features: int, k: int, min_samples_split: int
) -> None:
    """Tests that a tree over the whole group has the percentiles of an independent implementation."""
    random = np.random.default_rng(seed)
    # Single precision as in quantile-forest, so that thresholds are the same numbers.
    context = random.normal(size=(200, n_features)).astype(np.float32).astype(float)
    behavior = context[:, 0] + random.normal(size=200)
    table = np.column_stack([context, behavior])
    detector = QCAD(
        contextual=list(range(n_features)),
        n_neighbors=k,
        n_trees=1,
        bootstrap=False,
        min_samples_split=min_samples_split,
    ).fit(table)
    row = table[:1]
    group = detector.reference_group(row)[0][0]
    # quantile-forest breaks ties between splits at random, so cases with ties are left out.
    answer = oracles.judge(
        context,
        behavior,
        np.zeros(n_features),
        group.tolist(),
        context[0],
        behavior[0],
        np.ones((k, 1), dtype=int),
        min_samples_split=min_samples_split,
    )
    assume(answer.closest_call > 1e-5 and not answer.tied)

    forest = RandomForestQuantileRegressor(
        n_estimators=1, bootstrap=False, min_samples_split=min_samples_split, max_samples_leaf=None, random_state=0
    )
    forest.fit(context[group], behavior[group])
    leaf_size = int(np.sum(forest.apply(context[group])[:, 0] == forest.apply(context[:1])[0, 0]))
    # tau_i is the ceil(n i / 100)-th smallest of n values. quantile-forest's "lower" gives the r-th smallest for any
    # share between (r - 1) / (n - 1) and r / (n - 1); the middle of it is free of rounding.
    ranks = np.maximum(-(-leaf_size * np.arange(101) // 100), 1)
    shares = np.minimum((ranks - 0.5) / max(leaf_size - 1, 1), 1.0)
    expected = forest.predict(context[:1], quantiles=shares.tolist(), interpolation="lower")
    np.testing.assert_array_equal(detector.percentiles(row)[0, 0], np.ravel(expected))
