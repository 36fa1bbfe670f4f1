"""Atoms and evidence of a column given others: slow and plain, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.oracles.forest import student

# Logarithms of densities that differ by less may be equal: the compiled part has single precision.
EQUAL = 1e-4


@dataclass
class View:
    """One view: its atoms in the units of the column, trend included, for one row."""

    atoms: list[float]
    share: float
    min_width: float


@dataclass
class Shape:
    """A scale, from the formulas in the documentation."""

    kind: str
    center: float
    unit: float

    def transformed(self, value: float) -> float:
        if self.kind == "asinh":
            return math.asinh((value - self.center) / self.unit)
        if self.kind == "log":
            # A logarithm down to half a unit below 0, and from there on straight, without a kink.
            if value > -0.5 * self.unit:
                return math.log(value + self.unit)
            return math.log(0.5 * self.unit) + (value + 0.5 * self.unit) / (0.5 * self.unit)
        return value

    def slope(self, value: float) -> float:
        if self.kind == "asinh":
            return 1.0 / math.hypot(self.unit, value - self.center)
        if self.kind == "log":
            return 1.0 / max(value + self.unit, 0.5 * self.unit)
        return 1.0


def atom(members: list[float], pair: int, n_pairs: int) -> float:
    """The order statistic of a leaf at the level of the pair: levels are evenly spaced over the pairs."""
    level = (pair + 0.5) / n_pairs
    return sorted(members)[min(math.floor(level * len(members)), len(members) - 1)]


def evidence(
    views: list[View], shape: Shape, width: float, resolution: float, tail_probability: float, value: float
) -> tuple[float, float]:
    """Minus the logarithm of the share of the distribution that is at most as dense as a value.

    Returns bounds: densities that differ by no more than rounding in single precision may count as equal or not.
    """
    at = shape.transformed(value)
    kernels: list[tuple[float, float, float]] = []
    places: list[tuple[float, float]] = []
    for view in views:
        atoms = [shape.transformed(each) for each in view.atoms]
        mean = sum(atoms) / len(atoms)
        deviation = sum(abs(each - mean) for each in atoms) / len(atoms)
        scale = max(width * deviation, view.min_width, resolution * shape.slope(value))
        kernels += [(each, scale, view.share / len(atoms)) for each in atoms]
        every_other = atoms[::2]
        places += [(each, view.share / len(every_other)) for each in every_other]

    def log_density(place: float) -> float:
        return math.log(max(sum(share * student(place - each, scale) for each, scale, share in kernels), 1e-320))

    here = log_density(at)
    ranked = sorted((log_density(place), share) for place, share in places)
    shares = [share for _, share in ranked]
    # Up to where the tail reaches, and how much that is: of equal densities any may come first.
    last = next((i for i in range(len(ranked)) if sum(shares[: i + 1]) >= tail_probability - 1e-9), len(ranked) - 1)
    edge = ranked[last][0]
    before = sum(share for density, share in ranked if density < edge - EQUAL)
    up_to = sum(share for density, share in ranked if density <= edge + EQUAL)
    least, most = max(before, tail_probability), min(up_to, tail_probability + max(shares))
    found = []
    if here < edge + EQUAL:
        found += [-math.log(reached) + max(edge - here, 0.0) for reached in (least, most)]
    if here > edge - EQUAL:
        for tolerance in (-EQUAL, EQUAL):
            below = sum(share for density, share in ranked if density <= here + tolerance)
            found += [-math.log(min(max(below, reached), 1.0)) for reached in (least, most)]
    return min(found), max(found)
