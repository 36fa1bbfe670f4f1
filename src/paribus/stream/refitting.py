"""A detector that is fitted anew, if that is possible."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import clone

from paribus.detectors.surprise import ConditionalSurprise


def refit(detector: ConditionalSurprise, table: Any) -> ConditionalSurprise | None:
    """Fits a detector anew; None if that is not possible, or if it would judge other columns than before."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found: ConditionalSurprise = clone(detector).fit(table)
    except (ValueError, TypeError):
        # Such as a column that is constant, or text where there were numbers.
        return None
    return found if found.behavioral_features_ == detector.behavioral_features_ else None
