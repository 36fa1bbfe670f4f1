"""Explanations: the wording of sentences and warnings."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.explain.context import ContextFeature
from paribus.explain.facts import BehaviorFeature, KnownDistribution
from paribus.explain.wording import Found, statement
from paribus.methods.interface import CellVerdict, KnownDensity
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from tests.support.detectors import DETECTORS, DetectorClass, for_both, quick
from tests.support.facts import NO_DENSITY
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


@pytest.fixture(scope="module")
def weather() -> QCAD:
    data = datasets.load("weather")
    return QCAD(data.contextual, data.behavioral).fit(data.table)


@pytest.fixture(scope="module", params=DETECTORS)
def either_weather(request: pytest.FixtureRequest) -> Any:
    data = datasets.load("weather")
    return quick(DETECTORS[request.param], data.contextual, data.behavioral, n_trees=16).fit(data.table)


SITE = ColumnFormat(Kind.CATEGORICAL)
CONTEXT_FEATURE = ContextFeature("site", "north", None, None, ("north",), 0.9, 0.3, None, SITE)


def made_feature(
    name: str,
    value: float,
    usual: tuple[float, float],
    *,
    p_value: float,
    given_all: float | None,
    usual_given_all: tuple[float, float] | None = None,
    share: float = 1.0,
    ends: tuple[float, float] = (0.0, 4.0),
) -> BehaviorFeature:
    """A feature with these facts."""
    return BehaviorFeature(
        name=name,
        value=value,
        partial_score=share,
        share=share,
        lower=usual[0],
        median=(usual[0] + usual[1]) / 2,
        upper=usual[1],
        distribution=KnownDistribution(np.linspace(*ends, 101), np.full(50, 0.02)),
        format=ColumnFormat(Kind.NUMERIC, 1),
        verdict=CellVerdict(p_value, given_all, KnownDensity(NO_DENSITY), usual_given_all),
    )


def fit(make: DetectorClass, table: Any, **parameters: Any) -> Any:
    return quick(make, CONTEXT, BEHAVIOR, **({"n_jobs": 1} | parameters)).fit(table)


SENTENCES = {
    137: (
        "temperature 16.5 where month is January, elevation 1,900 and zone inland: comparable rows have -12.7 to "
        "-8.8 (90 %). Also unusual: wind 7.5 (usually 16.7 to 22.9) and rain 0.6 (usually 4.2 to 16.9). Compared "
        "with the 500 nearest rows, of which 23 count, mostly with month February or January and elevation "
        "1,612 to 2,070."
    ),
    512: (
        "temperature -2.5 where month is July, elevation 60 and zone coast: comparable rows have 15.0 to 20.2 (90 "
        "%). Also unusual: wind 20.5 (usually 9.4 to 14.4) and rain 14.0 (usually 0.5 to 6.2). Compared with the "
        "500 nearest rows, of which 14 count, mostly with the same zone, and with month August or July and "
        "elevation 17 to 181."
    ),
    2: (
        "wind 9.4 where month is July, elevation 438 and zone inland is as usual: comparable rows have 7.4 to "
        "14.1 (90 %). Compared with the 500 nearest rows, of which 34 count, mostly with month July or "
        "November and elevation 406 to 475."
    ),
}


@pytest.mark.parametrize("row", SENTENCES)
def test_the_sentences_of_the_bundled_weather(weather: QCAD, row: int) -> None:
    """Tests the wording, so that every change of it is deliberate."""
    assert str(weather.explain(row)) == SENTENCES[row]


def test_the_sentence_names_what_was_planted(either_weather: Any) -> None:
    """Tests that either method says of a planted day which value is far off, in which direction, and for which rows."""
    explanation = either_weather.explain(137)
    assert {feature.name for feature in explanation.behavior[:2]} == {"temperature", "wind"}
    for words in (
        r"temperature 16\.5.* -\d+\.\d to -\d+\.\d",
        r"wind 7\.5.* \d+\.\d to \d+\.\d",
        "where month is January, elevation 1,900 and zone inland",
        r"\. Compared with .*\d+",
    ):
        assert re.search(words, explanation.sentence)
    assert explanation.is_anomaly


def test_only_features_that_set_the_group_apart_are_named(weather: QCAD) -> None:
    """Tests that zone, which is inland nearly everywhere, is left out where it says nothing."""
    explanation = weather.explain(137)
    apart = {circumstance.name: circumstance.sets_apart for circumstance in explanation.context}
    assert apart == {"month": True, "elevation": True, "zone": False}
    assert "zone" not in explanation.group
    assert "zone inland" in explanation.statement


def test_n_features_limits_the_sentence(either_weather: Any) -> None:
    """Tests that the sentence mentions no more than `n_features`, and that all features are in the table."""
    explanation = either_weather.explain(137, n_features=1)
    first, *others = explanation.features["feature"]
    assert first in str(explanation)
    assert not any(other in str(explanation) for other in others)
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
    assert str(explanation).count(" Note that ") == 4
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
    assert re.match(r"column 2 -?[\d.]+ where column 0 is ", quick(make, [0, 1], [2]).fit(array).explain(4).sentence)


@for_both
def test_the_value_that_is_off_the_most_leads(make: DetectorClass) -> None:
    """Tests that the sentence starts with the oddest value, names each value once, and calls nothing ordinary odd."""
    random = np.random.RandomState(0)
    seen = set()
    for seed in range(4):
        table = mixed_table(60, seed=seed, missing=0.0)
        table["pressure"] = random.standard_cauchy(60)
        for explanation in fit(make, table).explain_all(60):
            first = explanation.leading
            sentence = explanation.sentence
            assert sentence.startswith(first.text)
            counted = [part for part in explanation.behavior if part.share > 0 or part is first]
            assert first.oddness == max(part.oddness for part in counted)
            for part in explanation.behavior:
                assert sentence.count(f"{part.text} ") <= 1
            for part in explanation.behavior[1:]:
                if f"{part.title} " in explanation.statement and explanation.kind is None:
                    assert part.is_off
                    assert part.share >= 0.1
            is_striking = explanation.is_anomaly or (explanation.kind is not None and explanation.p_value <= 0.01)
            assert ("is as usual" in sentence) == (not first.is_off and not is_striking)
            seen.add(first.is_off)
    assert seen == {True, False}


@pytest.mark.parametrize("kind", ["whole", "combination", "value", None])
def test_each_kind_of_verdict_has_its_own_wording(kind: str | None) -> None:
    """Tests the whole row, values that do not go together, and one value, with what is usual and how rare it is."""
    first = made_feature("x", 9.0, (1.0, 3.0), p_value=0.001, given_all=0.0001, usual_given_all=(2.0, 2.5), share=0.7)
    second = made_feature("y", 8.0, (1.0, 3.0), p_value=0.01, given_all=0.5, share=0.3)
    found = Found([first, second], [CONTEXT_FEATURE], kind, 0.0002, True)
    assert statement(found) == {
        "whole": "x 9.0 (usually 1.0 to 3.0) and y 8.0 (usually 1.0 to 3.0), where site is north. "
        "Overall, only about 1 in 5,000 comparable rows is this unusual",
        "combination": "x 9.0 does not go with the row's other values where site is north: "
        "rows with such values have 2.0 to 2.5 (90 %), and only about 1 in 10,000 of them is this far off. "
        "Also unusual: y 8.0 (usually 1.0 to 3.0)",
    }.get(
        kind or "",
        "x 9.0 where site is north: comparable rows have 1.0 to 3.0 (90 %), and only about 1 in 1,000 is this far "
        "off. Also unusual: y 8.0 (usually 1.0 to 3.0)",
    )


def test_a_row_that_is_far_rarer_or_less_rare_than_its_value_is_called_so() -> None:
    """Tests that the sentence does not contradict the score: it says how rare the row is, too."""
    value = made_feature("x", 9.0, (1.0, 3.0), p_value=0.002, given_all=0.5)
    start = "x 9.0 where site is north: comparable rows have 1.0 to 3.0 (90 %), and only about 1 in 500 is this far off"
    of_row = {0.0005: "", 4e-6: ". Overall, only about 1 in 250,000 comparable rows is this unusual"}
    for p_value, end in of_row.items():
        assert statement(Found([value], [CONTEXT_FEATURE], "value", p_value, True)) == start + end
    value = made_feature("x", 9.0, (1.0, 3.0), p_value=1e-5, given_all=0.5)
    assert statement(Found([value], [CONTEXT_FEATURE], "value", 0.001, False)).endswith(
        "only about 1 in 100,000 is this far off. Overall, about 1 in 1,000 comparable rows is this unusual"
    )


def test_rounding_errors_are_not_written() -> None:
    """Tests ranges whose ends differ by less than anybody could mean."""
    value = made_feature("x", 7.0, (9.0 - 1e-14, 9.0), p_value=0.3, given_all=0.3)
    assert value.text == "x 7.0"
    assert value.range_text == "9.0"


def test_what_is_ordinary_is_not_called_odd() -> None:
    """Tests a value within its range: rare there, rare given the others, or as usual; and a row odd only as a whole."""
    rare = made_feature("x", 2.0, (1.0, 3.0), p_value=0.001, given_all=0.5)
    assert statement(Found([rare], [CONTEXT_FEATURE], "value", 1e-4, True)) == (
        "x 2.0 where site is north: comparable rows have 1.0 to 3.0 (90 %), but only about 1 in 1,000 is as rare"
    )
    odd = made_feature("x", 2.0, (1.0, 3.0), p_value=0.5, given_all=0.001, usual_given_all=(2.5, 3.0))
    assert statement(Found([odd], [CONTEXT_FEATURE], "value", 1e-4, True)) == (
        "x 2.0 where site is north: comparable rows have 1.0 to 3.0 (90 %), but those with its other values 2.5 to "
        "3.0, and only about 1 in 1,000 of them is this far off"
    )
    usual = [made_feature(name, 2.0, (1.0, 3.0), p_value=0.5, given_all=0.5) for name in "xy"]
    assert statement(Found(usual, [CONTEXT_FEATURE], "whole", 0.3, False)) == (
        "x 2.0 where site is north is as usual: comparable rows have 1.0 to 3.0 (90 %)"
    )
    assert statement(Found(usual[:1], [CONTEXT_FEATURE], "value", 0.002, False)) == (
        "x 2.0 where site is north: comparable rows have 1.0 to 3.0 (90 %). Overall, only about 1 in 500 comparable "
        "rows is this unusual"
    )
    assert statement(Found(usual, [CONTEXT_FEATURE], "whole", 1e-4, True)) == (
        "x 2.0 and y 2.0 where site is north: each of them is within its usual range, but overall only about 1 in "
        "10,000 comparable rows is this unusual"
    )
    assert statement(Found(usual, [CONTEXT_FEATURE], "combination", 1e-4, True)) == (
        "x 2.0 and y 2.0 do not go together where site is north: only about 1 in 10,000 comparable rows has as unusual "
        "a combination"
    )


def test_degenerate_ranges_in_words() -> None:
    """Tests one value for all comparable rows, one for 90 % of them, and no value at all."""
    context = [CONTEXT_FEATURE]
    always = made_feature("x", 9.0, (5.0, 5.0), p_value=0.001, given_all=None, ends=(5.0, 5.0))
    assert ": all comparable rows have 5.0, and only about 1 in 1,000 is this far off" in statement(
        Found([always], context, "value", 1e-3, True)
    )
    mostly = made_feature("x", 9.0, (5.0, 5.0), p_value=0.001, given_all=None, ends=(4.0, 6.0))
    assert ": 90 % of comparable rows have exactly 5.0," in statement(Found([mostly], context, "value", 1e-4, True))
    nothing = made_feature("x", 9.0, (np.nan, np.nan), p_value=np.nan, given_all=None, ends=(np.nan, np.nan))
    assert statement(Found([nothing], context, "value", 1.0, False)) == (
        "x 9.0 where site is north: no comparable row has a value"
    )


def test_the_only_value_is_as_rare_as_its_row() -> None:
    """Tests that one number is stated where there is one behavior, although the method has two."""
    only = made_feature("age", 65.0, (20.0, 42.0), p_value=1 / 2_200, given_all=None, ends=(1.0, 74.0))
    words = statement(Found([only], [CONTEXT_FEATURE], "value", 1 / 31_000, True))
    assert words.endswith("comparable rows have 20.0 to 42.0 (90 %), and only about 1 in 31,000 is this far off")


def test_missing_values_are_compared_with_rows_that_miss_the_same_others() -> None:
    """Tests that a share is that of the rows it is about: those that have, or lack, what the row has or lacks."""
    random = np.random.default_rng(0)
    n = 2_000
    table = pd.DataFrame({"year": random.integers(2000, 2010, n), "sales": random.normal(size=n)})
    lacks_both = random.random(n) < 0.3
    for name in ("listings", "inventory"):
        table[name] = np.where(lacks_both, np.nan, random.normal(size=n))
    strange = int(np.flatnonzero(~lacks_both)[0])
    table.loc[strange, "inventory"] = np.nan
    table.loc[np.flatnonzero(~lacks_both)[1:4], "inventory"] = np.nan
    explanation = (
        ConditionalSurprise(["year"], ["sales", "listings", "inventory"], n_trees=16).fit(table).explain(strange)
    )
    assert re.search(
        r"inventory is missing where year is \d+: in (over 99.9|99.\d) % of comparable rows that have listings it is "
        "present",
        explanation.sentence,
    )


def test_whole_numbers_stay_whole() -> None:
    """Tests that minutes without decimals have none in the sentence, whatever the percentiles are."""
    random = np.random.default_rng(0)
    table = {"hour": random.integers(0, 24, 400), "minutes": random.poisson(30, 400)}
    table["minutes"][7] = 200
    sentence = quick(ConditionalSurprise, ["hour"], ["minutes"], n_trees=16).fit(table).explain(7).sentence
    assert re.match(r"minutes 200 where hour is \d+: comparable rows have \d+ to \d+ \(90 %\)", sentence)


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


def test_a_row_that_is_rarer_than_its_value_says_so() -> None:
    """Tests that a flagged row with a value that is not rare by itself is not called '1 in 17'."""
    common = made_feature("x", 3.5, (1.0, 3.0), p_value=0.06, given_all=0.5)
    assert statement(Found([common], [CONTEXT_FEATURE], "value", 1e-3, True)) == (
        "x 3.5 where site is north: comparable rows have 1.0 to 3.0 (90 %). Overall, only about 1 in 1,000 comparable "
        "rows is this unusual"
    )
    assert "only about 1 in 17 is this far off" in statement(Found([common], [CONTEXT_FEATURE], "value", 0.02, False))
    # What is stated is how rare it is given the context, not given the other values.
    together = made_feature("x", 3.5, (1.0, 3.0), p_value=0.06, given_all=1e-4)
    said = statement(Found([together], [CONTEXT_FEATURE], "value", 1e-3, True))
    assert "1 in 17" not in said
    assert said.endswith("Overall, only about 1 in 1,000 comparable rows is this unusual")


def test_one_value_alone_does_not_go_with_the_others() -> None:
    """Tests a combination of which one value is named, and a value that comparable rows always have."""
    odd = made_feature("x", 2.0, (1.0, 3.0), p_value=0.001, given_all=0.005)
    assert statement(Found([odd], [CONTEXT_FEATURE], "combination", 1e-4, True)) == (
        "x 2.0 does not go with the row's other values where site is north: only about 1 in 10,000 comparable rows has "
        "as unusual a combination"
    )
    always = made_feature(
        "x", 5.0, (5.0, 5.0), p_value=0.5, given_all=1e-6, usual_given_all=(6.0, 7.0), ends=(5.0, 5.0)
    )
    far = made_feature("y", 8.0, (1.0, 3.0), p_value=1e-5, given_all=None)
    assert statement(Found([always, far], [CONTEXT_FEATURE], "whole", 1e-4, True)).startswith(
        "x 5.0 (as always, but rare with its other values) and y 8.0 (usually 1.0 to 3.0), where site is north."
    )


def test_missing_values_are_named_as_parts_of_a_sentence() -> None:
    """Tests that missingness reads well beside other values, and is not called 'not scored' where it is a finding."""
    random = np.random.default_rng(0)
    site = random.choice(["north", "south"], 400)
    x, y = random.normal(size=400), random.normal(size=400)
    y[(site == "south") & (random.random(400) < 0.97)] = np.nan
    y[np.flatnonzero(site == "north")[7]] = np.nan
    table = {"site": site, "x": x, "y": y}
    detector = ConditionalSurprise(["site"], ["x", "y"], missing=True, n_trees=16).fit(table)
    row = int(np.flatnonzero((site == "north") & np.isnan(y))[0])
    explanation = detector.explain(row)
    assert "y is missing" in str(explanation)
    assert "y is missing and not scored" not in str(explanation)
    flag = next(each for each in explanation.behavior if each.name.startswith("y") and each.is_category)
    assert flag.noun == "y being missing"
