"""The anomaly beanplot of one feature: what was expected, and what the value is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from paribus.report.svg import Scale, box, line, path, picture, polygon, short, tag, text, text_width, ticks
from paribus.shapes import bean_window, density
from paribus.values import Kind

if TYPE_CHECKING:
    from paribus.explanation import BehaviorFeature

WIDTH, HEIGHT = 176, 232
AXIS, TOP, BOTTOM = 50, 10, HEIGHT - 10
MIDDLE, BEAN, TICK, BOX = 112, 58, 26, 10
# A value off the axis has a strip of its own, of this height, behind a break.
STRIP = 26
N_POINTS = 36
LETTER_SIZE = 12


def beanplot(feature: BehaviorFeature) -> Markup:
    """The density, the percentiles, the quartiles and the value, as in the pictures of `paribus.plots`."""
    taus = feature.percentiles
    low, high = bean_window(taus, feature.value, feature.lower, feature.upper)
    over, under = feature.value > high, feature.value < low
    y = Scale(low, high, BOTTOM - 6 - STRIP * under, TOP + 6 + STRIP * over)
    at = np.linspace(max(low, taus[0]), min(high, taus[-1]), N_POINTS)
    half = BEAN * density(taus, at)
    heights = np.array([y(value) for value in at])
    bean = polygon(np.append(MIDDLE + half, MIDDLE - half[::-1]), np.append(heights, heights[::-1]))
    if not half.any():
        # One value: the bean is a bar.
        bean = box(MIDDLE - BEAN, y(taus[0]) - 4, 2 * BEAN, 8)
    first, third = np.percentile(taus, [25, 75], method="inverted_cdf")
    shown = taus[(taus >= low) & (taus <= high)]
    places = dict.fromkeys(short(y(tau)) for tau in shown)
    return picture(
        WIDTH,
        HEIGHT,
        f"{feature.text}, {feature.direction}; expected: {feature.expectation}",
        path(bean, "bean"),
        path("".join(f"M{MIDDLE - TICK} {place}h{2 * TICK}" for place in places), "tau"),
        path(box(MIDDLE - BOX, y(third), 2 * BOX, y(first) - y(third)), "box"),
        line(MIDDLE - BOX, y(feature.median), MIDDLE + BOX, y(feature.median), "median"),
        *_axis(feature, y, over=over, under=under),
        *_hidden(int((taus > high).sum()), int((taus < low).sum())),
        *_value(feature, y, over=over, under=under),
        class_="beanplot",
    )


def _axis(feature: BehaviorFeature, y: Scale, *, over: bool, under: bool) -> list[Markup]:
    write = feature.format
    whole = write.kind is Kind.NUMERIC and write.decimals == 0 and not write.scientific
    values = ticks(y.low, y.high, 5, whole=whole)
    marks = [path(f"M{AXIS} {TOP}V{BOTTOM}" + "".join(f"M{AXIS - 4} {short(y(value))}h4" for value in values), "axis")]
    marks += [text(AXIS - 7, y(value) + 4, write.tick(value), "e") for value in values]
    if over or under:
        at = TOP + STRIP - 6 if over else BOTTOM - STRIP + 6
        marks.append(path(box(AXIS - 2, at - 2, 4, 4), "gap"))
        marks.append(path(f"M{AXIS - 4} {at}l8-4M{AXIS - 4} {at + 4}l8-4", "axis"))
    return marks


def _value(feature: BehaviorFeature, y: Scale, *, over: bool, under: bool) -> list[Markup]:
    if not np.isfinite(feature.value):
        return []
    at = TOP + 6 if over else BOTTOM - 6 if under else y(feature.value)
    arrow = "↑ " if over else "↓ " if under else ""
    # On the side of the middle, where there is room.
    below = at < (TOP + BOTTOM) / 2
    words = f"{arrow}{feature.format(feature.value)}"
    return [
        line(MIDDLE - BEAN, at, MIDDLE + BEAN, at, "actual"),
        text(
            max(MIDDLE + BEAN, AXIS + 6 + text_width(words, LETTER_SIZE)), at + (15 if below else -6), words, "value e"
        ),
    ]


def _hidden(above: int, below: int) -> list[Markup]:
    words = [(above, TOP + 2, "↑"), (below, BOTTOM, "↓")]
    return [text(AXIS + 6, place, f"{arrow} {count} more", "minor") for count, place, arrow in words if count]


def bar(share: float) -> Markup:
    """A partial score as a bar on its way to the cap; the number stands beside it."""
    percent = 100 * min(1.0, max(0.0, share))
    return tag("svg", tag("rect", width=f"{percent:.0f}%", height="100%"), class_="bar", aria_hidden="true")
