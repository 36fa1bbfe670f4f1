"""The heat map of the information of each column about behavior, as a standalone file."""

from __future__ import annotations

from markupsafe import Markup

from paribus._common.palette import BLUE, VERMILION
from paribus._common.text import plain
from paribus.advice.suggestion import Advice
from paribus.pictures.gain_cells import MAX_NAME_LENGTH, GainMap
from paribus.pictures.svg import elements as svg

CELL_WIDTH, CELL_HEIGHT = 56, 26
LEFT, TOP, GAP = 170, 150, 40
STYLE = "text{font:12px sans-serif}.end{text-anchor:end}.middle{text-anchor:middle}"


def gain_map(advice: Advice) -> Markup:
    """Both maps, one below the other: the information of each column by itself, and given all others."""
    maps = [GainMap.of(advice), GainMap.of(advice, beyond=True)]
    height = TOP + len(advice.measured) * CELL_HEIGHT + GAP
    width = LEFT + max(len(advice.candidates) * CELL_WIDTH, 200) + 20
    parts = [
        part
        for place, each in enumerate(maps)
        for part in [svg.tag("g", *_draw(each), transform=f"translate(0 {place * height})")]
    ]
    style = svg.tag("style", Markup(STYLE))
    drawing = svg.picture(width, 2 * height, "the information of each column about behavior, in bits", style, *parts)
    return Markup(str(drawing).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def _draw(each: GainMap) -> list[Markup]:
    parts = [svg.tag("text", each.title, x=10.0, y=20.0, font_weight="bold")]
    for place, name in enumerate(each.context):
        x = LEFT + (place + 0.5) * CELL_WIDTH
        turn = f"rotate(-40 {svg.short(x)} {TOP - 8})"
        parts.append(svg.tag("text", plain(name, MAX_NAME_LENGTH), x=float(x), y=float(TOP - 8), transform=turn))
    for place, name in enumerate(each.behavior):
        y = TOP + (place + 0.5) * CELL_HEIGHT + 4
        parts.append(svg.text(LEFT - 8, y, plain(name, MAX_NAME_LENGTH), "end"))
    for cell in each.cells:
        x, y = LEFT + cell.column * CELL_WIDTH, TOP + cell.row * CELL_HEIGHT
        square = svg.tag(
            "path",
            svg.tag("title", cell.title),
            d=svg.box(x, y, CELL_WIDTH, CELL_HEIGHT),
            fill=BLUE,
            fill_opacity=f"{max(cell.shade, 0.03):.2f}",
        )
        color = "white" if cell.shade > 0.7 else "black"
        words = svg.tag(
            "text",
            cell.text,
            x=float(x + CELL_WIDTH / 2),
            y=float(y + CELL_HEIGHT / 2 + 4),
            class_="middle",
            fill=color,
        )
        parts += [square, words]
    for place in {cell.column for cell in each.cells if cell.is_proposed}:
        frame = svg.box(LEFT + place * CELL_WIDTH, TOP, CELL_WIDTH, len(each.behavior) * CELL_HEIGHT)
        parts.append(svg.tag("path", d=frame, fill="none", stroke=VERMILION, stroke_width="2"))
    return parts
