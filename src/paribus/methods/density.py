"""Smooth distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._common.arrays import Floats

DEGREES_OF_FREEDOM = 3.0
# The density of Student's t with 3 degrees of freedom at its center.
PEAK = 2.0 / (np.pi * np.sqrt(DEGREES_OF_FREEDOM))
# Where a cumulative distribution is evaluated, in kernel widths around some of its atoms.
STEPS = np.array([-16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
MAX_STEPS = 30


@dataclass(frozen=True)
class Density:
    """A smooth distribution: kernels around values."""

    atoms: Floats
    scales: Floats
    weights: Floats
    """1 in all."""
    lowest: float = -np.inf
    """The values of the whole column lie between this one ..."""
    highest: float = np.inf
    """... and this one."""

    def __call__(self, at: Floats) -> Floats:
        """The density at some values."""
        return np.asarray(student(at[:, None], self.atoms, self.scales) @ self.weights)

    def cumulative(self, at: Floats) -> Floats:
        """The share below some values."""
        away = (at[:, None] - self.atoms) / (self.scales * np.sqrt(DEGREES_OF_FREEDOM))
        with np.errstate(over="ignore"):
            return np.asarray((0.5 + (away / (1.0 + away**2) + np.arctan(away)) / np.pi) @ self.weights)

    def percentiles(self, n: int) -> Floats:
        """From nearly the smallest value, in n equal shares, to nearly the largest; within the range of the column."""
        some = np.argsort(self.atoms, kind="stable")[:: max(1, len(self.atoms) // MAX_STEPS)]
        steps = np.unique(self.atoms[some, None] + self.scales[some, None] * STEPS)
        # Half an interval from the ends, where the tails begin.
        shares = np.clip(np.arange(n + 1) / n, 0.5 / n, 1.0 - 0.5 / n)
        return np.asarray(np.interp(shares, self.cumulative(steps), steps).clip(self.lowest, self.highest))


def student(values: Floats, centers: Floats, scale: float | Floats) -> Floats:
    """The density of Student's t with 3 degrees of freedom."""
    with np.errstate(over="ignore"):
        return np.asarray(PEAK / scale / (1.0 + ((values - centers) / scale) ** 2 / DEGREES_OF_FREEDOM) ** 2)
