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
    *,
    keeps_leaves: bool = True,
) -> Forest:
    """A forest over columns, [feature][row]."""
    table = FeatureTable(np.ascontiguousarray(columns.T), categorical)
    usable = (~np.isnan(target)).astype(np.uint8)
    samples = Samples(usable, originals, n_pairs, n_sample, seed, n_threads)
    whole = make_target(target)
    return Forest(
        table, samples, whole, features, max_features, min_samples_leaf, seed, n_threads, keeps_leaves=keeps_leaves
    )


def make_table(seed: int, n_rows: int, n_values: int | None = None) -> tuple[Array, Array, Array]:
    """Columns [feature][row] of numbers, numbers with gaps and categories, which are categorical, and a target.

    The target is one of numbers that differ, by fractions too, so that no two splits or categories are worth the same
    by chance.
    """
    random = np.random.default_rng(seed)
    columns = random.normal(size=(4, n_rows))
    if n_values is not None:
        columns = random.integers(n_values, size=(4, n_rows)).astype(float)
    columns[1, random.random(n_rows) < 0.2] = np.nan
    columns[3] = random.integers(5, size=n_rows)
    columns[3, random.random(n_rows) < 0.1] = np.nan
    target = random.permutation(n_rows) + random.integers(2**20, size=n_rows) / 2.0**21
    target += np.where(columns[0] > 0, n_rows, 0.0)
    return columns, np.array([0, 0, 0, 1], dtype=np.uint8), target


def make_forest(columns: Array, categorical: Array, target: Array, **changes: Any) -> Forest:
    """A small forest over all columns, with other settings if these are given."""
    n_usable = int((~np.isnan(target)).sum())
    settings: dict[str, Any] = {
        "features": np.arange(len(columns), dtype=np.uint16),
        "max_features": len(columns),
        "min_samples_leaf": 3,
        "n_pairs": 6,
        "n_sample": n_usable // 2,
        "seed": 0,
    }
    return grow_forest(columns, categorical, target, **(settings | changes))


def weights_of(forest: Forest, rows: Array, fitted: Array) -> Array:
    """[row][fitted row]: how much it counts."""
    return np.array([forest.weights(row, int(which)) for row, which in zip(rows, fitted, strict=True)])
