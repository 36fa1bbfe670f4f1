"""The list of pictures.

A picture consists of geometry, a matplotlib display, an SVG drawing for the report, and an entry in this list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Picture:
    """Which class draws a picture, and what the picture shows."""

    name: str
    """The name of the picture in file names."""
    display: str
    """The name of the display class in `paribus.pictures.matplotlib`."""
    about: Literal["row", "table", "advice", "stream"]
    """What it shows: a row, through `from_explanation`; a fitted table, through `from_estimator`; the information of
    columns about each other, through `from_advice`; or a stream, through `from_monitor`."""


PICTURES = (
    Picture("behavior", "BeanplotDisplay", "row"),
    Picture("context", "ContextProfileDisplay", "row"),
    Picture("quantile-curves", "QuantileCurvesDisplay", "table"),
    Picture("score-map", "ScoreMapDisplay", "table"),
    Picture("gain-map", "GainMapDisplay", "advice"),
    Picture("stream-timeline", "StreamTimelineDisplay", "stream"),
)
