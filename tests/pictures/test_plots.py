"""Pictures: compared with ones that somebody has looked at, and checked for what a designer would mend."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

from paribus import QCAD, datasets
from paribus.pictures.geometry import bean_window
from paribus.pictures.matplotlib import (
    BeanplotDisplay,
    ContextProfileDisplay,
    QuantileCurvesDisplay,
    ScoreMapDisplay,
    style,
)

PICTURES = Path(__file__).parent / "expected"
# The release of matplotlib that drew the pictures. Others place letters a little differently.
RELEASE = PICTURES / "matplotlib.txt"
TOLERANCE, TOLERANCE_OF_OTHERS = 0.5, 8.0


@pytest.fixture(autouse=True)
def clean_figures() -> Iterator[None]:
    with mpl.rc_context():
        mpl.use("Agg")
        mpl.rcdefaults()
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def weather() -> QCAD:
    data = datasets.load("weather")
    return QCAD(data.contextual, data.behavioral).fit(data.table)


def hostile_table(n: int = 300) -> tuple[dict[str, Any], list[str], list[str]]:
    """Twelve behaviours: long names, formulas, other alphabets, huge outliers; a date, and categories of any length."""
    random = np.random.RandomState(0)
    names = [
        "a very long behavioural feature name that never ends at all", "température", "x" * 200, "давление", "ضغط",
        "$x^2$ cost", "<b>", "πίεση", "y", "rate_per_hour_per_unit", "two\nlines", "β",
    ]  # fmt: skip
    table: dict[str, Any] = {
        "age": random.randint(20, 80, n).astype(float),
        "город": random.choice(["Москва", "Wien", "القاهرة", "a very long category name indeed"], n),
        "when": np.datetime64("2024-01-01") + random.randint(0, 400, n).astype("m8[D]"),
    }
    for place, name in enumerate(names):
        table[name] = table["age"] * (place % 3) + random.normal(size=n) * 10.0 ** (place % 5 - 2)
    table["température"][5] = 1e7
    table["давление"][5] = -5000.0
    return table, ["age", "город", "when"], names


@pytest.fixture(scope="module")
def hostile() -> QCAD:
    table, contextual, behavioral = hostile_table()
    return QCAD(contextual, behavioral, n_trees=20).fit(table)


@pytest.fixture(scope="module")
def constant() -> QCAD:
    """A group in which a feature is one value, another feature is often missing, and so is a circumstance."""
    random = np.random.RandomState(1)
    n = 300
    table = {
        "group": np.array(["a"] * 150 + ["b"] * 150),
        "wealth": np.where(random.rand(n) < 0.5, np.nan, random.lognormal(0, 2, n)),
        "same": np.r_[np.full(150, 3.0), random.normal(size=150)],
        "other": np.where(random.rand(n) < 0.4, np.nan, random.randint(0, 3, n)),
    }
    table["same"][7], table["other"][7] = 3.5, np.nan
    return QCAD(["group", "wealth"], ["same", "other"], n_neighbors=100, n_trees=20).fit(table)


DRAWINGS: dict[str, tuple[str, Callable[[QCAD], Any]]] = {
    "beanplot": ("weather", lambda detector: detector.explain(137).plot()),
    "beanplot-one": ("weather", lambda detector: detector.explain(137, n_features=1).plot()),
    "beanplot-twelve": ("hostile", lambda detector: detector.explain(5, n_features=12).plot()),
    "beanplot-constant": ("constant", lambda detector: detector.explain(7).plot()),
    "context-profile": ("weather", lambda detector: detector.explain(137).plot_context()),
    "context-profile-hostile": ("hostile", lambda detector: detector.explain(5).plot_context()),
    "context-profile-missing": ("constant", lambda detector: detector.explain(7).plot_context()),
    "score-map": ("weather", lambda detector: ScoreMapDisplay.from_estimator(detector, "wind", "temperature")),
    "score-map-hostile": (
        "hostile",
        lambda detector: ScoreMapDisplay.from_estimator(detector, "давление", "ضغط", id_column="город"),
    ),
    "quantile-curves": (
        "weather",
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "temperature", "elevation", row=137),
    ),
    "quantile-curves-categories": (
        "weather",
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "temperature", "month", row=137),
    ),
    "quantile-curves-outlier": (
        "hostile",
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "давление", "when", row=5),
    ),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_look_as_they_did(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Tests each picture against one that was looked at. PARIBUS_NEW_PICTURES=1 draws them anew, to be looked at."""
    fixture, draw = DRAWINGS[name]
    figure = draw(request.getfixturevalue(fixture)).figure_
    expected, actual = PICTURES / f"{name}.png", tmp_path / f"{name}.png"
    figure.savefig(actual, dpi=60)
    if os.environ.get("PARIBUS_NEW_PICTURES"):
        shutil.copyfile(actual, expected)
        RELEASE.write_text(f"{mpl.__version__}\n")
    same_release = RELEASE.read_text().strip() == mpl.__version__
    difference = compare_images(str(expected), str(actual), TOLERANCE if same_release else TOLERANCE_OF_OTHERS)
    assert difference is None, difference


def visible_texts(figure: Any) -> list[tuple[Any, Any]]:
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    # Ticks beyond the ends of an axis exist, and are not drawn.
    hidden = set()
    for axes in figure.findobj(Axes):
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            hidden |= {tick.label1 for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high}
            hidden |= {tick.label2 for tick in axis.get_major_ticks()}
    found = []
    for text in figure.findobj(Text):
        shown = text.get_visible() and text.get_text().strip() and (text.axes is None or text.axes.axison)
        if shown and text not in hidden:
            found.append((text, text.get_window_extent(renderer)))
    return found


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_is_cut_off_or_covered_by_another(name: str, request: pytest.FixtureRequest) -> None:
    """Tests that titles, labels and numbers lie within the picture, and none on top of another."""
    fixture, draw = DRAWINGS[name]
    figure = draw(request.getfixturevalue(fixture)).figure_
    texts = visible_texts(figure)
    for text, box in texts:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (first, one), (second, other) in combinations(texts, 2):
        if first.get_rotation() % 90 or second.get_rotation() % 90:
            # Slanted texts have boxes that overlap though they do not.
            continue
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(overlap) <= 1.5, (first, second)


@given(
    taus=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=101).map(lambda values: np.sort(np.array(values))),
    value=st.one_of(st.floats(-1e9, 1e9), st.just(np.nan)),
)
def test_the_window_shows_the_central_part_and_is_not_empty(taus: Any, value: float) -> None:
    """Tests that a beanplot's axis holds the central 90 % whatever lies far out, and what is near in full."""
    lower, upper = float(taus[len(taus) // 20]), float(taus[-1 - len(taus) // 20])
    low, high = bean_window(taus, value, lower, upper)
    assert low < high
    assert low <= lower
    assert upper <= high
    reach = 2 * (upper - lower)
    if np.isfinite(value) and upper > lower and lower - reach <= value <= upper + reach:
        assert low <= value <= high


def test_a_far_value_is_drawn_with_its_number(hostile: QCAD) -> None:
    """Tests that ten million beside a few hundred is on the picture, marked as beyond the axis."""
    display = hostile.explain(5).plot()
    place = [feature.name for feature in display.features].index("température")
    texts = [text.get_text() for text in display.axes_[place].texts]
    assert any(text.startswith("↑ 10,000,000") for text in texts)


def test_names_are_not_formulas(hostile: QCAD) -> None:
    """Tests that a dollar sign in a column's name is written, not interpreted."""
    display = hostile.explain(5, n_features=12).plot()
    titles = [axes.get_title() for axes in display.axes_]
    assert "$x^2$ cost" in titles
    display.figure_.draw_without_rendering()


def test_the_density_is_that_of_the_percentiles() -> None:
    """Tests that the bean is widest where percentiles are densest, and empty outside of them."""
    taus = np.r_[np.linspace(0, 10, 51), np.linspace(10, 100, 50)]
    at = np.linspace(-20, 120, 300)
    heights = style.density(taus, at)
    assert heights.max() == 1.0
    assert 0 <= at[heights.argmax()] <= 10
    assert (heights[(at < 0) | (at > 100)] == 0).all()
    assert (style.density(np.full(101, 3.0), at) == 0).all()


def test_displays_draw_into_the_callers_axes(weather: QCAD) -> None:
    """Tests one axes for one panel, one that makes room for several, and a list of them."""
    explanation = weather.explain(137)
    _, ax = plt.subplots()
    assert explanation.plot(ax=ax) is not None
    figure, ax = plt.subplots()
    display = BeanplotDisplay.from_explanation(explanation, n_features=1, ax=ax)
    assert display.axes_ == [ax]
    assert display.figure_ is figure
    figure, axes = plt.subplots(1, 3)
    display = BeanplotDisplay.from_explanation(explanation, ax=axes)
    assert display.axes_ == list(axes)
    with pytest.raises(ValueError, match="3 axes are given, and there are 2 panels to draw"):
        BeanplotDisplay.from_explanation(explanation, n_features=2, ax=axes)
    figure, ax = plt.subplots()
    profile = ContextProfileDisplay.from_explanation(explanation, ax=ax)
    assert len(profile.axes_) == 3
    assert not ax.axison
    for made in (
        ScoreMapDisplay.from_estimator(weather, ax=plt.subplots()[1]),
        QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation", ax=plt.subplots()[1]),
    ):
        assert made.ax_.figure is made.figure_


def test_names_without_room_on_the_score_map_are_counted() -> None:
    """Tests that of names in one place as many are written as can be, some with a line, and that the rest is said."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=200) for name in "axy"}
    for name in "xy":
        table[name][:25] = 8.0
    detector = QCAD(["a"], ["x", "y"], n_trees=5).fit(table)
    names = [f"a long name, the same for all but number {i}" for i in range(200)]
    scores = np.where(np.arange(200) < 25, 100.0, 1.0)
    display = ScoreMapDisplay(table["x"], table["y"], scores, x_name="x", y_name="y", labels=names[:25]).plot()
    written = [text.get_text() for text in display.ax_.texts]
    assert 2 < len(written) < 25
    assert len(set(written)) == len(written)
    assert any(getattr(text, "arrow_patch", None) is not None for text in display.ax_.texts)
    assert f"{25 - len(written)} of 25 names left out" in display.ax_.get_title(loc="right")
    few = ScoreMapDisplay.from_estimator(detector, n_rows=3)
    assert len(few.ax_.texts) == 3
    assert "names" not in few.ax_.get_title(loc="right")


def test_the_score_map_names_the_highest_scores(weather: QCAD) -> None:
    """Tests that labels are those of the top rows, and dots grow with the score."""
    display = ScoreMapDisplay.from_estimator(weather, "wind", "temperature", n_rows=3)
    assert {text.get_text() for text in display.ax_.texts} == {
        str(row) for row in np.argsort(-weather.anomaly_scores_)[:3]
    }
    dots = display.ax_.collections[0]
    order = np.argsort(dots.get_array())
    assert (np.diff(dots.get_sizes()[order]) >= 0).all()
    assert len(ScoreMapDisplay.from_estimator(weather, n_rows=0).ax_.texts) == 0


def test_the_curves_are_the_detectors_percentiles(weather: QCAD) -> None:
    """Tests that the quantiles along elevation are what the detector expects there, without the row itself."""
    display = QuantileCurvesDisplay.from_estimator(weather, "temperature", "elevation", n_points=7)
    data = datasets.load("weather")
    typical = [max(set(data.table[name]), key=data.table[name].count) for name in ("month", "zone")]
    rows = {
        "month": [typical[0]] * 7,
        "elevation": display.places.tolist(),
        "zone": [typical[1]] * 7,
        **{name: [None] * 7 for name in data.behavioral},
    }
    expected = weather.percentiles(rows)[:, 0][:, [5, 25, 50, 75, 95]]
    np.testing.assert_array_equal(display.quantiles, expected)
    # With the planted row among its own references, the highest quantile would reach its 16.5 degrees.
    around = QuantileCurvesDisplay.from_estimator(weather, "temperature", "elevation", row=137, n_points=200)
    near = np.abs(around.places - 1900) < 30
    assert around.quantiles[near, -1].max() < 0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda d: ScoreMapDisplay.from_estimator(d, "wnd", "rain"), "there is no behavioural feature 'wnd': did you"),
        (lambda d: ScoreMapDisplay.from_estimator(d, "rain", "rain"), "x and y are both 'rain'"),
        (lambda d: ScoreMapDisplay.from_estimator(d, id_column="nme"), "there is no column 'nme'"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", "wind"), "there is no contextual feature 'wind'"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", 7), "there is no contextual feature 7"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", "zone", row=9999), "row 9999 is not in the fitted"),
    ],
)
def test_unknown_features_are_said(weather: QCAD, draw: Callable[[QCAD], Any], message: str) -> None:
    """Tests that a name that is not there gets one clear sentence."""
    with pytest.raises(ValueError, match=message):
        draw(weather)


def test_one_behaviour_has_no_map() -> None:
    """Tests that a map of one feature is refused, with what to draw instead."""
    detector = QCAD(["x"], ["y"], n_trees=2).fit({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match="a score map needs two behavioural features"):
        ScoreMapDisplay.from_estimator(detector)


@pytest.mark.parametrize("backend", ["svg", "pdf", "ps", "agg"])
def test_every_picture_can_be_drawn_by_every_backend(backend: str, weather: QCAD, tmp_path: Path) -> None:
    """Tests that vector files are written, and that no text of theirs is cut into an image."""
    mpl.use(backend)
    explanation = weather.explain(137)
    for display in (
        explanation.plot(),
        explanation.plot_context(),
        ScoreMapDisplay.from_estimator(weather),
        QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation"),
    ):
        path = tmp_path / f"picture.{backend.replace('agg', 'png')}"
        display.figure_.savefig(path)
        assert path.stat().st_size > 3000
        if backend == "svg":
            assert "<image" not in path.read_text()


def test_parts_of_figures_and_loose_axes(weather: QCAD) -> None:
    """Tests a score map in a part of a figure, in a plain one, and axes that cannot make room."""
    left = np.ravel(np.asarray(plt.figure(figsize=(12, 5), layout="constrained").subfigures(1, 2)))[0]
    assert len(ScoreMapDisplay.from_estimator(weather, ax=left.subplots()).ax_.texts) > 0
    figure, ax = plt.subplots()
    display = ScoreMapDisplay.from_estimator(weather, ax=ax)
    figure.draw_without_rendering()
    assert display.y_axes_.get_window_extent().x1 < figure.bbox.x1
    loose = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="these axes are not part of a grid and cannot make room for 3 panels"):
        weather.explain(137).plot(ax=loose)


def test_groups_without_values_and_huge_numbers_are_drawn() -> None:
    """Tests a circumstance that nobody in the group has, numbers near the largest there are, and a dark style."""
    random = np.random.RandomState(0)
    n = 200
    table = {
        "seldom": np.where(np.arange(n) == 3, 1.0, np.nan),
        "never": np.full(n, np.nan),
        "same": np.full(n, 7.0),
        "kind": [f"kind {i % 40}" for i in range(n)],
        "x": random.normal(size=n) * 1e200,
        "y": random.normal(size=n) * 1e-200 * 1e150,
    }
    with pytest.warns(UserWarning, match="'never' has no values"):
        detector = QCAD(["seldom", "never", "same", "kind"], ["x", "y"], n_trees=5).fit(table)
    with plt.style.context("dark_background"):
        detector.explain(5).plot().figure_.draw_without_rendering()
        detector.explain(5).plot_context().figure_.draw_without_rendering()
        ScoreMapDisplay.from_estimator(detector).figure_.draw_without_rendering()
        QuantileCurvesDisplay.from_estimator(detector, "x", "same").figure_.draw_without_rendering()
        curves = QuantileCurvesDisplay.from_estimator(detector, "x", "kind", row=5)
    # Of forty categories twelve are shown, and the row's own is one of them.
    assert len(curves.places) == 12
    assert curves.own is not None
    assert np.isfinite(curves.own).all()


def test_the_box_holds_the_quartiles(weather: QCAD) -> None:
    """Tests the edges of the box, the median, and that all percentiles are drawn that the axis has room for."""
    display = weather.explain(137).plot()
    for axes, feature in zip(display.axes_, display.features, strict=True):
        box = axes.patches[0]
        taus = feature.percentiles
        assert (box.get_y(), box.get_y() + box.get_height()) == pytest.approx((taus[25], taus[75]))
        drawn = sorted(segment[0][1] for lines in axes.collections for segment in _segments(lines))
        assert set(np.round(taus, 6)) <= set(np.round(drawn, 6))
        assert feature.median in drawn


def _segments(lines: Any) -> Any:
    return lines.get_segments() if hasattr(lines, "get_segments") else []


def test_arguments_are_checked(weather: QCAD) -> None:
    """Tests numbers of rows, features and points that make no sense."""
    explanation = weather.explain(137)
    for draw in (
        lambda: BeanplotDisplay.from_explanation(explanation, n_features=0),
        lambda: ScoreMapDisplay.from_estimator(weather, n_rows=-1),
        lambda: QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation", n_points=1),
    ):
        with pytest.raises(ValueError, match="must be a whole number"):
            draw()
    with pytest.raises(ValueError, match="the fitted table has no index to find 'x' in"):
        QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation", row="x")


def test_many_circumstances_are_cut_to_the_telling_ones() -> None:
    """Tests that a hundred contextual features do not make a picture of a hundred panels."""
    random = np.random.RandomState(0)
    table = random.normal(size=(120, 41))
    display = QCAD(list(range(40)), [40], n_trees=3).fit(table).explain(3).plot_context()
    assert len(display.axes_) == 24
    assert "(24 of 40 circumstances)" in display.title


def test_ticks_of_time_are_whole() -> None:
    """Tests that an axis of a few days ticks at midnight, and one of hours at full hours."""
    hour = 3_600_000_000
    locator = style.TimeLocator(5)
    for unit, reach in ((24 * hour, 10 * 24 * hour), (hour, 20 * hour), (hour / 60, hour)):
        ticks = locator.tick_values(5_123_456_789, 5_123_456_789 + reach)
        assert all(tick % unit == 0 for tick in ticks)


def test_without_matplotlib_the_extra_is_named() -> None:
    """Tests that explanations work without matplotlib, and that pictures say what to install."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from paribus import QCAD\n"
        "explanation = QCAD(['x'], ['y'], n_trees=2).fit({'x': [1.0, 2.0, 3.0], 'y': [1.0, 2.0, 4.0]}).explain(0)\n"
        "print(len(str(explanation)) > 20)\n"
        "try:\n    explanation.plot()\nexcept ImportError as error:\n    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == ["True", "pictures need matplotlib: pip install 'paribus[plot]'"]
