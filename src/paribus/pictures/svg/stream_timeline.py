"""The timeline of a stream with its three alarms, as a standalone file."""

from __future__ import annotations

from markupsafe import Markup

from paribus._common.palette import BLUE, GRAY, PALE_ORANGE, VERMILION
from paribus._common.text import counted
from paribus.pictures.stream_lanes import RUG, Lane, Monitored, stream_lanes
from paribus.pictures.svg import elements as svg

WIDTH, HEIGHT = 760, 130
LEFT, RIGHT, TOP, BOTTOM = 56, WIDTH - 12, 28, HEIGHT - 26
STYLE = "text{font:12px sans-serif}.end{text-anchor:end}"


def stream_timeline(monitor: Monitored) -> Markup:
    """Three lanes, one below the other; the sentence of an alarm is its title."""
    lanes = stream_lanes(monitor)
    parts = [svg.tag("g", *_draw(lane), transform=f"translate(0 {place * HEIGHT})") for place, lane in enumerate(lanes)]
    told = ", ".join(f"{counted(len(lane.marks), 'alarm')} of kind {lane.kind}" for lane in lanes)
    style = svg.tag("style", Markup(STYLE))
    drawing = svg.picture(WIDTH, HEIGHT * len(lanes), f"timeline of a stream: {told}", style, *parts)
    return Markup(str(drawing).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def _draw(lane: Lane) -> list[Markup]:
    first, last = lane.rows[0], max(lane.rows[-1], lane.rows[0] + 1.0)
    highest = max(*lane.heights, lane.limit or 0.0, 1.0)
    x, y = svg.Scale(first, last, LEFT, RIGHT), svg.Scale(0.0, highest / (1.0 - 1.5 * RUG), BOTTOM, TOP)
    bottom = TOP + RUG * (BOTTOM - TOP) if lane.kind == "row" else BOTTOM
    parts = [svg.tag("text", lane.title, x=float(LEFT), y=16.0, font_weight="bold")]
    for mark in lane.marks:
        at, since = x(min(max(mark.at, first), last)), x(min(max(mark.since, first), last))
        title = svg.tag("title", mark.sentence)
        if mark.at > mark.since:
            parts.append(svg.tag("path", d=svg.box(since, TOP, max(at - since, 0.1), BOTTOM - TOP), fill=PALE_ORANGE))
        parts.append(svg.tag("path", title, d=svg.box(at - 0.75, TOP, 1.5, bottom - TOP), fill=VERMILION))
    for mark in lane.marks:
        # To the right, where there is nothing after an alarm; drawn after all marks, which would hide it.
        if mark.label:
            is_left, at = lane.is_left(mark), x(min(max(mark.at, first), last))
            parts.append(svg.text(at + (5 if is_left else -5), BOTTOM - 5, mark.label, None if is_left else "end"))
    points = " ".join(
        f"{'M' if place == 0 else 'L'}{svg.short(x(row))} {svg.short(y(height))}"
        for place, (row, height) in enumerate(zip(lane.rows, lane.heights, strict=True))
    )
    parts.append(svg.tag("path", d=points, fill="none", stroke=BLUE, stroke_width="1.2"))
    if lane.limit is not None:
        dashes = svg.box(LEFT, y(lane.limit) - 0.4, RIGHT - LEFT, 0.8)
        parts.append(svg.tag("path", d=dashes, fill=GRAY))
        parts.append(svg.text(LEFT, y(lane.limit) - 4, "alarm"))
    for step in svg.ticks(0, highest, 3):
        words = f"{step:g}" if lane.kind == "row" else f"{10.0**step:,.0f}"
        parts.append(svg.text(LEFT - 6, y(step) + 4, words, "end"))
    parts += [svg.text(LEFT, HEIGHT - 8, f"row {first:,.0f}"), svg.text(RIGHT, HEIGHT - 8, f"{last:,.0f}", "end")]
    return parts
