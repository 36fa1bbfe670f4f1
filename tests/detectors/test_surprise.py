"""ConditionalSurprise: what it finds, what it says, and what it promises."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import minimize
from scipy.stats import t as student_t

from paribus import QCAD, ConditionalSurprise, load
from paribus._core import FeatureTable, Samples
from paribus.methods.density import ColumnSupport, Density, student
from paribus.methods.surprise.smoothing import SURPRISE_WIDTH
from paribus.methods.surprise.trend import fit_trend
from paribus.methods.surprise.trend_target import TrendColumn, TrendTarget
from paribus.methods.surprise.view_shares import fit_shares, mix
from paribus.methods.surprise.views import Asked, ForestSettings, ForestView, WholeColumn
from tests.support.forests import make_target
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

Array = np.ndarray[Any, Any]


def wavy_table(n: int = 600, seed: int = 0, together: float = 0.3) -> pd.DataFrame:
    """Two behavioral features that follow the context along a curve, and each other by so much."""
    random = np.random.default_rng(seed)
    place, kind = random.uniform(-2, 2, n), random.choice(["a", "b"], n)
    level = 2 * np.sin(place) + np.where(kind == "b", 2.0, 0.0)
    shared = random.normal(size=n)
    return pd.DataFrame(
        {
            "place": place,
            "kind": kind,
            "warm": level + together * shared + 0.05 * random.normal(size=n),
            "loud": 5 * level - 5 * together * shared + 0.25 * random.normal(size=n),
        }
    )


def wavy_detector(**changes: Any) -> ConditionalSurprise:
    return ConditionalSurprise(["place", "kind"], ["warm", "loud"], **changes)


def test_it_finds_what_is_ordinary_overall_and_strange_for_its_context() -> None:
    """Tests rows that have the values of others far away: they occur, but not there, and are in the top 2 %."""
    table = wavy_table()
    order = table["place"].argsort()
    here, there = order[5:80:15].to_numpy(), order[-80:-5:15].to_numpy()
    table.loc[here, ["warm", "loud"]] = table.loc[there, ["warm", "loud"]].to_numpy()
    highest = np.argsort(-wavy_detector().fit(table).anomaly_scores_)[:12]
    assert set(here) <= set(highest)


def test_it_finds_values_that_do_not_go_together() -> None:
    """Tests a row whose every value is plausible in its context: together they are not, and the words say so."""
    table = wavy_table(1500, together=1.0)
    level = 2 * np.sin(table.loc[0, "place"]) + (2.0 if table.loc[0, "kind"] == "b" else 0.0)
    table.loc[0, ["warm", "loud"]] = [level + 1.2, 5 * level + 6.0]
    detector = wavy_detector().fit(table)
    explanation = detector.explain(0)
    assert explanation.kind == detector.kinds(table[:1])[0] == "combination"
    for feature in explanation.behavior:
        assert feature.verdict is not None
        assert feature.verdict.p_value_given_all is not None
        assert feature.verdict.p_value_given_all < 0.01 < feature.verdict.p_value
    assert "does not go with" in explanation.sentence or "other values" in explanation.sentence
    assert QCAD(["place", "kind"], ["warm", "loud"], n_trees=10).fit(table).explain(0).rank > 60


def test_scores_of_new_rows_are_those_of_fitted_ones() -> None:
    """Tests that a fitted row gets its own score again, in any company, and that twins score alike."""
    table = pd.concat([wavy_table(200), wavy_table(200)[:20]], ignore_index=True)
    detector = wavy_detector(n_trees=16).fit(table)
    np.testing.assert_array_equal(detector.anomaly_score(table), detector.anomaly_scores_)
    np.testing.assert_array_equal(detector.anomaly_score(table[50:60]), detector.anomaly_scores_[50:60])
    np.testing.assert_array_equal(detector.anomaly_scores_[:20], detector.anomaly_scores_[200:])
    np.testing.assert_allclose(detector.partial_scores_.sum(axis=1), detector.anomaly_scores_)


def test_threads_and_copies_change_nothing(tmp_path: Path) -> None:
    """Tests the same bits on two threads, from a pickle and from a file; and other bits with another seed."""
    table = mixed_table(150)
    detector = ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=16, n_jobs=1).fit(table)
    again = ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=16, n_jobs=2).fit(table)
    np.testing.assert_array_equal(again.anomaly_scores_, detector.anomaly_scores_)
    other = ConditionalSurprise(CONTEXT, BEHAVIOR, n_trees=16, random_state=1).fit(table)
    assert (other.anomaly_scores_ != detector.anomaly_scores_).any()
    detector.save(tmp_path / "m.paribus")
    new = mixed_table(40, seed=7)
    expected = detector.anomaly_score(new)
    copies: list[Any] = [pickle.loads(pickle.dumps(detector)), load(tmp_path / "m.paribus")]
    copies.append(ConditionalSurprise.load(tmp_path / "m.paribus"))
    for copy in copies:
        np.testing.assert_array_equal(copy.anomaly_score(new), expected)
        assert str(copy.explain(3)) == str(detector.explain(3))
        np.testing.assert_array_equal(copy.percentiles(new), detector.percentiles(new))


def test_a_model_of_the_other_detector_is_named(tmp_path: Path) -> None:
    """Tests that each class refuses the other's file, and that paribus.load reads both."""
    table = mixed_table(60)
    for here, there in ((QCAD, ConditionalSurprise), (ConditionalSurprise, QCAD)):
        path = tmp_path / f"{here.__name__}.paribus"
        here(CONTEXT, BEHAVIOR, n_trees=4).fit(table).save(path)
        assert type(load(path)) is here
        with pytest.raises(ValueError, match=f"holds a {here.__name__}, not a {there.__name__}: read it"):
            there.load(path)


def test_missing_values_constants_and_unseen_categories() -> None:
    """Tests that gaps are taken as they come: no score without behavior, the others from what there is."""
    table = mixed_table(120)
    table.loc[:3, BEHAVIOR[0]] = np.nan
    table.loc[2, BEHAVIOR] = np.nan
    table.loc[5:20, CONTEXT[0]] = np.nan
    table["flat"], table["empty"] = 3.0, np.nan
    with pytest.warns(UserWarning, match="'flat' is 3 in every row"), pytest.warns(UserWarning, match="'empty' has no"):
        detector = ConditionalSurprise([*CONTEXT, "empty"], [*BEHAVIOR, "flat"], n_trees=8, missing=True).fit(table)
    partial = detector.partial_scores_
    assert np.isnan(partial[BEHAVIOR[0]].to_numpy()[:4]).all()
    assert "flat" not in partial
    assert np.isfinite(detector.anomaly_scores_).all()
    new = table[:3].assign(site="never seen")
    assert np.isfinite(detector.anomaly_score(new)).all()


@pytest.mark.parametrize("size", [1e-300, 1e-249, 1e249])
@pytest.mark.parametrize("n_rows", [60, 900])
def test_numbers_of_any_size(size: float, n_rows: int) -> None:
    """Tests columns near the ends of all numbers, and single such values: scores and words, and no complaint."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"place": random.normal(size=n_rows), "warm": random.normal(size=n_rows)})
    table["vast"] = size * random.normal(size=n_rows)
    table["one"] = np.where(np.arange(n_rows) == 7, size, table["warm"])
    for behavioral in (["warm", "vast"], ["warm", "one"]):
        if size < 1e-250 and "vast" in behavioral:
            with pytest.warns(UserWarning, match="in every row, so it is left out"):
                detector = ConditionalSurprise(["place"], behavioral, n_trees=8).fit(table)
            assert detector.behavioral_features_ == ["warm"]
        else:
            detector = ConditionalSurprise(["place"], behavioral, n_trees=8).fit(table)
        assert np.isfinite(detector.anomaly_scores_).all()
        assert np.isfinite(detector.percentiles(table[:20])).all()
        assert detector.explain_all(2)[0].sentence


@pytest.mark.parametrize("behavioral", [["warm"], ["warm", "loud"]])
def test_no_rows_have_no_scores(behavioral: list[str]) -> None:
    """Tests a table without rows."""
    detector = ConditionalSurprise(["place", "kind"], behavioral, n_trees=4).fit(wavy_table(60))
    none = wavy_table(60)[:0]
    assert detector.anomaly_score(none).shape == (0,)
    assert detector.partial_scores(none).shape == (0, len(behavioral))
    assert detector.explain_all(rows=none) == []


def test_one_behavioral_feature() -> None:
    """Tests that a strange row with a single behavioral feature is a strange value, and has no other kind."""
    table = wavy_table(300)
    table.loc[0, "warm"] = 50.0
    detector = ConditionalSurprise(["place", "kind"], ["warm"], n_trees=16).fit(table)
    assert detector.anomaly_scores_.argmax() == 0
    assert detector.labels_[0] == -1
    assert set(detector.kinds(table)) == {"value"}
    explanation = detector.explain(0)
    assert explanation.leading.verdict is not None
    assert explanation.leading.verdict.p_value_given_all is None
    assert "is this far off" in explanation.sentence
    assert "go with" not in explanation.sentence
    assert "other values" not in explanation.sentence


def test_scores_are_probabilities() -> None:
    """Tests that a score is minus the decimal logarithm of a p-value, and is flagged below `false_alarms`."""
    table = wavy_table(1000)
    table.loc[0, "warm"] = 1e6
    for false_alarms in (0.001, 0.05):
        detector = wavy_detector(n_trees=16, false_alarms=false_alarms).fit(table)
        np.testing.assert_allclose(-np.log10(detector.p_values_), detector.anomaly_scores_)
        np.testing.assert_array_equal(detector.labels_ == -1, detector.p_values_ < false_alarms)
        np.testing.assert_array_equal(detector.p_values(table), detector.p_values_)
        assert (detector.partial_scores_ >= 0).to_numpy().all()
    assert wavy_detector(n_trees=16, contamination=0.1).fit(table).labels_.tolist().count(-1) == 100


def test_p_values_of_cells() -> None:
    """Tests that cells have the p-values of their explanations, and that half of the fitted ones are above a half."""
    table = wavy_table(601)
    table.loc[3, "warm"] = np.nan
    detector = wavy_detector(n_trees=16).fit(table)
    cells = detector.cell_p_values(table)
    np.testing.assert_array_equal(cells.to_numpy(), detector.cell_p_values_)
    assert np.isnan(cells.loc[3, "warm"])
    # The standard error of this share is 0.02.
    assert 0.45 < (cells["loud"] > 0.5).mean() < 0.55
    for row in (0, 3, 77):
        for feature in detector.explain(row).behavior:
            assert feature.verdict is not None
            assert feature.verdict.p_value == pytest.approx(cells.loc[row, feature.name], nan_ok=True)


def test_parts_have_32_bits_and_scores_are_their_sums() -> None:
    """Tests that parts of fitted and of new rows are rounded alike, that scores are their exact sums, and that no two
    rows have the same score because of it."""
    table, detector = wavy_table(1500), wavy_detector(n_trees=16)
    detector.fit(table)
    parts, scores = detector.partial_scores_.to_numpy(), detector.anomaly_scores_
    np.testing.assert_array_equal(parts, parts.astype(np.float32))
    np.testing.assert_allclose(scores, parts.sum(axis=1), rtol=1e-15)
    new = detector.partial_scores(wavy_table(300, seed=5)).to_numpy()
    np.testing.assert_array_equal(new, new.astype(np.float32))
    np.testing.assert_array_equal(detector.partial_scores(table).to_numpy(), parts)
    assert len(np.unique(scores[scores > 0])) == (scores > 0).sum()
    np.testing.assert_array_equal(detector.labels_ == -1, scores > detector.threshold_)


def test_of_two_far_values_the_farther_one_scores_higher() -> None:
    """Tests that the order of rows that are far off is that of their distances."""
    table = wavy_table(300)
    table.loc[0, "warm"], table.loc[1, "warm"] = 20.0, 40.0
    scores = wavy_detector(n_trees=16).fit(table).anomaly_scores_
    assert scores[0] < scores[1]


def test_reference_rows_are_those_that_share_leaves() -> None:
    """Tests that an explanation's group is like the row, leaves the row out, and adds up."""
    detector = wavy_detector().fit(wavy_table())
    explanation = detector.explain(7)
    assert 7 not in explanation.reference_positions
    assert (np.diff(explanation.reference_distances) >= 0).all()
    assert explanation.leading.weights.sum() == pytest.approx(1.0)
    table = wavy_table()
    group = table.iloc[explanation.reference_positions]
    weights = explanation.leading.weights
    assert weights[(group["kind"] == table.loc[7, "kind"]).to_numpy()].sum() > 0.9
    spread = weights @ np.abs(group["place"].to_numpy() - table.loc[7, "place"])
    assert spread < 0.5 * np.abs(table["place"] - table.loc[7, "place"]).mean()


def test_rows_that_do_not_count_are_no_reference() -> None:
    """Tests that a thin context is noticed, and that a group is filled up by the nearest rows, not by any."""
    table = wavy_table(400)
    detector = wavy_detector(n_trees=16).fit(table)
    far = {"place": 40.0, "kind": "c", "warm": 0.0, "loud": 0.0}
    assert detector.explain(far).warnings[0].startswith("few rows are comparable")
    assert not any("comparable" in warning for each in detector.explain_all(20) for warning in each.warnings)
    few = wavy_detector(n_trees=2, min_samples_leaf=1).fit(table)
    positions, distances = few.reference_group(table[:1])
    group = few.explain(0).reference_positions
    assert len(group) < len(set(positions[0])) == 200
    assert set(group) <= set(positions[0])
    assert 0 not in positions[0]
    assert (np.diff(distances[0]) >= 0).all()
    apart = np.abs(table["place"] - table.loc[0, "place"])[table["kind"] == table.loc[0, "kind"]]
    assert set(apart.nsmallest(100).index) <= {0, *positions[0]}


def test_percentiles_are_calibrated() -> None:
    """Tests that about 90 % of rows lie within what the detector says 90 % do."""
    table = wavy_table(1000)
    detector = wavy_detector().fit(table)
    table = table[:500]
    percentiles = detector.percentiles(table)
    for feature, name in enumerate(["warm", "loud"]):
        inside = (table[name] >= percentiles[:, feature, 5]) & (table[name] <= percentiles[:, feature, 95])
        assert 0.85 < inside.mean() < 0.96


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_trees": 0}, "n_trees is 0"),
        ({"min_samples_leaf": 0}, "min_samples_leaf is 0"),
        ({"max_samples": 1.5}, "max_samples is 1.5"),
        ({"false_alarms": 0}, "false_alarms is 0"),
        ({"false_alarms": "few"}, "false_alarms is 'few'"),
        ({"max_features": 2.0}, "max_features is 2.0"),
        ({"contamination": 0.7}, "contamination is 0.7"),
    ],
)
def test_bad_parameters(parameters: Any, message: str) -> None:
    """Tests that each is an error of one sentence before the work starts."""
    with pytest.raises((TypeError, ValueError), match=message):
        wavy_detector(**parameters).fit(wavy_table(50))


@given(seed=st.integers(0, 2**32 - 1), n_views=st.integers(1, 4))
def test_shares_are_the_most_likely_ones(seed: int, n_views: int) -> None:
    """Tests the shares of views against a general optimizer."""
    surprises = np.random.default_rng(seed).normal(size=(n_views, 40))
    shares = fit_shares(surprises)
    assert shares.sum() == pytest.approx(1.0)

    def cost(logits: Array) -> float:
        weights = np.exp(logits - logits.max())
        return float(mix(surprises, weights / weights.sum()).mean())

    best = minimize(cost, np.zeros(n_views)).fun
    assert mix(surprises, shares).mean() <= best + 0.01


def test_the_kernel_is_students_t() -> None:
    """Tests the density against scipy, and that a smooth distribution has an area of 1."""
    at = np.linspace(-9, 9, 50)
    np.testing.assert_allclose(student(at, np.array(1.0), 2.0), student_t.pdf(at, 3, loc=1.0, scale=2.0))
    density = Density(np.array([0.0, 5.0]), np.array([1.0, 0.5]), np.array([0.25, 0.75]))
    wide = np.linspace(-400, 400, 400_001)
    assert trapezoid(density(wide), wide) == pytest.approx(1.0, abs=1e-4)
    near = np.linspace(-9, 9, 2001)
    np.testing.assert_allclose(np.gradient(density.cumulative(near), near), density(near), atol=1e-3)
    taus = density.percentiles(20)
    np.testing.assert_allclose(density.cumulative(taus)[1:-1], np.arange(1, 20) / 20, atol=0.02)
    bounded = replace(density, support=ColumnSupport(-0.5, 5.5))
    np.testing.assert_array_equal(bounded.percentiles(20), taus.clip(-0.5, 5.5))
    whole = replace(density, support=ColumnSupport(0.0, 9.0, 1.0, np.arange(10.0)))
    np.testing.assert_array_equal(whole.percentiles(20), taus.round().clip(0.0))


def test_the_whole_column_does_not_count_the_row_itself() -> None:
    """Tests the leave-one-out density of a column against a plain sum."""
    values = np.array([1.0, 2.0, 2.0, 7.0])
    whole = WholeColumn.of(values)
    found = whole.surprises(Asked(np.empty((4, 0)), np.array([0, 1, -1, 3])), values)
    for row, is_own in enumerate([True, True, False, True]):
        others = np.delete(values, row) if is_own else values
        assert found[row] == pytest.approx(-np.log(student(values[row], others, whole.scale).mean()))


def test_widths_are_those_of_the_docs() -> None:
    """Tests the shares of a standard deviation that docs/methods/surprise.md names, for a column and for contexts."""
    random = np.random.default_rng(0)
    target = random.normal(size=300)
    deviation = np.sqrt(np.pi / 2.0) * np.abs(target - target.mean()).mean()
    assert WholeColumn.of(target).scale == pytest.approx(0.3 * deviation)
    assert pytest.approx(0.5 * np.sqrt(np.pi / 2.0)) == SURPRISE_WIDTH
    rows = random.normal(size=(300, 1))
    view = ForestView(make_target(target), np.arange(1, dtype=np.uint16))
    samples = Samples(np.ones(300, dtype=np.uint8), None, 4, 150, 0)
    table = FeatureTable(rows, np.zeros(1, dtype=np.uint8))
    view.grow(table, samples, ForestSettings(4, 1, 4, 300), 0, 1, None)
    asked = Asked(rows, np.arange(300))
    view.measure(asked)
    deviations = view.forest.deviations(asked.rows, asked.fitted)
    assert view.min_deviation == pytest.approx(0.5 * np.median(deviations))


@given(seed=st.integers(0, 2**32 - 1))
def test_residuals_are_those_without_the_row(seed: int) -> None:
    """Tests the closed form of leaving a row out against fitting without it (no row is far off, so all count fully)."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.normal(size=60), random.integers(3, size=60)])
    target = 2.0 * rows[:, 0] + rows[:, 1] + random.uniform(-1, 1, 60)
    categorical = np.array([0, 1], dtype=np.uint8)
    trend, leverage = fit_trend(rows, categorical, target)
    residuals = (target - trend.predict(rows)) / leverage.divisors
    keep = np.arange(60) != 5
    without, _ = fit_trend(rows[keep], categorical, target[keep])
    assert residuals[5] == pytest.approx(target[5] - without.predict(rows[5:6])[0], abs=0.15)


def test_a_fitted_row_is_judged_as_if_the_trend_had_not_seen_it() -> None:
    """Tests that a fitted row is as far from the trend as without it, and a new row as far as it is."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(30, 2))
    target = rows @ [2.0, -1.0] + 0.1 * random.normal(size=30)
    target[4] = np.nan
    trend, leverage = fit_trend(rows, np.zeros(2, dtype=np.uint8), target)
    expected = trend.predict(rows)
    residuals = target - expected
    residuals[leverage.rows] /= leverage.divisors
    table, features = np.column_stack([rows, target]), np.arange(2, dtype=np.uint16)
    everything = (-np.inf, np.inf)
    distances = TrendTarget(trend, leverage).distances(TrendColumn(table, 2, everything, features))
    np.testing.assert_array_equal(distances.values(), residuals)
    view = ForestView(distances, features, has_trend=True)
    rows = table
    new = view.centers(Asked(rows, np.full(30, -1)))
    assert new is not None
    np.testing.assert_array_equal(new, expected)
    known = np.flatnonzero(~np.isnan(target))
    own = view.centers(Asked(rows, np.arange(30)))
    assert own is not None
    np.testing.assert_allclose(own[known], (target - residuals)[known])
    assert (np.abs(own - expected)[known] > 1e-6).all()
    assert own[4] == expected[4]


def test_a_trend_ignores_gross_errors_and_gaps() -> None:
    """Tests that some absurd values do not bend the line, and that a missing column adds nothing."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 2))
    target = 4.0 * rows[:, 0] - rows[:, 1] + 0.1 * random.normal(size=300)
    target[:15] = 1e5
    rows[100, 0] = np.nan
    trend, _ = fit_trend(rows, np.zeros(2, dtype=np.uint8), target)
    np.testing.assert_allclose(trend.slopes, [4.0, -1.0], atol=0.2)
    assert np.median(np.abs(target - trend.predict(rows))) < 0.5
    assert np.isfinite(trend.predict(np.array([[np.nan, np.nan]]))).all()


def test_a_few_wrong_signs_do_not_choose_the_scale() -> None:
    """Tests that -999 in a skewed column of positive numbers is on top, also if it is there more than once."""
    random = np.random.default_rng(0)
    place = random.uniform(size=900)
    amount, other = np.exp(6 + 3 * place + random.normal(0, 0.6, 900)), random.normal(size=900)
    wrong = random.choice(900, 3, replace=False)
    amount[wrong] = -999.0
    table = {"place": place, "amount": amount, "other": other}
    with pytest.warns(UserWarning, match="column 'amount' is -999 in 3 rows"):
        detector = ConditionalSurprise(["place"], ["amount", "other"]).fit(table)
    assert set(np.argsort(-detector.anomaly_scores_)[:3].tolist()) == set(wrong.tolist())


def test_progress_is_told_along_the_way() -> None:
    """Tests that a fit says more than once per forest how far it is, and never goes back."""
    seen: list[tuple[int, int]] = []
    wavy_detector(n_trees=64, progress=lambda done, total: seen.append((done, total))).fit(wavy_table(6000))
    done = [each for each, _ in seen]
    assert done == sorted(done)
    assert seen[-1] == (6000, 6000)
    assert len(set(done)) > 8


def test_a_context_that_is_nearly_always_the_same_changes_little() -> None:
    """Tests that with a second contextual column of three other values, the rows of a place are compared as before."""
    random = np.random.default_rng(0)
    place = random.integers(0, 50, size=1_500)
    table = {
        "place": np.array([f"place {number}" for number in place], dtype=object),
        "country": np.where(np.arange(1_500) < 3, "elsewhere", "here").astype(object),
        "x": 20.0 * place + random.normal(size=1_500),
    }
    detector = ConditionalSurprise(["place", "country"], ["x"], n_trees=16).fit(table)
    widths = [found.upper - found.lower for row in range(10, 40) for found in detector.explain(row).behavior]
    # Of nothing but noise, nine tenths lie within 3.3.
    assert np.median(widths) < 5.0


@pytest.mark.parametrize("seed", range(2))
def test_a_common_value_is_not_rare_because_its_context_is_unknown(seed: int) -> None:
    """Tests the only rows of their models, with a number of seats that is common, where other models have their own."""
    random = np.random.default_rng(seed)
    model = np.repeat(np.arange(60), 20)
    seats = np.array([100.0, 120.0, 140.0, 149.0, 149.0, 149.0, 180.0, 200.0])[random.integers(0, 8, 60)][model]
    seats[random.choice(len(model), 60, replace=False)] += random.integers(1, 30, 60)
    table = {
        "model": np.array([f"model {number}" for number in model], dtype=object),
        "maker": np.array([f"maker {number % 5}" for number in model], dtype=object),
        "seats": seats,
        "year": random.integers(1990, 2013, len(model)).astype(float),
    }
    table["model"][:3] = ["first", "second", "third"]
    table["seats"][:3] = 149.0
    detector = ConditionalSurprise(["model", "maker"], ["seats", "year"], n_trees=32).fit(table)
    assert detector.cell_p_values_ is not None
    assert detector.cell_p_values_[:3, 0].min() > 0.3
    assert detector.anomaly_scores_[:3].max() < 2.0
