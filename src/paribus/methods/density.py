"""Smooth densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats

DEGREES_OF_FREEDOM = 3.0
# The density of Student's t with 3 degrees of freedom at its center.
PEAK = 2.0 / (np.pi * np.sqrt(DEGREES_OF_FREEDOM))
# Where the cumulative distribution is evaluated, in kernel widths around an atom.
STEPS = np.array([-16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
# The approximate number of atoms around which the cumulative distribution is evaluated.
MAX_STEPS = 30


@dataclass(frozen=True)
class Density:
    """A kernel density estimate with kernels of Student's t."""

    atoms: Floats
    """The centers of the kernels."""
    scales: Floats
    """The width of each kernel."""
    weights: Floats
    """The weight of each kernel; they sum to 1."""
    lowest: float = -np.inf
    """The minimum of the whole column."""
    highest: float = np.inf
    """The maximum of the whole column."""

    def __call__(self, at: Floats) -> Floats:
        """The density at the given values."""
        return np.asarray(student(at[:, None], self.atoms, self.scales) @ self.weights)

    def cumulative(self, at: Floats) -> Floats:
        """The cumulative distribution at the given values."""
        away = (at[:, None] - self.atoms) / (self.scales * np.sqrt(DEGREES_OF_FREEDOM))
        with np.errstate(over="ignore"):
            return np.asarray((0.5 + (away / (1.0 + away**2) + np.arctan(away)) / np.pi) @ self.weights)

    def percentiles(self, n: int) -> Floats:
        """The n + 1 percentiles in equal steps, within the range of the column; the ends are half a step inside."""
        some = np.argsort(self.atoms, kind="stable")[:: max(1, len(self.atoms) // MAX_STEPS)]
        steps = np.unique(self.atoms[some, None] + self.scales[some, None] * STEPS)
        # The ends are half a step inside, because the tails of the kernels have no end.
        shares = np.clip(np.arange(n + 1) / n, 0.5 / n, 1.0 - 0.5 / n)
        return np.asarray(np.interp(shares, self.cumulative(steps), steps).clip(self.lowest, self.highest))


def student(values: Floats, centers: Floats, scale: float | Floats) -> Floats:
    """The density of Student's t with 3 degrees of freedom."""
    with np.errstate(over="ignore"):
        return np.asarray(PEAK / scale / (1.0 + ((values - centers) / scale) ** 2 / DEGREES_OF_FREEDOM) ** 2)
