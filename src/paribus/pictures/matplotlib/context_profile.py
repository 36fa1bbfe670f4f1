"""The context profile: the rows that a row is compared with, feature by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from paribus._common.arrays import Floats
from paribus._common.text import counted
from paribus.pictures.geometry import Bars, context_bars
from paribus.pictures.matplotlib import style
from paribus.tables.column import Kind

if TYPE_CHECKING:
    from paribus.explain.context import ContextFeature
    from paribus.explain.explanation import RowExplanation


MAX_PANELS = 24


class ContextProfileDisplay:
    """The distribution of a reference group in each contextual feature, with the row's own bin marked.

    Gray bars are the rows of the group. The bars in front are the same rows by their weight for the leading feature of
    the explanation. The row's own bin has another color and a triangle below it.

    Parameters
    ----------
    features : list of ContextFeature
        The features to draw, one panel each.
    values : list of arrays
        For each feature, the values of the group: numbers, or categories as objects.
    weights : array
        The weight of each row of the group.
    title : str
        The title above all panels.

    Attributes
    ----------
    figure_ : matplotlib figure
        The figure.
    axes_ : list of matplotlib axes
        The axes, one per feature.
    """

    def __init__(
        self, features: list[ContextFeature], values: list[np.ndarray[Any, Any]], weights: Floats, title: str = ""
    ) -> None:
        self.features = features
        self.values = values
        self.weights = weights
        self.title = title

    @classmethod
    def from_explanation(cls, explanation: RowExplanation, *, ax: Any = None) -> ContextProfileDisplay:
        """Draws the contextual features of an explanation: all of them, or the 24 most informative ones.

        Parameters
        ----------
        explanation : Explanation
            The explanation of a row.
        ax : matplotlib axes, or a list of them, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ContextProfileDisplay

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> len(ContextProfileDisplay.from_explanation(detector.explain(137)).axes_)
        3
        """
        telling = sorted(explanation.context, key=lambda feature: feature.table_share / feature.share)
        features = [feature for feature in explanation.context if feature in telling[:MAX_PANELS]]
        values = [explanation.reference_values(feature) for feature in features]
        title = f"{explanation.title}: compared with {counted(len(explanation.reference_positions), 'row')}"
        if len(features) < len(telling):
            title += f" ({len(features)} of {len(telling)} contextual features)"
        return cls(features, values, explanation.leading.weights, title).plot(ax)

    def plot(self, ax: Any = None) -> ContextProfileDisplay:
        """Draws the profiles.

        Parameters
        ----------
        ax : matplotlib axes, or a list of them, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ContextProfileDisplay
            The display itself.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(cities.contextual, cities.behavioral, n_trees=5).fit(cities.table)
        >>> detector.explain(3).plot_context().plot().figure_
        <Figure size ...>
        """
        self.figure_, self.axes_ = style.figure_axes(ax, len(self.features), 3, (2.9, 2.2))
        for axes, feature, values in zip(self.axes_, self.features, self.values, strict=True):
            bars = context_bars(feature, values, self.weights)
            if bars.edges is None:
                _draw_categories(axes, bars)
            else:
                _draw_numbers(axes, feature, bars, bars.edges)
            name = style.wrapped(feature.title, 26, n_lines=2)
            axes.set_title(name, **style.text_options(name), loc="left", weight="bold")
            axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.tick_params(labelsize=style.SMALL)
            style.bare(axes)
        if ax is None:
            handles = [
                Patch(facecolor=style.PALE_GRAY, label="rows compared with"),
                Patch(facecolor=style.BLUE, label="weighted by how much they count"),
                Patch(facecolor=style.VERMILION, label="the row's own bin"),
            ]
            style.crown(self.figure_, self.title, handles, 3 if len(self.features) > 1 else 1)
        return self


def _draw_numbers(ax: Any, feature: ContextFeature, bars: Bars, edges: Floats) -> None:
    _draw_bars(ax, (edges[:-1] + edges[1:]) / 2, np.diff(edges), bars)
    style.format_axis(ax.xaxis, feature.format, 2 if feature.format.kind is Kind.TIME else 5)
    if bars.notes:
        ax.set_title(", ".join(bars.notes), loc="right", fontsize=style.SMALL, color=style.GRAY)


def _draw_categories(ax: Any, bars: Bars) -> None:
    places = np.arange(len(bars.labels), dtype=float)
    _draw_bars(ax, places, np.full(len(places), 0.85), bars)
    style.name_places(ax, places, list(bars.labels), max_length=14, room=26)


def _draw_bars(ax: Any, places: Floats, widths: Floats, bars: Bars) -> None:
    shares, weighted, own = bars.shares, bars.weighted, bars.own
    colors = [style.VERMILION if i == own else style.BLUE for i in range(len(places))]
    ax.bar(places, shares, widths * 0.96, color=style.PALE_GRAY, linewidth=0)
    ax.bar(places, weighted, widths * 0.6, color=colors, linewidth=0)
    if own is not None:
        # The triangle is below the axis, so that it is visible even if the bar is empty.
        ax.plot(
            places[own],
            0,
            marker="^",
            markersize=7,
            color=style.VERMILION,
            markeredgecolor="white",
            markeredgewidth=0.6,
            clip_on=False,
            zorder=5,
            linestyle="none",
        )
    if len(places) < 3:
        # Margins keep one or two bars from filling the whole panel.
        ax.set_xlim(places.mean() - 1.5 * widths.max(), places.mean() + 1.5 * widths.max())
    ax.set_ylim(0, max(float(shares.max()), float(weighted.max()), 0.01) * 1.08)
