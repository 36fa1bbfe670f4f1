"""The heat map of the information of each column about behavior."""

from __future__ import annotations

from typing import Any, Self

from matplotlib.patches import Rectangle

from paribus._common.text import plain
from paribus.advice.suggestion import Advice
from paribus.pictures.gain_cells import MAX_NAME_LENGTH, GainMap
from paribus.pictures.matplotlib.style import BLUE, NORMAL, SMALL, VERMILION, figure_axes, ink, text_options


class GainMapDisplay:
    """The information of each possible context about each behavioral column, by itself and given all others.

    Parameters
    ----------
    maps : list of GainMap
        One panel each.

    Examples
    --------
    >>> from paribus import datasets, suggest_context
    >>> display = GainMapDisplay.from_advice(suggest_context(datasets.load("weather").table))
    >>> len(display.axes_)
    2
    """

    def __init__(self, maps: list[GainMap]) -> None:
        self.maps = maps

    @classmethod
    def from_advice(cls, advice: Advice, ax: Any = None) -> Self:
        """Draws the gains of an advice.

        Parameters
        ----------
        advice : ContextAdvice
            What `suggest_context` returned.
        ax : matplotlib axes, or one per panel, optional
            Where to draw; a new figure by default.

        Returns
        -------
        GainMapDisplay
            With `figure_` and `axes_`.

        Examples
        --------
        >>> from paribus import datasets, suggest_context
        >>> advice = suggest_context(datasets.load("weather").table)
        >>> GainMapDisplay.from_advice(advice).maps[0].behavior
        ('temperature', 'rain', 'wind')
        """
        if not advice.candidates or not advice.measured:
            raise ValueError("there is nothing to draw: the table has no context or no behavior to measure")
        return cls([GainMap.of(advice), GainMap.of(advice, beyond=True)]).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draws the picture.

        Parameters
        ----------
        ax : matplotlib axes, or one per panel, optional
            Where to draw; a new figure by default.

        Returns
        -------
        GainMapDisplay
            With `figure_` and `axes_`.

        Examples
        --------
        >>> from paribus import datasets, suggest_context
        >>> display = GainMapDisplay.from_advice(suggest_context(datasets.load("weather").table))
        >>> display.plot() is display
        True
        """
        first = self.maps[0]
        size = 1.6 + 0.62 * len(first.context), 1.3 + 0.36 * len(first.behavior)
        self.figure_, self.axes_ = figure_axes(ax, len(self.maps), 2, size)
        for panel, each in zip(self.axes_, self.maps, strict=True):
            for cell in each.cells:
                corner, alpha = (cell.column - 0.5, cell.row - 0.5), max(cell.shade, 0.03)
                panel.add_patch(Rectangle(corner, 1, 1, facecolor=BLUE, alpha=alpha, linewidth=0))
                shade = "white" if cell.shade > 0.7 else ink()
                panel.text(cell.column, cell.row, cell.text, ha="center", va="center", size=SMALL, color=shade)
            for place, name in enumerate(each.context):
                if any(cell.is_proposed for cell in each.cells if cell.column == place):
                    height = len(each.behavior)
                    frame = Rectangle((place - 0.5, -0.5), 1, height, fill=False, edgecolor=VERMILION, linewidth=1.5)
                    panel.add_patch(frame)
                    frame.set_label(plain(name))
            panel.set_xlim(-0.5, len(each.context) - 0.5)
            panel.set_ylim(len(each.behavior) - 0.5, -0.5)
            _name_ticks(panel, each)
            panel.set_title(each.title, size=NORMAL)
            for side in panel.spines.values():
                side.set_visible(False)
        return self


def _name_ticks(panel: Any, each: GainMap) -> None:
    panel.set_xticks(range(len(each.context)))
    panel.set_yticks(range(len(each.behavior)))
    for labels, names in ((panel.set_xticklabels, each.context), (panel.set_yticklabels, each.behavior)):
        words = [plain(name, MAX_NAME_LENGTH) for name in names]
        options = text_options("".join(words), size=SMALL)
        if names is each.context:
            options |= {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
        labels(words, **options)
    panel.tick_params(length=0)
