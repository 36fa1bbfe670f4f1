"""Smooth distributions: kernels around values, on a scale that suits the column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from paribus._common.arrays import Floats

ShapeName: TypeAlias = Literal["plain", "asinh", "log"]

DEGREES_OF_FREEDOM = 3.0
# The density of Student's t with 3 degrees of freedom at its center.
PEAK = 2.0 / (np.pi * np.sqrt(DEGREES_OF_FREEDOM))
# Where a cumulative distribution is evaluated, in kernel widths around some of its atoms.
STEPS = np.array([-16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
MAX_STEPS = 32


@dataclass(frozen=True)
class ColumnShape:
    """The scale on which a column is smoothed: it pulls far values together."""

    kind: ShapeName = "plain"
    center: float = 0.0
    unit: float = 1.0

    def transformed(self, values: Floats) -> Floats:
        """Values on the scale: unchanged, asinh((value - center) / unit), or log(value + unit).

        >>> shape = ColumnShape("log", unit=1.0)
        >>> shape.inverse(shape.transformed(np.array([-3.0, 0.0, 99.0]))).round(9)
        array([-3.,  0., 99.])
        """
        if self.kind == "asinh":
            return np.asarray(np.arcsinh((values - self.center) / self.unit))
        if self.kind == "log":
            # Linear where the logarithm is undefined.
            above = np.log(np.maximum(values, -0.5 * self.unit) + self.unit)
            return np.asarray(above + 2.0 * np.minimum(values / self.unit + 0.5, 0.0))
        return values

    def slopes(self, values: Floats) -> Floats:
        """The derivative of the scale."""
        if self.kind == "asinh":
            return np.asarray(1.0 / np.hypot(self.unit, values - self.center))
        if self.kind == "log":
            return np.asarray(1.0 / np.maximum(values + self.unit, 0.5 * self.unit))
        return np.ones_like(values)

    def inverse(self, transformed: Floats) -> Floats:
        """The inverse of `transformed`."""
        if self.kind == "asinh":
            # Larger arguments would overflow.
            return np.asarray(self.center + self.unit * np.sinh(np.clip(transformed, -600.0, 600.0)))
        if self.kind == "log":
            start = np.log(0.5 * self.unit)
            below = self.unit * (np.minimum(transformed - start, 0.0) / 2.0)
            return np.asarray(np.exp(np.clip(transformed, start, 600.0)) - self.unit + below)
        return transformed


@dataclass(frozen=True)
class RangeMap:
    """Calibrates ranges: maps nominal probabilities to levels of a smooth distribution.

    If the distributions were exactly right, this would be the identity.
    """

    probabilities: Floats
    levels: Floats

    @classmethod
    def exact(cls) -> RangeMap:
        """The identity."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @classmethod
    def fit(cls, below: Floats, up_to: Floats) -> RangeMap:
        """Learns from fitted rows, given the share of its own distribution below each value, and up to it.

        >>> at = np.random.default_rng(0).beta(2, 2, size=4000)
        >>> RangeMap.fit(at, at)(np.array([0.05, 0.5])).round(2)
        array([0.14, 0.51])
        """
        levels = np.linspace(0.0, 1.0, 201)
        width = np.maximum(up_to - below, 1e-9)
        reached = np.clip((levels[:, None] - below) / width, 0.0, 1.0).mean(axis=1)
        reached[0], reached[-1] = 0.0, 1.0
        distinct, first = np.unique(reached, return_index=True)
        return cls(distinct, levels[first])

    def __call__(self, probabilities: Floats) -> Floats:
        """The levels of probabilities."""
        return np.asarray(np.interp(probabilities, self.probabilities, self.levels))


@dataclass(frozen=True)
class ColumnSupport:
    """The possible values of a column, as far as they are known."""

    lowest: float = -np.inf
    highest: float = np.inf
    resolution: float = 0.0
    """The distance between values that repeat; 0 if they hardly repeat."""
    values: Floats | None = field(default=None, repr=False)
    """All of them in ascending order, if they are few."""
    decimals: int | None = None
    """The number of decimals, if values repeat and are many."""

    def nearest(self, values: Floats) -> Floats:
        """The possible values that are nearest."""
        if self.values is not None:
            middles = (self.values[1:] + self.values[:-1]) / 2.0
            return np.asarray(self.values[np.searchsorted(middles, values)])
        if self.decimals is not None:
            values = np.round(values, self.decimals)
        return np.asarray(np.clip(values, self.lowest, self.highest))


@dataclass(frozen=True)
class Density:
    """The distribution of one row: kernels around atoms, and calibrated ranges."""

    atoms: Floats
    """On the scale of the shape."""
    widths: Floats
    weights: Floats
    """They sum to 1."""
    shape: ColumnShape = field(default_factory=ColumnShape)
    support: ColumnSupport = field(default_factory=ColumnSupport)
    ranges: RangeMap = field(default_factory=RangeMap.exact)

    def __call__(self, at: Floats) -> Floats:
        """The density at some values."""
        heights = student(self.shape.transformed(at)[:, None], self.atoms, self.widths) @ self.weights
        return np.asarray(heights * self.shape.slopes(at))

    def cumulative(self, at: Floats) -> Floats:
        """The share below some values, before ranges are calibrated."""
        return self._cumulative(self.shape.transformed(at))

    def _cumulative(self, transformed: Floats) -> Floats:
        return student_cumulative(transformed[:, None], self.atoms, self.widths) @ self.weights

    def percentiles(self, n: int) -> Floats:
        """From nearly the smallest value, in n equal shares, to nearly the largest; only possible values."""
        some = np.argsort(self.atoms, kind="stable")[:: -(-len(self.atoms) // MAX_STEPS)]
        steps = np.unique(self.atoms[some, None] + self.widths[some, None] * STEPS)
        found = np.interp(self.ranges(percentile_shares(n)), self._cumulative(steps), steps)
        return self.support.nearest(self.shape.inverse(found))


def percentile_shares(n: int) -> Floats:
    """The shares that percentiles stand for: half an interval from the ends, where the tails begin."""
    return np.asarray(np.clip(np.arange(n + 1) / n, 0.5 / n, 1.0 - 0.5 / n))


def student(values: Floats, centers: Floats, scale: float | Floats) -> Floats:
    """The density of Student's t with 3 degrees of freedom."""
    with np.errstate(over="ignore"):
        return np.asarray(PEAK / scale / (1.0 + ((values - centers) / scale) ** 2 / DEGREES_OF_FREEDOM) ** 2)


def student_cumulative(values: Floats, centers: Floats, scale: float | Floats) -> Floats:
    """The cumulative distribution of Student's t with 3 degrees of freedom."""
    away = (values - centers) / (scale * np.sqrt(DEGREES_OF_FREEDOM))
    with np.errstate(over="ignore"):
        return np.asarray(0.5 + (away / (1.0 + away**2) + np.arctan(away)) / np.pi)
