"""The anomaly beanplot of one feature: the expected distribution and the actual value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from paribus.explain.categories import CategoryFeature
from paribus.pictures.geometry import bean_window
from paribus.pictures.svg import elements as svg
from paribus.pictures.svg.category_bars import draw_category_bars

if TYPE_CHECKING:
    from paribus.explain.facts import BehaviorFeature

WIDTH, HEIGHT = 176, 232
TOP, BOTTOM = 10, HEIGHT - 10
# The axis is as wide as its labels need, within these limits (pixels); the bean gets the rest.
MIN_AXIS_WIDTH, MAX_AXIS_WIDTH = 50.0, 100.0
ROOM_FOR_LABELS = 42
TICK, BOX = 0.45, 0.17
# The height in pixels of the strip behind an axis break, for a value off the axis.
STRIP = 26
N_POINTS = 36
# The thickness of a percentile line in pixels.
THIN = 0.6


def beanplot(feature: BehaviorFeature) -> Markup:
    """The density, the percentiles, the quartiles and the value, as in `BeanplotDisplay`; bars for categories."""
    if isinstance(feature, CategoryFeature):
        return draw_category_bars(feature)
    taus = feature.percentiles
    low, high = bean_window(taus, feature.value, feature.lower, feature.upper)
    over, under = feature.value > high, feature.value < low
    y = svg.Scale(low, high, BOTTOM - 6 - STRIP * under, TOP + 6 + STRIP * over)
    whole = feature.format.decimals == 0 and not feature.format.scientific
    marks = svg.ticks(low, high, 5, whole=whole)
    labels = svg.tick_texts(feature.format, marks, ROOM_FOR_LABELS)
    widest = max((svg.text_width(label, svg.LETTER_SIZE) for label in labels), default=0.0)
    axis = min(MAX_AXIS_WIDTH, max(MIN_AXIS_WIDTH, widest + 9))
    middle, half = (axis + WIDTH - 2) / 2, (WIDTH - axis - 10) / 2
    at = np.linspace(max(low, taus[0]), min(high, taus[-1]), N_POINTS)
    widths = half * feature.bean(at)
    heights = np.array([y(value) for value in at])
    bean = svg.polygon(np.append(middle + widths, middle - widths[::-1]), np.append(heights, heights[::-1]))
    if not widths.any():
        # All percentiles are equal: the bean is a bar.
        bean = svg.box(middle - half, y(taus[0]) - 4, 2 * half, 8)
    first, third = np.percentile(taus, [25, 75], method="inverted_cdf")
    shown = taus[(taus >= low) & (taus <= high)]
    return svg.picture(
        WIDTH,
        HEIGHT,
        f"{feature.text}, {feature.direction}; expected: {feature.expectation}",
        svg.path(bean, "bean"),
        _percentiles(middle, 2 * TICK * half, [y(tau) for tau in shown]),
        svg.path(svg.box(middle - BOX * half, y(third), 2 * BOX * half, y(first) - y(third)), "box"),
        svg.line(middle - BOX * half, y(feature.median), middle + BOX * half, y(feature.median), "median"),
        *_axis(axis, marks, labels, y, over=over, under=under),
        *_hidden(axis, int((taus > high).sum()), int((taus < low).sum())),
        *_value(feature, axis, y, over=over, under=under),
        class_="beanplot",
    )


def _percentiles(middle: float, width: float, places: list[float]) -> Markup:
    """Lines at some heights: pieces of one vertical stroke as wide as the lines, which takes the fewest bytes."""
    # Lines closer than half a pixel are one.
    rounded = sorted({round(2 * place) / 2 for place in places})
    if not rounded:
        return Markup("")
    start = f"M{svg.pair(middle, rounded[0] - THIN / 2)}v{THIN}"
    steps = (f"m{svg.pair(0, two - one - THIN)}v{THIN}" for one, two in itertools.pairwise(rounded))
    return svg.tag("path", d=start + "".join(steps), class_="tau", stroke_width=width)


def _axis(
    axis: float, values: list[float], labels: list[str], y: svg.Scale, *, over: bool, under: bool
) -> list[Markup]:
    ways = "".join(f"M{svg.short(axis - 4)} {svg.short(y(value))}h4" for value in values)
    parts = [svg.path(f"M{svg.short(axis)} {TOP}V{BOTTOM}{ways}", "axis")]
    parts += [svg.text(axis - 7, y(value) + 4, label, "e") for value, label in zip(values, labels, strict=True)]
    if over or under:
        at = TOP + STRIP - 6 if over else BOTTOM - STRIP + 6
        parts.append(svg.path(svg.box(axis - 2, at - 2, 4, 4), "gap"))
        parts.append(svg.path(f"M{svg.short(axis - 4)} {at}l8-4M{svg.short(axis - 4)} {at + 4}l8-4", "axis"))
    return parts


def _value(feature: BehaviorFeature, axis: float, y: svg.Scale, *, over: bool, under: bool) -> list[Markup]:
    if not np.isfinite(feature.value):
        return []
    at = TOP + 6 if over else BOTTOM - 6 if under else y(feature.value)
    arrow = "↑ " if over else "↓ " if under else ""
    # The label goes on the side toward the middle of the axis, where there is room.
    below = at < (TOP + BOTTOM) / 2
    room = WIDTH - axis - 10 - svg.text_width(arrow, svg.LETTER_SIZE)
    words = f"{arrow}{svg.number_text(feature.format, feature.value, room)}"
    return [
        svg.line(axis + 4, at, WIDTH - 6, at, "actual"),
        svg.text(WIDTH - 6, at + (15 if below else -6), words, "value e"),
    ]


def _hidden(axis: float, above: int, below: int) -> list[Markup]:
    words = [(above, TOP + 2, "↑"), (below, BOTTOM, "↓")]
    return [svg.text(axis + 6, place, f"{arrow} {count} more", "minor") for count, place, arrow in words if count]


def bar(share: float) -> Markup:
    """A partial score as a bar, as a share of the cap."""
    percent = 100 * min(1.0, max(0.0, share))
    return svg.tag("svg", svg.tag("rect", width=f"{percent:.0f}%", height="100%"), class_="bar", aria_hidden="true")
