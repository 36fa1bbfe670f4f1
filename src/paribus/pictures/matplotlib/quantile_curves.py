"""Conditional quantile curves: how the distribution of a behavioral feature changes with a contextual one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from paribus._common.arrays import Floats
from paribus._common.text import plain
from paribus._common.validation import check_whole_number
from paribus.pictures.matplotlib import style
from paribus.tables.column_format import ColumnFormat
from paribus.tables.encoding import sorted_categories

if TYPE_CHECKING:
    from paribus.explain.view import HasView

# The quantiles that are drawn, in percent: two bands and the median.
PERCENTAGES = (5, 25, 50, 75, 95)
# Rows that are drawn as dots.
MAX_DOTS = 2_000
MAX_CATEGORIES = 12


class QuantileCurvesDisplay:
    """The median and the central 50 % and 90 % of a behavioral feature along one contextual feature.

    The other contextual features are fixed at the values of one row, or at typical values. The dots are rows of the
    fitted table, whatever their other contextual features.

    Parameters
    ----------
    places : array
        The values of the contextual feature: numbers, or 0, 1, 2, ... for categories.
    quantiles : array of shape (places, 5)
        The 5 %, 25 %, 50 %, 75 % and 95 % quantiles of the behavioral feature there.
    context_name, behavior_name : str
        The names of the features.
    categories : list of str, optional
        The names of the places, if the contextual feature is categorical.
    dots : pair of arrays, optional
        Rows of the table: the contextual feature as in `places`, and the behavioral feature.
    own : pair of numbers, optional
        The row whose other contextual features are used: both features, as in `dots`.
    note : str
        The title, which says what the other contextual features are fixed at.
    formats : pair of ColumnFormat, optional
        How the values of the contextual and the behavioral feature are written.

    Attributes
    ----------
    figure_ : matplotlib figure
        The figure.
    ax_ : matplotlib axes
        The axes.
    """

    def __init__(
        self,
        places: Floats,
        quantiles: Floats,
        *,
        context_name: str,
        behavior_name: str,
        categories: list[str] | None = None,
        dots: tuple[Floats, Floats] | None = None,
        own: tuple[float, float] | None = None,
        note: str = "",
        formats: tuple[ColumnFormat, ColumnFormat] | None = None,
    ) -> None:
        self.places = places
        self.quantiles = quantiles
        self.context_name = context_name
        self.behavior_name = behavior_name
        self.categories = categories
        self.dots = dots
        self.own = own
        self.note = note
        self.formats = formats

    @classmethod
    def from_estimator(
        cls,
        detector: HasView,
        behavior: str | int,
        context: str | int,
        *,
        row: Any = None,
        n_points: int = 80,
        ax: Any = None,
    ) -> QuantileCurvesDisplay:
        """Draws the quantiles that a fitted detector expects.

        Parameters
        ----------
        detector : ConditionalSurprise or QCAD
            A fitted detector.
        behavior : str or int
            The behavioral feature: its name, or its position among the behavioral features.
        context : str or int
            The contextual feature: its name, or its position among the contextual features.
        row : int or label, optional
            The fitted row, as in `explain`, whose other contextual features are used; by default typical values: the
            median, or the most frequent category.
        n_points : int
            The number of values of a numeric contextual feature to evaluate.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        QuantileCurvesDisplay

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> display = QuantileCurvesDisplay.from_estimator(detector, "temperature", "elevation", n_points=20)
        >>> display.quantiles.shape
        (20, 5)
        """
        view = detector.view()
        check_whole_number("n_points", n_points, 2)
        if row is not None:
            row = view.find_row(row)
            if row is None:
                raise TypeError("row must be the position or the label of a fitted row")
        b, c = view.behavior_place(behavior), view.context_place(context)
        view.require_numbers(b)
        column = view.context[c]
        base = view.typical_context() if row is None else view.context_of(row)
        values = view.store.context(slice(None))[:, c]
        if not column.summary.has_values:
            raise ValueError(f"contextual feature '{column.name}' has no values")
        names = None
        if column.codes is None:
            places = np.unique(np.linspace(column.summary.lowest, column.summary.highest, n_points))
        else:
            codes, counts = np.unique(column.summary.order_statistics, return_counts=True)
            if row is not None:
                # The row's own category is always among those that are drawn.
                counts[codes == base[c]] = column.summary.n_rows + 1
            drawn = codes[np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]].astype(np.int64).tolist()
            names_of = list(column.codes)
            shown = sorted_categories(names_of[code] for code in drawn)
            places = np.array([column.codes[each] for each in shown], dtype=np.float64)
            names = [column.format(each) for each in shown]
        asked = np.repeat(base[None], len(places), axis=0)
        asked[:, c] = places
        # A row is never compared with itself.
        percentiles = view.expected(asked, excluded=row)[:, b]
        n_intervals = percentiles.shape[1] - 1
        # Where a percentage is not among the detector's quantiles, the next one farther out is taken.
        chosen = [
            percentage * n_intervals // 100 if percentage < 50 else -(-percentage * n_intervals // 100)
            for percentage in PERCENTAGES
        ]
        dots = np.flatnonzero(np.isin(values, places)) if names else np.arange(len(values))
        dots = dots[:: max(1, len(dots) // MAX_DOTS)]
        own = None
        if row is not None:
            own = _place(base[c], places, names), float(view.store.behavior(np.array([row]))[0, b])
        rest = [
            f"{plain(other.name)} {other.format(other.decode_one(base[i]))}"
            for i, other in enumerate(view.context)
            if i != c
        ]
        return cls(
            np.arange(len(places), dtype=float) if names else places,
            percentiles[:, chosen],
            context_name=column.name,
            behavior_name=view.behavior_names[b],
            categories=names,
            dots=(
                np.searchsorted(places, values[dots]).astype(float) if names else values[dots],
                view.store.behavior(dots)[:, b],
            ),
            own=own,
            note="at " + ", ".join(rest) if rest else "",
            formats=(column.format, view.behavior_formats[b]),
        ).plot(ax)

    def plot(self, ax: Any = None) -> QuantileCurvesDisplay:
        """Draws the curves.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        QuantileCurvesDisplay
            The display itself.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Temperature"], ["Rain", "Wind"], n_trees=5).fit(cities.table)
        >>> QuantileCurvesDisplay.from_estimator(detector, "Rain", "Temperature", n_points=5).plot().figure_
        <Figure size ...>
        """
        is_new = ax is None
        if is_new:
            _, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        self.figure_, self.ax_ = ax.figure, ax
        if self.dots is not None:
            x = self.dots[0].astype(float)
            if self.categories is not None:
                # Jitter keeps dots from covering each other; the fixed seed makes it reproducible.
                x = x + np.random.RandomState(0).uniform(-0.28, 0.28, len(x))
            ax.scatter(x, self.dots[1], s=5, color=style.GRAY, alpha=0.35, linewidths=0, zorder=1)
        lowest, first, median, third, highest = self.quantiles.T
        if self.categories is None and len(self.places) > 1:
            ax.fill_between(self.places, lowest, highest, color=style.PALE_BLUE, alpha=0.75, linewidth=0, zorder=2)
            ax.fill_between(self.places, first, third, color=style.SKY, alpha=0.75, linewidth=0, zorder=3)
            ax.plot(self.places, median, color=style.BLUE, linewidth=1.8, zorder=4)
        else:
            ax.vlines(self.places, lowest, highest, color=style.PALE_BLUE, linewidth=12, zorder=2)
            ax.vlines(self.places, first, third, color=style.SKY, linewidth=12, zorder=3)
            ax.hlines(median, self.places - 0.2, self.places + 0.2, color=style.BLUE, linewidth=2.2, zorder=4)
            if self.categories is not None:
                style.name_places(ax, self.places, self.categories, max_length=14, room=60)
        shown = [self.quantiles.ravel()] if self.dots is None else [self.quantiles.ravel(), self.dots[1]]
        low, high = style.window(np.concatenate([values[~np.isnan(values)] for values in shown]))
        margin = 0.05 * (high - low) or 0.5
        if self.own is not None and np.isfinite(self.own).all():
            place, value = self.own
            reach = 0.6 * (high - low)
            # A value far out is drawn at the edge, with an arrow and its number.
            at = min(max(value, low - reach), high + reach)
            ax.plot(place, at, marker="D", markersize=8, color=style.VERMILION, markeredgecolor="white", zorder=6)
            if at != value:
                arrow = "↑" if value > at else "↓"
                number = f"{value:,.6g}" if self.formats is None else self.formats[1](value)
                right = place > (self.places[0] + self.places[-1]) / 2
                ax.annotate(
                    f"{arrow} {number}",
                    (place, at),
                    xytext=(-8 if right else 8, 0),
                    textcoords="offset points",
                    ha="right" if right else "left",
                    va="center",
                    **style.text_options(arrow),
                )
            low, high = min(low, at), max(high, at)
        ax.set_ylim(low - margin, high + margin)
        names = plain(self.context_name), plain(self.behavior_name)
        ax.set_xlabel(names[0], **style.text_options(names[0]))
        ax.set_ylabel(names[1], **style.text_options(names[1]))
        if self.formats is not None:
            if self.categories is None:
                style.format_axis(ax.xaxis, self.formats[0])
            style.format_axis(ax.yaxis, self.formats[1])
        if self.note:
            note = style.wrapped(self.note, 90)
            ax.set_title(note, **style.text_options(note, size=style.SMALL), loc="left", color=style.GRAY)
        handles = [
            Line2D([], [], color=style.BLUE, linewidth=1.8, label="median"),
            Patch(facecolor=style.SKY, label="central 50 %"),
            Patch(facecolor=style.PALE_BLUE, label="central 90 %"),
        ]
        if self.dots is not None:
            handles.append(Line2D([], [], color=style.GRAY, marker="o", markersize=3, linestyle="none", label="rows"))
        if self.own is not None and np.isfinite(self.own).all():
            handles.append(
                Line2D([], [], color=style.VERMILION, marker="D", markersize=6, linestyle="none", label="this row")
            )
        if is_new:
            self.figure_.legend(
                handles=handles, loc="outside lower center", ncols=5, fontsize=style.SMALL, frameon=False
            )
        else:
            ax.legend(handles=handles, fontsize=style.SMALL)
        style.bare(ax)
        return self


def _place(value: float, places: Floats, names: list[str] | None) -> float:
    if names is None:
        return value
    found = np.flatnonzero(places == value)
    return float(found[0]) if found.size else np.nan
