"""How often ordinary rows have rare categories, according to their predicted distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats
from paribus.methods.surprise.calibration import LEVELS, TailMap

# Probabilities that differ by less are equal.
ROUNDING = 1e-9
# Tails that differ by a smaller factor are about equal. Forests are no more exact: a row's own category is a little
# rarer among the rows that trees have seen without it than it is for others of the same context.
ACCURACY = 1.25
# Tail probabilities, beyond those of `LEVELS`, at which the map of a column of categories has knots.
FAR_LEVELS = np.array([0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001])


@dataclass(frozen=True)
class ExpectedTails:
    """The distribution of ordinary rows' tail probabilities, according to their predicted distributions."""

    tails: Floats
    """Probabilities of categories at most as probable, ascending and distinct."""
    reached: Floats
    """By tail: the share of ordinary rows that have it or a lower one."""

    @classmethod
    def of(cls, tails: Floats, masses: Floats) -> ExpectedTails:
        """From all categories of some rows: their tails, and how probable each is."""
        order = np.argsort(tails, kind="stable")
        ascending, reached = tails[order], np.cumsum(masses[order])
        last = np.append(np.diff(ascending) > ROUNDING * ascending[1:], True)
        return cls(ascending[last], reached[last] / reached[-1])

    def map(self, limit: float) -> TailMap:
        """The calibrated evidence of tails, given minus their logarithms."""
        levels = np.append(LEVELS, FAR_LEVELS)
        places = np.searchsorted(self.reached, levels * (1.0 + ROUNDING), "right") - 1
        places = np.unique(places[places >= 0])[::-1]
        knots = np.log(ACCURACY) - np.log(self.tails[places])
        return TailMap(knots, -np.log(self.reached[places]) + 0.0, 1.0, limit)

    def spread(self, tails: Floats, shares: Floats, worth: TailMap) -> Floats:
        """The evidence of tails that are spread evenly from what is reached before them to what is reached by them."""
        at = np.searchsorted(self.tails, tails / ACCURACY, "left")
        below = np.append(0.0, self.reached)[at]
        by = np.append(0.0, self.reached)[np.searchsorted(self.tails, tails * ACCURACY, "right")]
        evidence = worth(-np.log(tails))
        higher = -np.log(np.maximum(below + shares * (by - below), 1e-300))
        # Beyond the table, evidence is not changed.
        return np.where(below > 0, np.maximum(evidence, higher), evidence)
