"""The plan of all forests of a fit: the random draws, which all rows share, and the settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# Depths with their own feature order. Paths are rarely deeper; a deeper one reuses the orders from the first on.
N_DEPTHS = 64


@dataclass(frozen=True)
class ForestPlan:
    """What the forests of all reference groups have in common."""

    multiplicities: npt.NDArray[np.uint8]
    """[position][tree]: how often a tree draws the row at a position of the reference group, nearest first."""
    max_features: int
    """The number of features that a split considers."""
    feature_order: npt.NDArray[np.uint16] | None
    """[tree][depth][feature]: the order in which a split considers features; None if it considers all."""
    min_samples_split: int
    """The minimum number of distinct rows for a split."""
    n_quantiles: int
    """The number of intervals between percentiles."""
    scale_tails: bool
    """Whether the score of a value outside all percentiles grows with its distance from them."""

    @classmethod
    def draw(
        cls,
        random: np.random.RandomState,
        n_neighbors: int,
        n_features: int,
        *,
        n_trees: int,
        bootstrap: bool,
        max_features: int,
        min_samples_split: int,
        n_quantiles: int,
        scale_tails: bool,
    ) -> ForestPlan:
        """Draws the bootstrap samples, and the features that splits consider unless they consider all."""
        some = max_features < n_features
        # Without randomness all trees are identical, and one is enough.
        n_distinct = n_trees if bootstrap or some else 1
        multiplicities = np.ones((n_neighbors, n_distinct), dtype=np.uint8)
        if bootstrap:
            for tree in range(n_distinct):
                drawn = random.randint(n_neighbors, size=n_neighbors)
                multiplicities[:, tree] = np.bincount(drawn, minlength=n_neighbors)
        feature_order = None
        if some:
            orders = [random.permutation(n_features) for _ in range(n_distinct * N_DEPTHS)]
            feature_order = np.array(orders, dtype=np.uint16).reshape(n_distinct, N_DEPTHS, n_features)
        return cls(multiplicities, max_features, feature_order, min_samples_split, n_quantiles, scale_tails)
