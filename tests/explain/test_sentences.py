"""Explanations: the wording of sentences and warnings."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import QCAD, ConditionalSurprise, datasets
from tests.support.detectors import DETECTORS, DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module")
def weather() -> QCAD:
    data = datasets.load("weather")
    return QCAD(data.contextual, data.behavioral).fit(data.table)


@pytest.fixture(scope="module", params=DETECTORS)
def either_weather(request: pytest.FixtureRequest) -> Any:
    data = datasets.load("weather")
    return quick(DETECTORS[request.param], data.contextual, data.behavioral, n_trees=16).fit(data.table)


def fit(make: DetectorClass, table: Any, **parameters: Any) -> Any:
    return quick(make, CONTEXT, BEHAVIOR, **({"n_jobs": 1} | parameters)).fit(table)


SENTENCES = {
    137: (
        "temperature 16.5 is far above what comparable rows show (median -10.9, 90 % between -12.7 and -8.8; 23 of"
        " the 500 nearest rows count, mostly with month February or January, elevation 1,612 to 2,070); also far "
        "below: wind 7.5 (median 17.8, 90 % between 16.7 and 22.9); also below: rain 0.6 (median 10.1, 90 % "
        "between 4.2 and 16.9)."
    ),
    512: (
        "temperature -2.5 is far below what comparable rows show (median 17.0, 90 % between 15.0 and 20.2; 14 of "
        "the 500 nearest rows count, mostly with month August or July, elevation 17 to 181, zone coast); also far "
        "above: wind 20.5 (median 11.3, 90 % between 9.4 and 14.4); also far above: rain 14.0 (median 2.3, 90 % "
        "between 0.5 and 6.2)."
    ),
    2: (
        "wind 9.4 is within what comparable rows show (median 8.3, 90 % between 7.4 and 14.1; 34 of the 500 "
        "nearest rows count, mostly with month July or November, elevation 406 to 475)."
    ),
}


@pytest.mark.parametrize("row", SENTENCES)
def test_the_sentences_of_the_bundled_weather(weather: QCAD, row: int) -> None:
    """Tests the wording, so that every change of it is deliberate."""
    assert str(weather.explain(row)) == SENTENCES[row]


def test_the_sentence_names_what_was_planted(either_weather: Any) -> None:
    """Tests that either method says of a planted day which value is far off, in which direction, and for which rows."""
    explanation = either_weather.explain(137)
    assert explanation.leading.name == "temperature"
    assert explanation.sentence.startswith("temperature 16.5 is far above what comparable rows show")
    assert re.search(r"\(median -\d+\.\d, 90 % between -\d+\.\d and -\d+\.\d; \d+ .*rows count", explanation.sentence)
    assert "January" in explanation.group
    assert "also far below: wind 7.5" in explanation.sentence
    assert explanation.is_anomaly


def test_only_features_that_set_the_group_apart_are_named(weather: QCAD) -> None:
    """Tests that zone, which is inland nearly everywhere, is left out where it says nothing."""
    explanation = weather.explain(137)
    apart = {circumstance.name: circumstance.sets_apart for circumstance in explanation.context}
    assert apart == {"month": True, "elevation": True, "zone": False}
    assert "zone" not in explanation.sentence


def test_n_features_limits_the_sentence(either_weather: Any) -> None:
    """Tests that the sentence mentions no more than `n_features`, and that all features are in the table."""
    explanation = either_weather.explain(137, n_features=1)
    assert "wind" not in str(explanation)
    assert explanation.features["feature"][0] == "temperature"
    assert sorted(explanation.features["feature"]) == ["rain", "temperature", "wind"]


@for_both
def test_few_comparable_rows_get_a_warning(make: DetectorClass) -> None:
    """Tests the warnings: far from all rows, an unknown category, beyond the group, a missing value."""
    table = mixed_table(200, missing=0.0)
    detector = fit(make, table, n_trees=16)
    row = {"age": 400.0, "load": 0.0, "site": "moon", "pressure": 20.0, "pulse": None}
    explanation = detector.explain(row)
    n_rows = len(explanation.reference_positions)
    oldest = explanation.reference["age"].max()
    assert explanation.warnings == (
        f"few rows are comparable: none of the {n_rows} is as close in context as is usual in this table",
        f"age 400 lies beyond all rows it is compared with, which have at most {oldest:.0f}",
        "site moon does not occur in the fitted table",
        "pulse is missing and not scored",
    )
    assert str(explanation).count("; note that ") == 4
    assert explanation.thinness.nearest > explanation.thinness.usual_farthest
    ordinary = detector.explain({"age": 50.0, "load": 0.0, "site": "north", "pressure": 20.0, "pulse": 3.0})
    assert ordinary.thinness.n_comparable == len(ordinary.reference_positions)
    assert not any("few rows" in warning for warning in ordinary.warnings)


@for_both
def test_small_groups_get_a_warning(make: DetectorClass) -> None:
    """Tests that percentiles of a handful of rows come with a warning."""
    explanation = fit(make, mixed_table(20, missing=0.0)).explain(0)
    n_rows = len(explanation.reference_positions)
    assert n_rows < 30
    words = f"there are only {n_rows} rows to compare with, so the percentiles are coarse"
    assert explanation.warnings[0] == words


@for_both
def test_columns_without_names_are_called_by_position(make: DetectorClass) -> None:
    """Tests that a sentence about an array does not start with a bare number."""
    array = mixed_table(60, missing=0.0)[["age", "load", "pressure"]].to_numpy()
    assert re.match(r"column 2 -?[\d.]+ is ", quick(make, [0, 1], [2]).fit(array).explain(4).sentence)


@for_both
def test_the_feature_with_the_highest_partial_score_leads(make: DetectorClass) -> None:
    """Tests that the sentence is about what makes the score, also where that is within the usual range."""
    random = np.random.RandomState(0)
    seen = set()
    for seed in range(4):
        table = mixed_table(60, seed=seed, missing=0.0)
        table["pressure"] = random.standard_cauchy(60)
        for explanation in fit(make, table).explain_all(60):
            first = explanation.behavior[0]
            assert explanation.leading is first
            assert explanation.sentence.startswith(first.text)
            assert first.partial_score == max(part.partial_score for part in explanation.behavior)
            for part in explanation.behavior[1:]:
                assert (f"also {part.direction}: {part.text}" in explanation.sentence) == (
                    part.stands_out and part.share >= 0.1
                )
            is_sparse = make is QCAD and first.direction == "within" and first.partial_score >= 50
            assert ("in a sparse region" in explanation.sentence) == is_sparse
            seen.add((first.stands_out, is_sparse))
    # Leading features beyond the usual range and within it.
    assert {stands_out for stands_out, _ in seen} == {True, False}


def test_context_in_words() -> None:
    """Tests a value below all others, a category of one row, groups without a value, and many categories."""
    random = np.random.RandomState(2)
    n = 400
    table = pd.DataFrame(
        {
            "age": random.uniform(20, 80, n),
            "kind": random.choice(list("abcdefgh"), n),
            "rare": np.where(np.arange(n) == 5, "only me", "common"),
            "seldom": np.where(random.rand(n) < 0.02, random.rand(n), np.nan),
            "x": random.normal(size=n),
        }
    )
    detector = QCAD(["age", "kind", "rare", "seldom"], ["x"], n_trees=20, n_neighbors=200).fit(table)
    lonely = detector.explain(5)
    assert "none of the rows it is compared with has rare only me" in lonely.warnings
    seldom = lonely.context[3]
    assert (seldom.low, seldom.categories, seldom.group_text) == (None, (None,), "missing")
    assert math.isclose(seldom.table_share, table["seldom"].isna().mean())
    young = detector.explain({"age": -30.0, "kind": "a", "rare": "common", "seldom": 0.5, "x": 0.0})
    lowest = young.reference["age"].min()
    assert f"age -30.0 lies beyond all rows it is compared with, which have at least {lowest:.1f}" in young.warnings
    kinds = lonely.context[1]
    more = len(kinds.categories) - 3
    words = {0: "", 1: " or another"}.get(more, f" or {more} others")
    assert kinds.group_text.endswith(words)
    assert kinds.group_text.count(",") == (2 if more > 0 else len(kinds.categories) - 2)


def test_few_rows_that_count_get_a_warning() -> None:
    """Tests that percentiles that rest on a handful of rows come with a warning, and others do not."""
    table = mixed_table(200, missing=0.0)
    few = fit(QCAD, table, min_samples_split=2, bootstrap=False, n_trees=1).explain(7)
    assert few.thinness.n_effective < 8
    assert round(few.thinness.n_effective) == 1
    assert few.warnings[0] == "the percentiles rest on only about 1 row"
    many = fit(QCAD, table, min_samples_split=80).explain(7)
    assert many.thinness.n_effective > 8
    assert not any("rest on" in warning for warning in many.warnings)


def test_few_rows_that_share_leaves_get_a_warning() -> None:
    """Tests the same warning for the forests of surprise: tiny leaves of few trees, and large ones of many."""
    table = mixed_table(400, missing=0.0)
    few = fit(ConditionalSurprise, table, n_trees=4, min_samples_leaf=1).explain(7)
    assert few.thinness.n_effective < 8
    many = fit(ConditionalSurprise, table, n_trees=32, min_samples_leaf=40).explain(7)
    assert many.thinness.n_effective > 8
    assert any("rows to compare with" in warning or "rest on" in warning for warning in few.warnings)
    assert not any("rest on" in warning for warning in many.warnings)


def test_one_row_to_compare_with() -> None:
    """Tests the grammar of the smallest possible group."""
    explanation = fit(QCAD, mixed_table(60, missing=0.0), n_neighbors=1).explain(7)
    assert "the nearest row" in explanation.group
    assert explanation.warnings[0] in (
        "there is only 1 row to compare with, so the percentiles are coarse",
        "no row is comparable: not even the nearest one is as close in context as is usual in this table",
    )


@for_both
def test_timestamps_have_their_zone_and_their_seconds(make: DetectorClass) -> None:
    """Tests that a timestamp is written with the precision of its column, and a negative duration readably."""
    n = 60
    frame = mixed_table(n, missing=0.0)
    frame["when"] = pd.Timestamp("2024-03-01", tz="Asia/Tokyo") + pd.to_timedelta(np.arange(n), unit="D")
    frame["second"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(n), unit="s")
    frame["late"] = pd.to_timedelta(np.arange(n) - 30, unit="h")
    context = quick(make, ["when", "second", "late"], BEHAVIOR).fit(frame).explain(7).context
    assert [circumstance.text for circumstance in context] == [
        "2024-03-08+0900",
        "2024-03-01 00:00:07",
        "-23:00:00",
    ]
