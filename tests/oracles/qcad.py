"""The method as docs/methods/qcad.md describes it: slow and plain, with exact fractions where rounding could matter."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def gower(a: Array, b: Array, categorical: Array, ranges: Array) -> float:
    """Gower's distance between two rows."""
    parts = []
    for x, y, is_category, width in zip(a, b, categorical, ranges, strict=True):
        if math.isnan(x) or math.isnan(y):
            continue
        if is_category or width == 0:
            parts.append(0.0 if x == y else 1.0)
        else:
            parts.append(min(abs(y - x) * (1.0 / width), 1e300))
    total = 0.0
    for part in parts:
        total += part
    return total / len(parts) if parts else 1.0


def column_ranges(context: Array) -> Array:
    """The range (maximum minus minimum) of each column; 0 for a column without values."""
    widths = []
    for column in context.T:
        known = column[~np.isnan(column)]
        widths.append(known.max() - known.min() if known.size else 0.0)
    return np.array(widths)


def reference_group(
    context: Array, query: Array, excluded: int, k: int, categorical: Array, tie_order: Array
) -> tuple[list[int], list[float]]:
    """The k nearest rows, sorted by distance and then by their position in the tie-breaking order."""
    place = {int(row): i for i, row in enumerate(tie_order)}
    ranges = column_ranges(context)
    found = [
        (gower(query, context[row], categorical, ranges), place[row], row)
        for row in range(len(context))
        if row != excluded
    ]
    nearest = sorted(found)[:k]
    return [row for _, _, row in nearest], [distance for distance, _, _ in nearest]


@dataclass
class Node:
    """A node of a fully grown tree."""

    members: list[int]
    feature: int = -1
    threshold: float = math.nan
    closest_call: float = 1.0
    """The relative gap between the best split and the best one that partitions the node differently."""
    tied: bool = False
    """Whether a split on another feature gives the same partition as the best one."""
    children: list[Node] = field(default_factory=list)


@dataclass
class Tree:
    """A fully grown regression tree."""

    columns: list[list[float]]
    behavior: list[Fraction]
    multiplicity: list[int]
    min_samples_split: int
    feature_order: Array | None
    max_features: int

    def grow(self, members: list[int], depth: int = 0) -> Node:
        """Splits until a node is small or constant."""
        node = Node(members)
        if len(members) < self.min_samples_split:
            return node
        if not self.choose_split(node, depth):
            return node
        column = self.columns[node.feature]
        sides = (
            [i for i in members if column[i] <= node.threshold],
            [i for i in members if column[i] > node.threshold],
        )
        node.children = [self.grow(side, depth + 1) for side in sides]
        return node

    def choose_split(self, node: Node, depth: int) -> bool:
        """Chooses the split with the smallest squared error; of equal ones, the first feature and lowest threshold."""
        members = node.members
        n_features = len(self.columns)
        if self.feature_order is None:
            rounds = [list(range(n_features))]
        else:
            order = self.feature_order[depth % len(self.feature_order)].tolist()
            rounds = [sorted(order[: self.max_features])] + [[f] for f in order[self.max_features :]]
        for features in rounds:
            candidates = [c for f in features for c in self.candidates(members, f)]
            best = max((gain for gain, *_ in candidates), default=Fraction(0))
            if best <= 0:
                continue
            _, node.feature, node.threshold, left = next(c for c in candidates if c[0] == best)
            for gain, feature, _, side in candidates:
                if side == left or frozenset(members) - side == left:
                    node.tied |= feature != node.feature
                else:
                    node.closest_call = min(node.closest_call, float((best - gain) / best))
            return True
        return False

    def candidates(self, members: list[int], feature: int) -> list[tuple[Fraction, int, float, frozenset[int]]]:
        """Gain, feature, threshold and left side of each split of a feature, in ascending order of thresholds."""
        column = self.columns[feature]
        values = sorted({column[i] for i in members})
        result = []
        total = sum((self.multiplicity[i] * self.behavior[i] for i in members), Fraction(0))
        n = sum(self.multiplicity[i] for i in members)
        for below, above in pairwise(values):
            threshold = below * 0.5 + above * 0.5
            if not threshold < above:
                threshold = below
            left = [i for i in members if column[i] <= below]
            n_left = sum(self.multiplicity[i] for i in left)
            left_sum = sum((self.multiplicity[i] * self.behavior[i] for i in left), Fraction(0))
            right_sum, n_right = total - left_sum, n - n_left
            gain = left_sum * left_sum / n_left + right_sum * right_sum / n_right - total * total / n
            result.append((gain, feature, threshold, frozenset(left)))
        return result


def path_of(node: Node, point: list[float]) -> list[Node]:
    """The nodes from the root to the leaf that a point falls into."""
    path = [node]
    while path[-1].children:
        node = path[-1]
        path.append(node.children[0 if point[node.feature] <= node.threshold else 1])
    return path


def percentiles(values: list[float], weights: list[Fraction], n_quantiles: int) -> list[float]:
    """tau_i = inf{v : F(v) >= i / n}; the first and last are the smallest and largest value with a positive weight."""
    taus = [_quantile(values, weights, Fraction(i, n_quantiles)) for i in range(n_quantiles + 1)]
    return taus


def _quantile(values: list[float], weights: list[Fraction], share: Fraction) -> float:
    reached = Fraction(0)
    pairs = sorted((v, w) for v, w in zip(values, weights, strict=True) if w > 0)
    for value, weight in pairs:
        reached += weight
        if reached >= share:
            return value
    return pairs[-1][0]


def partial_score(taus: list[float], quartiles: tuple[float, float], value: float, scale_tails: bool) -> float:
    """Equation 4 of the paper, with the cases that it leaves open."""
    widths = [b - a for a, b in pairwise(taus)]
    low, high = taus[0], taus[-1]
    if low <= value <= high:
        return min(b - a for a, b in pairwise(taus) if a <= value <= b)
    distance = low - value if value < low else value - high
    if low == high:
        return distance
    if not scale_tails:
        return max(widths)
    spread = quartiles[1] - quartiles[0]
    return (1 + distance / (spread if spread > 0 else (high - low) / 2)) * max(widths)


@dataclass
class Answer:
    """The oracle's result for one row and behavioral feature."""

    percentiles: list[float]
    partial_score: float
    weights: list[float]
    """The weight of each member of the group."""
    closest_call: float = 1.0
    """The smallest relative gap between two partitions of a node, over all nodes on the paths to the leaves."""
    tied: bool = False
    """Whether two features gave the same partition of a node on these paths."""


def judge(
    context: Array,
    behavior: Array,
    categorical: Array,
    group: list[int],
    point: Array,
    value: float,
    multiplicities: Array,
    *,
    feature_order: Array | None = None,
    max_features: int = 0,
    min_samples_split: int = 10,
    n_quantiles: int = 100,
    scale_tails: bool = True,
) -> Answer:
    """Grows all trees for one row and feature, and scores the value. `behavior` is the whole column."""
    members = [i for i in range(len(group)) if not math.isnan(behavior[group[i]])]
    values = [float(behavior[row]) for row in group]
    known = behavior[~np.isnan(behavior)]
    width = known.max() - known.min()
    # A constant feature scores 0 for any group.
    nothing = Answer(
        [math.nan] * (n_quantiles + 1),
        0.0 if width == 0 and not math.isnan(value) else math.nan,
        [math.nan] * len(group),
    )
    if not members:
        return nothing

    columns, own = [], []
    for f, is_category in enumerate(categorical):
        cells = [float(context[row, f]) for row in group]
        if is_category:
            cells, mine = _encode(cells, float(point[f]), values, members)
        else:
            cells = [-math.inf if math.isnan(cell) else cell for cell in cells]
            mine = -math.inf if math.isnan(point[f]) else float(point[f])
        columns.append(cells)
        own.append(mine)

    weights = [Fraction(0)] * len(group)
    nodes: list[Node] = []
    for t in range(multiplicities.shape[1]):
        multiplicity = [int(m) for m in multiplicities[:, t]]
        bag = [i for i in members if multiplicity[i] > 0]
        if not bag:
            continue
        tree = Tree(
            columns,
            [Fraction(0) if math.isnan(v) else Fraction(v) for v in values],
            multiplicity,
            min_samples_split,
            None if feature_order is None else feature_order[t],
            max_features,
        )
        path = path_of(tree.grow(bag), own)
        nodes += path
        leaf = path[-1].members
        size = sum(multiplicity[i] for i in leaf)
        for i in leaf:
            weights[i] += Fraction(multiplicity[i], size)
    total = sum(weights, Fraction(0))
    if total == 0:
        return nothing
    shares = [w / total for w in weights]
    taus = percentiles([values[i] for i in members], [shares[i] for i in members], n_quantiles)
    quartiles = tuple(
        _quantile([values[i] for i in members], [shares[i] for i in members], Fraction(q, 4)) for q in (1, 3)
    )
    if math.isnan(value):
        score = math.nan
    elif width == 0:
        score = 0.0
    else:
        score = partial_score(taus, (quartiles[0], quartiles[1]), value, scale_tails) / width
    weights_as_floats = [float(share) for share in shares]
    return Answer(taus, score, weights_as_floats, min(n.closest_call for n in nodes), any(n.tied for n in nodes))


def _encode(cells: list[float], mine: float, values: list[float], members: list[int]) -> tuple[list[float], float]:
    """Replaces a category by the mean behavior of its members; one without members by the mean of all."""

    def mean(rows: list[int]) -> float:
        total = 0.0
        for i in rows:
            total += values[i]
        return total / len(rows)

    def number(category: float) -> float:
        same = [i for i in members if cells[i] == category or (math.isnan(category) and math.isnan(cells[i]))]
        return mean(same or members)

    return [number(cell) for cell in cells], number(mine)
