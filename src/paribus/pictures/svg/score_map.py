"""The highest scores among all rows, in two features."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from paribus._common.arrays import Floats
from paribus._common.text import counted, distinct, plain, score_text
from paribus.pictures.geometry import window
from paribus.pictures.svg import elements as svg
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

WIDTH, HEIGHT = 360, 300
LEFT, RIGHT, TOP, BOTTOM = 50, WIDTH - 10, 26, HEIGHT - 40
# More rows than this are drawn as shaded hexagons, to keep the page small.
MAX_DOTS = 2_000
# The radius of a hexagon in pixels.
HEXAGON = 6.0
N_SHADES = 5
MAX_LABELS = 12
# Pixels.
MAX_LABEL_WIDTH = 130
# The radius of a dot in pixels, from the lowest to the highest score.
MIN_RADIUS, MAX_RADIUS = 2.5, 6.5


@dataclass(frozen=True)
class Axis:
    """An axis of the map: its name, the format of its values, and the values of all rows."""

    name: str
    format: ColumnFormat
    values: Floats = field(repr=False)


@dataclass(frozen=True)
class NamedRow:
    """A row that gets its own dot and name."""

    position: int
    name: str
    score: float


@dataclass(frozen=True)
class ScoreMap:
    """The picture, and the number of rows whose name is shown."""

    picture: Markup = field(repr=False)
    n_named: int


def score_map(x_axis: Axis, y_axis: Axis, rows: list[NamedRow], threshold: float | None = None) -> ScoreMap | None:
    """All rows as dots or shades, the highest scores as dots with names, and the threshold as a line."""
    known = ~(np.isnan(x_axis.values) | np.isnan(y_axis.values))
    if not known.any():
        return None
    (left, right), (bottom, top) = window(x_axis.values[known]), window(y_axis.values[known])
    if threshold is not None:
        bottom, top = min(bottom, 0.0), max(top, min(threshold, 2 * top))
    x, y = _scale(left, right, LEFT + 8, RIGHT - 8), _scale(bottom, top, BOTTOM - 8, TOP + 8)
    xs = _places(x, x_axis.values[known])
    ys = _places(y, y_axis.values[known])
    parts = [_dots(xs, ys)] if len(xs) <= MAX_DOTS else _hexagons(xs, ys)
    parts += _frame(x_axis, y_axis, x, y)
    if threshold is not None and bottom <= threshold <= top:
        parts.append(svg.line(LEFT, y(threshold), RIGHT, y(threshold), "threshold"))
        parts.append(svg.text(RIGHT, y(threshold) - 4, f"threshold {score_text(threshold)}", "minor e"))
    dots, names = _named_rows(x_axis, y_axis, x, y, rows)
    parts += dots + names
    outside = known & (
        (x_axis.values < left) | (x_axis.values > right) | (y_axis.values < bottom) | (y_axis.values > top)
    )
    if n_outside := int(outside.sum()):
        parts.append(svg.text(RIGHT, 12, f"{n_outside:,} off the axes, drawn at the edge", "minor e"))
    rows_by = f"{counted(len(xs), 'row')} by {plain(x_axis.name)} and {plain(y_axis.name)}"
    marked = "the highest score is" if len(rows) == 1 else f"the {len(rows)} highest scores are"
    label = f"{rows_by}; {marked} marked"
    return ScoreMap(svg.picture(WIDTH, HEIGHT, label, *parts, class_="wide"), len(names))


def _scale(low: float, high: float, start: float, end: float) -> svg.Scale:
    if low == high:
        half = abs(low) * 0.05 or 0.5
        low, high = low - half, high + half
    return svg.Scale(low, high, start, end)


def _places(scale: svg.Scale, values: Floats) -> Floats:
    share = (values.clip(scale.low, scale.high) - scale.low) / (scale.high - scale.low)
    return np.asarray(scale.start + share * (scale.end - scale.start))


def _frame(x_axis: Axis, y_axis: Axis, x: svg.Scale, y: svg.Scale) -> list[Markup]:
    parts = [svg.line(LEFT, TOP, LEFT, BOTTOM, "axis"), svg.line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")]
    values = _ticks(x_axis.format, x, 5)
    for value, words in zip(values, svg.tick_texts(x_axis.format, values, 55), strict=True):
        parts.append(
            svg.text(min(x(value), WIDTH - svg.text_width(words, svg.LETTER_SIZE) / 2), BOTTOM + 16, words, "m")
        )
        parts.append(svg.line(x(value), BOTTOM, x(value), BOTTOM + 4, "axis"))
    values = _ticks(y_axis.format, y, 5)
    for value, words in zip(values, svg.tick_texts(y_axis.format, values, LEFT - 8), strict=True):
        parts.append(svg.text(LEFT - 6, y(value) + 4, words, "e"))
        parts.append(svg.line(LEFT - 4, y(value), LEFT, y(value), "axis"))
    parts.append(svg.text(RIGHT, HEIGHT - 6, f"{svg.fitted(x_axis.name, WIDTH - 40, svg.LETTER_SIZE)} →", "e name"))
    parts.append(svg.text(0, 12, f"↑ {svg.fitted(y_axis.name, 150, svg.LETTER_SIZE)}", "name"))
    return parts


def _ticks(write: ColumnFormat, scale: svg.Scale, max_ticks: int) -> list[float]:
    whole = write.kind is Kind.NUMERIC and write.decimals == 0 and not write.scientific
    return svg.ticks(scale.low, scale.high, max_ticks, whole=whole)


def _dots(xs: Floats, ys: Floats) -> Markup:
    # A line of length 0 with round caps is a dot, in fewer bytes than a circle.
    places = dict.fromkeys(f"M{svg.short(a)} {svg.short(b)}h0" for a, b in zip(xs.tolist(), ys.tolist(), strict=True))
    return svg.path("".join(places), "dots")


def _hexagons(xs: Floats, ys: Floats) -> list[Markup]:
    """Rows counted in hexagons: each row belongs to the nearest center of two interleaved grids."""
    width, height = HEXAGON * math.sqrt(3), HEXAGON * 3
    first = np.column_stack([np.round(xs / width), np.round(ys / height)])
    second = np.column_stack([np.floor(xs / width), np.floor(ys / height)]) + 0.5
    size = np.array([width, height])
    rows = np.column_stack([xs, ys])
    near = ((rows - first * size) ** 2).sum(axis=1) <= ((rows - second * size) ** 2).sum(axis=1)
    centers, numbers = np.unique(np.where(near[:, None], first, second), axis=0, return_counts=True)
    most = math.log(int(numbers.max()) + 1)
    ways = [""] * N_SHADES
    half, quarter = svg.short(width / 2), svg.short(HEXAGON / 2)
    for (x, y), count in zip((centers * size).tolist(), numbers.tolist(), strict=True):
        shade = min(N_SHADES - 1, int(N_SHADES * math.log(count + 1) / most))
        ways[shade] += (
            f"M{svg.short(x)} {svg.short(y - HEXAGON)}l{half} {quarter}v{svg.short(HEXAGON)}l-{half} {quarter}"
            f"l-{half}-{quarter}v-{svg.short(HEXAGON)}z"
        )
    return [svg.path(way, f"shade{i + 1}") for i, way in enumerate(ways)]


def _named_rows(
    x_axis: Axis, y_axis: Axis, x: svg.Scale, y: svg.Scale, rows: list[NamedRow]
) -> tuple[list[Markup], list[Markup]]:
    """The dots of the rows, and as many of their names as fit."""
    highest = max((row.score for row in rows), default=0.0) or 1.0
    dots, taken, labels = [], [], []
    for row in rows:
        a, b = float(x_axis.values[row.position]), float(y_axis.values[row.position])
        if math.isnan(a) or math.isnan(b):
            continue
        a, b = x(a), y(b)
        radius = MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * (max(0.0, row.score) / highest) ** 1.5
        title = svg.tag("title", f"{row.name}: score {score_text(row.score)}")
        dots.append(svg.tag("circle", title, cx=a, cy=b, r=radius, class_="top", data_row=str(row.position)))
        taken.append((a - radius, b - radius, a + radius, b + radius))
        labels.append((row.name, a, b, radius))
    words = []
    labels = labels[:MAX_LABELS]
    short = distinct(
        [name.removeprefix("row ") for name, *_ in labels],
        lambda name: svg.fitted(name, MAX_LABEL_WIDTH, svg.LETTER_SIZE),
    )
    for shown, (_, a, b, radius) in zip(short, labels, strict=True):
        width = svg.text_width(shown, svg.LETTER_SIZE)
        for left, base in (
            (a + radius + 3, b + 4),
            (a - radius - 3 - width, b + 4),
            (a - width / 2, b - radius - 4),
            (a - width / 2, b + radius + 12),
        ):
            frame = (left, base - 10, left + width, base + 3)
            inside = left >= LEFT and left + width <= WIDTH and TOP + 4 <= base <= BOTTOM - 2
            if inside and not any(_overlap(frame, other) for other in taken):
                taken.append(frame)
                words.append(svg.text(left, base, shown, "halo"))
                break
    # The highest scores are drawn last, on top.
    return dots[::-1], words


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
