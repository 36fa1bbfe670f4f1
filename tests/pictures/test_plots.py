"""Pictures: compared with approved ones, and checked for what a designer would fix."""

from __future__ import annotations

import os
import shutil
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
from matplotlib.backends.backend_agg import FigureCanvasAgg
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
from tests.support.detectors import DETECTORS, DetectorClass, for_both, quick

EXPECTED = Path(__file__).parent / "expected"
# The release of matplotlib that drew the pictures. Others place letters a little differently.
RELEASE = EXPECTED / "matplotlib.txt"
TOLERANCE, TOLERANCE_OF_OTHERS = 0.5, 8.0


@pytest.fixture(autouse=True)
def clean_figures() -> Iterator[None]:
    with mpl.rc_context():
        mpl.use("Agg")
        mpl.rcdefaults()
        yield
        plt.close("all")


@pytest.fixture(scope="module", autouse=True)
def forget_fits() -> Iterator[None]:
    """Frees the fitted detectors and their figures at the end."""
    yield
    FITS.clear()
    FIGURES.clear()


FITS: dict[tuple[str, str], Any] = {}
FIGURES: dict[tuple[str, str], Any] = {}


def fitted(fit: Callable[[DetectorClass], Any], make: DetectorClass) -> Any:
    """A detector on one of the tables below, fitted once."""
    key = fit.__name__, make.__name__
    if key not in FITS:
        FITS[key] = fit(make)
    return FITS[key]


def fit_weather(make: DetectorClass) -> Any:
    data = datasets.load("weather")
    return quick(make, data.contextual, data.behavioral, n_trees=16).fit(data.table)


@pytest.fixture(params=DETECTORS)
def weather(request: pytest.FixtureRequest) -> Any:
    return fitted(fit_weather, DETECTORS[request.param])


def hostile_table(n: int = 300) -> tuple[dict[str, Any], list[str], list[str]]:
    """Twelve behavioral columns: long names, formulas, other alphabets, huge outliers; a date, and long categories."""
    random = np.random.RandomState(0)
    names = [
        "a very long behavioral feature name that never ends at all", "température", "x" * 200, "давление", "ضغط",
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


def fit_hostile(make: DetectorClass) -> Any:
    table, contextual, behavioral = hostile_table()
    return quick(make, contextual, behavioral, n_trees=8).fit(table)


@pytest.fixture(params=DETECTORS)
def hostile(request: pytest.FixtureRequest) -> Any:
    return fitted(fit_hostile, DETECTORS[request.param])


def fit_constant(make: DetectorClass) -> Any:
    """A group in which a feature is constant, and another one and a contextual one are often missing."""
    random = np.random.RandomState(1)
    n = 300
    table = {
        "group": np.array(["a"] * 150 + ["b"] * 150),
        "wealth": np.where(random.rand(n) < 0.5, np.nan, random.lognormal(0, 2, n)),
        "same": np.r_[np.full(150, 3.0), random.normal(size=150)],
        "other": np.where(random.rand(n) < 0.4, np.nan, random.randint(0, 3, n)),
    }
    table["same"][7], table["other"][7] = 3.5, np.nan
    options = {"n_neighbors": 100} if make is QCAD else {}
    return quick(make, ["group", "wealth"], ["same", "other"], n_trees=20, **options).fit(table)


DRAWINGS: dict[str, tuple[Callable[[DetectorClass], Any], Callable[[Any], Any]]] = {
    "beanplot": (fit_weather, lambda detector: detector.explain(137).plot()),
    "beanplot-one": (fit_weather, lambda detector: detector.explain(137, n_features=1).plot()),
    "beanplot-twelve": (fit_hostile, lambda detector: detector.explain(5, n_features=12).plot()),
    "beanplot-constant": (fit_constant, lambda detector: detector.explain(7).plot()),
    "context-profile": (fit_weather, lambda detector: detector.explain(137).plot_context()),
    "context-profile-hostile": (fit_hostile, lambda detector: detector.explain(5).plot_context()),
    "context-profile-missing": (fit_constant, lambda detector: detector.explain(7).plot_context()),
    "score-map": (fit_weather, lambda detector: ScoreMapDisplay.from_estimator(detector, "wind", "temperature")),
    "score-map-hostile": (
        fit_hostile,
        lambda detector: ScoreMapDisplay.from_estimator(detector, "давление", "ضغط", id_column="город"),
    ),
    "quantile-curves": (
        fit_weather,
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "temperature", "elevation", row=137),
    ),
    "quantile-curves-categories": (
        fit_weather,
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "temperature", "month", row=137),
    ),
    "quantile-curves-outlier": (
        fit_hostile,
        lambda detector: QuantileCurvesDisplay.from_estimator(detector, "давление", "when", row=5),
    ),
}


def drawn(name: str, make: DetectorClass) -> Any:
    """The figure of one of the drawings, drawn once."""
    key = name, make.__name__
    if key not in FIGURES:
        fit, draw = DRAWINGS[name]
        FIGURES[key] = draw(fitted(fit, make)).figure_
    return FIGURES[key]


@pytest.mark.parametrize("name", DRAWINGS)
def test_pictures_look_as_approved(name: str, tmp_path: Path) -> None:
    """Tests each picture of QCAD against an approved one. PARIBUS_NEW_PICTURES=1 replaces these, to be approved."""
    figure = drawn(name, QCAD)
    expected, actual = EXPECTED / f"{name}.png", tmp_path / f"{name}.png"
    figure.savefig(actual, dpi=60)
    if os.environ.get("PARIBUS_NEW_PICTURES"):
        shutil.copyfile(actual, expected)
        RELEASE.write_text(f"{mpl.__version__}\n")
    same_release = RELEASE.read_text().strip() == mpl.__version__
    difference = compare_images(str(expected), str(actual), TOLERANCE if same_release else TOLERANCE_OF_OTHERS)
    assert difference is None, difference


def visible_texts(figure: Any) -> list[tuple[Any, Any]]:
    figure.draw_without_rendering()
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    # Ticks beyond the ends of an axis exist, but are not drawn.
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


@for_both
@pytest.mark.parametrize("name", DRAWINGS)
def test_no_text_is_cut_off_or_covered_by_another(make: DetectorClass, name: str) -> None:
    """Tests that titles, labels and numbers are within the picture, and that none overlap."""
    figure = drawn(name, make)
    texts = visible_texts(figure)
    for text, box in texts:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1, text
        assert box.y1 <= figure.bbox.y1 + 1, text
    for (first, one), (second, other) in combinations(texts, 2):
        if first.get_rotation() % 90 or second.get_rotation() % 90:
            # The boxes of slanted texts overlap even if the texts do not.
            continue
        overlap = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert min(overlap) <= 1.5, (first, second)


@given(
    taus=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=101).map(lambda values: np.sort(np.array(values))),
    value=st.one_of(st.floats(-1e9, 1e9), st.just(np.nan)),
)
def test_the_window_shows_the_central_part_and_is_not_empty(taus: Any, value: float) -> None:
    """Tests that a beanplot's axis contains the central 90 % whatever lies far out, and a value nearby."""
    lower, upper = float(taus[len(taus) // 20]), float(taus[-1 - len(taus) // 20])
    low, high = bean_window(taus, value, lower, upper)
    assert low < high
    assert low <= lower
    assert upper <= high
    reach = 2 * (upper - lower)
    if np.isfinite(value) and upper > lower and lower - reach <= value <= upper + reach:
        assert low <= value <= high


def test_a_far_value_is_drawn_with_its_number(hostile: Any) -> None:
    """Tests that ten million beside a few hundred is in the picture, marked as off the axis."""
    display = hostile.explain(5, n_features=12).plot()
    place = [feature.name for feature in display.features].index("température")
    texts = [text.get_text() for text in display.axes_[place].texts]
    assert any(text.startswith("↑ 10,000,000") for text in texts)


def test_names_are_not_formulas(hostile: Any) -> None:
    """Tests that a dollar sign in a column's name is written, not interpreted."""
    display = hostile.explain(5, n_features=12).plot()
    titles = [axes.get_title() for axes in display.axes_]
    assert "$x^2$ cost" in titles
    display.figure_.draw_without_rendering()


def test_the_density_is_that_of_the_percentiles() -> None:
    """Tests that the bean is widest where percentiles are densest, and empty outside them."""
    taus = np.r_[np.linspace(0, 10, 51), np.linspace(10, 100, 50)]
    at = np.linspace(-20, 120, 300)
    heights = style.density(taus, at)
    assert heights.max() == 1.0
    assert 0 <= at[heights.argmax()] <= 10
    assert (heights[(at < 0) | (at > 100)] == 0).all()
    assert (style.density(np.full(101, 3.0), at) == 0).all()


def test_displays_draw_into_the_callers_axes(weather: Any) -> None:
    """Tests one axes for one panel, one that is replaced by several panels, and a list of axes."""
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
    with pytest.raises(ValueError, match="3 axes are given for 2 panels: give one per panel"):
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
    """Tests that as many names in one place are written as fit, some with a line, and that the others are counted."""
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 200))
    x[:20] = y[:20] = 8.0
    names = [f"a long name, the same for all but number {i}" for i in range(20)]
    scores = np.where(np.arange(200) < 20, 100.0, 1.0)
    display = ScoreMapDisplay(x, y, scores, x_name="x", y_name="y", labels=names).plot()
    written = [text.get_text() for text in display.ax_.texts]
    assert 2 < len(written) < 20
    assert len(set(written)) == len(written)
    assert any(getattr(text, "arrow_patch", None) is not None for text in display.ax_.texts)
    assert f"{20 - len(written)} of 20 names do not fit" in display.ax_.get_title(loc="right")


def test_names_that_fit_need_no_note(weather: Any) -> None:
    """Tests that there is no note about names if all of them are drawn."""
    few = ScoreMapDisplay.from_estimator(weather, n_rows=3)
    assert len(few.ax_.texts) == 3
    assert "names" not in few.ax_.get_title(loc="right")


def test_the_score_map_names_the_highest_scores(weather: Any) -> None:
    """Tests that labels are those of the top rows, and dots grow with the score."""
    display = ScoreMapDisplay.from_estimator(weather, "wind", "temperature", n_rows=3)
    assert {text.get_text() for text in display.ax_.texts} == {
        str(row) for row in np.argsort(-weather.anomaly_scores_)[:3]
    }
    dots = display.ax_.collections[0]
    order = np.argsort(dots.get_array())
    assert (np.diff(dots.get_sizes()[order]) >= 0).all()
    assert len(ScoreMapDisplay.from_estimator(weather, n_rows=0).ax_.texts) == 0


def test_the_curves_are_the_detectors_percentiles(weather: Any) -> None:
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
    around = QuantileCurvesDisplay.from_estimator(weather, "temperature", "elevation", row=137, n_points=100)
    near = np.abs(around.places - 1900) < 30
    assert near.any()
    assert around.quantiles[near, -1].max() < 0


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda d: ScoreMapDisplay.from_estimator(d, "wnd", "rain"), "there is no behavioral feature 'wnd': did you"),
        (lambda d: ScoreMapDisplay.from_estimator(d, "rain", "rain"), "x and y are both 'rain'"),
        (lambda d: ScoreMapDisplay.from_estimator(d, id_column="nme"), "there is no column 'nme'"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", "wind"), "there is no contextual feature 'wind'"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", 7), "there is no contextual feature 7"),
        (lambda d: QuantileCurvesDisplay.from_estimator(d, "rain", "zone", row=9999), "row 9999 is not in the fitted"),
    ],
)
def test_unknown_features_raise_an_error(weather: Any, draw: Callable[[Any], Any], message: str) -> None:
    """Tests that an unknown name raises an error of one clear sentence."""
    with pytest.raises(ValueError, match=message):
        draw(weather)


@for_both
def test_one_behavioral_feature_has_no_map(make: DetectorClass) -> None:
    """Tests that a map of one feature raises an error that says what to draw instead."""
    detector = quick(make, ["x"], ["y"]).fit({"x": np.arange(20.0), "y": np.arange(20.0) % 7})
    with pytest.raises(ValueError, match=r"a score map needs two numeric .*use QuantileCurvesDisplay"):
        ScoreMapDisplay.from_estimator(detector)


@pytest.mark.parametrize(("backend", "method"), [("svg", "surprise"), ("pdf", "surprise"), ("ps", "qcad")])
def test_every_picture_can_be_a_vector_file(backend: str, method: str, tmp_path: Path) -> None:
    """Tests that vector files are written, and that nothing in them is rasterized."""
    mpl.use(backend)
    for name in ("beanplot", "context-profile", "score-map", "quantile-curves"):
        path = tmp_path / f"picture.{backend}"
        drawn(name, DETECTORS[method]).savefig(path)
        assert path.stat().st_size > 3000
        if backend == "svg":
            assert "<image" not in path.read_text()


def test_parts_of_figures_and_loose_axes(weather: Any) -> None:
    """Tests a score map in a subfigure and in a figure without layout, and axes that cannot hold several panels."""
    left = np.ravel(np.asarray(plt.figure(figsize=(12, 5), layout="constrained").subfigures(1, 2)))[0]
    assert len(ScoreMapDisplay.from_estimator(weather, ax=left.subplots()).ax_.texts) > 0
    figure, ax = plt.subplots()
    display = ScoreMapDisplay.from_estimator(weather, ax=ax)
    figure.draw_without_rendering()
    assert display.y_axes_.get_window_extent().x1 < figure.bbox.x1
    loose = plt.figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="the given axes are not part of a grid and cannot hold 3 panels"):
        weather.explain(137).plot(ax=loose)


@for_both
def test_groups_without_values_and_huge_numbers_are_drawn(make: DetectorClass) -> None:
    """Tests a contextual feature without values in the group, numbers near the maximum, and a dark style."""
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
        detector = quick(make, ["seldom", "never", "same", "kind"], ["x", "y"]).fit(table)
    with plt.style.context("dark_background"):
        detector.explain(5).plot().figure_.draw_without_rendering()
        detector.explain(5).plot_context().figure_.draw_without_rendering()
        ScoreMapDisplay.from_estimator(detector).figure_.draw_without_rendering()
        QuantileCurvesDisplay.from_estimator(detector, "x", "same").figure_.draw_without_rendering()
        curves = QuantileCurvesDisplay.from_estimator(detector, "x", "kind", row=5)
    # Twelve of forty categories are shown, among them the row's own.
    assert len(curves.places) == 12
    assert curves.own is not None
    assert np.isfinite(curves.own).all()


def test_the_box_holds_the_quartiles(weather: Any) -> None:
    """Tests the edges of the box, the median, and that all percentiles on the axis are drawn."""
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


def test_arguments_are_checked(weather: Any) -> None:
    """Tests that invalid numbers of rows, features and points raise an error."""
    explanation = weather.explain(137)
    for draw in (
        lambda: BeanplotDisplay.from_explanation(explanation, n_features=0),
        lambda: ScoreMapDisplay.from_estimator(weather, n_rows=-1),
        lambda: QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation", n_points=1),
    ):
        with pytest.raises(ValueError, match="must be a whole number"):
            draw()
    with pytest.raises(ValueError, match="the fitted table has no index to look up 'x' in"):
        QuantileCurvesDisplay.from_estimator(weather, "rain", "elevation", row="x")


@for_both
def test_many_contextual_features_are_limited_to_the_most_informative(make: DetectorClass) -> None:
    """Tests that forty contextual features do not make a picture of forty panels."""
    random = np.random.RandomState(0)
    table = random.normal(size=(120, 41))
    display = quick(make, list(range(40)), [40], n_trees=3).fit(table).explain(3).plot_context()
    assert len(display.axes_) == 24
    assert "(24 of 40 contextual features)" in display.title


def test_ticks_of_time_are_whole() -> None:
    """Tests that an axis of a few days has ticks at midnight, and one of hours at full hours."""
    hour = 3_600_000_000
    locator = style.TimeLocator(5)
    for unit, reach in ((24 * hour, 10 * 24 * hour), (hour, 20 * hour), (hour / 60, hour)):
        ticks = locator.tick_values(5_123_456_789, 5_123_456_789 + reach)
        assert all(tick % unit == 0 for tick in ticks)
