"""The forests of a fit: what is drawn at random, once and for all rows, and what is set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# A path is rarely deeper; a deeper one starts over with the first order.
N_DEPTHS = 64


@dataclass(frozen=True)
class ForestPlan:
    """What the forests of every reference group have in common."""

    multiplicities: npt.NDArray[np.uint8]
    """Positions x trees: how often a tree draws the member at a position of the group, nearest first."""
    max_features: int
    feature_order: npt.NDArray[np.uint16] | None
    """Trees x depths x features: the order in which a split tries features. None: it tries all."""
    min_samples_split: int
    n_quantiles: int
    scale_tails: bool

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
        """Draws the bootstraps, and the features that splits try where they do not try all."""
        some = max_features < n_features
        # Without anything drawn at random all trees are the same one.
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
