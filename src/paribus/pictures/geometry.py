"""The numbers behind the pictures, for every renderer: bars, and the range of an axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.arrays import Floats

if TYPE_CHECKING:
    from paribus.explain.categories import CategoryFeature
    from paribus.explain.context import ContextFeature

# How far the axis of a beanplot extends beyond the central 90 %, in widths of that range.
REACH = 2.0
N_BINS = 14
# Integers get one bar each if there are at most this many.
MAX_INTEGER_BARS = 24
# The maximum number of categories with a separate bar.
MAX_CATEGORIES = 8
# Characters of a category: more than any renderer has room for.
MAX_CATEGORY_LENGTH = 500


@dataclass(frozen=True)
class Bars:
    """The distribution of a reference group in one contextual feature."""

    shares: Floats = field(repr=False)
    """The share of the group's rows in each bar."""
    weighted: Floats = field(repr=False)
    """The share of the group's weight in each bar."""
    own: int | None
    """The bar that contains the row's own value; None if that is missing."""
    edges: Floats | None = field(repr=False)
    """The edges of the bars of a numeric feature; None for a categorical one."""
    labels: tuple[str, ...] = ()
    """The names of the bars of a categorical feature, in full: renderers shorten them and keep them distinct."""
    notes: tuple[str, ...] = ()
    """What the bars do not show."""


def category_bars(feature: CategoryFeature, max_categories: int = MAX_CATEGORIES) -> Bars:
    """The bars of a categorical behavioral feature: how probable each category is in the row's context.

    The row's own category is always among them.
    """
    write, common = feature.format, feature.most_common
    is_known = 0 <= feature.value < len(common)
    kept = [code for code, _ in common[:max_categories]]
    if is_known and int(feature.value) not in kept:
        kept = [*kept[: max_categories - 1], int(feature.value)]
    shares = dict(common)
    labels, heights = [write(code, MAX_CATEGORY_LENGTH) for code in kept], [shares[code] for code in kept]
    if not is_known and not np.isnan(feature.value):
        labels, heights = [*labels, write(feature.value)], [*heights, feature.probability]
    own = None if np.isnan(feature.value) else kept.index(int(feature.value)) if is_known else len(labels) - 1
    n_more = len(common) - len(kept)
    notes = (f"and {n_more:,} more",) if n_more else ()
    found = np.array(heights)
    return Bars(found, found, own, None, tuple(labels), notes)


def context_bars(
    feature: ContextFeature, values: np.ndarray[Any, Any], weights: Floats, max_categories: int = MAX_CATEGORIES
) -> Bars:
    """The bars of a contextual feature; `values` are those of the group: numbers, or categories as objects."""
    if values.dtype == object:
        return _category_bars(feature, values, weights, max_categories)
    return _number_bars(feature, values, weights)


def _number_bars(feature: ContextFeature, values: Floats, weights: Floats) -> Bars:
    own = feature.own if isinstance(feature.own, float) else None
    known = ~np.isnan(values)
    if not known.any() and own is None:
        return Bars(np.zeros(1), np.zeros(1), None, np.array([0.0, 1.0]), notes=("all missing",))
    low, high = window(values[known]) if known.any() else (np.inf, -np.inf)
    if own is not None:
        low, high = min(low, own), max(high, own)
    # Values far out are counted in the outermost bars.
    inside = values[known].clip(low, high)
    edges = _edges(np.append(inside, [low, high]))
    rows, _ = np.histogram(inside, edges)
    counted, _ = np.histogram(inside, edges, weights=weights[known])
    mine = None if own is None else min(int(np.searchsorted(edges, own, "right")) - 1, len(rows) - 1)
    notes = ["own value missing"] if own is None else []
    if not known.all():
        notes.append(f"{1 - known.mean():.0%} missing")
    if n_beyond := int((inside != values[known]).sum()):
        notes.append(f"{n_beyond} off the axis")
    return Bars(rows / len(values), counted, mine, edges, notes=tuple(notes))


def _category_bars(feature: ContextFeature, values: np.ndarray[Any, Any], weights: Floats, max_categories: int) -> Bars:
    rows, counted = Counter(values.tolist()), Counter[Hashable]()
    for value, weight in zip(values.tolist(), weights, strict=True):
        counted[value] += weight
    ranked = sorted(rows, key=lambda category: (-counted[category], -rows[category], str(category)))
    shown = ranked[:max_categories]
    if feature.own not in shown:
        # The row's own category gets a bar even if no row of the group is in it.
        shown = [*shown[: max_categories - 1], feature.own]
    labels = [feature.format(category, MAX_CATEGORY_LENGTH) for category in shown]
    shares = [rows[category] / len(values) for category in shown]
    weighted = [float(counted[category]) for category in shown]
    others = [category for category in ranked if category not in shown]
    if others:
        labels.append(f"{len(others)} others" if len(others) > 1 else feature.format(others[0], MAX_CATEGORY_LENGTH))
        shares.append(sum(rows[category] for category in others) / len(values))
        weighted.append(float(sum(counted[category] for category in others)))
    return Bars(np.array(shares), np.array(weighted), shown.index(feature.own), None, tuple(labels))


def _edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    if low == high:
        half = abs(low) * 0.05 or 0.5
        return np.array([low - half, low + half])
    if np.array_equal(values, np.round(values)) and high - low < MAX_INTEGER_BARS:
        return np.arange(low, high + 2) - 0.5
    edges = np.linspace(low, high, N_BINS + 1)
    return edges if np.unique(edges).size == edges.size else np.array([low, high])


def window(values: Floats) -> tuple[float, float]:
    """The range of an axis that shows nearly all values well: all of them, unless a few lie far out.

    >>> window(np.array([0.0, 1.0, 2.0, 3.0]))
    (0.0, 3.0)
    >>> window(np.append(np.arange(1000.0), 1e9))
    (0.0, 1970.0)
    """
    low, high = np.percentile(values, [1, 99], method="inverted_cdf")
    reach = high - low
    if reach <= 0:
        return float(values.min()), float(values.max())
    return max(float(values.min()), float(low - reach)), min(float(values.max()), float(high + reach))


def bean_window(taus: Floats, value: float, lower: float, upper: float) -> tuple[float, float]:
    """The range of a beanplot's axis: everything, unless something lies far out.

    >>> taus = np.linspace(0, 10, 101)
    >>> bean_window(taus, 12.0, 0.5, 9.5)
    (0.0, 12.0)
    >>> bean_window(taus, 1e6, 0.5, 9.5)
    (0.0, 27.5)
    """
    everything = [taus[0], taus[-1]] + ([value] if np.isfinite(value) else [])
    lowest, highest = float(min(everything)), float(max(everything))
    width = upper - lower
    if width <= 0:
        # Nearly all percentiles are equal: the outer ones give the scale, or else the value does.
        width = float(taus[-1] - taus[0]) or highest - lowest
    if width <= 0:
        half = abs(highest) * 0.05 or 1.0
        return highest - half, highest + half
    return max(lowest, float(lower - REACH * width)), min(highest, float(upper + REACH * width))
