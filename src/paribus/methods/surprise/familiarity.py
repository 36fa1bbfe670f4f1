"""Contexts with a category that no other row has: nothing in the table says what is usual there."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions


class Familiarity:
    """Knows how many fitted rows have each category of the context.

    Parameters
    ----------
    context : array
        [fitted row][contextual feature], encoded.
    is_category : array
        By contextual feature.
    contexts : list of arrays
        By behavioral feature: the contextual features that it is judged by.
    """

    def __init__(
        self, context: Floats, is_category: npt.NDArray[np.bool_], contexts: list[npt.NDArray[np.uint16]]
    ) -> None:
        self._context = context
        self._features = np.flatnonzero(is_category)
        self._judged_by = np.array([np.isin(self._features, each) for each in contexts])
        """[behavioral feature][category of the context]"""

    @cached_property
    def _counts(self) -> list[Positions]:
        """By categorical feature: the fitted rows by code; the last ones have no category, and come before these."""
        return [np.bincount(_codes(self._context[:, feature])) for feature in self._features]

    def unfamiliar(self, context: Floats, fitted: Positions) -> npt.NDArray[np.bool_] | None:
        """[row][behavioral feature]: whether no other fitted row has a category of the row's context.

        `fitted` is the fitted row that each row is, or -1. None if the context has no categories.

        >>> context = np.array([[0.0], [0.0], [1.0]])
        >>> familiarity = Familiarity(context, np.array([True]), [np.array([0], dtype=np.uint16)])
        >>> familiarity.unfamiliar(np.array([[0.0], [1.0], [1.0], [np.nan]]), np.array([0, 2, -1, -1])).ravel()
        array([False,  True, False,  True])
        """
        if self._features.size == 0:
            return None
        n_own = (fitted >= 0).astype(np.int64)
        is_alone = np.empty((len(context), len(self._features)), dtype=bool)
        for place, (feature, counts) in enumerate(zip(self._features, self._counts, strict=True)):
            codes = _codes(context[:, feature])
            known = codes < len(counts)
            is_alone[:, place] = np.where(known, counts[np.where(known, codes, 0)], n_own) <= n_own
        return np.asarray(is_alone @ self._judged_by.T)


def _codes(values: Floats) -> Positions:
    """Codes from 1; 0 is a missing category. Codes that are not those of fitted categories are above all others."""
    return np.where(np.isnan(values), 0, values + 1).astype(np.int64)
