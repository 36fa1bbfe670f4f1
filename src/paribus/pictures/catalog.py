"""The pictures there are: each is geometry, a matplotlib display, an SVG drawing for the report, and a line here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Picture:
    """Where a picture is drawn, and what it is about."""

    name: str
    """What files call it."""
    display: str
    """Its class in `paribus.pictures.matplotlib`."""
    about: Literal["row", "table"]
    """One row, made by `from_explanation`, or a fitted table, made by `from_estimator`."""


PICTURES = (
    Picture("behavior", "BeanplotDisplay", "row"),
    Picture("context", "ContextProfileDisplay", "row"),
    Picture("quantile-curves", "QuantileCurvesDisplay", "table"),
    Picture("score-map", "ScoreMapDisplay", "table"),
)
