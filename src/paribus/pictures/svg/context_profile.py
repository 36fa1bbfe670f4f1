"""The rows that a row is compared with, in one contextual feature."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from paribus._common.arrays import Floats
from paribus._common.text import distinct
from paribus.pictures.geometry import Bars, context_bars
from paribus.pictures.svg import elements as svg
from paribus.tables.column import Kind

if TYPE_CHECKING:
    from paribus.explain.context import ContextFeature

WIDTH, HEIGHT = 240, 128
TOP, BOTTOM = 16, HEIGHT - 26
# Horizontal bars of categories: the height of one and the width of its label in pixels, and how many there are.
LINE, LABEL, MAX_CATEGORIES = 19, 92, 6


def context_profile(feature: ContextFeature, values: np.ndarray[Any, Any], weights: Floats) -> Markup:
    """Bars of the group's rows, narrower bars of their weights, and a triangle at the row's own bar."""
    bars = context_bars(feature, values, weights, MAX_CATEGORIES)
    label = f"own value {feature.text}; most of the rows compared with: {feature.group_text}"
    if bars.edges is None:
        return _categories(bars, label)
    return _numbers(feature, bars, bars.edges, label)


def _numbers(feature: ContextFeature, bars: Bars, edges: Floats, label: str) -> Markup:
    # Margins keep a single bar from filling the whole width.
    room = 3 * (edges[1] - edges[0]) if len(edges) == 2 else 0.0
    x = svg.Scale(float(edges[0] - room), float(edges[-1] + room), 4, WIDTH - 4)
    top = _top(bars)
    y = svg.Scale(0.0, top, BOTTOM, TOP)
    middles = [x(float(middle)) for middle in (edges[:-1] + edges[1:]) / 2]
    width = x(float(edges[1])) - x(float(edges[0]))
    parts = _strokes(
        bars, 0.96 * width, 0.6 * width, lambda i, share: f"M{svg.short(middles[i])} {BOTTOM}V{svg.short(y(share))}"
    )
    if len(edges) == 2:
        marks = [float(edges.mean())]
    elif feature.format.kind is Kind.TIME:
        # There are no round dates: the ends are the most informative.
        marks = [float(edges[0]), float(edges[-1])]
    else:
        whole = feature.format.decimals == 0 and not feature.format.scientific
        marks = svg.ticks(float(edges[0]), float(edges[-1]), 4, whole=whole)
    way = "".join(f"M{svg.short(x(value))} {BOTTOM}v4" for value in marks)
    parts.append(svg.path(f"M0 {BOTTOM}h{WIDTH}{way}", "axis"))
    room = WIDTH / (len(marks) + 1)
    for value, words in zip(marks, svg.tick_texts(feature.format, marks, room), strict=True):
        # The label must not extend beyond the picture.
        half = svg.text_width(words, svg.LETTER_SIZE) / 2
        parts.append(svg.text(min(max(x(value), half), WIDTH - half), HEIGHT - 4, words, "m"))
    if bars.own is not None:
        parts.append(svg.path(f"M{svg.short(middles[bars.own])} {BOTTOM - 4}l5 9h-10z", "mark"))
    if bars.notes:
        parts.append(svg.text(WIDTH - 1, 10, ", ".join(bars.notes), "minor e"))
    parts.append(svg.text(0, 10, f"{top:.0%}", "minor"))
    parts.append(svg.line(0, TOP - 2, WIDTH, TOP - 2, "grid"))
    return svg.picture(WIDTH, HEIGHT, label, *parts, class_="profile")


def _categories(bars: Bars, label: str) -> Markup:
    height = LINE * len(bars.labels) + 4
    x = svg.Scale(0.0, _top(bars), LABEL + 8, WIDTH - 48)
    parts = _strokes(
        bars,
        LINE - 4,
        LINE - 10,
        lambda i, share: f"M{svg.short(x.start)} {2 + LINE * (i + 0.5)}H{svg.short(x(share))}",
    )
    names = distinct(bars.labels, lambda name: svg.fitted(name, LABEL - 2, svg.LETTER_SIZE))
    for i, name in enumerate(names):
        base, is_own = 2 + LINE * i + 14, i == bars.own
        parts.append(svg.text(LABEL, base, name, "e strong" if is_own else "e"))
        end = max(x(bars.shares[i]), x(bars.weighted[i]))
        parts.append(svg.text(end + 4 + 6 * is_own, base, f"{bars.weighted[i]:.0%}", "minor"))
        if is_own:
            parts.append(svg.path(f"M{svg.short(x.start + 3)} {svg.short(base - 4.5)}l-8-5v10z", "mark"))
    parts.append(svg.path(f"M{svg.short(x.start)} 0V{height}", "axis"))
    return svg.picture(WIDTH, height, label, *parts, class_="profile")


def _strokes(bars: Bars, broad: float, narrow: float, way: Callable[[int, float], str]) -> list[Markup]:
    """Bars as wide strokes, which take half the bytes of rectangles."""
    rows, counted = (
        [way(i, float(share)) if share > 0 else "" for i, share in enumerate(shares)]
        for shares in (bars.shares, bars.weighted)
    )
    own = "" if bars.own is None else counted[bars.own]
    others = "".join(stroke for i, stroke in enumerate(counted) if i != bars.own)
    strokes = [("".join(rows), "rows", broad), (others, "counted", narrow), (own, "own", narrow)]
    return [svg.tag("path", d=d, class_=class_, stroke_width=float(width)) for d, class_, width in strokes if d]


def _top(bars: Bars) -> float:
    return max(float(bars.shares.max()), float(bars.weighted.max()), 0.01)
