"""Trees and densities over whole tables: slow and plain, with exact fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass
class Split:
    """The question of a node: whether a value goes left; None for a category that no row of the tree has.

    What only the node has not seen goes with the majority.
    """

    gain: Fraction
    feature: int
    goes_left: Any


def grow(
    rows: list[int],
    columns: Array,
    categorical: Array,
    target: Array,
    min_samples_leaf: int,
    seen: list[set[float | None]] | None = None,
) -> Any:
    """A leaf (a list of rows), or a split with two child nodes. All features are tried; the first best one wins.

    `seen` are the values of each feature in the whole tree.
    """
    if seen is None:
        seen = [{_code(column[row]) for row in rows} for column in columns]
    best = None
    for feature in range(len(columns)):
        values = {row: columns[feature][row] for row in rows}
        known = [row for row in rows if not math.isnan(values[row])]
        missing = [row for row in rows if math.isnan(values[row])]
        for left, right, goes_left in candidates(
            known, missing, values, target, seen[feature] if categorical[feature] else None
        ):
            if min(len(left), len(right)) < min_samples_leaf:
                continue
            gain = gain_of(left, right, target)
            if gain > 0 and (best is None or gain > best.gain):
                best = Split(gain, feature, goes_left)
    if len(rows) < 2 * min_samples_leaf or best is None:
        return sorted(rows)
    sides: tuple[list[int], list[int]] = ([], [])
    for row in rows:
        sides[not best.goes_left(columns[best.feature][row])].append(row)
    return best, *(grow(side, columns, categorical, target, min_samples_leaf, seen) for side in sides)


def _code(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def candidates(known: list[int], missing: list[int], values: Any, target: Array, seen: set[float | None] | None) -> Any:
    """Left rows, right rows and question of each split, in ascending order of thresholds.

    `seen` are the categories in the whole tree; None for numbers.
    """
    n = len(known) + len(missing)
    if seen is not None:
        groups: dict[Any, list[int]] = {}
        for row in [*known, *missing]:
            groups.setdefault(_code(values[row]), []).append(row)
        order = sorted(groups, key=lambda code: Fraction(sum(map(Fraction, target[groups[code]]))) / len(groups[code]))
        for cut in range(1, len(order)):
            left = [row for code in order[:cut] for row in groups[code]]
            right = [row for code in order[cut:] for row in groups[code]]
            majority = 2 * len(left) >= n

            def goes_left(value: float, cut: int = cut, order: Any = order, majority: bool = majority) -> bool | None:
                code = _code(value)
                if code not in seen:
                    return None
                return code in order[:cut] if code in order else majority

            yield left, right, goes_left
        return
    for low, high in pairwise(sorted({values[row] for row in known})):
        left = [row for row in known if values[row] <= low]
        right = [row for row in known if values[row] >= high]
        middle = low + 0.5 * (high - low)
        majority = not missing and 2 * len(left) >= n
        yield left, right + missing, lambda v, t=middle, m=majority: v <= t or (math.isnan(v) and m)
        if missing:
            yield left + missing, right, lambda v, t=middle: v <= t or math.isnan(v)
    if missing and known:
        yield known, missing, lambda v: not math.isnan(v)


def gain_of(left: list[int], right: list[int], target: Array) -> Fraction:
    """The reduction of the squared error by a split."""
    sums = [sum((Fraction(float(target[row])) for row in side), Fraction(0)) for side in (left, right)]
    apart = sums[0] / len(left) - sums[1] / len(right)
    return apart * apart * len(left) * len(right) / (len(left) + len(right))


def find(node: Any, values: Array) -> list[list[int]]:
    """The leaves that a row may fall into: one, unless it has a category that the tree has not seen."""
    if isinstance(node, list):
        return [node]
    split, left, right = node
    goes_left = split.goes_left(values[split.feature])
    sides = [left, right] if goes_left is None else [left if goes_left else right]
    return [leaf for side in sides for leaf in find(side, values)]


def surprise(weights: Array, target: Array, value: float, width: float, least: float) -> float:
    """Minus the logarithm of the smooth density at a value."""
    mean = sum(w * y for w, y in zip(weights, target, strict=True) if w > 0)
    deviation = sum(w * abs(y - mean) for w, y in zip(weights, target, strict=True) if w > 0)
    scale = width * max(deviation, least)
    density = 0.0
    for weight, y in zip(weights, target, strict=True):
        if weight > 0:
            density += weight * student(value - y, scale)
    return -math.log(density)


def student(distance: float, scale: float) -> float:
    """The density of Student's t with 3 degrees of freedom, from its formula."""
    constant = math.gamma(2.0) / (math.sqrt(3 * math.pi) * math.gamma(1.5))
    return constant * (1 + (distance / scale) ** 2 / 3) ** -2 / scale
