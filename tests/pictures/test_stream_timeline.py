"""The timeline of a stream: what is marked and named, in both renderers."""

from __future__ import annotations

from types import SimpleNamespace

from paribus.pictures.matplotlib import StreamTimelineDisplay
from paribus.pictures.stream_lanes import stream_lanes
from paribus.pictures.svg.stream_timeline import stream_timeline
from paribus.stream.alarms import Alarm
from paribus.stream.history import Stretch


def monitored() -> SimpleNamespace:
    """A monitor with two odd rows, and three changes of which the second follows right after the first."""
    alarms = [
        Alarm("row", 100, 100, "Row 100 is odd."),
        Alarm("row", 101, 101, "Row 101 is odd."),
        Alarm("law", 300, 250, "<load> is higher.", "<load>", "higher"),
        Alarm("law", 310, 250, "heat is lower.", "heat", "lower"),
        Alarm("law", 900, 800, "heat is more spread out.", "heat", "more spread out"),
    ]
    stretches = [Stretch(first, 32, 5.0 if first == 96 else 1.0, 0, 0.5, 0.0) for first in range(0, 1024, 32)]
    limits = {"law": 2.0, "circumstances": 2.3}
    return SimpleNamespace(history_=SimpleNamespace(stretches=stretches), alarms_=alarms, limits_=limits)


def test_changes_are_named_where_there_is_space() -> None:
    """Tests that a label has its column and how it changed, is left out right after another, and stays inside."""
    rows, law, circumstances = stream_lanes(monitored())
    assert [mark.label for mark in rows.marks] == ["", ""]
    assert [mark.label for mark in law.marks] == ["<load>: higher", "", "heat: more spread out"]
    assert [law.is_left(mark) for mark in (law.marks[0], law.marks[2])] == [True, False]
    assert circumstances.marks == ()


def test_both_renderers_show_all_alarms() -> None:
    """Tests that odd rows do not hide the scores, and that changes have their labels; names are escaped."""
    display = StreamTimelineDisplay.from_monitor(monitored())
    assert [text.get_text() for text in display.axes_[1].texts] == ["<load>: higher", "heat: more spread out", "alarm"]
    # The lines of odd rows are short; those of changes are as high as the panel.
    heights = [[line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 2] for axes in display.axes_]
    assert min(heights[0]) > 0.8
    assert heights[1][:3] == [0.0, 0.0, 0.0]
    drawing = str(stream_timeline(monitored()))
    assert drawing.count("is odd.</title>") == 2
    assert "&lt;load&gt;: higher</text>" in drawing
    assert drawing.count(">alarm</text>") == 2
