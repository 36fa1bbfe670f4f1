"""The timeline of a stream, with its three alarms."""

from __future__ import annotations

from typing import Any, Self

from matplotlib.ticker import FuncFormatter, MaxNLocator

from paribus.pictures.matplotlib.style import (
    BLUE,
    GRAY,
    NORMAL,
    PALE_ORANGE,
    SMALL,
    VERMILION,
    bare,
    figure_axes,
    text_options,
)
from paribus.pictures.stream_lanes import RUG, Lane, Monitored, stream_lanes


class StreamTimelineDisplay:
    """The history of a monitor: the strangest rows, and the evidence for a changed law and for shifted circumstances.

    Parameters
    ----------
    lanes : list of Lane
        One panel each.

    Examples
    --------
    >>> from paribus import ConditionalSurprise, Monitor, datasets
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
    >>> monitor = Monitor(detector)
    >>> verdicts = monitor.update_many({name: column[:100] for name, column in weather.table.items()})
    >>> len(StreamTimelineDisplay.from_monitor(monitor).axes_)
    3
    """

    def __init__(self, lanes: list[Lane]) -> None:
        self.lanes = lanes

    @classmethod
    def from_monitor(cls, monitor: Monitored, ax: Any = None) -> Self:
        """Draws the history of a monitor.

        Parameters
        ----------
        monitor : Monitor
            A monitor that has judged rows.
        ax : matplotlib axes, or one per panel, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StreamTimelineDisplay
            With `figure_` and `axes_`.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, Monitor
        >>> StreamTimelineDisplay.from_monitor(Monitor(ConditionalSurprise(["x"], ["y"])))
        Traceback (most recent call last):
        ...
        ValueError: there is nothing to draw: the monitor has not judged any row yet
        """
        return cls(stream_lanes(monitor)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draws the picture.

        Parameters
        ----------
        ax : matplotlib axes, or one per panel, optional
            Where to draw; a new figure by default.

        Returns
        -------
        StreamTimelineDisplay
            With `figure_` and `axes_`.

        Examples
        --------
        >>> from paribus.pictures.stream_lanes import Lane
        >>> display = StreamTimelineDisplay([Lane("row", "scores", (0.0, 1.0), (0.2, 3.0), None, ())])
        >>> display.plot() is display
        True
        """
        self.figure_, self.axes_ = figure_axes(ax, len(self.lanes), 1, (8.0, 1.6))
        for panel, lane in zip(self.axes_, self.lanes, strict=True):
            self._mark(panel, lane)
            panel.plot(lane.rows, lane.heights, color=BLUE, linewidth=1.0)
            highest = max(*lane.heights, lane.limit or 0.0, 1.0)
            if lane.limit is not None:
                panel.axhline(lane.limit, color=GRAY, linewidth=0.8, linestyle="--")
                panel.text(0.005, lane.limit, "alarm", transform=panel.get_yaxis_transform(), size=SMALL, color=GRAY,
                           va="bottom")  # fmt: skip
            panel.set_title(lane.title, size=NORMAL, loc="left")
            panel.set_ylim(0.0, highest / (1.0 - 1.5 * RUG))
            if lane.kind != "row":
                panel.yaxis.set_major_locator(MaxNLocator(4, integer=True))
                panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{10.0**value:,.0f}"))
            panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            panel.tick_params(labelsize=SMALL)
            bare(panel)
        self.axes_[-1].set_xlabel("row", size=SMALL)
        return self

    def _mark(self, panel: Any, lane: Lane) -> None:
        """Marks alarms: odd rows at the top, changes with the rows between their beginning and the alarm."""
        for mark in lane.marks:
            if mark.at > mark.since:
                panel.axvspan(mark.since, mark.at, color=PALE_ORANGE, linewidth=0)
            lowest = 1.0 - RUG if lane.kind == "row" else 0.0
            panel.axvline(mark.at, ymin=lowest, color=VERMILION, linewidth=1.2)
            if mark.label:
                is_left = lane.is_left(mark)
                panel.annotate(mark.label, (mark.at, 0.0), xytext=(4 if is_left else -4, 4),
                               textcoords="offset points", ha="left" if is_left else "right", va="bottom",
                               **text_options(mark.label, size=SMALL))  # fmt: skip
