"""The report: the numbers in its pictures, what it says, how large it is, and that nothing in a table can break it."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from paribus import QCAD, datasets
from paribus.output.report import page as report_page
from paribus.pictures.svg.elements import Scale, polygon, tag, text_width, ticks
from paribus.pictures.svg.score_histogram import score_bins
from paribus.pictures.svg.score_map import HEXAGON, Axis, NamedRow, _hexagons, score_map
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from tests.support.hostile import LABEL, NAMES, hostile_table
from tests.support.pages import check, fit, words_of, write
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module")
def detector() -> QCAD:
    return fit(mixed_table())


def test_the_page_says_what_was_compared(detector: QCAD, tmp_path: Path) -> None:
    """Tests that rows, columns, parameters, missing values, the threshold and the sentences are on the page."""
    page = write(detector, tmp_path, top=5, title="Patients")
    words = words_of(page)
    frame = mixed_table()
    for expected in (
        "Patients",
        f"Each of {len(frame)} rows was compared with the {detector.n_neighbors_} rows most like it",
        "age, load and site",
        "pressure and pulse",
        f"flagged {int((detector.labels_ == -1).sum())}",
        f"values missing {int(frame[[*CONTEXT, *BEHAVIOR]].isna().sum().sum())}",
        "n_trees 5",
        f"above {-detector.offset_:,.1f} are flagged",
        *(explanation.sentence for explanation in detector.explain_all(5)),
        *(warning for explanation in detector.explain_all(5) for warning in explanation.warnings),
    ):
        assert expected in words
    assert page.count('<tbody id="row-') == 5


def test_the_policy_allows_the_page_itself_and_nothing_else(detector: QCAD, tmp_path: Path) -> None:
    """Tests that the hashes in the security policy are those of the script and the style sheet."""
    page = write(detector, tmp_path, top=1)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in allowed
    assert "unsafe" not in allowed
    for element in ("style", "script"):
        parts = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        assert len(parts) == 1
        digest = base64.b64encode(hashlib.sha256(parts[0].encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in allowed


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    """Tests that names and values with markup, quotes, control characters and turned writing are only text."""
    detector = fit(hostile_table(), NAMES[3:], NAMES[:3])
    checker = check(write(detector, tmp_path, title=NAMES[0], id=LABEL))
    assert [name for name, _ in checker.elements].count("script") == 1
    assert not {"img", "b onclick"} & {name for name, _ in checker.elements}
    shown = "".join(checker.texts)
    assert NAMES[0] in shown
    assert NAMES[2] in shown
    assert "&lt;script&gt;&amp;" in shown
    assert "N" * 100 not in shown


@given(st.text(max_size=30), st.text(max_size=30))
def test_an_element_holds_any_text(words: str, value: str) -> None:
    """Tests that text and attributes come back from an element as they went in, unless XML cannot hold them."""
    if re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", words + value):
        return
    element = ElementTree.fromstring(tag("text", words, title=value))
    assert (element.text or "") == words
    assert element.get("title") == value
    assert tag("g", Markup("<path/>")) == "<g><path/></g>"


@pytest.mark.parametrize("name", ['"' * 10_000, "😀" * 10_000])
def test_a_wide_table_with_long_names_stays_below_a_megabyte(name: str, tmp_path: Path) -> None:
    """Tests the worst case: 50 rows explained, many columns, names and values that grow when they are escaped."""
    random = np.random.default_rng(0)
    values = np.array([f"{name}{i}" for i in range(9)], dtype=object)
    table = {f"{i}{name}": random.choice(values, 80) for i in range(40)}
    context = list(table)
    table |= {f"b{i}{name}": random.normal(size=80) for i in range(20)}
    table |= {f"o{i}{name}": np.full(80, name) for i in range(4)}
    detector = fit(table, context, [key for key in table if key.startswith("b")], n_trees=2)
    path = detector.report(tmp_path / "report.html", id_column=f"o0{name}")
    assert path.stat().st_size < 1_000_000
    check(path.read_text(encoding="utf-8"))


def test_a_long_table_makes_no_large_page(tmp_path: Path) -> None:
    """Tests that the size does not grow with the rows: beyond a few thousand they are drawn as hexagons."""
    random = np.random.default_rng(0)
    table = {"a": random.normal(size=20_000), "x": random.normal(size=20_000), "y": random.normal(size=20_000)}
    detector = fit(table, ["a"], ["x", "y"], n_trees=1, n_neighbors=10)
    page = write(detector, tmp_path, top=50)
    check(page)
    assert 'class="shade5"' in page
    assert 'class="dots"' not in page
    assert len(page.encode()) < 900_000


@pytest.mark.parametrize(
    ("table", "contextual", "behavioral"),
    [
        (pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [1.0, 2, 3, 9]}), ["a"], ["b"]),
        (pd.DataFrame({"a": np.arange(30.0), "b": np.ones(30), "c": np.ones(30)}), ["a"], ["b", "c"]),
        (pd.DataFrame({"a": np.ones(30), "b": np.arange(30.0)}), ["a"], ["b"]),
        (pd.DataFrame({"a": pd.date_range("2024-01-01", periods=30), "b": np.arange(30.0)}), ["a"], ["b"]),
        (pd.DataFrame({"a": pd.to_timedelta(np.arange(30), "h"), "b": np.arange(30.0) * 1e14}), ["a"], ["b"]),
        (pd.DataFrame({"a": [None] * 29 + [1.0], "b": [np.nan] * 5 + list(range(25))}), ["a"], ["b"]),
        (pl.DataFrame({"a": ["x", None, "y"] * 10, "b": [1e-9 * i for i in range(30)], "c": range(30)}), ["a"], None),
        (np.random.default_rng(0).normal(size=(40, 4)), [0, 1], [2, 3]),
        (pd.DataFrame({"a": np.arange(30.0), "b": [1e200, -1e200] * 15, "c": [0.0] * 29 + [1.0]}), ["a"], ["b", "c"]),
    ],
    ids=["tiny", "equal", "constant", "dates", "durations", "missing", "polars", "array", "huge"],
)
def test_odd_tables_have_a_page(table: Any, contextual: Any, behavioral: Any, tmp_path: Path) -> None:
    """Tests that every table that can be fitted has a well-formed page, without a NaN in its pictures."""
    page = write(fit(table, contextual, behavioral), tmp_path)
    check(page)
    assert not re.search(r'(?:d|x|y|cx|cy|r|width|height)="[^"]*(?:nan|inf)', page)


def test_rows_are_named_by_a_column_the_index_or_their_position(tmp_path: Path) -> None:
    """Tests the names of rows, and that a row without one has its position."""
    frame = mixed_table(60)
    strangest = int(np.nanargmax(fit(frame).anomaly_scores_))
    names = [f"patient {i}" for i in range(60)]

    def first_name(table: Any, **options: Any) -> str:
        found = re.search(r"<bdi>([^<]*)</bdi></button>", write(fit(table), tmp_path, top=1, **options))
        assert found is not None
        return found[1]

    assert first_name(frame) == f"row {strangest}"
    assert first_name(frame.set_index(pd.Index(names))) == f"row patient {strangest}"
    assert first_name(frame.assign(who=names), id="who") == f"patient {strangest}"
    assert first_name(frame.assign(who=names), id=5) == f"patient {strangest}"
    assert first_name(frame.assign(who=[None] * 60), id="who") == f"(row {strangest})"
    assert first_name(pl.from_pandas(frame.assign(who=range(60))), id="who") == str(strangest)


def test_bad_arguments_are_named_before_the_work(
    detector: QCAD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a wrong path, number or column is one sentence, and that nothing was explained by then."""
    monkeypatch.setattr(QCAD, "explain_all", lambda *_: pytest.fail("the work has begun"))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        detector.report(tmp_path / "nowhere" / "report.html")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        detector.report(tmp_path)
    with pytest.raises(ValueError, match="top is 0"):
        detector.report(tmp_path / "report.html", n_rows=0)
    with pytest.raises(ValueError, match="there is no column 'sitee': did you mean 'site'"):
        detector.report(tmp_path / "report.html", id_column="sitee")


def test_a_failure_leaves_the_old_page(detector: QCAD, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that whatever fails, the older page is as it was."""
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(report_page, "score_histogram", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        detector.report(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_the_same_table_has_the_same_page(detector: QCAD, tmp_path: Path) -> None:
    """Tests that nothing but the time differs from page to page."""
    first, second = (re.sub(r"<time.*?</time>", "", write(detector, tmp_path, top=3)) for _ in range(2))
    assert first == second


def test_the_report_needs_no_matplotlib(tmp_path: Path) -> None:
    """Tests that the page is written without the extra `plot`."""
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from paribus import QCAD\n"
        "QCAD([0], [1], n_trees=1).fit([[i, i % 3] for i in range(20)]).report(sys.argv[1])\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "report.html")], check=True)


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
    """Tests that bins hold their upper end: only what is above the threshold is in a flagged one."""
    bins = score_bins(np.array([0.0, 1.0, 3.0, 3.0, 9.0]), threshold=3.0)
    assert sum(bins.counts[bins.first_flagged :]) == 1


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9), st.integers(1, 8), st.booleans())
def test_ticks_are_round_and_within(low: float, width: float, most: int, whole: bool) -> None:
    """Tests that ticks lie within the axis, evenly, no more than asked for, and whole if they must be."""
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
    """Tests that every value has a place between the ends."""
    assert 10 <= Scale(low, low + width, 10, 90)(value) <= 90


def test_a_polygon_ends_where_it_should() -> None:
    """Tests that steps, rounded one by one, still add up to the points."""
    random = np.random.default_rng(0)
    xs, ys = random.uniform(0, 300, 50), random.uniform(0, 300, 50)
    start, _, steps = polygon(xs, ys).removeprefix("M").removesuffix("z").partition("l")
    numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", start + " " + steps)]
    points = np.cumsum(np.array(numbers).reshape(-1, 2), axis=0)
    assert np.abs(points - np.column_stack([xs, ys])).max() < 0.06


def test_hexagons_hold_their_rows() -> None:
    """Tests that each row lies within the hexagon that counts it: its centre is the nearest of all."""
    random = np.random.default_rng(0)
    xs, ys = random.uniform(50, 350, 3_000), random.uniform(20, 260, 3_000)
    drawn = "".join(_hexagons(xs, ys))
    tops = np.array([[float(x), float(y)] for x, y in re.findall(r"M([\d.]+) ([\d.]+)l", drawn)])
    centres = tops + np.array([0, HEXAGON])
    distances = np.sqrt(((np.column_stack([xs, ys])[:, None] - centres[None]) ** 2).sum(axis=2)).min(axis=1)
    assert distances.max() <= HEXAGON + 0.2


def test_names_on_the_map_do_not_cover_each_other() -> None:
    """Tests that of two rows in one place only as many are named as there is room for."""
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


def test_the_bundled_weather(tmp_path: Path) -> None:
    """Tests that the page of the bundled table is small, and shows three beanplots and three profiles for each row."""
    weather = datasets.load("weather")
    page = write(fit(weather.table, weather.contextual, weather.behavioral), tmp_path)
    assert len(page.encode()) < 800_000
    # One more bean explains how to read them.
    assert page.count('class="beanplot"') == 3 * 50 + 1
    assert page.count('class="profile"') == 3 * 50
