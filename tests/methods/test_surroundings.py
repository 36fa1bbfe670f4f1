"""Tests of what evidence is worth: gross values, and rows whose surroundings are hard to predict."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import ConditionalSurprise, load
from paribus._core import Target
from paribus.methods.surprise.calibration import NO_LIMIT, CellCalibration, TailMap
from paribus.methods.surprise.tails import ColumnTails
from paribus.methods.surprise.trend_target import TrendColumn, TrendTarget


@given(
    seed=st.integers(0, 1000),
    n=st.sampled_from([5, 50, 2000]),
    unit=st.sampled_from([1e-9, 1.0, 1e12]),
    shift=st.sampled_from([0.0, -3.0, 1e3]),
)
def test_gross_values_do_not_depend_on_units_and_grow_with_the_distance(
    seed: int, n: int, unit: float, shift: float
) -> None:
    """Tests that the tails of a column are the same in other units, and never fall with the distance."""
    random = np.random.default_rng(seed)
    values = random.normal(size=n)
    asked = np.array([-1e6, -100.0, -10.0, 0.0, 10.0, 100.0, 1e6, np.nan])
    found = ColumnTails.of(values).evidence(asked)
    same = ColumnTails.of((values + shift) * unit).evidence((asked + shift) * unit)
    np.testing.assert_allclose(same, found, rtol=1e-6, atol=1e-6)
    assert found[3] == found[7] == 0.0
    assert (np.diff(found[:4]) <= 0).all()
    assert (np.diff(found[3:7]) >= 0).all()


@given(
    counts=st.lists(st.sampled_from([0, 1, 4, 40, 400, 4000]), min_size=5, max_size=5),
    values=st.lists(st.floats(-1e300, 1e300), min_size=5, max_size=5, unique=True),
)
def test_evidence_of_gross_values_is_finite(counts: list[int], values: list[float]) -> None:
    """Tests columns of a few values, however often they repeat and however far they are apart."""
    column = np.repeat(values, counts)
    if len(column) > 1:
        found = ColumnTails.of(column).evidence(np.array([*values, -1.5e300, 0.0, 1.5e300]))
        assert np.isfinite(found).all()
        assert (found >= 0).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.standard_t(2, 2_000),
        lambda random: random.standard_t(3, 2_000),
        lambda random: random.normal(size=2_000),
        lambda random: random.pareto(1.0, 2_000),
        lambda random: random.lognormal(0.0, 2.0, 2_000),
        lambda random: random.poisson(0.05, 2_000).astype(float),
        lambda random: random.zipf(2.0, 2_000).astype(float),
        lambda random: random.choice([0.0, 5.0, 25.0], 12_000, p=[0.966, 0.03, 0.004]),
        lambda random: random.choice([0.0, 1.0, 10.0, 100.0], 20_000, p=[0.75, 0.2, 0.045, 0.005]),
        lambda random: random.choice([1.0, 2.0, 3.0, 10.0], 20_000, p=[0.45, 0.35, 0.197, 0.003]),
        lambda random: random.choice([0.0, 25.0], 2_000, p=[0.997, 0.003]),
        lambda random: random.normal(0.5, 0.6, 300).round(),
    ],
    ids=[
        "t with 2 degrees",
        "t with 3 degrees",
        "normal",
        "Pareto",
        "lognormal",
        "rare counts",
        "Zipf",
        "fees",
        "denominations",
        "grades",
        "a rare fee",
        "rounded",
    ],
)
def test_columns_without_gross_values_hardly_have_any(draw: Any) -> None:
    """Tests that of columns of any kind fewer than 1 in 20 has a value that is taken to be gross."""
    random = np.random.default_rng(0)
    columns = [draw(random) for _ in range(100)]
    assert sum(bool((ColumnTails.of(each).evidence(each) > 0).any()) for each in columns) < 5


@pytest.mark.parametrize("n_placeholders", [1, 4, 9])
@pytest.mark.parametrize(
    "usual",
    [
        lambda random: random.lognormal(3.5, 1.2, 2_000),
        lambda random: random.normal(20.0, 8.0, 2_000),
        lambda random: np.where(random.random(2_000) < 0.03, 480.0, 360.0),
        lambda random: random.choice([1.0, 2.0, 3.0], 2_000, p=[0.3, 0.6, 0.1]),
        lambda random: random.poisson(0.1, 2_000).astype(float),
    ],
    ids=["skewed", "symmetric", "two values", "codes", "rare counts"],
)
def test_placeholders_are_gross_however_often_they_repeat(usual: Any, n_placeholders: int) -> None:
    """Tests that values such as 999,999 do not take each other for a tail, and make no other value gross."""
    column = usual(np.random.default_rng(0))
    column[:n_placeholders] = 999_999.0
    assert ((ColumnTails.of(column).evidence(column) > 0) == (column == 999_999.0)).all()
    assert ((ColumnTails.of(-column).evidence(-column) > 0) == (column == 999_999.0)).all()


def test_constant_and_nearly_constant_columns_have_tails() -> None:
    """Tests that nothing is gross where nothing varies, and that a side without values is as wide as the other."""
    assert not ColumnTails.of(np.zeros(100)).evidence(np.array([0.0, 5.0, -1e9])).any()
    # Too short to show that 10 is where it ends.
    visibility = ColumnTails.of(np.append(np.full(225, 10.0), np.linspace(0, 10, 25)))
    assert visibility.evidence(np.array([11.0]))[0] == 0.0
    assert visibility.evidence(np.array([1e9]))[0] > 20


@pytest.mark.parametrize(
    ("values", "gross", "ordinary"),
    [
        (np.random.default_rng(0).poisson(0.4, 2_000), [-1.0], [0.0, 3.0]),
        (np.repeat([1, 2, 3, 4, 5], [100, 200, 300, 500, 900]), [6.0, 55.0], [5.0, 1.0, 0.0]),
        (np.append(np.full(900, 10.0), np.linspace(0, 10, 100)), [11.0], [10.0, 9.0]),
        (np.append(np.random.default_rng(0).poisson(0.4, 2_000), [-1, -1]), [], [-1.0]),
        (np.random.default_rng(0).poisson(0.12, 2_000), [-1.0], [2.0]),
        (np.append(np.zeros(1_999), -1.0), [], [-1.0]),
        (np.repeat([-1, 0, 1], [8, 19_984, 8]), [], [-1.0, 1.0]),
        (np.repeat([0, 25], [4_900, 100]), [-25.0, 1e6], [0.0, 25.0]),
        (np.append(np.random.default_rng(0).poisson(0.1, 9_996), np.full(4, 1e6)), [1e6, -1.0], [2.0, 3.0]),
        (np.append(np.zeros(1_991), [25.0] * 8 + [1e6]), [1e6], [25.0, 20.0]),
        (np.repeat([0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0], [1, 325, 497, 255, 550, 90, 10]), [0.0, -1.0], [1.0, 4.0]),
        (np.append(np.zeros(994), np.arange(1.0, 7.0)), [1e6, -1.0], [5.0, 6.0]),
    ],
    ids=[
        "counts",
        "a scale",
        "a limit",
        "counts of both signs",
        "rare counts",
        "exceptions on one side",
        "exceptions on both sides",
        "a rare fee",
        "gross counts",
        "beyond a few fees",
        "no bath",
        "beyond a few amounts",
    ],
)
def test_values_beyond_the_end_of_a_column_are_gross(values: Any, gross: list[float], ordinary: list[float]) -> None:
    """Tests that an end is one where many values are and hardly any lie beyond, and on no other side."""
    tails = ColumnTails.of(values.astype(float))
    assert (tails.evidence(np.array(gross)) >= np.log(len(values))).all()
    assert not tails.evidence(np.array(ordinary)).any()
    mirrored = ColumnTails.of(-values.astype(float))
    assert mirrored.evidence(-np.array(gross)).tolist() == tails.evidence(np.array(gross)).tolist()


def test_an_impossible_count_is_on_top() -> None:
    """Tests a count of -1 in a row that is ordinary otherwise, fitted and new, and from a file."""
    random = np.random.default_rng(0)
    ill = random.poisson(1.5, 2_000)
    table = pd.DataFrame({"ill": ill, "visits": random.poisson(0.1 + 0.12 * ill).astype(float)})
    for place in range(2):
        table[f"cost_{place}"] = random.exponential(5.0, 2_000) * (1 + ill)
    table.loc[100, "visits"] = -1.0
    detector = ConditionalSurprise(["ill"], n_trees=16).fit(table)
    assert int(np.argmax(detector.anomaly_scores_)) == 100
    assert detector.labels_[100] == -1
    again = pickle.loads(pickle.dumps(detector))
    new = table.iloc[:150].assign(cost_0=table["cost_0"][:150] + 0.01)
    assert int(np.argmax(again.anomaly_score(new))) == 100
    assert again.anomaly_score(new).tolist() == detector.anomaly_score(new).tolist()


def test_a_value_beyond_the_end_of_a_nearly_constant_column_has_a_score() -> None:
    """Tests a negative fee, new and fitted, where hardly any row has one and nobody's is negative."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=2_000), "fee": 0.0, "y": random.normal(size=2_000)})
    table.loc[:14, "fee"] = 25.0
    new = table[1_000:1_010].assign(fee=[-25.0] + [0.0] * 9)
    detector = ConditionalSurprise(["x"], ["fee", "y"], n_trees=8).fit(table)
    scores = detector.anomaly_score(new)
    assert np.isfinite(scores).all()
    assert int(np.argmax(scores)) == 0
    assert detector.predict(new).tolist() == [-1] + [1] * 9
    table.loc[1_000, "fee"] = -25.0
    again = ConditionalSurprise(["x"], ["fee", "y"], n_trees=8).fit(table)
    assert int(np.argmax(again.anomaly_scores_)) == 1_000


@pytest.mark.parametrize("placeholder", [0.01, 0.57, 1.1, -99.9, 99.99, 12_345.67])
@pytest.mark.parametrize("n_placeholders", [1, 8])
def test_placeholders_are_gross_wherever_the_median_is(placeholder: float, n_placeholders: int) -> None:
    """Tests those that are nearer to 0 than the median, and not exact in binary."""
    middle = 1_293.09 if abs(placeholder) < 100.0 else 3.14
    column = (middle + np.random.default_rng(0).normal(size=2_000) * (0.02 * middle)).round(2)
    column[:n_placeholders] = placeholder
    assert ((ColumnTails.of(column).evidence(column) > 0) == (column == placeholder)).all()
    assert ((ColumnTails.of(-column).evidence(-column) > 0) == (column == placeholder)).all()


@pytest.mark.parametrize("n", [5, 8, 15, 20, 30, 45, 60, 100])
def test_short_clean_columns_have_no_gross_values(n: int) -> None:
    """Tests columns in which a few values tell how the tail falls: hardly any have one, heavy tails or not."""
    random = np.random.default_rng(0)
    columns = [column for _ in range(200) for column in (random.normal(size=n), random.standard_t(2, n))]
    assert sum(ColumnTails.of(column).evidence(column).any() for column in columns) <= 2


def test_columns_without_an_end_have_none() -> None:
    """Tests that ends are infinite, not huge."""
    assert ColumnTails.of(np.random.default_rng(0).normal(size=2_000)).ends == (-np.inf, np.inf)


@pytest.mark.parametrize("n_placeholders", [3, 11, 15, 40, 80])
@pytest.mark.parametrize("n_beyond", [0, 1])
def test_a_placeholder_is_flagged_however_often_it_is_there(n_placeholders: int, n_beyond: int) -> None:
    """Tests up to one in twenty-five, of 2,000 rows, also where another wrong value lies beyond it."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": random.normal(size=2_000), "y": random.standard_t(4, 2_000), "z": random.gamma(2.0, size=2_000)}
    )
    n_wrong = n_placeholders + n_beyond
    table.loc[: n_wrong - 1, "y"] = -98.0
    table.loc[: n_beyond - 1, "y"] = -300.0
    detector = ConditionalSurprise(["x"], n_trees=16).fit(table)
    assert set(np.argsort(-detector.anomaly_scores_)[:n_wrong]) == set(range(n_wrong))
    assert (detector.labels_[:n_wrong] == -1).all()
    assert (detector.labels_[n_wrong:] == -1).sum() < 6


@pytest.mark.parametrize("share", [0.003, 0.01, 0.03, 0.1])
def test_a_far_value_that_its_context_determines_is_ordinary(share: float) -> None:
    """Tests an expensive product, which always has the same price, and one row of another with that price."""
    random = np.random.default_rng(0)
    n = 6_000
    product = np.where(random.random(n) < share, "A", random.choice(["B", "C", "D"], n))
    price = random.uniform(0.0, 40.0, n) + np.array([{"A": 0, "B": 20, "C": 30, "D": 60}[each] for each in product])
    is_expensive = product == "A"
    price[is_expensive] = 2_345.6
    wrong = int(np.flatnonzero(product == "B")[0])
    price[wrong] = 2_345.6
    table = pd.DataFrame({"product": product, "price": price, "count": random.poisson(3, n)})
    detector = ConditionalSurprise(["product"], n_trees=16).fit(table)
    assert int(np.argmax(detector.anomaly_scores_)) == wrong
    assert (detector.labels_[is_expensive] == -1).sum() <= 2


def test_targets_treat_placeholders_as_missing() -> None:
    """Tests a column and its distances from a trend, against those of a table in which they are missing."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 3))
    rows[:5, 2], rows[5:8, 2], rows[8, 2] = -99.0, 777.0, 900.0
    cleared = rows.copy()
    cleared[:9, 2] = np.nan
    limits, bounds, features = (-2.0, 2.0), (-99.0, 777.0), np.arange(2, dtype=np.uint16)
    found, expected = TrendColumn(rows, 2, limits, features, bounds), TrendColumn(cleared, 2, limits, features)
    fitted, its_twin = (TrendTarget.fit(each, np.zeros(3, dtype=np.uint8)) for each in (found, expected))
    assert fitted is not None
    assert its_twin is not None
    np.testing.assert_array_equal(fitted.distances(found).values(), its_twin.distances(expected).values())
    numbers = np.arange(200)
    np.testing.assert_array_equal(
        fitted.distances(found).centers(rows, numbers), its_twin.distances(expected).centers(cleared, numbers)
    )
    column, its_twin_column = Target(rows, 2, *limits, bounds), Target(cleared, 2, *limits)
    np.testing.assert_array_equal(column.values(), its_twin_column.values())
    assert np.isnan(column.values()[:9]).all()


def test_placeholders_hide_no_other_errors(tmp_path: Path) -> None:
    """Tests prices that the product determines, -98 in one of a hundred, and three wrong ones; and stated ranges."""
    random = np.random.default_rng(0)
    n = 6_000
    product = random.integers(0, 60, n)
    price = 12.0 + product // 4 + 0.25 * (product % 4)
    usual = price.copy()
    price[100:160] = -98.0
    price[:3] = -usual[0], 10.0 * usual[1], usual[2] + 3.25
    table = pd.DataFrame({"product": [f"p{each}" for each in product], "price": price})
    detector = ConditionalSurprise(["product"], n_trees=16).fit(table)
    wrong = {0, 1, 2, *range(100, 160)}
    assert set(np.flatnonzero(detector.labels_ == -1)) == wrong
    assert detector.anomaly_score(table).tolist() == detector.anomaly_scores_.tolist()
    assert f"90 % of comparable rows have exactly {usual[100]:.2f}," in detector.explain(100).sentence
    detector.save(tmp_path / "prices.paribus")
    new = table[90:110].assign(price=np.append(np.full(10, -98.0), usual[100:110]))
    expected = detector.anomaly_score(new)
    assert (expected[:10] > 3).all()
    assert (expected[10:] < 3).all()
    assert load(tmp_path / "prices.paribus").anomaly_score(new).tolist() == expected.tolist()


def test_rows_with_placeholders_are_on_top_and_flagged() -> None:
    """Tests three placeholders that repeat in different columns, among rows that are strange in other ways."""
    random = np.random.default_rng(0)
    n = 2_000
    income = random.lognormal(4.0, 0.5, n)
    table = pd.DataFrame({"income": income, "assets": income * random.lognormal(0.0, 1.0, n)})
    table["term"] = np.where(random.random(n) < 0.03, 480.0, 360.0)
    table["ratio"] = 30.0 + 3.0 * random.standard_t(3, n)
    table.loc[:8, "assets"] = 1_000_000.0
    table.loc[9:12, "term"] = 999_999.0
    table.loc[13:14, "ratio"] = -999.0
    with pytest.warns(UserWarning, match="if it stands for a missing value"):
        detector = ConditionalSurprise(["income"], n_trees=16).fit(table)
    assert set(np.argsort(-detector.anomaly_scores_)[:15]) == set(range(15))
    assert (detector.labels_[:15] == -1).all()


@pytest.mark.parametrize("n", [100, 200, 400])
def test_a_unit_mistake_in_a_short_table_is_flagged(n: int) -> None:
    """Tests a value in thousandths, new and fitted, where too few rows tell how strange a row of ten columns may be."""
    random = np.random.default_rng(0)
    kind = random.integers(0, 3, n)
    table = pd.DataFrame({"kind": kind, **{f"v{k}": 70.0 + kind + random.standard_t(3, n) for k in range(8)}})
    table["rare"] = np.where(random.random(n) < 0.2, random.exponential(size=n), 0.0)
    new = table[:50].copy()
    new["v3"] *= np.where(np.arange(50) == 7, 1_000.0, 1.0)
    detector = ConditionalSurprise(["kind"], n_trees=16).fit(table)
    assert np.flatnonzero(detector.predict(new) == -1).tolist() == [7]
    table.loc[7, "v3"] *= 1_000.0
    detector = ConditionalSurprise(["kind"], n_trees=16).fit(table)
    assert int(np.argmax(detector.anomaly_scores_)) == 7
    assert detector.labels_[7] == -1
    assert detector.partial_scores_.loc[7].sum() == pytest.approx(detector.anomaly_scores_[7], rel=1e-6)


def test_a_gross_value_is_on_top_whatever_else_is_in_the_row() -> None:
    """Tests a wind of 1,048 among skewed winds: first by far, among rows that are strange in all other columns."""
    random = np.random.default_rng(0)
    x = random.normal(size=1500)
    table = pd.DataFrame({"x": x, "wind": random.gamma(2.0, 5.0, size=1500)})
    table = table.join(pd.DataFrame({f"y{i}": x + 0.2 * random.normal(size=1500) for i in range(3)}))
    table.loc[10:19, ["y0", "y1", "y2"]] += 0.7
    table.loc[700, "wind"] = 1048.0
    detector = ConditionalSurprise(["x"], ["wind", "y0", "y1", "y2"], n_trees=16).fit(table)
    highest = np.sort(detector.anomaly_scores_)
    assert detector.anomaly_scores_.argmax() == 700
    assert highest[-1] > highest[-2] + 0.5
    row = table[700:701]
    cell_p_values = detector.cell_p_values(row).to_numpy()[0]
    assert cell_p_values.argmin() == 0
    assert cell_p_values[0] < 1e-5
    assert detector.kinds(row)[0] == "value"


def test_rows_in_difficult_surroundings_are_not_all_flagged() -> None:
    """Tests a region in which a narrow relation between two columns breaks: its rows are as ordinary as others."""
    random = np.random.default_rng(1)
    n = 2000
    x = random.uniform(0, 1, size=n)
    erratic = x > 0.95
    noise = np.where(erratic, 1.0, 0.02) * random.normal(size=n)
    table = pd.DataFrame({"x": x, "a": random.normal(size=n)})
    table["b"] = table["a"] + noise
    detector = ConditionalSurprise(["x"], ["a", "b"], n_trees=32).fit(table)
    assert (detector.labels_[erratic] == -1).mean() < 0.05


def test_evidence_is_divided_by_how_much_harder_than_usual_the_surroundings_are() -> None:
    """Tests the ratio: 1 up to a quarter above the usual, and less far from it with fewer leaves."""
    line = TailMap(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 1.0, NO_LIMIT)
    sure = CellCalibration(line, 1.0, 1.0, line, np.zeros(0, dtype=np.uint8))
    np.testing.assert_allclose(sure.factors(np.array([0.0, 1.0, 1.25, 2.5, 5.0])), [1.0, 1.0, 1.0, 2.0, 4.0])
    np.testing.assert_allclose(sure(np.array([8.0, 8.0]), np.array([1.0, 5.0])), [8.0, 2.0])
    unsure = CellCalibration(line, 1.0, 0.5, line, np.zeros(0, dtype=np.uint8))
    np.testing.assert_allclose(unsure.factors(np.array([5.0])), [2.4])
