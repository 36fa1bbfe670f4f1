"""What the pictures share: colours, texts and axes."""

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

from paribus.formatting import ColumnFormat, plain
from paribus.palette import BLACK as BLACK
from paribus.palette import BLUE as BLUE
from paribus.palette import GREY as GREY
from paribus.palette import ORANGE as ORANGE
from paribus.palette import PALE_BLUE as PALE_BLUE
from paribus.palette import PALE_GREY as PALE_GREY
from paribus.palette import PALE_ORANGE as PALE_ORANGE
from paribus.palette import SKY as SKY
from paribus.palette import VERMILION as VERMILION
from paribus.shapes import density as density
from paribus.shapes import window as window
from paribus.values import Kind

SMALL = 8.0
NORMAL = 9.0


def figure_axes(ax: Any, n: int, n_columns: int, cell: tuple[float, float]) -> tuple[Any, list[Any]]:
    """Axes for n panels and their figure: new ones, or within the axes that the caller gives.

    One of the caller's axes makes room for several panels by giving up its place; a list of axes must be as long as
    there are panels.
    """
    n_columns = min(n, n_columns)
    n_rows = math.ceil(n / n_columns)
    if ax is None:
        figure = plt.figure(figsize=(cell[0] * n_columns, cell[1] * n_rows), layout="constrained")
        grid = figure.add_gridspec(n_rows, n_columns)
    elif isinstance(ax, Iterable):
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            raise ValueError(f"{len(axes)} axes are given, and there are {n} panels to draw")
        return axes[0].figure, axes
    elif n == 1:
        return ax.figure, [ax]
    else:
        figure = ax.figure
        ax.set_axis_off()
        grid = ax.get_subplotspec().subgridspec(n_rows, n_columns)
    return figure, [figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(n)]


def text_options(*texts: str, size: float = NORMAL) -> dict[str, Any]:
    """How names that come from data are written: never as formulas, and in a font that has their letters."""
    letters = frozenset(character for text in texts for character in text if not character.isascii())
    families = _families(tuple(mpl.rcParams["font.family"]), letters)
    return {"parse_math": False, "fontsize": size, "family": families}


def wrapped(name: str, width: int, n_lines: int = 2) -> str:
    """A name on a few short lines."""
    lines = textwrap.wrap(plain(name, longest=width * n_lines), width, break_long_words=True) or [""]
    if len(lines) > n_lines:
        lines = [*lines[: n_lines - 1], plain(" ".join(lines[n_lines - 1 :]), longest=width)]
    return "\n".join(lines)


def format_axis(axis: Any, write: ColumnFormat, n_ticks: int = 6) -> None:
    """Ticks in the units of a column: few, whole where the column is, and moments as dates."""
    axis.set_major_locator(MaxNLocator(n_ticks, integer=write.kind is Kind.NUMERIC and write.decimals == 0))
    if not write.scientific:
        axis.set_major_formatter(FuncFormatter(lambda value, _: write.tick(value)))
    axis.set_tick_params(labelsize=SMALL)


def bare(ax: Any, *, keep: tuple[str, ...] = ("left", "bottom")) -> None:
    """Leaves the axes only the frame that says something."""
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(side in keep)


@lru_cache(maxsize=64)
def _families(in_use: tuple[str, ...], letters: frozenset[str]) -> list[str]:
    """The fonts in use, and behind them installed fonts that have the letters they lack."""
    families = list(in_use)
    first = font_manager.findfont(font_manager.FontProperties(family=families))
    missing = {ord(letter) for letter in letters} - _letters(first)
    # A font of last resort has a box for every letter.
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
        # A font that cannot be read has no letters.
        return frozenset()
