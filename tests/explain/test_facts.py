"""Explanations: the facts in them, against plain counts of the fitted rows."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import QCAD, ConditionalSurprise
from paribus._common.statistics import weighted_quantiles
from paribus.explain.facts import BehaviorFeature, KnownDistribution
from paribus.methods.interface import CellVerdict
from paribus.tables.column import Kind
from paribus.tables.column_format import ColumnFormat
from tests.support.detectors import DetectorClass, for_both, quick
from tests.support.tables import BEHAVIOR, CONTEXT, Array, mixed_table

# Each example fits a detector and looks at several rows, so few examples are many rows.
N_ROWS = 6
few_examples = settings(max_examples=max(1, settings().max_examples // 8))


def fit(make: DetectorClass, table: Any, **parameters: Any) -> Any:
    """A fit in which some rows may have no score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return quick(make, CONTEXT, BEHAVIOR, **({"n_jobs": 1} | parameters)).fit(table)


def feature(value: float, taus: Array | list[float], decimals: int = 1, n_rows: int = 100) -> BehaviorFeature:
    """A feature with these percentiles, learned from this many rows of equal weight."""
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
        distribution=KnownDistribution(percentiles, np.full(n_rows, 1 / n_rows)),
        format=ColumnFormat(Kind.NUMERIC, decimals),
    )


@for_both
@few_examples
@given(seed=st.integers(0, 2**20), clip=st.sampled_from([10.0, 1.0, None]))
def test_partial_scores_explain_the_total_and_the_fitted_score(
    make: DetectorClass, seed: int, clip: float | None
) -> None:
    """Tests that a row has its fitted score, the sum or mean of its partial scores, and that shares sum to 1."""
    table = mixed_table(40, seed=seed, missing=0.1)
    table.loc[0, BEHAVIOR] = 1.0
    detector = fit(make, table, **({"clip": clip} if make is QCAD else {}))
    for row in np.flatnonzero(~np.isnan(detector.anomaly_scores_))[seed % 20 :][:N_ROWS].tolist():
        explanation = detector.explain(row)
        assert explanation.score == detector.anomaly_scores_[row]
        known = [part for part in explanation.behavior if not math.isnan(part.partial_score)]
        divisor = len(known) if make is QCAD else 1
        assert math.isclose(sum(part.partial_score for part in known) / divisor, explanation.score, rel_tol=1e-12)
        fitted = detector.partial_scores_.iloc[row]
        assert {part.name: part.partial_score for part in known} == {part.name: fitted[part.name] for part in known}
        if explanation.score > 0:
            assert math.isclose(sum(part.share for part in known), 1.0, rel_tol=1e-12)
        # The value that is off the most comes first, unless it has no part in the score.
        oddness = [part.oddness for part in known if part.share > 0]
        assert oddness == sorted(oddness, reverse=True)


@few_examples
@given(seed=st.integers(0, 2**20))
def test_the_percentiles_of_qcad_are_those_of_the_weighted_rows(seed: int) -> None:
    """Tests that the reference rows, counted by their weights, have the distribution that is shown."""
    table = mixed_table(60, seed=seed)
    table.loc[7, BEHAVIOR] = 1.0
    for explanation in fit(QCAD, table).explain_all(N_ROWS):
        for part in explanation.behavior:
            values = explanation.reference[part.name].to_numpy()
            used = part.weights > 0
            assert math.isclose(part.weights.sum(), 1.0, rel_tol=1e-12)
            assert not np.isnan(values[used]).any()
            for percent in (1, 5, 37, 50, 95, 100):
                [expected] = weighted_quantiles(values[used], part.weights[used], (percent / 100,))
                assert part.percentiles[percent] == expected
            assert part.percentiles[0] == values[used].min()
            assert (part.lower, part.median, part.upper) == tuple(part.percentiles[[5, 50, 95]])


@few_examples
@given(seed=st.integers(0, 2**20))
def test_the_percentiles_of_surprise_are_those_of_its_density(seed: int) -> None:
    """Tests that the weights sum to 1, and that the density has the shares below its percentiles that it should."""
    table = mixed_table(60, seed=seed)
    table.loc[7, BEHAVIOR] = 1.0
    for explanation in fit(ConditionalSurprise, table).explain_all(N_ROWS):
        for part in explanation.behavior:
            assert math.isclose(part.weights.sum(), 1.0, rel_tol=1e-9)
            assert part.verdict is not None
            assert (np.diff(part.percentiles) >= 0).all()
            density = part.verdict.density
            inside = (part.percentiles > density.support.lowest) & (part.percentiles < density.support.highest)
            inside[[0, -1]] = False
            shares = density.cumulative(part.percentiles[inside])
            assert shares == pytest.approx(density.ranges(np.linspace(0, 1, 101)[inside]), abs=0.03)
            assert (part.lower, part.median, part.upper) == tuple(part.percentiles[[5, 50, 95]])


@for_both
@few_examples
@given(seed=st.integers(0, 2**20))
def test_rank_and_percentile_count_the_fitted_scores(make: DetectorClass, seed: int) -> None:
    """Tests that the rank is 1 plus the number of higher scores, and the percentile the share of lower ones."""
    table = mixed_table(40, seed=seed, missing=0.2)
    # A tie.
    table.loc[1] = table.loc[0] = [30.0, 0.5, "north", 20.0, 3.0]
    detector = fit(make, table)
    known = detector.anomaly_scores_[~np.isnan(detector.anomaly_scores_)]
    for explanation in [detector.explain(0), *detector.explain_all(N_ROWS - 1)]:
        assert explanation.rank == 1 + (known > explanation.score).sum()
        assert math.isclose(explanation.percentile, 100 * np.mean(known < explanation.score))
        assert explanation.n_ranked == len(known)
        assert explanation.is_anomaly == (detector.labels_[explanation.position] == -1)


def plain_description(values: list[Any], weights: Array, is_number: bool) -> tuple[Any, Any, list[Any]]:
    """What a group has in common, computed plainly: the central 90 % of the weight, or categories that make up 80 %."""
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


@for_both
@few_examples
@given(seed=st.integers(0, 2**20))
def test_the_group_is_described_as_it_is(make: DetectorClass, seed: int) -> None:
    """Tests ranges, categories and shares against a plain count of the weighted reference rows and of the table."""
    table = mixed_table(80, seed=seed, missing=0.0)
    for explanation in fit(make, table).explain_all(N_ROWS):
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


@for_both
def test_a_row_is_not_among_its_own_references_even_if_it_has_a_twin(make: DetectorClass) -> None:
    """Tests that a row is not compared with itself, and with an identical one only by QCAD: copies do not count."""
    table = mixed_table(60, missing=0.0)
    table.loc[10] = table.loc[20]
    table["name"] = [f"p{row}" for row in range(60)]
    detector = fit(make, table, n_trees=64, **({"n_neighbors": 59} if make is QCAD else {}))
    for row, twin in ((10, 20), (20, 10)):
        explanation = detector.explain(row)
        assert row not in explanation.reference_positions
        assert (twin in explanation.reference_positions) == (make is QCAD)
        assert len(set(explanation.reference_positions.tolist())) == len(explanation.reference_positions)
        assert (f"p{twin}" in explanation.reference["name"].tolist()) == (make is QCAD)


@for_both
def test_the_reference_is_the_reference_group_with_all_its_columns(make: DetectorClass) -> None:
    """Tests that the table of references has the fitted rows, nearest first, with distances and weights."""
    table = mixed_table(60, missing=0.0)
    table["distance"] = "taken"
    detector = fit(make, table)
    explanation = detector.explain(4)
    chosen = explanation.reference_positions
    positions, distances = detector.reference_group(table.iloc[[4]])
    if make is QCAD:
        assert chosen.tolist() == positions[0].tolist()
    # Rows without weight are part of a reference group of surprise, but not of its explanation.
    known = dict(zip(positions[0].tolist(), distances[0].tolist(), strict=True))
    pd.testing.assert_frame_equal(explanation.reference[table.columns.tolist()], table.iloc[chosen])
    # A column of the table keeps its name.
    assert explanation.reference["distance_"].tolist() == [known[row] for row in chosen.tolist()]
    assert explanation.reference["distance_"].is_monotonic_increasing
    assert math.isclose(explanation.reference["weight"].sum(), 1.0)


@for_both
def test_later_changes_of_the_table_change_nothing(make: DetectorClass) -> None:
    """Tests that an explanation shows the rows as they were fitted."""
    table = mixed_table(60, missing=0.0)
    detector = fit(make, table)
    before = detector.explain(4).to_dict()
    shown = detector.explain(4).reference.copy()
    table.loc[:, BEHAVIOR] = 0.0
    assert detector.explain(4).to_dict() == before
    pd.testing.assert_frame_equal(detector.explain(4).reference, shown)

    array = mixed_table(60, missing=0.0)[["age", "load", "pressure"]].to_numpy()
    detector = quick(make, [0, 1], [2]).fit(array)
    before = detector.explain(4).to_dict()
    array[:] = 0.0
    assert detector.explain(4).to_dict() == before


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
    """Tests where a value lies relative to a distribution, worked out by hand."""
    assert feature(value, taus).direction == direction


def test_an_integer_that_no_comparable_row_has_is_in_a_gap() -> None:
    """Tests that a value with a high score between common integers is not called usual."""
    rare = feature(7.0, np.r_[np.repeat(np.arange(7.0), 12), np.repeat([8.0], 17)], decimals=0)
    assert rare.direction == "in a gap"
    assert rare.expectation == "median 4, 90 % between 0 and 8, hardly any between 6 and 8"


def test_a_value_that_is_not_rare_is_in_no_gap() -> None:
    """Tests that an answer on a scale of few steps, which lie apart, is called odd only if it is improbable."""
    alone = feature(7.0, np.r_[np.repeat(np.arange(7.0), 12), np.repeat([8.0], 17)], decimals=0)
    for p_value, direction in ((0.3, "within"), (0.001, "in a gap")):
        assert dataclasses.replace(alone, verdict=CellVerdict(p_value, None, None, None)).direction == direction


def test_percentiles_of_few_rows_have_no_gaps() -> None:
    """Tests that a hundred percentiles of a dozen rows are not treated as a distribution full of gaps."""
    taus = np.repeat(np.arange(10.0), 10)[:101]
    assert feature(4.5, np.append(taus, 10.0), n_rows=12).direction == "within"
    split = np.r_[np.linspace(0, 2, 51), np.linspace(8, 10, 50)]
    assert feature(5.0, split, n_rows=12).direction == "in a gap"
    assert feature(5.0, split, n_rows=7).direction == "within"


def test_expectations_in_words() -> None:
    """Tests constant groups, nearly constant ones, and numbers that need more digits to differ."""
    assert feature(3.1, np.full(101, 3.0)).expectation == "all 3.0"
    assert feature(4.0, np.r_[np.full(98, 3.0), 5.0, 6.0, 7.0]).expectation == "median 3.0, 90 % exactly 3.0"
    assert feature(1.0, np.full(101, np.nan)).expectation == "no comparable row has a value"
    close = feature(9.52, np.linspace(0, 10, 101))
    assert (close.text, close.expectation) == ("x 9.52", "median 5.00, 90 % between 0.50 and 9.50")


def test_what_is_usual_is_the_median_over_the_table() -> None:
    """Tests that the distances of a row are compared with those of all fitted rows."""
    table = mixed_table(80, missing=0.0)
    detector = fit(QCAD, table)
    _, distances = detector.reference_group(table)
    thinness = detector.explain(5).thinness
    assert (thinness.nearest, thinness.farthest) == (distances[5, 0], distances[5, -1])
    assert thinness.usual_nearest == np.median(distances[:, 0])
    assert thinness.usual_farthest == np.median(distances[:, -1])


def test_what_is_usual_for_surprise_is_the_median_over_its_groups() -> None:
    """Tests that the distances of a row are compared with those of the groups that explanations show."""
    detector = fit(ConditionalSurprise, mixed_table(80, missing=0.0))
    explanations = detector.explain_all(80)
    nearest, farthest = np.array([(each.thinness.nearest, each.thinness.farthest) for each in explanations]).T
    for thinness in (each.thinness for each in explanations):
        assert thinness.usual_nearest == np.median(nearest)
        assert thinness.usual_farthest == np.median(farthest)


@for_both
@few_examples
@given(seed=st.integers(0, 2**20))
def test_how_many_rows_count(make: DetectorClass, seed: int) -> None:
    """Tests the number in the sentence: the fewest rows with 95 % of the weight; and 1 / the sum of squared weights."""
    for explanation in fit(make, mixed_table(60, seed=seed, missing=0.0)).explain_all(N_ROWS):
        weights = sorted(explanation.leading.weights, reverse=True)
        n_counting = next(n for n in range(1, len(weights) + 1) if sum(weights[:n]) >= 0.95 - 1e-9)
        assert explanation.thinness.n_counting == n_counting
        assert math.isclose(explanation.thinness.n_effective, 1 / sum(weight**2 for weight in weights))
        words = f"{n_counting} row" if make is ConditionalSurprise else "the 30 nearest rows"
        assert f" Compared with {words}" in explanation.sentence
        if make is QCAD:
            assert f", of which {n_counting} count" in explanation.sentence


@pytest.mark.parametrize("n_quantiles", [2, 7, 30, 1000])
def test_the_median_does_not_depend_on_the_number_of_percentiles(n_quantiles: int) -> None:
    """Tests that the median and the 90 % are those of the weighted rows, not of the nearest available percentile."""
    table = mixed_table(60, missing=0.0)
    usual, other = fit(QCAD, table).explain(7), fit(QCAD, table, n_quantiles=n_quantiles).explain(7)
    expected = {part.name: (part.lower, part.median, part.upper) for part in usual.behavior}
    assert {part.name: (part.lower, part.median, part.upper) for part in other.behavior} == expected


@for_both
def test_a_score_at_the_threshold_is_not_above_it(make: DetectorClass) -> None:
    """Tests that the verdict is the detector's label, also for the row that sets the threshold."""
    detector = fit(make, mixed_table(60, missing=0.0), contamination=0.25)
    for explanation in detector.explain_all(60):
        assert explanation.is_anomaly == (detector.labels_[explanation.position] == -1)
