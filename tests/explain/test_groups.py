"""Groups of flagged rows: planted causes are found with the planted rule, and none are invented."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paribus import ConditionalSurprise
from paribus.explain.chance import chance, ordinary_share, tie_chance
from paribus.explain.groups import find_groups
from tests.support.detectors import DetectorClass, for_both, quick

N = 2_000
# The placeholder of these tests is one that is named.
pytestmark = pytest.mark.filterwarnings("ignore:column 'y' is -99 in")


def clean_table(seed: int = 0, n: int = N) -> dict[str, Any]:
    """Context, and behavior of several shapes: normal, heavy-tailed, and counts."""
    random = np.random.default_rng(seed)
    age = random.uniform(20, 80, n)
    return {
        "age": age.round(),
        "site": random.choice(np.array(["north", "south", "east", "west"], dtype=object), n),
        "x": random.normal(size=n) + age / 20,
        "y": random.standard_t(4, size=n),
        "count": random.poisson(4, size=n),
    }


def fit(table: Any, **options: Any) -> Any:
    return ConditionalSurprise(["age", "site"], ["x", "y", "count"], **({"n_trees": 32} | options)).fit(table)


def test_one_value_in_many_rows_is_a_group() -> None:
    """Tests a placeholder: the rule names the value and what is usual, and the group is exactly the planted rows."""
    table = clean_table()
    table["y"][100:115] = -99.0
    groups = fit(table).groups()
    assert len(groups) == 1
    group = groups[0]
    assert sorted(group.positions) == list(range(100, 115))
    assert (group.column, group.direction, group.low, group.fit) == ("y", "equal", -99.0, 1.0)
    assert group.coverage > 0.9
    assert group.rule.startswith("y is -99.00 where -")
    assert group.rule.endswith(" is usual, for any age and site")
    assert group.known_rule == "y = -99"
    assert group.p_value < 1e-6
    assert (group.first, group.last, group.has_time) == (100, 114, False)
    assert group.example in range(100, 115)
    assert "All rows with this value are flagged" in str(group)


def test_a_shift_in_some_circumstances_is_a_group() -> None:
    """Tests one site whose sensor reads too high for the young: the rule has the direction and the site."""
    table = clean_table(n=6_000)
    random = np.random.default_rng(1)
    there = np.flatnonzero((table["site"] == "east") & (table["age"] < 45))
    planted = random.permutation(there)[:16]
    table["x"][planted] += random.uniform(10, 14, 16)
    best = fit(table, false_alarms=0.005).groups()[0]
    found = set(best.positions)
    assert (best.column, best.direction) == ("x", "above")
    assert len(found & set(planted)) >= 13
    assert len(found - set(planted)) <= 1
    assert "site east" in best.rule
    assert "site = east" in best.known_rule
    assert all(condition.high <= 45 for condition in best.circumstances if condition.column.name == "age")
    assert best.known_rule.startswith("x is above usual and ")


@pytest.mark.parametrize("seed", range(4))
def test_none_are_invented_on_clean_data(seed: int) -> None:
    """Tests that ordinary rows that are flagged by chance are no groups, whatever the shape of their columns."""
    detector = fit(clean_table(seed), false_alarms=0.01)
    assert (detector.labels_ == -1).sum() >= 3
    assert detector.groups() == []


def corner(kind: str, seed: int, n: int = N) -> dict[str, Any]:
    """A clean table in which the p-values of some corner of the context are too small."""
    random = np.random.default_rng(seed)
    age, noise = random.normal(size=n), random.normal(size=(3, n))
    size = {"steep": np.exp(1.5 * age), "long tail": random.standard_t(2, n)}.get(kind, age)
    x = {
        "steep": size * (1 + 0.05 * noise[0]),
        "long tail": 5 * size + noise[0],
        "uneven noise": age + np.exp(1.5 * age) * noise[0],
        "two branches": np.where(random.random(n) < 0.5, 3 * age, 5 - 3 * age) + 0.3 * noise[0],
    }[kind]
    site = random.choice(np.array(["north", "south"], dtype=object), n)
    return {"age": size if kind == "long tail" else age, "site": site, "x": x, "y": noise[1], "count": noise[2]}


@pytest.mark.parametrize("kind", ["steep", "long tail", "uneven noise", "two branches"])
def test_none_are_invented_in_the_corners_of_clean_data(kind: str) -> None:
    """Tests that no cause is named where p-values are too small: at the ends of columns, and where values scatter."""
    detector = fit(corner(kind, 0, 4_000), false_alarms=0.01, n_trees=64 if kind == "two branches" else 16)
    assert (detector.labels_ == -1).sum() >= 30
    assert detector.groups() == []


def test_a_cause_is_found_beside_a_corner() -> None:
    """Tests that a cause is found, and that ordinary rows where the behavior rises steeply are not flagged with it."""
    table = corner("steep", 0, 6_000)
    random = np.random.default_rng(1)
    planted = random.permutation(np.flatnonzero((table["site"] == "north") & (np.abs(table["age"]) < 1)))[:16]
    table["x"][planted] += random.uniform(10, 14, 16)
    detector = fit(table, n_trees=16)
    (group,) = detector.groups()
    assert (group.column, group.direction) == ("x", "above")
    assert len(set(group.positions) & set(planted)) >= 13
    assert group.size <= 18
    assert (detector.labels_ == -1).sum() <= 22


def test_missing_values_and_categories_are_groups() -> None:
    """Tests that the rule names what is missing or which category is wrong, and that it marks the group as known."""
    random = np.random.default_rng(0)
    n = 3_000
    age = random.uniform(0, 10, n)
    table: dict[str, Any] = {"age": age, "w": random.normal(size=n), "v": random.normal(size=n) + age}
    table["state"] = np.where(age > 5, "old", "young").astype(object)
    wrong = np.flatnonzero((age > 7) & (age < 9))[:5]
    table["state"][wrong] = "young"
    # Values are missing where age is below 5, and only there; but in five rows they are.
    table["v"][age < 5] = np.nan
    gone = np.flatnonzero((age > 5.5) & (age < 6.5))[:5]
    table["v"][gone] = np.nan
    detector = ConditionalSurprise(["age"], ["w", "v", "state"], n_trees=16, false_alarms=0.01, missing=True).fit(table)
    results = detector.results()
    # Five rows like these are hardly more than chance: that they are is not what is tested here.
    findings = [replace(each, p_value=each.p_value**3) for each in results.findings]
    found = {group.known_rule.split(" and ")[0]: group for group in find_groups(findings, results.grouped_table)}
    missing, young = found["v is missing"], found["state = young"]
    assert missing.column == "v"
    assert "v is missing where it is usually present" in missing.rule
    assert "state is young where old is usual" in young.rule
    assert set(young.positions) <= set(wrong)
    assert set(missing.positions) == set(gone)
    assert young.to_dict()["value"] == "young"
    assert "rows where it is missing" in str(missing)
    known = detector.results(known=[{"rule": missing.known_rule, "status": "known cause"}])
    assert set(gone) <= set(np.flatnonzero(known.marks.is_known))


def test_groups_are_the_same_each_time_and_in_any_order() -> None:
    """Tests that nothing is random, and that the order of the rows decides nothing but the positions."""
    table = clean_table()
    table["y"][100:115] = -99.0
    table["x"][300:320] = table["x"][300:320] + 30
    detector = fit(table)
    first, second = detector.groups(), detector.groups()
    assert [str(group) for group in first] == [str(group) for group in second]
    assert [group.number for group in first] == list(range(1, len(first) + 1))
    sizes = [group.size for group in first]
    assert sizes == sorted(sizes, reverse=True)
    every = np.concatenate([group.positions for group in first])
    assert len(every) == len(set(every))


def test_groups_of_new_rows() -> None:
    """Tests that new rows are grouped among themselves, named by their own labels."""
    detector = fit(clean_table())
    new = pd.DataFrame(clean_table(seed=5)).head(200)
    new.index = [f"n{row}" for row in range(200)]
    new.loc[new.index[20:30], "y"] = -99.0
    groups = detector.groups(new)
    assert [group.size for group in groups] == [10]
    assert sorted(groups[0].labels) == sorted(f"n{row}" for row in range(20, 30))


def test_the_first_and_the_last_row_in_time() -> None:
    """Tests that a column of timestamps says when a group began and ended, even if it has no role."""
    table = clean_table()
    table["when"] = np.datetime64("2024-01-01", "us") + np.arange(N)[::-1] * np.timedelta64(1, "D")
    table["y"][100:115] = -99.0
    group = fit(table).groups()[0]
    assert group.has_time
    last, first = (str(table["when"][row].astype("M8[D]")) for row in (100, 114))
    assert group.when_text == f"{first} to {last}"
    assert group.to_dict()["first"] == first


@for_both
def test_both_methods_have_groups(make: DetectorClass) -> None:
    """Tests that groups need nothing that only one method knows."""
    table = clean_table(n=400)
    table["y"][100:112] = -99.0
    groups = quick(make, ["age", "site"], ["x", "y", "count"], n_trees=16).fit(table).groups()
    for group in groups:
        assert group.size >= 3
        assert set(group.to_dict()) >= {"rule", "size", "fit", "p_value", "example", "first", "last", "known_rule"}


def test_chance_counts_rows_and_tries() -> None:
    """Tests that few strange rows among many are chance, and that trying more rules makes a find less telling."""
    strange = np.array([1e-5, 2e-5, 3e-5, 4e-5])
    assert chance(strange, 1_000, 1) < 1e-4
    assert chance(strange, 1_000_000, 1) == 1.0
    assert chance(strange, 1_000, 1) < chance(strange, 1_000, 100)
    everywhere = [np.zeros(900, dtype=np.int32)]
    for power, at_least in ((1, 1e-3), (2, 2e-2)):
        share = ordinary_share(np.linspace(0, 1, 900) ** power, np.ones(900), everywhere)
        assert at_least <= share(1e-3) < 2 * at_least
        assert chance(strange, 1_000, 1, share) >= chance(strange, 1_000, 1)
    column = np.arange(100.0)
    assert tie_chance(np.append(column, [500.0] * 5), 500.0, 8) < 1e-4
    assert tie_chance(np.append(column, [99.0] * 5), 99.0, 8) == 1.0
