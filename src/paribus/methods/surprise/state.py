"""The state of a fitted ConditionalSurprise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from paribus._common.arrays import Floats
from paribus.methods.density import ColumnSupport
from paribus.methods.parameters import resolve_max_features
from paribus.methods.surprise.categories import Categories
from paribus.methods.surprise.forests import StoredForests
from paribus.methods.surprise.learned import Learned, LearnedCategories
from paribus.methods.surprise.verdict import Verdict
from paribus.methods.surprise.views import ForestSettings, WholeColumn

# The maximum number of reference rows of an explanation: those with the highest weights.
MAX_REFERENCES = 200
# The prefix of the names of arrays that hold forests.
FOREST = "forest_"


@dataclass(frozen=True)
class SurpriseSettings:
    """The parameters of the forests, and the seed of the random numbers."""

    n_trees: int
    max_features: int | float | str | None
    min_samples_leaf: int
    max_samples: int
    seed: int
    by_past: bool = False
    """Whether rows are judged by earlier rows alone."""

    @property
    def n_pairs(self) -> int:
        """The number of pairs of trees."""
        return -(-self.n_trees // 2)

    def of_forest(self, n_features: int) -> ForestSettings:
        """How a forest over this many features is grown."""
        return ForestSettings(
            self.n_pairs,
            resolve_max_features(self.max_features, n_features),
            self.min_samples_leaf,
            self.max_samples,
        )


Summary: TypeAlias = tuple[WholeColumn, ColumnSupport] | Categories
"""The whole of a behavioral feature, and the values that it can have."""


@dataclass(frozen=True)
class SurpriseState:
    """What a fit leaves behind, besides the table."""

    settings: SurpriseSettings
    n_rows: int
    others: list[list[int]]
    """Of each behavioral feature: the others that it is judged by, ascending."""
    learned: list[Learned | LearnedCategories]
    """Of each behavioral feature: given the context, and, if there are several, given all other features."""
    verdict: Verdict
    ranges: Floats
    """The range of each contextual feature."""
    summaries: list[Summary]
    """Of each behavioral feature: the whole column, and the values that it can have."""
    forests: StoredForests

    @property
    def n_reference(self) -> int:
        """The size of a reference group."""
        return min(self.n_rows - 1, MAX_REFERENCES)
