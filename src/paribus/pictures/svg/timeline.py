"""The number of flagged rows over time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from paribus._common.arrays import Floats
from paribus._common.text import counted
from paribus.pictures.svg import elements as svg
from paribus.tables.column_format import ColumnFormat

WIDTH, HEIGHT = 720, 170
LEFT, RIGHT, TOP, BOTTOM = 40, WIDTH - 8, 26, HEIGHT - 30
N_BINS = 60


def timeline(times: Floats, is_flagged: npt.NDArray[np.bool_], write: ColumnFormat) -> Markup | None:
    """Bars of the number of flagged rows; None if there are fewer than two times."""
    known = times[~np.isnan(times)]
    if known.size < 2 or known.min() == known.max():
        return None
    edges = np.linspace(known.min(), known.max(), N_BINS + 1)
    flagged = times[is_flagged & ~np.isnan(times)]
    counts, _ = np.histogram(flagged, edges)
    most = max(1, int(counts.max()))
    x, y = svg.Scale(float(edges[0]), float(edges[-1]), LEFT, RIGHT), svg.Scale(0.0, float(most), BOTTOM, TOP)
    bars = "".join(
        svg.box(
            x(float(edges[i])) + 0.5, y(float(count)), max(1.0, (RIGHT - LEFT) / N_BINS - 1), BOTTOM - y(float(count))
        )
        for i, count in enumerate(counts)
        if count
    )
    parts = []
    for step in [value for value in svg.ticks(0, most, 3, whole=True) if value > 0]:
        parts.append(svg.line(LEFT, y(step), RIGHT, y(step), "grid"))
        parts.append(svg.text(LEFT - 6, y(step) + 4, f"{step:,.0f}", "e"))
    parts += [svg.path(bars, "own"), svg.line(LEFT, BOTTOM, RIGHT, BOTTOM, "axis")]
    first, last = write(float(edges[0])), write(float(edges[-1]))
    parts += [svg.text(LEFT, HEIGHT - 10, first), svg.text(RIGHT, HEIGHT - 10, last, "e")]
    parts.append(svg.text(0, 12, "↑ flagged rows", "name"))
    busiest = int(np.argmax(counts))
    start, end = write(float(edges[busiest])), write(float(edges[busiest + 1]))
    label = (
        f"{counted(len(flagged), 'flagged row')} from {first} to {last}, "
        f"most of them, {int(counts[busiest]):,}, from {start} to {end}"
    )
    return svg.picture(WIDTH, HEIGHT, label, *parts, class_="wide time")
