"""The anomaly beanplot: the expected distribution of a feature and its actual value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from paribus._common.arrays import Floats
from paribus._common.text import score_text
from paribus._common.validation import check_whole_number
from paribus.explain.categories import CategoryFeature
from paribus.pictures.geometry import bean_window, category_bars
from paribus.pictures.matplotlib import style

if TYPE_CHECKING:
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.facts import BehaviorFeature

# Half the widths of the bean, the box and a percentile line; the panel reaches from -1 to 1.
BEAN, BOX, TICK = 0.92, 0.16, 0.42


class BeanplotDisplay:
    """Beanplots of behavioral features in the context of one row, side by side, each in its own units.

    The pale shape is the expected density, the method's own or estimated from the percentiles. Short lines are the
    percentiles, the box spans the quartiles and contains the median, and the black line is the actual value. A value
    far outside is drawn at the end of the axis, with an arrow and its number.

    Parameters
    ----------
    features : list of BehaviorFeature
        The features to draw, one panel each.
    title : str
        The title above all panels.

    Attributes
    ----------
    figure_ : matplotlib figure
        The figure.
    axes_ : list of matplotlib axes
        The axes, one per feature.
    """

    def __init__(self, features: list[BehaviorFeature], title: str = "") -> None:
        self.features = features
        self.title = title

    @classmethod
    def from_explanation(
        cls, explanation: RowExplanation, *, n_features: int | None = None, ax: Any = None
    ) -> BeanplotDisplay:
        """Draws the features of an explanation, in descending order of partial score.

        Parameters
        ----------
        explanation : Explanation
            The explanation of a row.
        n_features : int, optional
            The maximum number of features to draw; by default that of the explanation.
        ax : matplotlib axes, or a list of them, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        BeanplotDisplay

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> len(BeanplotDisplay.from_explanation(detector.explain(137), n_features=2).axes_)
        2
        """
        if n_features is not None:
            check_whole_number("n_features", n_features, 1)
        shown = explanation.behavior[: explanation.n_features if n_features is None else n_features]
        known = [feature for feature in shown if feature.has_reference]
        return cls(known, f"{explanation.title}: score {score_text(explanation.score)}").plot(ax)

    def plot(self, ax: Any = None) -> BeanplotDisplay:
        """Draws the beanplots.

        Parameters
        ----------
        ax : matplotlib axes, or a list of them, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        BeanplotDisplay
            The display itself.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(cities.contextual, cities.behavioral, n_trees=5).fit(cities.table)
        >>> detector.explain(3).plot().plot().figure_
        <Figure size ...>
        """
        if not self.features:
            raise ValueError("there is no feature to draw: no comparable row has a value of any of them")
        self.figure_, self.axes_ = style.figure_axes(
            ax, len(self.features), 6, (3.0 if len(self.features) == 1 else 1.75, 3.5)
        )
        for axes, feature in zip(self.axes_, self.features, strict=True):
            _draw(axes, feature)
        if ax is None:
            style.crown(self.figure_, self.title, _legend(), 4 if len(self.features) > 2 else 2)
        return self


def _draw(ax: Any, feature: BehaviorFeature) -> None:
    if isinstance(feature, CategoryFeature):
        _draw_categories(ax, feature)
    else:
        _draw_bean(ax, feature)
    name = style.wrapped(feature.title, 18)
    ax.set_title(name, **style.text_options(name), pad=16)
    score = "not scored" if np.isnan(feature.partial_score) else f"partial score {score_text(feature.partial_score)}"
    ax.text(0.5, 1.015, score, transform=ax.transAxes, ha="center", fontsize=style.SMALL, color=style.GRAY)


def _draw_categories(ax: Any, feature: CategoryFeature) -> None:
    """One bar for each category, with its probability as the length and its name above."""
    bars = category_bars(feature)
    n_bars = len(bars.labels)
    ax.set(xlim=(0, 1), ylim=(max(n_bars, 4) + 0.2, -0.6), xticks=[0, 0.5, 1], yticks=[])
    ax.set_xticklabels(["0", "50 %", "100 %"], fontsize=style.SMALL)
    for place, (label, share) in enumerate(zip(bars.labels, bars.shares.tolist(), strict=True)):
        is_own = place == bars.own
        color = style.VERMILION if is_own else style.BLUE
        ax.barh(place + 0.25, max(share, 0.01), height=0.32, color=color, linewidth=0)
        name = style.wrapped(label, 20, 1)
        options = style.text_options(name, size=style.SMALL)
        ax.text(0.0, place, name, ha="left", va="bottom", color=color if is_own else style.ink(), **options)
    if bars.notes:
        ax.text(0.0, n_bars, bars.notes[0], fontsize=style.SMALL, color=style.GRAY, va="bottom")
    style.bare(ax, keep=("bottom",))


def _draw_bean(ax: Any, feature: BehaviorFeature) -> None:
    taus, write = feature.percentiles, feature.format
    low, high = bean_window(taus, feature.value, feature.lower, feature.upper)
    margin = 0.06 * (high - low)
    # A value off the axis is drawn in a strip behind an axis break.
    low -= 0.12 * (high - low) if feature.value < low else 0.0
    high += 0.12 * (high - low) if feature.value > high else 0.0
    ax.set(xlim=(-1, 1), ylim=(low - margin, high + margin), xticks=[])
    heights = np.linspace(low, high, 400)
    bean = BEAN * feature.bean(heights)
    ax.fill_betweenx(heights, -bean, bean, where=bean > 0, color=style.PALE_ORANGE, linewidth=0)
    if taus[0] == taus[-1]:
        ax.hlines(taus[0], -BEAN, BEAN, color=style.PALE_ORANGE, linewidth=7)
        # The label goes toward the middle of the panel, where there is room, and away from the value's own label.
        upper_half = taus[0] > (low + high) / 2
        ax.annotate(
            f"all {write(taus[0])}",
            (-BEAN, taus[0]),
            xytext=(0, -9 if upper_half else 9),
            textcoords="offset points",
            ha="left",
            va="top" if upper_half else "bottom",
            fontsize=style.SMALL,
            color=style.BLUE,
        )
    shown = taus[(taus >= low) & (taus <= high)]
    ax.hlines(shown, -TICK, TICK, color=style.BLUE, linewidth=0.5, alpha=0.8)
    first, third = np.percentile(taus, [25, 75], method="inverted_cdf")
    ax.add_patch(
        Rectangle(
            (-BOX, first), 2 * BOX, third - first, facecolor=style.SKY, edgecolor=style.BLUE, linewidth=1, zorder=3
        )
    )
    ax.hlines(feature.median, -BOX, BOX, color=style.BLUE, linewidth=2, zorder=4)
    if np.isfinite(feature.value):
        _draw_value(ax, feature.value, feature.value_text, low, high)
    _count_hidden(ax, taus, low, high)
    style.format_axis(ax.yaxis, write)
    style.bare(ax, keep=("left",))


def _draw_value(ax: Any, value: float, text: str, low: float, high: float) -> None:
    at = min(max(value, low), high)
    if at != value:
        _break_axis(ax, upwards=value > high)
    ax.hlines(at, -BEAN, BEAN, color=style.ink(), linewidth=2.2, zorder=5)
    upper_half = at > (low + high) / 2
    arrow = "" if at == value else "↑ " if value > high else "↓ "
    # The label goes toward the middle of the panel, where there is room.
    ax.annotate(
        f"{arrow}{text}",
        (BEAN, at),
        xytext=(0, -3 if upper_half else 3),
        textcoords="offset points",
        ha="right",
        va="top" if upper_half else "bottom",
        weight="bold",
        zorder=6,
        **style.text_options(arrow),
        bbox={"boxstyle": "square,pad=0.1", "facecolor": mpl.rcParams["axes.facecolor"], "alpha": 0.7, "linewidth": 0},
    )


def _break_axis(ax: Any, *, upwards: bool) -> None:
    """Draws a break in the axis, next to the end where the value is."""
    for y in (0.905, 0.925) if upwards else (0.075, 0.095):
        ax.plot(
            [-0.035, 0.035],
            [y - 0.012, y + 0.012],
            transform=ax.transAxes,
            color=style.ink(),
            linewidth=0.9,
            clip_on=False,
        )


def _count_hidden(ax: Any, taus: Floats, low: float, high: float) -> None:
    for hidden, y, align, arrow in ((taus < low, 0.0, "bottom", "↓"), (taus > high, 1.0, "top", "↑")):
        if hidden.any():
            ax.text(
                0.02,
                y,
                f"{arrow} {hidden.sum()} more",
                transform=ax.transAxes,
                va=align,
                fontsize=style.SMALL - 1,
                color=style.BLUE,
            )


def _legend() -> list[Any]:
    return [
        Line2D([], [], color=style.ink(), linewidth=2.2, label="actual value"),
        Patch(facecolor=style.PALE_ORANGE, label="expected density"),
        Patch(facecolor=style.SKY, edgecolor=style.BLUE, label="quartiles, median"),
        Line2D([], [], color=style.BLUE, linewidth=0.8, label="percentiles"),
    ]
