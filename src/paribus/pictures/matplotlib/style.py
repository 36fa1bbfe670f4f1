"""Colors, texts and axes that all pictures share."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.ticker import FuncFormatter, MaxNLocator

from paribus._common.palette import BLACK as BLACK
from paribus._common.palette import BLUE as BLUE
from paribus._common.palette import GRAY as GRAY
from paribus._common.palette import ORANGE as ORANGE
from paribus._common.palette import PALE_BLUE as PALE_BLUE
from paribus._common.palette import PALE_GRAY as PALE_GRAY
from paribus._common.palette import PALE_ORANGE as PALE_ORANGE
from paribus._common.palette import SKY as SKY
from paribus._common.palette import VERMILION as VERMILION
from paribus._common.statistics import density as density
from paribus._common.text import distinct, plain
from paribus.pictures.geometry import window as window
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat

# Font sizes in points.
SMALL = 8.0
NORMAL = 9.0


def figure_axes(ax: Any, n: int, n_columns: int, cell: tuple[float, float]) -> tuple[Any, list[Any]]:
    """The figure and the axes of n panels: new ones, or those given by the caller.

    A single given axes is replaced by a grid of panels if there are several. A list of axes must have one per panel.
    """
    n_columns = min(n, n_columns)
    n_rows = math.ceil(n / n_columns)
    if ax is None:
        figure = plt.figure(figsize=(cell[0] * n_columns, cell[1] * n_rows), layout="constrained")
        grid = figure.add_gridspec(n_rows, n_columns)
    elif isinstance(ax, Iterable):
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            raise ValueError(f"{len(axes)} axes are given for {n} panels: give one per panel")
        return axes[0].figure, axes
    elif n == 1:
        return ax.figure, [ax]
    else:
        figure = ax.figure
        place = ax.get_subplotspec()
        if place is None:
            raise ValueError(f"the given axes are not part of a grid and cannot hold {n} panels: give {n} axes")
        ax.set_axis_off()
        grid = place.subgridspec(n_rows, n_columns)
    return figure, [figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(n)]


def root_figure(ax: Any) -> Any:
    """The figure that contains the axes, even if they are in a subfigure."""
    figure = ax.figure
    while getattr(figure, "figure", figure) is not figure:
        figure = figure.figure
    return figure


def ink() -> str:
    """The color of texts and of a row's own value: black, unless the matplotlib style is dark."""
    return str(mpl.rcParams["text.color"])


def crown(figure: Any, title: str, handles: list[Any], n_columns: int) -> None:
    """Adds a title above all panels and a legend below them."""
    if title:
        figure.suptitle(title, **text_options(title, size=10.5), weight="bold")
    figure.legend(handles=handles, loc="outside lower center", ncols=n_columns, fontsize=SMALL, frameon=False)


def name_places(ax: Any, places: Any, names: list[str], max_length: int, room: int) -> None:
    """Labels the ticks of the x axis, slanted if all names together have more than `room` characters."""
    short = distinct(names, lambda name: plain(name, max_length))
    crowded = sum(map(len, short)) > room
    ax.set_xticks(
        places,
        short,
        rotation=30 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor",
        **text_options(*short, size=SMALL),
    )


def text_options(*texts: str, size: float = NORMAL) -> dict[str, Any]:
    """Text options for names from data: no math formulas, and fonts that have all of their characters."""
    letters = frozenset(character for text in texts for character in text if not character.isascii())
    families = _families(tuple(mpl.rcParams["font.family"]), letters)
    return {"parse_math": False, "fontsize": size, "family": families}


def wrapped(name: str, width: int, n_lines: int = 2) -> str:
    """A name wrapped to a few short lines."""
    lines = textwrap.wrap(plain(name, width * n_lines), width, break_long_words=True) or [""]
    if len(lines) > n_lines:
        lines = [*lines[: n_lines - 1], plain(" ".join(lines[n_lines - 1 :]), width)]
    return "\n".join(lines)


def format_axis(axis: Any, write: ColumnFormat, n_ticks: int = 6) -> None:
    """Sets few ticks in the format of a column: integers for an integer column, dates for timestamps."""
    if write.kind is Kind.TIME:
        axis.set_major_locator(TimeLocator(n_ticks))
    else:
        axis.set_major_locator(MaxNLocator(n_ticks, integer=write.decimals == 0))
    if not write.scientific:
        axis.set_major_formatter(FuncFormatter(lambda value, _: write.tick(value)))
    axis.set_tick_params(labelsize=SMALL)


def bare(ax: Any, *, keep: tuple[str, ...] = ("left", "bottom")) -> None:
    """Hides the spines of the axes, except for some."""
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(side in keep)


class TimeLocator(MaxNLocator):
    """Ticks at whole days, hours, minutes or seconds, on an axis of microseconds."""

    UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1)

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The ticks of a range."""
        unit = next((unit for unit in self.UNITS if vmax - vmin >= 2 * unit), 1)
        return np.asarray(super().tick_values(vmin / unit, vmax / unit)) * unit


@lru_cache(maxsize=64)
def _families(in_use: tuple[str, ...], letters: frozenset[str]) -> list[str]:
    """The fonts in use, followed by installed fonts that have the characters these lack."""
    families = list(in_use)
    first = font_manager.findfont(font_manager.FontProperties(family=families))
    missing = {ord(letter) for letter in letters} - _letters(first)
    # A last-resort font has a placeholder box for every character.
    installed = [entry for entry in font_manager.fontManager.ttflist if "Last Resort" not in entry.name]
    fonts = {entry.fname: entry.name for entry in installed}
    while missing and fonts:
        path = max(fonts, key=lambda path: (len(missing & _letters(path)), path))
        found = missing & _letters(path)
        if not found:
            break
        families.append(fonts[path])
        missing -= found
    return families


@cache
def _letters(path: str) -> frozenset[int]:
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):
        # A font that cannot be read has no characters.
        return frozenset()
