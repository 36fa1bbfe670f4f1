"""The map: rows in two columns, one by one or counted in cells if there are many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import plain
from paribus.explore.columns import TableColumns
from paribus.explore.listing import Listing
from paribus.pictures.geometry import window
from paribus.pictures.svg.elements import tick_texts, ticks
from paribus.tables.column import Kind, is_missing

# More rows are counted in cells.
MAX_DOTS = 4_000
N_CELLS = (72, 48)
# The maximum number of listed rows that are drawn as dots.
MAX_LISTED = 2_000
MAX_CATEGORIES = 24
OTHERS = "others"


@dataclass(frozen=True)
class Axis:
    """A column as an axis."""

    name: str
    values: Floats = field(repr=False)
    """The position of each row: a number, or the index of its category; NaN if it is missing."""
    low: float
    high: float
    ticks: list[tuple[float, str]]
    categories: list[str] | None = None

    def places(self, rows: Any = slice(None)) -> Floats:
        """From 0 to 1 along the axis; values beyond it are at its ends."""
        values = self.values[rows]
        return np.asarray(((values - self.low) / (self.high - self.low)).clip(0.0, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """The axis, for the page."""
        span = self.high - self.low
        marks = [{"at": (value - self.low) / span, "text": text} for value, text in self.ticks]
        return {"name": self.name, "low": self.low, "high": self.high, "ticks": marks, "categories": self.categories}


def make_axis(columns: TableColumns, name: str) -> Axis:
    """A column of a table as an axis."""
    numbers = columns.numbers(name)
    if numbers is None:
        return _of_categories(columns.columns[name], name)
    known = numbers[~np.isnan(numbers)]
    low, high = window(known) if known.size else (0.0, 1.0)
    if not high > low:
        half = abs(low) * 0.05 or 0.5
        low, high = low - half, high + half
    margin = 0.02 * (high - low)
    low, high = low - margin, high + margin
    write = columns.format(name)
    whole = write.kind is Kind.NUMERIC and write.decimals == 0 and not write.scientific
    marks = ticks(low, high, 6, whole=whole)
    return Axis(name, numbers, low, high, list(zip(marks, tick_texts(write, marks, 80), strict=True)))


def _of_categories(cells: npt.NDArray[Any], name: str) -> Axis:
    listed = cells.tolist()
    counted = Counter(str(cell) for cell in listed if not is_missing(cell))
    kept = sorted(each for each, _ in counted.most_common(MAX_CATEGORIES))
    place = {each: float(number) for number, each in enumerate(kept)}
    labels = kept
    if len(counted) > len(kept):
        labels = [*kept, OTHERS]
    values = np.array([np.nan if is_missing(cell) else place.get(str(cell), float(len(kept))) for cell in listed])
    marks = [(float(number), plain(each, 18)) for number, each in enumerate(labels)]
    return Axis(name, values, -0.5, max(len(labels), 1) - 0.5, marks, labels)


def score_map(listing: Listing, x: Axis, y: Axis) -> dict[str, Any]:
    """All rows as dots or as counts in cells, and the listed ones as dots with their scores."""
    known = ~(np.isnan(x.values) | np.isnan(y.values))
    found: dict[str, Any] = {"x": x.to_dict(), "y": y.to_dict(), "n": int(known.sum())}
    across, up = x.places(known), y.places(known)
    if len(across) <= MAX_DOTS and x.categories is None and y.categories is None:
        rows = np.flatnonzero(known).tolist()
        found["dots"] = [list(each) for each in zip(rows, across.round(4).tolist(), up.round(4).tolist(), strict=True)]
    else:
        found["cells"] = _cells(x, y, across, up)
    chosen = listing.rows[:MAX_LISTED]
    chosen = chosen[known[chosen]]
    scores = np.nan_to_num(listing.taught.teaching.scores[chosen])
    places = [each.tolist() for each in (chosen, x.places(chosen).round(4), y.places(chosen).round(4), scores.round(3))]
    found["listed"] = [list(each) for each in zip(*places, strict=True)]
    found["n_listed"] = len(listing.rows)
    return found


def _cells(x: Axis, y: Axis, across: Floats, up: Floats) -> dict[str, Any]:
    n_x, n_y = (n if axis.categories is None else len(axis.categories) for axis, n in zip((x, y), N_CELLS, strict=True))
    counts, _, _ = np.histogram2d(across, up, [n_x, n_y], [[0.0, 1.0], [0.0, 1.0]])
    columns, rows = np.nonzero(counts)
    found = [columns.tolist(), rows.tolist(), counts[columns, rows].astype(int).tolist()]
    return {"n_x": n_x, "n_y": n_y, "counts": [list(each) for each in zip(*found, strict=True)]}
