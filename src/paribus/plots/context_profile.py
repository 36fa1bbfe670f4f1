"""The context profile: whom a row is compared with, feature by feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from paribus.formatting import plain
from paribus.plots import style
from paribus.values import Floats, Kind

if TYPE_CHECKING:
    from paribus.explanation import Explanation
    from paribus.profile import ContextFeature

N_BINS = 14
# Whole numbers get a bar each, up to this many.
MOST_WHOLE = 24
# Categories that get a bar of their own.
MOST_CATEGORIES = 8


class ContextProfileDisplay:
    """The distribution of a reference group in each contextual feature, with the row's own bin marked.

    Grey bars are the rows of the group; the bars in front count each row as much as the forest does for the feature
    that leads the explanation. The row's own bin has another colour and a triangle below it.

    Parameters
    ----------
    features : list of ContextFeature
        What to draw, one panel each.
    values : list of arrays
        For each feature, the values of the group: numbers, or categories as objects.
    weights : array
        How much each row of the group counts.
    title : str
        Stands over all of them.

    Attributes
    ----------
    figure_, axes_
        The matplotlib figure and the axes, one per feature.
    """

    def __init__(
        self, features: list[ContextFeature], values: list[np.ndarray[Any, Any]], weights: Floats, title: str = ""
    ) -> None:
        self.features = features
        self.values = values
        self.weights = weights
        self.title = title

    @classmethod
    def from_explanation(cls, explanation: Explanation, *, ax: Any = None) -> ContextProfileDisplay:
        """The contextual features of an explanation."""
        values = [explanation.reference_values(feature) for feature in explanation.context]
        title = f"{explanation.title}: compared with {len(explanation.reference_positions):,} rows"
        return cls(list(explanation.context), values, explanation.leading.weights, title).plot(ax)

    def plot(self, ax: Any = None) -> ContextProfileDisplay:
        """Draws, into new axes or into the caller's."""
        self.figure_, self.axes_ = style.figure_axes(ax, len(self.features), 3, (2.9, 2.2))
        for axes, feature, values in zip(self.axes_, self.features, self.values, strict=True):
            if values.dtype == object:
                _draw_categories(axes, feature, values, self.weights)
            else:
                _draw_numbers(axes, feature, values, self.weights)
            name = style.wrapped(feature.name, 34, n_lines=2)
            axes.set_title(name, **style.text_options(name), loc="left", weight="bold")
            axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.tick_params(labelsize=style.SMALL)
            style.bare(axes)
        if ax is None:
            if self.title:
                self.figure_.suptitle(self.title, **style.text_options(self.title, size=10.5), weight="bold")
            self.figure_.legend(
                handles=[
                    Patch(facecolor=style.PALE_GREY, label="rows compared with"),
                    Patch(facecolor=style.BLUE, label="as much as they count"),
                    Patch(facecolor=style.VERMILION, label="the row's own bin"),
                ],
                loc="outside lower center",
                ncols=3 if len(self.features) > 1 else 1,
                fontsize=style.SMALL,
                frameon=False,
            )
        return self


def _draw_numbers(ax: Any, feature: ContextFeature, values: Floats, weights: Floats) -> None:
    own = feature.value if isinstance(feature.value, float) else None
    known = ~np.isnan(values)
    low, high = style.window(values[known])
    if own is not None:
        low, high = min(low, own), max(high, own)
    # What lies far out is counted at the end.
    inside = values[known].clip(low, high)
    edges = _edges(np.append(inside, [low, high]))
    rows, _ = np.histogram(inside, edges)
    counted, _ = np.histogram(inside, edges, weights=weights[known])
    mine = None if own is None else min(int(np.searchsorted(edges, own, "right")) - 1, len(rows) - 1)
    _draw_bars(ax, (edges[:-1] + edges[1:]) / 2, np.diff(edges), rows / len(values), counted, mine)
    style.format_axis(ax.xaxis, feature.format, 2 if feature.format.kind is Kind.TIME else 5)
    notes = ["own value missing"] if own is None else []
    if not known.all():
        notes.append(f"{1 - known.mean():.0%} missing")
    if n_beyond := int((inside != values[known]).sum()):
        notes.append(f"{n_beyond} beyond the ends")
    if notes:
        ax.set_title(", ".join(notes), loc="right", fontsize=style.SMALL, color=style.GREY)


def _draw_categories(ax: Any, feature: ContextFeature, values: np.ndarray[Any, Any], weights: Floats) -> None:
    rows, counted = Counter(values.tolist()), Counter[Hashable]()
    for value, weight in zip(values.tolist(), weights, strict=True):
        counted[value] += weight
    ranked = sorted(rows, key=lambda category: (-counted[category], -rows[category], str(category)))
    shown = ranked[:MOST_CATEGORIES]
    if feature.value not in shown:
        # The row's own category has a place even if nobody else is in it.
        shown = [*shown[: MOST_CATEGORIES - 1], feature.value]
    labels = [feature.format(category) for category in shown]
    shares = [rows[category] / len(values) for category in shown]
    weighted = [float(counted[category]) for category in shown]
    others = [category for category in ranked if category not in shown]
    if others:
        labels.append(f"{len(others)} others" if len(others) > 1 else feature.format(others[0]))
        shares.append(sum(rows[category] for category in others) / len(values))
        weighted.append(float(sum(counted[category] for category in others)))
    places = np.arange(len(labels), dtype=float)
    _draw_bars(ax, places, np.full(len(labels), 0.85), np.array(shares), np.array(weighted), shown.index(feature.value))
    crowded = sum(map(len, labels)) > 26
    shortened = [plain(label, longest=16) for label in labels]
    ax.set_xticks(
        places,
        shortened,
        rotation=30 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor",
        **style.text_options(*shortened, size=style.SMALL),
    )


def _draw_bars(ax: Any, places: Floats, widths: Floats, shares: Floats, weighted: Floats, own: int | None) -> None:
    colors = [style.VERMILION if i == own else style.BLUE for i in range(len(places))]
    ax.bar(places, shares, widths * 0.96, color=style.PALE_GREY, linewidth=0)
    ax.bar(places, weighted, widths * 0.6, color=colors, linewidth=0)
    if own is not None:
        # Below the axis, so that it is seen where the bar is empty.
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
        # A single bar is no wall.
        ax.set_xlim(places.mean() - 1.5 * widths.max(), places.mean() + 1.5 * widths.max())
    ax.set_ylim(0, max(float(shares.max()), float(weighted.max()), 0.01) * 1.08)


def _edges(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    if low == high:
        half = abs(low) * 0.05 or 0.5
        return np.array([low - half, low + half])
    if np.array_equal(values, np.round(values)) and high - low < MOST_WHOLE:
        return np.arange(low, high + 2) - 0.5
    edges = np.linspace(low, high, N_BINS + 1)
    return edges if np.unique(edges).size == edges.size else np.array([low, high])
