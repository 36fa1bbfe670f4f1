"""The bars of a categorical behavioral feature: how common each category is, and the row's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from paribus._common.text import distinct
from paribus.pictures.geometry import category_bars
from paribus.pictures.svg import elements as svg

if TYPE_CHECKING:
    from paribus.explain.categories import CategoryFeature

WIDTH, HEIGHT = 176, 232
TOP, STEP, THICKNESS = 4, 27, 9
# The maximum number of bars.
MAX_BARS = 8
# Keeps the bars of very rare categories visible.
MIN_LENGTH = 1.5


def draw_category_bars(feature: CategoryFeature) -> Markup:
    """One bar for each category: its length is the probability, its name is above; the row's own is colored."""
    bars = category_bars(feature, MAX_BARS - 1)
    names = distinct(bars.labels, lambda name: svg.fitted(name, WIDTH - 48, svg.LETTER_SIZE))
    parts = []
    for place, (name, share) in enumerate(zip(names, bars.shares.tolist(), strict=True)):
        is_own, top = place == bars.own, TOP + place * STEP
        length = max(MIN_LENGTH, (WIDTH - 4) * share)
        parts += [
            svg.text(2, top + 11, name, "value" if is_own else None),
            svg.text(WIDTH - 2, top + 11, _percent(share), "value e" if is_own else "e"),
            svg.path(svg.box(2, top + 14, length, THICKNESS), "own" if is_own else "counted"),
        ]
    if bars.notes:
        parts.append(svg.text(2, TOP + len(names) * STEP + 11, bars.notes[0], "minor"))
    label = f"{feature.text}; expected: {feature.expectation}"
    return svg.picture(WIDTH, HEIGHT, label, *parts, class_="beanplot categories")


def _percent(share: float) -> str:
    return "<0.1 %" if share < 0.001 else f"{100 * share:.1f} %" if share < 0.02 else f"{100 * share:.0f} %"
