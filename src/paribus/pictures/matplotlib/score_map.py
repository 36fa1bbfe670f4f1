"""The score map: the highest scores among all rows, in two behavioral features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from scipy.stats import gaussian_kde

from paribus._common.arrays import Floats
from paribus._common.text import distinct, plain
from paribus._common.validation import check_whole_number
from paribus.explain.view import highest
from paribus.pictures.matplotlib import style
from paribus.tables.column_format import ColumnFormat

if TYPE_CHECKING:
    from paribus.explain.view import HasView

# Without the pale end of the color map, which would be invisible on white.
COLORS = ListedColormap(mpl.colormaps["GnBu"](np.linspace(0.35, 1.0, 256)))
# The area of a dot in square points, from the lowest to the highest score.
MIN_DOT_AREA, MAX_DOT_AREA = 5.0, 90.0
# More rows than this are rasterized, since a vector file would be huge.
MAX_VECTORS = 10_000
# The maximum number of rows behind the contours, and the number of grid points along each axis.
DENSITY_SAMPLE, GRID = 4_000, 80
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
MAX_NAME_LENGTH = 200
LEADER = {"arrowstyle": "-", "color": style.GRAY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}

# The positions that are tried for a name: the offset from its dot in points, and the alignment.
PLACES = [
    (7, 0, "left", "center"),
    (-7, 0, "right", "center"),
    (0, 7, "center", "bottom"),
    (0, -7, "center", "top"),
    (6, 8, "left", "bottom"),
    (-6, 8, "right", "bottom"),
    (6, -8, "left", "top"),
    (-6, -8, "right", "top"),
    (10, 16, "left", "bottom"),
    (-10, 16, "right", "bottom"),
    (10, -16, "left", "top"),
    (-10, -16, "right", "top"),
]
# Farther positions, with a line from the dot to its name.
FAR_PLACES = [
    (reach * dx, reach * dy, "left" if dx > 0 else "right", "bottom" if dy > 0 else "top")
    for reach in (26, 42, 60)
    for dx, dy in ((1, 0.5), (-1, 0.5), (1, -0.5), (-1, -0.5), (0.4, 1), (-0.4, 1), (0.4, -1), (-0.4, -1))
]


class ScoreMapDisplay:
    """All rows in two behavioral features; a larger and darker dot has a higher score.

    Contours show where most rows are, histograms how each feature is distributed. A large dark dot inside the contours
    is a row that is ordinary overall and unusual in its context.

    Parameters
    ----------
    x, y, scores : arrays
        The two features, and the scores.
    x_name, y_name : str
        The names of the features.
    labels : list of str, optional
        The names of the rows with the highest scores, in descending order of score.
    formats : pair of ColumnFormat, optional
        How the values of the two features are written.

    Attributes
    ----------
    figure_ : matplotlib figure
        The figure.
    ax_ : matplotlib axes
        The main axes.
    x_axes_, y_axes_ : matplotlib axes
        The axes of the histograms.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        scores: Floats,
        *,
        x_name: str,
        y_name: str,
        labels: list[str] | None = None,
        formats: tuple[ColumnFormat, ColumnFormat] | None = None,
    ) -> None:
        self.x = x
        self.y = y
        self.scores = scores
        self.x_name = x_name
        self.y_name = y_name
        self.labels = labels
        self.formats = formats

    @classmethod
    def from_estimator(
        cls,
        detector: HasView,
        x: str | int | None = None,
        y: str | int | None = None,
        *,
        id_column: str | int | None = None,
        n_rows: int = 10,
        ax: Any = None,
    ) -> ScoreMapDisplay:
        """Draws the fitted rows of a detector.

        Parameters
        ----------
        detector : ConditionalSurprise or QCAD
            A fitted detector.
        x, y : str or int, optional
            The behavioral features: their names, or their positions among the behavioral features. By default the two
            with the highest mean partial score among the named rows.
        id_column : name or position of a column, optional
            The column that names the rows; by default their labels in a pandas index, or their positions.
        n_rows : int
            The number of highest scores to name; 0 for none.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreMapDisplay

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral, n_trees=10).fit(weather.table)
        >>> ScoreMapDisplay.from_estimator(detector, "temperature", "wind", n_rows=3).labels
        ['1204', '137', '1541']
        """
        check_whole_number("n_rows", n_rows, 0)
        view = detector.view()
        strongest = [p for p in view.strongest_features(max(n_rows, 1)) if view.behavior_codes[p] is None]
        if len(strongest) < 2:
            found = f"only '{view.behavior_names[strongest[0]]}'" if strongest else "none"
            raise ValueError(
                f"a score map needs two numeric behavioral features, but the detector has {found}: "
                "use QuantileCurvesDisplay"
            )
        across = strongest[0] if x is None else view.behavior_place(x)
        up = next(place for place in strongest if place != across) if y is None else view.behavior_place(y)
        view.require_numbers(across)
        view.require_numbers(up)
        if across == up:
            raise ValueError(f"x and y are both '{view.behavior_names[up]}': give two different features")
        rows = view.highest(n_rows)
        behavior, original = view.store.behavior(slice(None)), view.store.original
        return cls(
            behavior[:, across],
            behavior[:, up],
            view.scores,
            x_name=view.behavior_names[across],
            y_name=view.behavior_names[up],
            labels=[str(original.row_label(int(row))) for row in rows]
            if id_column is None
            else original.texts(id_column, rows),
            formats=(view.behavior_formats[across], view.behavior_formats[up]),
        ).plot(ax)

    def plot(self, ax: Any = None) -> ScoreMapDisplay:
        """Draws the map.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ScoreMapDisplay
            The display itself.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Temperature"], ["Rain", "Wind"], n_trees=5).fit(cities.table)
        >>> ScoreMapDisplay.from_estimator(detector, "Rain", "Wind").plot().figure_
        <Figure size ...>
        """
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
        elif style.root_figure(ax).get_layout_engine() is None:
            # Without a layout engine, the histograms and the color bar need room made for them.
            left, bottom, width, height = ax.get_position().bounds
            ax.set_position([left, bottom, 0.74 * width, 0.84 * height])
        self.figure_, self.ax_ = ax.figure, ax
        known = np.flatnonzero(~(np.isnan(self.x) | np.isnan(self.y) | np.isnan(self.scores)))
        if known.size == 0:
            raise ValueError(f"no row has a score and values of both '{self.x_name}' and '{self.y_name}'")
        # The highest scores are drawn last, on top.
        known = known[np.argsort(self.scores[known], kind="stable")]
        scores = self.scores[known]
        (left, right), (bottom, top) = style.window(self.x[known]), style.window(self.y[known])
        # Rows far out are drawn at the edge.
        self._shown = np.column_stack([self.x.clip(left, right), self.y.clip(bottom, top)])
        x, y = self._shown[known].T
        outside = (x != self.x[known]) | (y != self.y[known])
        share = scores / max(float(scores.max()), 1e-300)
        drawn = ax.scatter(
            x,
            y,
            s=MIN_DOT_AREA + (MAX_DOT_AREA - MIN_DOT_AREA) * share**1.5,
            c=scores,
            cmap=COLORS,
            vmin=0,
            linewidths=0.3,
            edgecolors="white",
            rasterized=len(x) > MAX_VECTORS,
            zorder=2,
        )
        notes = []
        if outside.any():
            ax.scatter(x[outside], y[outside], s=140, facecolors="none", edgecolors=style.ink(), linewidths=0.8)
            notes.append(f"{outside.sum():,} circled: off the axes")
        for limits, (low, high) in ((ax.set_xlim, (left, right)), (ax.set_ylim, (bottom, top))):
            margin = 0.04 * (high - low) or 0.5
            limits(low - margin, high + margin)
        _draw_contours(ax, x[~outside], y[~outside])
        self._draw_margins(x[~outside], y[~outside])
        bar = self.figure_.colorbar(drawn, cax=ax.inset_axes([1.19, 0.0, 0.025, 0.55]))
        bar.solids.set(rasterized=False, edgecolor="face")
        bar.set_label("anomaly score", fontsize=style.SMALL)
        bar.ax.tick_params(labelsize=style.SMALL)
        bar.outline.set_visible(False)
        names = plain(self.x_name), plain(self.y_name)
        ax.set_xlabel(names[0], **style.text_options(names[0]))
        ax.set_ylabel(names[1], **style.text_options(names[1]))
        for axis, write in zip((ax.xaxis, ax.yaxis), self.formats or (), strict=False):
            style.format_axis(axis, write)
        style.bare(ax)
        if self.labels is not None and (n_unnamed := self._name_rows()):
            notes.append(f"{n_unnamed:,} of {len(self.labels):,} names do not fit")
        if notes:
            ax.set_title("; ".join(notes), loc="right", fontsize=style.SMALL, y=1.16, pad=2)
        return self

    def _draw_margins(self, x: Floats, y: Floats) -> None:
        self.x_axes_ = self.ax_.inset_axes([0, 1.01, 1, 0.14])
        self.y_axes_ = self.ax_.inset_axes([1.01, 0, 0.14, 1])
        self.x_axes_.hist(x, _bins(x), color=style.GRAY, linewidth=0)
        self.y_axes_.hist(y, _bins(y), color=style.GRAY, linewidth=0, orientation="horizontal")
        self.x_axes_.set_xlim(self.ax_.get_xlim())
        self.y_axes_.set_ylim(self.ax_.get_ylim())
        for axes in (self.x_axes_, self.y_axes_):
            axes.set_axis_off()

    def _name_rows(self) -> int:
        """Writes each name where it overlaps no other, and returns the number of names that do not fit."""
        assert self.labels is not None
        n_unnamed = 0
        rows = highest(self.scores, len(self.labels))
        style.root_figure(self.ax_).draw_without_rendering()
        frame = self.ax_.get_window_extent()
        dots = self.ax_.transData.transform(self._shown[rows])
        taken: list[Any] = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in dots if np.isfinite(x + y)]
        names = distinct([plain(name, MAX_NAME_LENGTH) for name in self.labels], lambda name: plain(name, 24))
        for row, short in zip(rows, names, strict=False):
            best = None
            for dx, dy, ha, va in PLACES + FAR_PLACES:
                text = self.ax_.annotate(
                    short,
                    tuple(self._shown[row]),
                    xytext=(dx, dy),
                    textcoords="offset points",
                    ha=ha,
                    va=va,
                    zorder=5,
                    arrowprops=None if (dx, dy, ha, va) in PLACES else LEADER,
                    **style.text_options(short, size=style.SMALL),
                )
                text.set_path_effects([withStroke(linewidth=2, foreground="white")])
                # The annotation's own extent updates its position; only the text, without the line, takes up room.
                text.get_window_extent()
                box = Text.get_window_extent(text)
                inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 + 4 and box.y0 >= frame.y0 and box.y1 <= frame.y1 + 4
                if inside and not any(box.overlaps(other) for other in taken):
                    best = box
                    break
                text.remove()
            if best is not None:
                taken.append(best)
            elif np.isfinite(self._shown[row]).all():
                n_unnamed += 1
        return n_unnamed


def _draw_contours(ax: Any, x: Floats, y: Floats) -> None:
    step = max(1, len(x) // DENSITY_SAMPLE)
    points = np.vstack([x[::step], y[::step]])
    low, reach = points.min(axis=1, keepdims=True), np.ptp(points, axis=1, keepdims=True)
    if points.shape[1] < 10 or (reach == 0).any():
        return
    try:
        # In units of the range, since squares of huge numbers would overflow.
        estimate = gaussian_kde((points - low) / reach)
    except np.linalg.LinAlgError:
        # All rows are on one line.
        return
    # The grid extends beyond the rows, so that contours are closed.
    grid = np.linspace(-0.15, 1.15, GRID)
    heights = estimate(np.vstack([each.ravel() for each in np.meshgrid(grid, grid)])).reshape(GRID, GRID)
    # Each contour contains this share of the density.
    ordered = np.sort(heights.ravel())[::-1]
    reached = np.cumsum(ordered) / ordered.sum()
    levels = np.unique([ordered[np.searchsorted(reached, level)] for level in LEVELS])
    xs, ys = (low[axis] + grid * reach[axis] for axis in (0, 1))
    ax.contour(xs, ys, heights, levels=levels, colors=style.VERMILION, linewidths=0.7, alpha=0.8, zorder=3)


def _bins(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    if low == high:
        return np.array([low - 0.5, low + 0.5])
    if np.array_equal(values, np.round(values)) and high - low < 60:
        return np.arange(low, high + 2) - 0.5
    return np.linspace(low, high, 41)
