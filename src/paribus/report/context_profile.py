"""Whom a row is compared with, in one contextual feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from paribus.report.svg import Scale, box, fitted, line, path, picture, text, text_width, ticks
from paribus.shapes import Bars, context_bars
from paribus.values import Floats, Kind

if TYPE_CHECKING:
    from paribus.profile import ContextFeature

WIDTH, HEIGHT = 240, 128
TOP, BOTTOM = 16, HEIGHT - 26
# Horizontal bars for categories.
LINE, LABEL, LETTER_SIZE = 19, 92, 12


def context_profile(feature: ContextFeature, values: np.ndarray[Any, Any], weights: Floats) -> Markup:
    """Bars of the group's rows, in front of them bars of how much these count, and a triangle at the row's own."""
    bars = context_bars(feature, values, weights)
    own = f"own value {feature.text}"
    label = f"{own}; of those it is compared with, most have {feature.group_text}"
    if bars.edges is None:
        return _categories(bars, label)
    return _numbers(feature, bars, bars.edges, label)


def _numbers(feature: ContextFeature, bars: Bars, edges: Floats, label: str) -> Markup:
    if len(edges) == 2:
        # A single bar is no wall.
        edges = edges + np.array([0.0, 0.0])
        x = Scale(edges[0] - 3 * (edges[1] - edges[0]), edges[1] + 3 * (edges[1] - edges[0]), 4, WIDTH - 4)
    else:
        x = Scale(edges[0], edges[-1], 4, WIDTH - 4)
    top = _top(bars)
    y = Scale(0.0, top, BOTTOM, TOP)
    ways = {"rows": "", "counted": "", "own": ""}
    for i, (start, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        left, width = x(start), x(end) - x(start)
        ways["rows"] += _bar(left + 0.02 * width, 0.96 * width, y(bars.shares[i]))
        ways["own" if i == bars.own else "counted"] += _bar(left + 0.2 * width, 0.6 * width, y(bars.weighted[i]))
    is_time = feature.format.kind is Kind.TIME
    whole = feature.format.decimals == 0 and not feature.format.scientific and not is_time
    if len(edges) == 2:
        marks = [float(edges.mean())]
    else:
        marks = ticks(float(edges[0]), float(edges[-1]), 2 if is_time else 4, whole=whole, days=is_time)
    parts = [path(way, name) for name, way in ways.items()]
    parts.append(line(0, BOTTOM, WIDTH, BOTTOM, "axis"))
    for value in marks:
        words = feature.format.tick(value)
        # Within the picture.
        half = text_width(words, LETTER_SIZE) / 2
        parts.append(text(min(max(x(value), half), WIDTH - half), HEIGHT - 4, words, "m"))
        parts.append(line(x(value), BOTTOM, x(value), BOTTOM + 4, "axis"))
    if bars.own is not None:
        middle = x((edges[bars.own] + edges[bars.own + 1]) / 2)
        parts.append(path(f"M{middle:.1f} {BOTTOM - 4}l5 9h-10z", "mark"))
    if bars.notes:
        parts.append(text(WIDTH - 1, 10, ", ".join(bars.notes), "minor e"))
    parts.append(text(0, 10, f"{top:.0%}", "minor"))
    parts.append(line(0, TOP - 2, WIDTH, TOP - 2, "grid"))
    return picture(WIDTH, HEIGHT, label, *parts, class_="profile")


def _bar(left: float, width: float, top: float) -> str:
    return box(left, top, width, BOTTOM - top) if top < BOTTOM else ""


def _categories(bars: Bars, label: str) -> Markup:
    height = max(HEIGHT // 2, LINE * len(bars.labels) + 4)
    x = Scale(0.0, _top(bars), LABEL + 8, WIDTH - 40)
    ways = {"rows": "", "counted": "", "own": ""}
    parts = []
    for i, name in enumerate(bars.labels):
        top = 2 + LINE * i
        ways["rows"] += box(x.start, top + 2, x(bars.shares[i]) - x.start, LINE - 4) if bars.shares[i] else ""
        if bars.weighted[i]:
            key = "own" if i == bars.own else "counted"
            ways[key] += box(x.start, top + 5, x(bars.weighted[i]) - x.start, LINE - 10)
        parts.append(text(LABEL, top + 14, fitted(name, LABEL - 2, LETTER_SIZE), "e strong" if i == bars.own else "e"))
        end = max(x(bars.shares[i]), x(bars.weighted[i]))
        parts.append(text(end + 4 + 6 * (i == bars.own), top + 14, f"{bars.weighted[i]:.0%}", "minor"))
        if i == bars.own:
            parts.append(path(f"M{x.start + 3:.1f} {top + 9.5}l-8-5v10z", "mark"))
    parts = [path(way, name) for name, way in ways.items()] + parts
    parts.append(line(x.start, 0, x.start, 4 + LINE * len(bars.labels), "axis"))
    return picture(WIDTH, height, label, *parts, class_="profile")


def _top(bars: Bars) -> float:
    return max(float(bars.shares.max()), float(bars.weighted.max()), 0.01)
