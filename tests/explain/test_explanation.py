"""Explanations: what they say, and that it is true."""

from __future__ import annotations

import io
import json
import math
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from paribus import QCAD, datasets
from paribus._common.statistics import weighted_quantile
from paribus.detectors.explanation import Explanation
from paribus.explain.facts import BehaviorFeature
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from tests.support.tables import BEHAVIOR, CONTEXT, Array, mixed_table


@pytest.fixture(scope="module")
def weather() -> QCAD:
    data = datasets.load("weather")
    return QCAD(data.contextual, data.behavioral).fit(data.table)


def fit(table: Any, **parameters: Any) -> QCAD:
    return QCAD(CONTEXT, BEHAVIOR, **({"n_trees": 5} | parameters)).fit(table)


def fit_quietly(table: Any, **parameters: Any) -> QCAD:
    """As `fit`, where some rows may have no score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fit(table, **parameters)


def feature(value: float, taus: Array | list[float], decimals: int = 1, n_rows: int = 100) -> BehaviorFeature:
    """A feature with these percentiles, learnt from so many rows that count alike."""
    percentiles = np.asarray(taus, dtype=float)
    n = len(percentiles) - 1
    return BehaviorFeature(
        name="x",
        value=value,
        partial_score=0.0,
        share=0.0,
        lower=percentiles[5 * n // 100],
        median=percentiles[n // 2],
        upper=percentiles[-(-95 * n // 100)],
        percentiles=percentiles,
        weights=np.full(n_rows, 1 / n_rows),
        format=ColumnFormat(Kind.NUMERIC, decimals),
    )


# What an explanation says is true


@given(seed=st.integers(0, 2**20), clip=st.sampled_from([10.0, 1.0, None]))
def test_partial_scores_explain_the_total_and_the_fitted_score(seed: int, clip: float | None) -> None:
    """Tests that an explained row has its fitted score, that its partial scores average to it, and shares sum to 1."""
    table = mixed_table(40, seed=seed, missing=0.1)
    table.loc[0, BEHAVIOR] = 1.0
    detector = fit_quietly(table, clip=clip, n_neighbors=15)
    row = int(np.flatnonzero(~np.isnan(detector.anomaly_scores_))[seed % 20])
    explanation = detector.explain(row)
    assert explanation.score == detector.anomaly_scores_[row]
    known = [part for part in explanation.behavior if not math.isnan(part.partial_score)]
    assert math.isclose(sum(part.partial_score for part in known) / len(known), explanation.score, rel_tol=1e-12)
    fitted = detector.partial_scores_.iloc[row]
    assert {part.name: part.partial_score for part in known} == {part.name: fitted[part.name] for part in known}
    if explanation.score > 0:
        assert math.isclose(sum(part.share for part in known), 1.0, rel_tol=1e-12)
    scores = [part.partial_score for part in known]
    assert scores == sorted(scores, reverse=True)


@given(seed=st.integers(0, 2**20))
def test_weights_and_rows_give_the_percentiles(seed: int) -> None:
    """Tests that the reference rows, counted by their weights, have the distribution that is shown."""
    table = mixed_table(60, seed=seed)
    table.loc[7, BEHAVIOR] = 1.0
    explanation = fit_quietly(table).explain(7)
    for part in explanation.behavior:
        values = explanation.reference[part.name].to_numpy()
        used = part.weights > 0
        assert math.isclose(part.weights.sum(), 1.0, rel_tol=1e-12)
        assert not np.isnan(values[used]).any()
        for percent in (1, 5, 37, 50, 95, 100):
            expected = weighted_quantile(values[used], part.weights[used], percent / 100)
            assert part.percentiles[percent] == expected
        assert part.percentiles[0] == values[used].min()
        assert (part.lower, part.median, part.upper) == tuple(part.percentiles[[5, 50, 95]])


@given(seed=st.integers(0, 2**20))
def test_rank_and_percentile_count_the_fitted_scores(seed: int) -> None:
    """Tests that the rank is 1 plus the number of higher scores, and the percentile the share of lower ones."""
    table = mixed_table(40, seed=seed, missing=0.2)
    # A tie.
    table.loc[1] = table.loc[0] = [30.0, 0.5, "north", 20.0, 3.0]
    detector = fit_quietly(table)
    known = detector.anomaly_scores_[~np.isnan(detector.anomaly_scores_)]
    explanation = detector.explain(0)
    assert explanation.rank == 1 + (known > explanation.score).sum()
    assert math.isclose(explanation.percentile, 100 * np.mean(known < explanation.score))
    assert explanation.n_ranked == len(known)
    assert explanation.is_anomaly == (detector.labels_[0] == -1)


def plain_description(values: list[Any], weights: Array, is_number: bool) -> tuple[Any, Any, list[Any]]:
    """Oracle of what a group has in common: the central 90 % of the weight, or the categories that make up 80 %."""
    if is_number:
        ordered = sorted((value, weight) for value, weight in zip(values, weights, strict=True) if value == value)
        total = sum(weight for _, weight in ordered)
        ends = []
        for share in (0.05, 0.95):
            reached = 0.0
            for value, weight in ordered:
                reached += weight
                if reached >= share * total - 1e-9:
                    ends.append(value)
                    break
        return ends[0], ends[1], []
    counts: dict[Any, float] = {}
    for value, weight in zip(values, weights, strict=True):
        counts[value] = counts.get(value, 0.0) + weight
    named, reached = [], 0.0
    for value in sorted(counts, key=lambda value: -counts[value]):
        if reached < 0.8 - 1e-9:
            named.append(value)
            reached += counts[value]
    return None, None, named


@given(seed=st.integers(0, 2**20))
def test_the_group_is_described_as_it_is(seed: int) -> None:
    """Tests ranges, categories and shares against a plain count of the weighted reference rows and of the table."""
    table = mixed_table(80, seed=seed, missing=0.0)
    explanation = fit(table).explain(3)
    weights = explanation.leading.weights
    for circumstance in explanation.context:
        values = explanation.reference[circumstance.name].tolist()
        whole = table[circumstance.name]
        low, high, categories = plain_description(values, weights, circumstance.name != "site")
        assert (circumstance.low, circumstance.high) == (low, high)
        if categories:
            # Ties may come in either order.
            assert len(circumstance.categories) == len(categories)
            inside = whole.isin(circumstance.categories)
            counted = sum(w for v, w in zip(values, weights, strict=True) if v in circumstance.categories)
        else:
            inside = (whole >= low) & (whole <= high)
            counted = sum(w for v, w in zip(values, weights, strict=True) if low <= v <= high)
        assert math.isclose(circumstance.table_share, inside.mean(), abs_tol=1e-9)
        assert math.isclose(circumstance.share, counted, abs_tol=1e-9)
        assert circumstance.sets_apart == (circumstance.table_share <= 0.75 * circumstance.share)


def test_a_row_is_not_among_its_own_references_even_if_it_has_a_twin() -> None:
    """Tests that of two equal rows each is compared with the other, and not with itself."""
    table = mixed_table(60, missing=0.0)
    table.loc[10] = table.loc[20]
    table["name"] = [f"p{row}" for row in range(60)]
    detector = fit(table, n_neighbors=59)
    for row, twin in ((10, 20), (20, 10)):
        explanation = detector.explain(row)
        assert row not in explanation.reference_positions
        assert twin in explanation.reference_positions
        assert len(set(explanation.reference_positions.tolist())) == 59
        assert f"p{twin}" in explanation.reference["name"].tolist()


def test_the_reference_is_the_reference_group_with_all_its_columns() -> None:
    """Tests that the table of references has the fitted rows, nearest first, with distances and weights."""
    table = mixed_table(60, missing=0.0)
    table["distance"] = "taken"
    detector = fit(table)
    explanation = detector.explain(4)
    positions, distances = detector.reference_group(table.iloc[[4]])
    assert explanation.reference_positions.tolist() == positions[0].tolist()
    pd.testing.assert_frame_equal(explanation.reference[table.columns.tolist()], table.iloc[positions[0]])
    # A column of the table keeps its name.
    assert explanation.reference["distance_"].tolist() == distances[0].tolist()
    assert math.isclose(explanation.reference["weight"].sum(), 1.0)


def test_later_changes_of_the_table_change_nothing() -> None:
    """Tests that an explanation shows the rows as they were fitted."""
    table = mixed_table(60, missing=0.0)
    detector = fit(table)
    before = detector.explain(4).to_dict()
    shown = detector.explain(4).reference.copy()
    table.loc[:, BEHAVIOR] = 0.0
    assert detector.explain(4).to_dict() == before
    pd.testing.assert_frame_equal(detector.explain(4).reference, shown)

    array = mixed_table(60, missing=0.0)[["age", "load", "pressure"]].to_numpy()
    detector = QCAD([0, 1], [2], n_trees=5).fit(array)
    before = detector.explain(4).to_dict()
    array[:] = 0.0
    assert detector.explain(4).to_dict() == before


# What it says


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
    """Tests the wording: any change of it is one that somebody made on purpose."""
    assert str(weather.explain(row)) == SENTENCES[row]


@pytest.mark.parametrize(
    ("value", "taus", "direction"),
    [
        (5.0, np.linspace(0, 10, 101), "within"),
        (9.7, np.linspace(0, 10, 101), "above"),
        (10.1, np.linspace(0, 10, 101), "above"),
        (14.1, np.linspace(0, 10, 101), "far above"),
        (0.3, np.linspace(0, 10, 101), "below"),
        (-4.1, np.linspace(0, 10, 101), "far below"),
        (5.0, np.r_[np.linspace(0, 4, 51), np.linspace(7, 10, 50)], "in a gap"),
        (7.0, np.r_[np.linspace(0, 4, 51), np.linspace(7, 10, 50)], "within"),
        (3.0, np.full(101, 3.0), "within"),
        (3.1, np.full(101, 3.0), "far above"),
        (2.9, np.full(101, 3.0), "far below"),
        (4.0, np.r_[np.full(98, 3.0), 5.0, 6.0, 7.0], "above"),
        (math.nan, np.linspace(0, 10, 101), "missing"),
        (1.0, np.full(101, np.nan), "no reference"),
        (7.0, [0.0, 5.0, 10.0], "within"),
        (17.0, [0.0, 5.0, 10.0], "far above"),
    ],
)
def test_directions(value: float, taus: Array | list[float], direction: str) -> None:
    """Tests where a value lies against a distribution, worked by hand."""
    assert feature(value, taus).direction == direction


def test_a_whole_number_that_no_comparable_row_has_is_in_a_gap() -> None:
    """Tests that a value which the score calls rare is not called usual."""
    rare = feature(7.0, np.r_[np.repeat(np.arange(7.0), 12), np.repeat([8.0], 17)], decimals=0)
    assert rare.direction == "in a gap"
    assert rare.expectation == "median 4, 90 % between 0 and 8, hardly any between 6 and 8"


def test_expectations_in_words() -> None:
    """Tests constant groups, nearly constant ones, and numbers that must be told apart."""
    assert feature(3.1, np.full(101, 3.0)).expectation == "all 3.0"
    assert feature(4.0, np.r_[np.full(98, 3.0), 5.0, 6.0, 7.0]).expectation == "median 3.0, 90 % exactly 3.0"
    assert feature(1.0, np.full(101, np.nan)).expectation == "no comparable row has a value"
    close = feature(9.52, np.linspace(0, 10, 101))
    assert (close.text, close.expectation) == ("x 9.52", "median 5.00, 90 % between 0.50 and 9.50")


def test_only_features_that_set_the_group_apart_are_named(weather: QCAD) -> None:
    """Tests that zone, which is inland nearly everywhere, is left out where it says nothing."""
    explanation = weather.explain(137)
    apart = {circumstance.name: circumstance.sets_apart for circumstance in explanation.context}
    assert apart == {"month": True, "elevation": True, "zone": False}
    assert "zone" not in explanation.sentence


def test_top_limits_the_sentence(weather: QCAD) -> None:
    """Tests that no more than the top features are mentioned, and all are in the table."""
    explanation = weather.explain(137, n_features=1)
    assert "wind" not in str(explanation)
    assert explanation.features["feature"] == ["temperature", "wind", "rain"]


def test_a_thin_context_is_said() -> None:
    """Tests the warnings: far from all rows, an unknown category, beyond the group, a missing value."""
    table = mixed_table(200, missing=0.0)
    detector = fit(table)
    row = {"age": 400.0, "load": 0.0, "site": "moon", "pressure": 20.0, "pulse": None}
    explanation = detector.explain(row)
    assert explanation.warnings == (
        "few rows are comparable: none of the 100 is as near in context as is usual here",
        "age 400 lies beyond all rows it is compared with, which have at most 79",
        "site moon occurs nowhere in the fitted table",
        "pulse is missing and not judged",
    )
    assert str(explanation).count("; note that ") == 4
    assert explanation.thinness.nearest > explanation.thinness.usual_farthest
    ordinary = detector.explain({"age": 50.0, "load": 0.0, "site": "north", "pressure": 20.0, "pulse": 3.0})
    assert ordinary.thinness.n_comparable == 100
    assert not any("few rows" in warning for warning in ordinary.warnings)


def test_small_groups_are_said() -> None:
    """Tests that percentiles of a handful of rows come with a warning."""
    warnings = fit(mixed_table(20, missing=0.0)).explain(0).warnings
    assert warnings[0] == "10 rows to compare with are few: the percentiles are coarse"


def test_what_is_usual_is_the_median_over_the_table() -> None:
    """Tests that a row's distances are held against those of all fitted rows."""
    table = mixed_table(80, missing=0.0)
    detector = fit(table)
    _, distances = detector.reference_group(table)
    thinness = detector.explain(5).thinness
    assert (thinness.nearest, thinness.farthest) == (distances[5, 0], distances[5, -1])
    assert thinness.usual_nearest == np.median(distances[:, 0])
    assert thinness.usual_farthest == np.median(distances[:, -1])


def test_columns_without_names_are_called_by_position() -> None:
    """Tests that a sentence about an array does not start with a bare number."""
    array = mixed_table(60, missing=0.0)[["age", "load", "pressure"]].to_numpy()
    assert re.match(r"column 2 -?[\d.]+ is ", QCAD([0, 1], [2], n_trees=5).fit(array).explain(4).sentence)


def test_the_feature_with_the_highest_partial_score_leads() -> None:
    """Tests that the sentence is about what makes the score, also where that is not beyond the usual."""
    random = np.random.RandomState(0)
    for seed in range(30):
        table = mixed_table(60, seed=seed, missing=0.0)
        table["pressure"] = random.standard_cauchy(60)
        for explanation in fit(table).explain_all(60):
            first = explanation.behavior[0]
            assert explanation.leading is first
            assert explanation.sentence.startswith(first.text)
            assert first.partial_score == max(part.partial_score for part in explanation.behavior)
            for part in explanation.behavior[1:]:
                assert (f"also {part.direction}: {part.text}" in explanation.sentence) == (
                    part.stands_out and part.share >= 0.1
                )
            thin = first.direction == "within" and first.partial_score >= 50
            assert ("thinly spread" in explanation.sentence) == thin


def test_gaps_of_few_rows_are_none() -> None:
    """Tests that a hundred percentiles of a dozen rows are not taken for a distribution full of gaps."""
    taus = np.repeat(np.arange(10.0), 10)[:101]
    assert feature(4.5, np.append(taus, 10.0), n_rows=12).direction == "within"
    split = np.r_[np.linspace(0, 2, 51), np.linspace(8, 10, 50)]
    assert feature(5.0, split, n_rows=12).direction == "in a gap"
    assert feature(5.0, split, n_rows=7).direction == "within"


@given(seed=st.integers(0, 2**20))
def test_how_many_rows_count(seed: int) -> None:
    """Tests the number in the sentence: the fewest rows with 95 % of the weight; and 1 / the sum of squared weights."""
    explanation = fit(mixed_table(60, seed=seed, missing=0.0)).explain(7)
    weights = sorted(explanation.leading.weights, reverse=True)
    n_counting = next(n for n in range(1, len(weights) + 1) if sum(weights[:n]) >= 0.95 - 1e-9)
    assert explanation.thinness.n_counting == n_counting
    assert math.isclose(explanation.thinness.n_effective, 1 / sum(weight**2 for weight in weights))
    assert f"; {n_counting} of the 30 nearest rows count" in explanation.sentence


@pytest.mark.parametrize("n_quantiles", [2, 7, 30, 1000])
def test_the_median_is_one_whatever_the_number_of_percentiles(n_quantiles: int) -> None:
    """Tests that median and 90 % are those of the weighted rows, not of the nearest percentile that there is."""
    table = mixed_table(60, missing=0.0)
    usual, other = fit(table).explain(7), fit(table, n_quantiles=n_quantiles).explain(7)
    expected = {part.name: (part.lower, part.median, part.upper) for part in usual.behavior}
    assert {part.name: (part.lower, part.median, part.upper) for part in other.behavior} == expected


def test_circumstances_in_words() -> None:
    """Tests a value below all others, a category that nobody shares, groups without a value, and many categories."""
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
    assert "no row it is compared with has rare only me" in lonely.warnings
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


def test_few_rows_that_count_are_said() -> None:
    """Tests that percentiles which rest on a handful of rows come with a warning, and others do not."""
    table = mixed_table(200, missing=0.0)
    few = fit(table, min_samples_split=2, bootstrap=False, n_trees=1).explain(7)
    assert few.thinness.n_effective < 8
    assert round(few.thinness.n_effective) == 1
    assert few.warnings[0] == "the percentiles rest on no more than about 1 row"
    many = fit(table, min_samples_split=80).explain(7)
    assert many.thinness.n_effective > 8
    assert not any("rest on" in warning for warning in many.warnings)


def test_one_row_to_compare_with() -> None:
    """Tests the grammar of the smallest group there is."""
    explanation = fit(mixed_table(60, missing=0.0), n_neighbors=1).explain(7)
    assert "the nearest row" in explanation.group
    assert explanation.warnings[0].startswith(
        ("1 row to compare with is few", "few rows are comparable: none of the only")
    )


def test_moments_have_their_zone_and_their_seconds() -> None:
    """Tests that a moment is written as its column has it, and a negative duration as a person would."""
    n = 60
    frame = mixed_table(n, missing=0.0)
    frame["when"] = pd.Timestamp("2024-03-01", tz="Asia/Tokyo") + pd.to_timedelta(np.arange(n), unit="D")
    frame["second"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(n), unit="s")
    frame["late"] = pd.to_timedelta(np.arange(n) - 30, unit="h")
    context = QCAD(["when", "second", "late"], BEHAVIOR, n_trees=5).fit(frame).explain(7).context
    assert [circumstance.text for circumstance in context] == [
        "2024-03-08+0900",
        "2024-03-01 00:00:07",
        "-23:00:00",
    ]


# Who can be asked about


Maker = Callable[[pd.DataFrame], Any]
MAKERS: dict[str, Maker] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "dict": lambda frame: frame.to_dict("list"),
}


@pytest.mark.parametrize("library", MAKERS)
def test_results_have_the_callers_type(library: str) -> None:
    """Tests that tables come back as what the caller uses, and that each library gets the same explanation."""
    frame = mixed_table(60, missing=0.0)
    frame["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60) % 30, unit="D")
    table = MAKERS[library](frame)
    detector = QCAD([*CONTEXT, "when"], BEHAVIOR, n_trees=5).fit(table)
    explanation = detector.explain(9)
    assert type(explanation.features) is type(table)
    assert type(explanation.reference) is type(table)
    assert list(explanation.features["feature"]) != []
    expected = QCAD([*CONTEXT, "when"], BEHAVIOR, n_trees=5).fit(frame).explain(9)
    assert explanation.to_dict() == expected.to_dict()
    when = explanation.context[3]
    assert (when.text, when.group_text[:8]) == ("2024-01-10", "2024-01-")


def test_a_new_row_in_any_form() -> None:
    """Tests a dict, a pandas row, and tables of one row of other libraries: all are the same new row."""
    frame = mixed_table(60, missing=0.0)
    detector = fit(frame)
    one = frame.iloc[[5]]
    forms = [one, frame.iloc[5], frame.iloc[5].to_dict(), pl.from_pandas(one), one.to_dict("list")]
    for form in forms:
        explanation = detector.explain(form)
        assert explanation.score == detector.anomaly_scores_[5]
        assert (explanation.position, explanation.title) == (None, "new row")
    array = frame[["age", "load", "pressure"]].to_numpy()
    by_position = QCAD([0, 1], [2], n_trees=5).fit(array)
    for row in (array[5], list(array[5]), tuple(array[5]), array[[5]]):
        assert by_position.explain(row).score == by_position.anomaly_scores_[5]
    assert list(by_position.explain(5).reference) == ["0", "1", "2", "distance", "weight"]
    counted = pd.DataFrame(array)
    by_position = QCAD([0, 1], [2], n_trees=5).fit(counted)
    for row in (counted.iloc[5], counted.iloc[5].to_dict(), counted.iloc[[5]]):
        assert by_position.explain(row).score == by_position.anomaly_scores_[5]


def test_rows_by_label() -> None:
    """Tests labels of a pandas index: text, moments, numbers that are not positions, pairs."""
    frame = mixed_table(60, missing=0.0)
    named = fit(frame.set_axis([f"p{row}" for row in range(60)]))
    assert named.explain("p7").position == 7
    assert named.explain(7).row == "p7"
    assert named.explain(7).title == "row p7"
    numbered = fit(frame.set_axis(range(100, 160)))
    # A whole number is always a position; as a label it has to be said.
    assert numbered.explain(7).row == 107
    assert numbered.explain(row_label=107).position == 7
    dated = fit(frame.set_axis(pd.date_range("2026-01-01", periods=60)))
    assert dated.explain(pd.Timestamp("2026-01-08")).position == 7
    paired = fit(frame.set_axis(pd.MultiIndex.from_product([["a", "b"], range(30)])))
    assert paired.explain(row_label=("b", 3)).position == 33


def test_explain_all_is_explain_for_the_highest_scores() -> None:
    """Tests the order, that nothing depends on being explained together, and that rows without a score are left out."""
    table = mixed_table(60, missing=0.3)
    table.loc[3, BEHAVIOR] = None
    with pytest.warns(UserWarning, match="get no score"):
        detector = fit(table)
    everything = detector.explain_all(100)
    assert len(everything) == 60 - np.isnan(detector.anomaly_scores_).sum()
    scores = [explanation.score for explanation in everything]
    assert scores == sorted(scores, reverse=True)
    for explanation in everything[:10]:
        assert explanation.position is not None
        assert explanation.to_dict() == detector.explain(explanation.position).to_dict()


def test_explain_all_takes_new_rows() -> None:
    """Tests that the strangest of some new rows come first."""
    table = mixed_table(60, missing=0.0)
    detector = fit(table)
    new = mixed_table(30, seed=9, missing=0.0)
    explanations = detector.explain_all(5, rows=new)
    assert [explanation.score for explanation in explanations] == sorted(detector.anomaly_score(new))[::-1][:5]
    assert explanations[0].position is None
    # Which of them it is about.
    expected = np.argsort(-detector.anomaly_score(new), kind="stable")[:5].tolist()
    assert [explanation.row for explanation in explanations] == expected
    assert explanations[0].title == f"new row {expected[0]}"
    assert detector.explain_all(5, rows=new.iloc[:0]) == []


def test_a_new_row_is_one_more_to_rank() -> None:
    """Tests that the rank of a row below all fitted ones is not beyond their number."""
    table = mixed_table(60, missing=0.0)
    detector = fit(table)
    ranks = [explanation.rank for explanation in detector.explain_all(200, rows=mixed_table(200, seed=5, missing=0.0))]
    assert max(ranks) <= 61
    assert detector.explain(mixed_table(1, seed=5, missing=0.0)).n_ranked == 61


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        (60, ValueError, "row 60 is not in the fitted table, whose rows are 0 to 59"),
        (-1, ValueError, "row -1 is not in the fitted table"),
        (True, TypeError, "row is True: it must be the position of a fitted row"),
        (None, TypeError, "row is None: it must be the position of a fitted row"),
        (2.5, TypeError, "row is 2.5: it must be the position of a fitted row"),
        ("nobody", ValueError, "the fitted table has no row 'nobody' in its index"),
        ({"age": 30.0}, ValueError, "column 'load' was there at fit and is missing here"),
        (pd.Period("2024-01"), ValueError, "the fitted table has no row Period('2024-01', 'M') in its index"),
        (mixed_table(2), ValueError, "explain takes one row, and the table has 2: use explain_all"),
        (3, ValueError, "row 3 has no score, for want of a behavioural value in it or in its reference group"),
        (
            {"age": 30.0, "load": 0.1, "site": "north", "pressure": None, "pulse": None},
            ValueError,
            "the row has no score",
        ),
    ],
)
def test_rows_that_cannot_be_explained(row: Any, error: type[Exception], message: str) -> None:
    """Tests that an unknown row, or one without a score, is refused in one clear sentence."""
    table = mixed_table(60, missing=0.0)
    table.loc[3, BEHAVIOR] = None
    with pytest.warns(UserWarning, match="get no score"):
        detector = fit(table)
    with pytest.raises(error, match=re.escape(message)):
        detector.explain(row)


def test_labels_that_cannot_be_found() -> None:
    """Tests a label that several rows have, and a table that has no labels."""
    frame = mixed_table(60, missing=0.0)
    with pytest.raises(ValueError, match="30 rows of the fitted table are called 'a': name one by its position"):
        fit(frame.set_axis(["a", "b"] * 30)).explain("a")
    with pytest.raises(ValueError, match="the fitted table has no index to find 'a' in"):
        fit(pl.from_pandas(frame)).explain("a")
    with pytest.raises(ValueError, match=r"the fitted table has no row \[1\] in its index"):
        fit(frame).explain(row_label=[1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"both a row \(0\) and a label \(1\) are named"):
        fit(frame).explain(0, row_label=1)
    for arguments in ({"top": 0}, {"top": True}):
        with pytest.raises(ValueError, match=r"top is .*: it must be a whole number from 1 up"):
            fit(frame).explain(1, **arguments)


# In other forms


def test_json_holds_everything_and_no_nan() -> None:
    """Tests that missing values, categories and dates survive the way to JSON and back."""
    table = mixed_table(60, missing=0.0)
    table.loc[20:30, ["age", "pulse"]] = None
    table.loc[7] = [None, None, None, 30.0, None]
    table["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), unit="h")
    detector = QCAD([*CONTEXT, "when"], BEHAVIOR, n_trees=5).fit(table)
    explanation = detector.explain(7)
    content = json.loads(explanation.to_json())
    assert content == explanation.to_dict()
    assert content["features"][1] | {"median": 0, "lower": 0, "upper": 0} == {
        "feature": "pulse",
        "value": None,
        "partial_score": None,
        "share": None,
        "median": 0,
        "lower": 0,
        "upper": 0,
        "direction": "missing",
    }
    assert [circumstance["value"] for circumstance in content["context"]] == [None, None, None, "2024-01-01 07:00"]
    assert len(content["reference"]["positions"]) == len(content["reference"]["distances"]) == 30
    assert len(content["percentiles"]["pressure"]) == 101


def test_each_field_of_the_json() -> None:
    """Tests that what a program reads is what the explanation says, field by field."""
    explanation = fit(mixed_table(60, missing=0.0)).explain(7)
    content, thin = explanation.to_dict(), explanation.thinness
    for name in ("row", "position", "score", "rank", "n_ranked", "percentile", "is_anomaly", "sentence"):
        assert content[name] == getattr(explanation, name)
    assert content["warnings"] == list(explanation.warnings)
    assert content["reference"] == {
        "nearest_distance": thin.nearest,
        "farthest_distance": thin.farthest,
        "usual_nearest_distance": thin.usual_nearest,
        "usual_farthest_distance": thin.usual_farthest,
        "n_comparable": thin.n_comparable,
        "n_counting": thin.n_counting,
        "n_effective": thin.n_effective,
        "positions": explanation.reference_positions.tolist(),
        "distances": explanation.reference_distances.tolist(),
        "weights": explanation.leading.weights.tolist(),
    }
    assert thin.nearest < thin.farthest
    for row, part in zip(content["features"], explanation.behavior, strict=True):
        assert row["feature"] == part.name
        assert row["lower"] < row["median"] < row["upper"]
        for name in ("value", "partial_score", "share", "lower", "median", "upper", "direction"):
            assert row[name] == getattr(part, name)
    for row, circumstance in zip(content["context"], explanation.context, strict=True):
        assert row["feature"] == circumstance.name
        for name in ("value", "low", "high", "share", "table_share", "sets_apart"):
            assert row[name] == getattr(circumstance, name)
        assert row["categories"] == list(circumstance.categories)


def test_a_score_at_the_threshold_is_not_above_it() -> None:
    """Tests that the verdict is the detector's label, also for the row that sets the threshold."""
    detector = fit(mixed_table(60, missing=0.0), contamination=0.25)
    for explanation in detector.explain_all(60):
        assert explanation.is_anomaly == (detector.labels_[explanation.position] == -1)


def show(explanation: Explanation, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(explanation)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_the_rich_form_fits_a_terminal(weather: QCAD) -> None:
    """Tests that the tables are whole at 80 columns, with the headline and the sentence above them."""
    text = show(weather.explain(137), width=80)
    lines = text.splitlines()
    assert lines[0] == "row 137: score 76.4, rank 5 of 2,000, anomaly"
    assert any(line.split() == ["temperature", "16.5", "100.0", "44%", "-10.9", "-12.7", "to", "-8.8", "far", "above"]
               for line in lines)  # fmt: skip
    assert any("February or January" in line and "18%" in line for line in lines)


def test_names_are_never_markup() -> None:
    """Tests that names and categories cannot colour the terminal, end a line, or become HTML."""
    names = ["[red]age[/red]", "two\nlines\x1b[31m", "<script>alert(1)</script>", '"><img src=x>', "a\u202eb"]
    frame = mixed_table(60, missing=0.0).set_axis(names, axis=1)
    frame["<script>alert(1)</script>"] = "<b>&"
    explanation = QCAD(names[:3], names[3:], n_trees=5).fit(frame).explain(4)
    text = show(explanation)
    assert "[red]age[/red]" in text
    assert "\x1b" not in text
    assert "\n" not in str(explanation)
    assert "\u202e" not in str(explanation)
    html = explanation._repr_html_()
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;b&gt;&amp;" in html


def test_labels_and_warnings_are_never_markup() -> None:
    """Tests that neither a row's label nor a category in a warning can become HTML or colour the terminal."""
    frame = mixed_table(60, missing=0.0)
    labels = [f"<script>{row}</script>[red]" for row in range(60)]
    detector = fit(frame.set_axis(labels))
    html = detector.explain(labels[4])._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;4&lt;/script&gt;[red]" in html
    assert "<script>4</script>[red]" in show(detector.explain(4))
    strange = {"age": 30.0, "load": 0.1, "site": "<img src=x onerror=alert(1)>", "pressure": 10.0, "pulse": 1.0}
    assert "<img" not in detector.explain(strange)._repr_html_()


def test_the_notebook_form_has_a_bar_for_each_value(weather: QCAD) -> None:
    """Tests that the HTML shows the same cells, and the value to the right of the expected range if it is above."""
    html = weather.explain(137)._repr_html_()
    assert html.count("<svg") == 3
    assert "<td>-12.7 to -8.8</td>" in html
    numbers = re.search(r'<rect x="([\d.]+)" y="3" width="([\d.]+)".*?<rect x="([\d.]+)" y="0"', html)
    assert numbers is not None
    start, width, value = map(float, numbers.groups())
    assert start + width < value


def test_explanations_and_detectors_survive_pickling() -> None:
    """Tests that both can be sent to another process and say the same there."""
    detector = fit(mixed_table(60, missing=0.0))
    explanation = detector.explain(3)
    assert pickle.loads(pickle.dumps(explanation)).to_dict() == explanation.to_dict()
    assert pickle.loads(pickle.dumps(detector)).explain(3).to_dict() == explanation.to_dict()


def test_an_explanation_cannot_be_changed(weather: QCAD) -> None:
    """Tests that neither its fields nor its arrays can be written to."""
    explanation = weather.explain(137)
    with pytest.raises(AttributeError):
        explanation.score = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        explanation.percentiles["rain"][0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        explanation.reference_distances[0] = 0.0
