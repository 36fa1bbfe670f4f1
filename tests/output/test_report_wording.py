"""What the report says of tables without anomalies, of one row, of tiny scores, and of names that could be mistaken."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from paribus import QCAD
from tests.support.pages import fit, words_of, write


def calm_table(n: int = 60) -> dict[str, Any]:
    """Nothing in it stands out."""
    return {"a": np.arange(n, dtype=float), "x": np.arange(n) % 7 + 0.5, "y": np.arange(n) * 2.0}


def test_without_anomalies_the_highest_score_is_named(tmp_path: Path) -> None:
    """Tests that a page with no flagged row says how high the threshold is, and how high the scores are."""
    detector = fit(calm_table(), ["a"], ["x", "y"])
    assert (detector.labels_ == 1).all()
    highest, threshold = detector.anomaly_scores_.max(), -detector.offset_
    words = words_of(write(detector, tmp_path, top=3))
    fact = f"none is flagged: no score is above the threshold of {threshold:.1f}; the highest is {highest:.1f}"
    assert f"{fact} (--contamination 0.01, in Python contamination=0.01, flags the highest 1 %)." in words
    assert "are flagged. There are none" not in words
    assert "stands out" not in words


def test_the_headline_says_no_more_than_is_known(tmp_path: Path) -> None:
    """Tests that a flagged row is not said to be unusual in all behaviour, and that empty columns are not named."""
    table = calm_table() | {"empty": [None] * 60}
    table["y"][30] = 1e6
    for context, behavior, words in (
        (["a", "empty"], ["x", "y"], "most like it in a . For one of them (1.7 %), at least one of x and y is not"),
        (["a"], ["y"], "most like it in a . For one of them (1.7 %), y is not what such rows usually show."),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            detector = fit(table, context, behavior, contamination=0.01)
        page = " ".join(words_of(write(detector, tmp_path, top=3)).split())
        assert words in page


def test_equal_scores_make_no_strangest_row(tmp_path: Path) -> None:
    """Tests that where all rows are alike none of them is called the strangest."""
    detector = fit({"a": [1.0] * 40, "b": [5.0] * 40, "c": [7.0] * 40}, ["a"], ["b", "c"])
    words = words_of(write(detector, tmp_path, top=5))
    assert "all scores are 0.0, so no row stands out" in words
    assert "strangest" not in words
    assert "5 of the rows" in words
    assert "strange ones" not in words


def test_one_is_singular(tmp_path: Path) -> None:
    """Tests one row explained, one row compared with and one circumstance of each."""
    detector = fit({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 9.0]}, ["a"], ["b"])
    words = words_of(write(detector, tmp_path, top=1))
    assert "compared with the row most like it" in words
    assert "The strangest row" in words
    assert not re.search(r"\b1 (rows|columns|others|notes)\b", words)


def test_small_and_huge_scores_are_readable(tmp_path: Path) -> None:
    """Tests that a flagged row with a tiny score is not said to have 0.0, and that a huge one has few letters."""
    random = np.random.default_rng(0)
    table = {"a": random.integers(0, 4, 300).astype(float), "b": random.gamma(2, 3, 300)}
    table["b"][5] = 4e9
    detector = fit(table, ["a"], ["b"], clip=1e-6)
    page = write(detector, tmp_path, top=40)
    shown = re.findall(r'class="n score[^"]*" data-value="([^"]*)">([^<]*)<', page)
    assert len(shown) == 40
    for exact, text in shown:
        assert len(text) <= 9
        assert float(text.replace(",", "")) == pytest.approx(float(exact), rel=0.06)


@pytest.mark.parametrize(
    ("behavioral", "clip", "ends"), [(["b"], 10, False), (["b", "c"], 10, True), (["b", "c"], None, False)]
)
def test_a_partial_score_ends_where_it_is_cut(behavioral: list[str], clip: Any, ends: bool, tmp_path: Path) -> None:
    """Tests that the page calls 100 the end only where scores are cut there: not for one column, nor without a clip."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=50) for name in "abc"}
    words = words_of(write(fit(table, ["a"], behavioral, clip=clip), tmp_path, top=1))
    assert ("a partial score ends at 100" in words) is ends
    assert ("100 and more is far outside" in words) is not ends


def test_columns_called_weight_and_distance_are_told_apart(tmp_path: Path) -> None:
    """Tests that no two columns of the nearest rows have the same heading, and that the text above says the same."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=60) for name in ("Distance", "weight", "b")}
    page = write(fit(table, ["Distance"], ["weight", "b"]), tmp_path, top=1)
    head = re.findall(r"<thead><tr>(.*?)</tr></thead>", page)[0]
    headings = [heading.casefold() for heading in re.findall(r"<th[^>]*>(?:<i>)?([^<]*)", head)]
    assert headings == ["row", "distance", "weight", "b", "distance (paribus)", "weight (paribus)"]
    assert "<i>weight (paribus)</i>: the share" in page


def long_categories() -> QCAD:
    random = np.random.default_rng(0)
    names = [f"Department of Internal Logistics and Delivery Services, region {i}{'!' * 40}" for i in range(6)]
    table = {"department": random.choice(names, 200), "b": random.normal(size=200)}
    return fit(table, ["department"], ["b"])


def test_categories_that_begin_and_end_alike_stay_distinct(tmp_path: Path) -> None:
    """Tests that bars of categories that differ in one letter of a hundred have different names."""
    page = write(long_categories(), tmp_path, top=1)
    profile = re.findall(r'<svg class="profile".*?</svg>', page)[0]
    names = [
        text.text for text in ElementTree.fromstring(profile).iter("text") if "e" in (text.get("class") or "").split()
    ]
    assert len(names) == len(set(names)) == 6
    assert "…." not in page


def test_categories_stay_distinct_in_pictures() -> None:
    """Tests the same for matplotlib."""
    plt = pytest.importorskip("matplotlib.pyplot")
    display = long_categories().explain(0).plot_context()
    names = [label.get_text() for label in display.axes_[0].get_xticklabels()]
    plt.close(display.figure_)
    assert len(names) == len(set(names)) == 6


def test_names_that_the_map_has_no_room_for_are_mentioned(tmp_path: Path) -> None:
    """Tests that the caption says where the other names are."""
    random = np.random.default_rng(0)
    table = {name: random.normal(size=60) for name in "abc"}
    assert "point at a dot for a name that had no room" in words_of(write(fit(table, ["a"], ["b", "c"]), tmp_path))
