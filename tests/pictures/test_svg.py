"""SVG pictures: scales, ticks, bins, and the places of names."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from paribus.pictures.svg.elements import Scale, polygon, tag, text_width, ticks
from paribus.pictures.svg.score_histogram import score_bins
from paribus.pictures.svg.score_map import HEXAGON, Axis, NamedRow, _hexagons, score_map
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_element_holds_any_text(words: str, value: str) -> None:
    """Tests that text and attributes are the same when an element is parsed, unless XML does not allow them."""
    if re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", words + value):
        return
    element = ElementTree.fromstring(tag("text", words, title=value))
    assert (element.text or "") == words
    assert element.get("title") == value
    assert tag("g", Markup("<path/>")) == "<g><path/></g>"


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=50),
    st.one_of(st.just(0.0), st.floats(1e-6, 2e6)),
)
def test_every_score_is_in_one_bin(scores: list[float], threshold: float) -> None:
    """Tests that bins count each score once, and that a bin is flagged only if the scores in it are."""
    array = np.array(scores)
    bins = score_bins(array, threshold)
    assert sum(bins.counts) == len(scores)
    assert len(bins.counts) == len(bins.edges) - 1 <= 400
    end = float(bins.edges[-1])
    if threshold >= end / len(bins.counts):
        near = 1e-6 * max(end, 1.0)
        flagged = sum(bins.counts[bins.first_flagged :])
        assert (array > threshold + near).sum() <= flagged <= (array > threshold - near).sum()


def test_a_score_at_the_threshold_is_not_flagged() -> None:
    """Tests that bins include their upper edge: only scores above the threshold are in a flagged bin."""
    bins = score_bins(np.array([0.0, 1.0, 3.0, 3.0, 9.0]), threshold=3.0)
    assert sum(bins.counts[bins.first_flagged :]) == 1


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(1, 8), st.booleans())
def test_ticks_are_round_and_within(low: float, width: float, most: int, whole: bool) -> None:
    """Tests that ticks are within the axis, evenly spaced, not too many, and integers if required."""
    high = low + width
    found = ticks(low, high, most, whole=whole)
    assert len(found) <= most + 1
    slack = 1e-6 * max(1.0, abs(low), width)
    assert all(low - slack <= value <= high + slack for value in found)
    if len(found) > 2:
        steps = np.diff(found)
        assert np.allclose(steps, steps[0], rtol=1e-3, atol=slack)
    if whole:
        assert all(value == round(value) for value in found)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(-2e6, 2e6))
def test_a_scale_stays_within_its_ends(low: float, width: float, value: float) -> None:
    """Tests that the position of every value is between the ends."""
    assert 10 <= Scale(low, low + width, 10, 90)(value) <= 90


def test_a_polygon_ends_where_it_should() -> None:
    """Tests that the rounded steps add up to the points."""
    random = np.random.default_rng(0)
    xs, ys = random.uniform(0, 300, 50), random.uniform(0, 300, 50)
    start, _, steps = polygon(xs, ys).removeprefix("M").removesuffix("z").partition("l")
    numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", start + " " + steps)]
    points = np.cumsum(np.array(numbers).reshape(-1, 2), axis=0)
    assert np.abs(points - np.column_stack([xs, ys])).max() < 0.06


def test_hexagons_hold_their_rows() -> None:
    """Tests that each row lies within the hexagon that counts it: its center is the nearest of all."""
    random = np.random.default_rng(0)
    xs, ys = random.uniform(50, 350, 3_000), random.uniform(20, 260, 3_000)
    drawn = "".join(_hexagons(xs, ys))
    tops = np.array([[float(x), float(y)] for x, y in re.findall(r"M([\d.]+) ([\d.]+)l", drawn)])
    centers = tops + np.array([0, HEXAGON])
    distances = np.sqrt(((np.column_stack([xs, ys])[:, None] - centers[None]) ** 2).sum(axis=2)).min(axis=1)
    assert distances.max() <= HEXAGON + 0.2


def test_names_on_the_map_do_not_cover_each_other() -> None:
    """Tests that of several rows in one place only as many are named as fit."""
    axis = Axis("x", ColumnFormat(Kind.NUMERIC), np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]))
    rows = [NamedRow(i, f"a long name {i}", 10.0 - i) for i in range(1, 7)]
    scatter = score_map(axis, axis, rows)
    assert scatter is not None
    drawn = ElementTree.fromstring(scatter.picture)
    words = [element for element in drawn.iter("text") if element.get("class") == "halo"]
    boxes = [(float(w.get("x", 0)), float(w.get("y", 0)), text_width(w.text or "", 12)) for w in words]
    assert 0 < len(boxes) == scatter.n_named < 6
    for i, (x, y, width) in enumerate(boxes):
        for other_x, other_y, other_width in boxes[:i]:
            assert abs(y - other_y) >= 13 or x >= other_x + other_width or other_x >= x + width
    assert len(list(drawn.iter("circle"))) == 6
