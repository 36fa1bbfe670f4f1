"""What the report says about tables without anomalies, single rows, tiny scores, and similar names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from paribus import QCAD
from tests.support.detectors import DetectorClass, for_both
from tests.support.pages import fit, words_of, write


def calm_table(n: int = 60) -> dict[str, Any]:
    """A table in which nothing stands out."""
    return {"a": np.arange(n, dtype=float), "x": np.arange(n) % 7 + 0.5, "y": np.arange(n) * 2.0}


@for_both
def test_without_anomalies_the_highest_score_is_named(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that a page without flagged rows says how high the threshold is, and how high the scores are."""
    detector = fit(make, calm_table(), ["a"], ["x", "y"])
    assert (detector.labels_ == 1).all()
    highest, threshold = detector.anomaly_scores_.max(), detector.threshold_
    words = words_of(write(detector, tmp_path, n_rows=3))
    fact = f"none is flagged: no score is above the threshold of {threshold:.1f}; the highest is {highest:.1f}"
    assert f"{fact} (--contamination 0.01, in Python contamination=0.01, flags the highest 1 %)." in words
    assert f"Rows above the threshold of {threshold:.1f} would be flagged; there are none." in words
    assert "Rows to the right of the line are flagged" not in words


@for_both
def test_the_lead_names_what_was_compared(make: DetectorClass, tmp_path: Path) -> None:
    """Tests the number of flagged rows in singular and plural, and that empty columns are not named."""
    table = calm_table() | {"empty": [None] * 60}
    table["y"][30] = 1e6
    for context, behavior, contamination, words in (
        (["a", "empty"], ["x", "y"], 0.01, "in a . One of them (1.7 %) is flagged as unusual in x and y ."),
        (["a"], ["y"], 0.05, "in a . 3 of them (5.0 %) are flagged as unusual in y ."),
    ):
        detector = fit(make, table, context, behavior, contamination=contamination)
        assert words in words_of(write(detector, tmp_path, n_rows=3))


def test_equal_scores_make_no_most_unusual_row(tmp_path: Path) -> None:
    """Tests that if all scores are equal, no row is called unusual."""
    detector = fit(QCAD, {"a": [1.0] * 40, "b": [5.0] * 40, "c": [7.0] * 40}, ["a"], ["b", "c"])
    words = words_of(write(detector, tmp_path, n_rows=5))
    assert "all scores are 0.0, so no row stands out" in words
    assert "5 of the rows" in words
    assert "most unusual" not in words
    assert "Where are the unusual rows?" not in words


@for_both
def test_one_is_singular(make: DetectorClass, tmp_path: Path) -> None:
    """Tests a page about one explained row, with one contextual feature and as few rows to compare with as possible."""
    table = {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 9.0]} if make is QCAD else {"a": np.arange(9.0), "b": np.arange(9)}
    words = words_of(write(fit(make, table, ["a"], ["b"]), tmp_path, n_rows=1))
    assert ("compared with the row most like it" in words) == (make is QCAD)
    assert "The most unusual row" in words
    assert not re.search(r"\b1 (rows|columns|others|notes)\b", words)


@for_both
def test_small_and_huge_scores_are_readable(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that a tiny score is not written as 0.0, and that a huge one is short."""
    random = np.random.default_rng(0)
    table = {"a": random.integers(0, 4, 300).astype(float), "b": random.gamma(2, 3, 300)}
    table["b"][5] = 4e9
    detector = fit(make, table, ["a"], ["b"], **({"clip": 1e-6} if make is QCAD else {}))
    page = write(detector, tmp_path, n_rows=40)
    shown = re.findall(r'class="n score[^"]*" data-value="([^"]*)">([^<]*)<', page)
    assert len(shown) == 40
    for exact, text in shown:
        assert len(text) <= 9
        assert float(text.replace(",", "")) == pytest.approx(float(exact), rel=0.06)
    assert len({text for _, text in shown}) > 1


@pytest.mark.parametrize(
    ("behavioral", "clip", "ends"), [(["b"], 10, False), (["b", "c"], 10, True), (["b", "c"], None, False)]
)
def test_100_is_the_maximum_only_with_a_cap(behavioral: list[str], clip: Any, ends: bool, tmp_path: Path) -> None:
    """Tests that 100 is called the maximum only if scores are capped: not for one column, nor without a clip."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=50) for name in "abc"}
    words = words_of(write(fit(QCAD, table, ["a"], behavioral, clip=clip), tmp_path, n_rows=1))
    assert ("100, the maximum, is far outside" in words) is ends
    assert ("100 or more is far outside" in words) is not ends


@for_both
def test_columns_called_weight_and_distance_are_told_apart(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that no two columns of the nearest rows have the same heading, and that the text above uses them."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=60) for name in ("Distance", "weight", "b")}
    page = write(fit(make, table, ["Distance"], ["weight", "b"]), tmp_path, n_rows=1)
    head = re.findall(r"<thead><tr>(.*?)</tr></thead>", page)[0]
    headings = [heading.casefold() for heading in re.findall(r"<th[^>]*>(?:<i>)?([^<]*)", head)]
    assert headings == ["row", "distance", "weight", "b", "distance (paribus)", "weight (paribus)"]
    assert "<i>weight (paribus)</i>: how much the row counts" in page


def long_categories(make: DetectorClass) -> Any:
    random = np.random.default_rng(0)
    names = [f"Department of Internal Logistics and Delivery Services, region {i}{'!' * 40}" for i in range(6)]
    table = {"department": random.choice(names, 200), "b": random.normal(size=200)}
    # Leaves so large that rows of all categories count.
    options = {} if make is QCAD else {"min_samples_leaf": 90}
    return fit(make, table, ["department"], ["b"], **options)


@for_both
def test_categories_that_begin_and_end_alike_stay_distinct(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that bars of categories that differ in one letter of a hundred have different names."""
    page = write(long_categories(make), tmp_path, n_rows=1)
    profile = re.findall(r'<svg class="profile".*?</svg>', page)[0]
    names = [
        text.text for text in ElementTree.fromstring(profile).iter("text") if "e" in (text.get("class") or "").split()
    ]
    assert len(names) == len(set(names)) == 6
    assert "…." not in page


@for_both
def test_categories_stay_distinct_in_pictures(make: DetectorClass) -> None:
    """Tests that bars of similar categories have different names in matplotlib as well."""
    plt = pytest.importorskip("matplotlib.pyplot")
    display = long_categories(make).explain(0).plot_context()
    names = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    plt.close(display.figure_)
    assert len(names) == len(set(names)) == 6


@for_both
def test_names_that_do_not_fit_the_map_are_mentioned(make: DetectorClass, tmp_path: Path) -> None:
    """Tests that the caption says how to see the other names."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=60) for name in "abc"}
    words = words_of(write(fit(make, table, ["a"], ["b", "c"]), tmp_path))
    assert "hover over a dot to see a name that does not fit" in words
