"""Forests for tests, from columns and a target."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._core import FeatureTable, Forest, Samples, Target

Array = np.ndarray[Any, Any]


def make_target(values: Array) -> Target:
    """A target that is not part of the table."""
    return Target(np.ascontiguousarray(values[:, None]), 0, -np.inf, np.inf)


def grow_forest(
    columns: Array,
    categorical: Array,
    target: Array,
    features: Array,
    max_features: int,
    min_samples_leaf: int,
    n_pairs: int,
    n_sample: int,
    seed: int,
    originals: Array | None = None,
    n_threads: int = 1,
) -> Forest:
    """A forest over columns, [feature][row]."""
    table = FeatureTable(np.ascontiguousarray(columns.T), categorical)
    usable = (~np.isnan(target)).astype(np.uint8)
    samples = Samples(usable, originals, n_pairs, n_sample, seed, n_threads)
    return Forest(table, samples, make_target(target), features, max_features, min_samples_leaf, seed, n_threads)
