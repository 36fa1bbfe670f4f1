"""Explanations as users see them: a sentence, tables in the shell and in notebooks, and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paribus.explain.explanation import RowExplanation
from paribus.output.tables import as_html, as_rich

if TYPE_CHECKING:
    from rich.console import RenderableType

    from paribus.pictures.matplotlib import BeanplotDisplay, ContextProfileDisplay


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(RowExplanation):
    """Why a row has its score: which features stand out, by how much, and compared with which rows.

    `str()` gives a sentence, `rich.print` and notebooks show tables, and `plot()` draws beanplots.
    """

    def __rich__(self) -> RenderableType:
        return as_rich(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def plot(self, ax: Any = None) -> BeanplotDisplay:
        """Draws beanplots of the leading features: the expected distribution and the actual value (extra `plot`).

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        BeanplotDisplay
            The display object, with the figure and the axes.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> display = detector.explain(137).plot()
        >>> len(display.axes_)
        3
        """
        from paribus.pictures.matplotlib import BeanplotDisplay

        return BeanplotDisplay.from_explanation(self, ax=ax)

    def plot_context(self, ax: Any = None) -> ContextProfileDisplay:
        """Draws the reference group's distribution in each contextual feature (extra `plot`).

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ContextProfileDisplay
            The display object, with the figure and the axes.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> display = detector.explain(137).plot_context()
        >>> len(display.axes_)
        3
        """
        from paribus.pictures.matplotlib import ContextProfileDisplay

        return ContextProfileDisplay.from_explanation(self, ax=ax)
