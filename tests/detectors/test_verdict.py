"""The verdict of ConditionalSurprise: what its scores, p-values and kinds are worth on tables with a known truth."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincc

from paribus import QCAD, ConditionalSurprise, load
from paribus.evaluation import average_precision
from paribus.methods.surprise.verdict import gamma_tail
from tests.support.generated import CONTEXTUAL, generated_table
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

Array = np.ndarray[Any, Any]


def fit(table: pd.DataFrame, **changes: Any) -> ConditionalSurprise:
    """A fitted detector with few trees; all columns other than x and g are behavioral."""
    behavioral = [name for name in table if name not in CONTEXTUAL]
    return ConditionalSurprise(CONTEXTUAL, behavioral, **({"n_trees": 16, "n_jobs": 1} | changes)).fit(table)


@cache
def fitted(kind: str, seed: int) -> ConditionalSurprise:
    """A detector of 2,000 rows with one behavioral feature."""
    return fit(generated_table(2000, seed, kind))


def results(detector: Any, rows: pd.DataFrame) -> list[Any]:
    """All results for rows."""
    return [
        detector.anomaly_score(rows),
        np.asarray(detector.partial_scores(rows)),
        detector.p_values(rows),
        np.asarray(detector.cell_p_values(rows)),
        detector.kinds(rows),
    ]


def expect_same(found: list[Any], expected: list[Any]) -> None:
    for first, second in zip(found, expected, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("behavioral", [BEHAVIOR, BEHAVIOR[:1]])
def test_parts_add_up_and_nothing_depends_on_the_rest_of_the_batch(behavioral: list[str], tmp_path: Path) -> None:
    """Tests the same bits for any threads, batch, order of rows, file and pickle, and that parts sum to the score."""
    table = mixed_table(300, missing=0.1)
    # All rows have a score.
    table[behavioral[0]] = table[behavioral[0]].fillna(40.0)
    detector = ConditionalSurprise(CONTEXT, behavioral, n_trees=8, n_jobs=1).fit(table)
    partial = detector.partial_scores_.to_numpy()
    np.testing.assert_allclose(np.nansum(partial, axis=1), detector.anomaly_scores_, rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(partial[:, : len(behavioral)]), table[behavioral].isna().to_numpy())
    assert not (partial < 0).any()
    both = ConditionalSurprise(CONTEXT, behavioral, n_trees=8, n_jobs=2).fit(table)
    new = pd.concat([table[:40], mixed_table(60, seed=3, missing=0.0)], ignore_index=True)
    expected = results(detector, new)
    expect_same(results(both, new), expected)
    pieces = [results(detector, new[begin : begin + 33]) for begin in range(0, 100, 33)]
    expect_same([np.concatenate([piece[i] for piece in pieces]) for i in range(5)], expected)
    order = np.random.default_rng(0).permutation(100)
    expect_same(results(detector, new.iloc[order]), [each[order] for each in expected])
    detector.save(tmp_path / "m.paribus")
    for copy in (load(tmp_path / "m.paribus"), pickle.loads(pickle.dumps(detector))):
        expect_same(results(copy, new), expected)
        np.testing.assert_array_equal(copy.kinds_, detector.kinds_)
        np.testing.assert_array_equal(copy.cell_p_values_, detector.cell_p_values_)


@pytest.mark.parametrize("n_rows", [500, 1500])
def test_a_gross_value_moves_other_rows_no_more_than_an_ordinary_one(n_rows: int) -> None:
    """Tests that a value a thousand deviations off ranks first, and matters to others as much as any other change."""
    table = generated_table(n_rows, 0, "normal", 3)
    before = fit(table)
    moved = {}
    for name, value in {"gross": 1000 * table["y1"].std(), "ordinary": table["y1"].median()}.items():
        changed = table.copy()
        changed.loc[7, "y1"] = value
        after = fit(changed)
        moved[name] = np.delete(np.abs(after.anomaly_scores_ - before.anomaly_scores_), 7)
        if name == "gross":
            assert after.anomaly_scores_.argmax() == 7
            assert after.labels_[7] == -1
            assert after.kinds(changed)[7] == "value"
    assert np.median(moved["gross"]) < 2 * np.median(moved["ordinary"]) < 0.1
    assert moved["gross"].max() < 3 * moved["ordinary"].max() < 3.0


def test_copies_do_not_make_each_other_ordinary() -> None:
    """Tests that exact duplicates with gross values are both flagged, with the same score."""
    table = generated_table(1000, 0, "normal", 3)
    table.loc[5, ["y0", "y1", "y2"]] = 30.0
    table.loc[600] = table.loc[5]
    detector = fit(table)
    assert detector.labels_[[5, 600]].tolist() == [-1, -1]
    assert detector.anomaly_scores_[5] == detector.anomaly_scores_[600] == detector.anomaly_scores_.max()


def test_many_equal_rows_are_ordinary() -> None:
    """Tests that a tenth of a table that is one row again and again is not strange."""
    table = generated_table(1000, 0, "normal", 3)
    for name in table:
        table.loc[100:199, name] = table.loc[100, name]
    detector = fit(table)
    assert (detector.p_values_[100:200] > 0.05).all()
    assert (detector.labels_ == -1).mean() < 0.01


def test_missing_values_count_neither_for_nor_against() -> None:
    """Tests that rows that lack most values are no more often strange than others, and do not top the list."""
    table = generated_table(2000, 0, "normal", 6)
    lacking = np.random.default_rng(0).choice(2000, 200, replace=False)
    table.loc[lacking, ["y1", "y2", "y3", "y4", "y5"]] = np.nan
    detector = fit(table, n_trees=8)
    p_values = detector.p_values_[lacking]
    assert (p_values < 0.05).mean() < 0.12
    assert (p_values < 0.2).mean() > 0.03
    assert np.isin(np.argsort(-detector.anomaly_scores_)[:50], lacking).sum() < 15
    assert np.isnan(detector.cell_p_values(table).to_numpy()[lacking, 1:6]).all()


def test_one_wrong_cell_among_forty_columns_is_on_top() -> None:
    """Tests that a single cell of 12 deviations in 1,000 x 40 is the strangest row, and that the cell is named."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=1000), "g": random.choice(list("ab"), 1000)})
    table = table.join(pd.DataFrame({f"y{i}": random.normal(size=1000) for i in range(40)}))
    table.loc[77, "y9"] = 12.0
    detector = fit(table, n_trees=16)
    assert detector.anomaly_scores_.argmax() == 77
    assert detector.kinds(table[77:78])[0] == "value"
    assert detector.partial_scores_.loc[77].idxmax() == "y9"
    assert detector.cell_p_values(table[77:78]).loc[77].idxmin() == "y9"


@pytest.mark.parametrize(("error", "kind"), [("shift", "whole"), ("unit", "value"), ("cell", "value")])
def test_each_kind_of_error_is_found_and_named(error: str, kind: str) -> None:
    """Tests common shifts, unit mistakes and single wrong cells: they come first, and the kind is right."""
    precisions = []
    for seed in (0, 1):
        table, is_wrong = table_with_errors(error, seed)
        # Few trees are enough to see single values, but not shifts of several.
        detector = fit(table, n_trees=64 if error == "shift" else 16)
        precisions.append(average_precision(is_wrong, detector.anomaly_scores_))
        assert is_wrong[np.argsort(-detector.anomaly_scores_)[:10]].sum() >= 9
        # By luck of the draw, one of ten may be called another kind.
        assert (detector.kinds(table)[is_wrong] == kind).sum() >= 9
        chosen = detector.select(fdr=0.1)
        assert is_wrong[chosen].sum() >= 0.8 * len(chosen)
        assert (detector.labels_[~is_wrong] == -1).sum() <= 2
    # By chance, an ordinary row may be as strange, such as one with values 3.7 and 2 deviations off.
    assert np.mean(precisions) > 0.97


def table_with_errors(error: str, seed: int) -> tuple[pd.DataFrame, Array]:
    """A table of 1,000 rows, and which ten of them are wrong."""
    table = generated_table(1000, seed, "normal", 4)
    names = ["y0", "y1", "y2", "y3"]
    table[names] += 5.0
    wrong = np.random.default_rng(seed).choice(1000, 10, replace=False)
    deviations = table[names].std()
    if error == "shift":
        table.loc[wrong, names] += 2.1 * deviations
    for place, row in enumerate(wrong.tolist()):
        name = names[place % 4]
        if error == "unit":
            table.loc[row, name] *= 10
        elif error == "cell":
            table.loc[row, name] += 6 * deviations[name]
    return table, np.isin(np.arange(1000), wrong)


@pytest.mark.parametrize("kind", ["normal", "skewed", "count"])
def test_p_values_of_new_cells_are_uniform_in_the_tail(kind: str) -> None:
    """Tests that of ordinary new values about 5 % have a p-value below 0.05, and 1 % one below 0.01."""
    found = np.concatenate(
        [fitted(kind, seed).cell_p_values(generated_table(4000, 100 + seed, kind))["y0"] for seed in (0, 1)]
    )
    assert 0.03 < (found <= 0.05).mean() < 0.07
    # The p-values of counts have steps, and are conservative where one is not reached.
    assert (0.003 if kind == "count" else 0.006) < (found <= 0.01).mean() < 0.02


@pytest.mark.parametrize("kind", ["normal", "skewed", "count"])
def test_p_values_of_new_rows_are_uniform_in_the_tail(kind: str) -> None:
    """Tests that of ordinary new rows about 5 % have a p-value below 0.05, 1 % one below 0.01, and few are flagged."""
    found = np.concatenate([fitted(kind, seed).p_values(generated_table(4000, 100 + seed, kind)) for seed in (0, 1)])
    assert 0.03 < (found <= 0.05).mean() < 0.07
    assert 0.004 < (found <= 0.01).mean() < 0.02
    assert (found <= 0.001).mean() < 0.004


def ranks(detector: ConditionalSurprise, rows: pd.DataFrame) -> tuple[Array, Array]:
    """The share of the percentiles below each value, ties split at random; and the percentiles."""
    percentiles = detector.percentiles(rows)[:, 0, :]
    values = rows["y0"].to_numpy()[:, None]
    below, up_to = (percentiles < values).mean(axis=1), (percentiles <= values).mean(axis=1)
    return below + np.random.default_rng(0).random(len(rows)) * (up_to - below), percentiles


@pytest.mark.parametrize("kind", ["normal", "skewed", "heavy-tailed", "count"])
def test_ranges_hold_what_they_say(kind: str) -> None:
    """Tests that 90 % ranges hold 88 to 92 % of new values, and that half of them lie below the median."""
    found = np.concatenate([ranks(fitted(kind, seed), generated_table(1500, 100 + seed, kind))[0] for seed in (0, 1)])
    # Of 3,000 values, these shares vary by 0.01 and 0.02 by chance (two standard errors).
    assert 0.87 < ((found > 0.05) & (found < 0.95)).mean() < 0.93
    assert 0.46 < (found < 0.5).mean() < 0.54


def test_ranges_of_counts_are_whole_numbers() -> None:
    """Tests that percentiles are values that the column can have."""
    _, percentiles = ranks(fitted("count", 0), generated_table(100, 100, "count"))
    np.testing.assert_array_equal(percentiles, percentiles.round())
    assert percentiles.min() >= 0


@pytest.mark.parametrize(
    ("kind", "n_behavioral"),
    [("normal", 1), ("normal", 3), ("skewed", 3), ("heavy-tailed", 3), ("count", 1), ("count", 3)],
)
def test_few_rows_of_clean_tables_are_flagged(kind: str, n_behavioral: int) -> None:
    """Tests that of clean tables fewer than 2.5 in 1,000 rows are flagged; 1 in 1,000 is meant to be."""
    # Of 8,000 ordinary rows, 8 are meant to be flagged; 20 or more are by chance in 1 of 4,000 runs.
    detectors = [
        fitted(kind, seed) if n_behavioral == 1 else fit(generated_table(2000, seed, kind, n_behavioral), n_trees=8)
        for seed in range(4)
    ]
    assert np.mean([(detector.labels_ == -1).mean() for detector in detectors]) < 0.0025


@pytest.mark.parametrize("kind", ["skewed", "heavy-tailed", "count"])
def test_few_rows_of_short_clean_tables_are_flagged(kind: str) -> None:
    """Tests that clean tables of 60 rows and one behavior are not flagged because their tails are hardly known."""
    detectors = [fit(generated_table(60, seed, kind), n_trees=16) for seed in range(30)]
    assert np.mean([(detector.labels_ == -1).mean() for detector in detectors]) < 0.005


@pytest.mark.parametrize("n_rows", [50, 100, 400])
def test_an_obvious_error_in_a_short_table_is_flagged(n_rows: int) -> None:
    """Tests that a value a hundred times too large comes first and is flagged, however short the table."""
    table = generated_table(n_rows, 5, "normal")
    table.loc[7, "y0"] += 200.0
    detector = fit(table, n_trees=16)
    assert detector.anomaly_scores_.argmax() == 7
    assert detector.labels_[7] == -1


def half_silent_table(silent: str, seed: int) -> pd.DataFrame:
    """A clean table: one column is ordinary, the other has nearly always the value that is expected of it."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"x": random.uniform(size=2000), "g": random.choice(["a", "b"], size=2000)})
    table["y0"] = 2 * table["x"] + random.normal(size=2000)
    table["y1"] = {
        "a few amounts": np.where(random.uniform(size=2000) < 0.02, random.exponential(size=2000), 0.0),
        "a category that the context determines": np.where(table["x"] > 0.9, "high", "low"),
        "a number that the context determines": np.where(table["x"] > 0.9, 7.0, 3.0),
    }[silent]
    return table


@pytest.mark.parametrize(
    "silent",
    ["a few amounts", "a category that the context determines", "a number that the context determines"],
)
def test_a_column_of_nearly_one_value_makes_no_row_strange(silent: str) -> None:
    """Tests that clean tables are flagged by chance alone if one column is nearly always what it is expected to be."""
    detectors = [fit(half_silent_table(silent, seed), n_trees=8) for seed in range(3)]
    assert np.mean([(detector.labels_ == -1).mean() for detector in detectors]) < 0.004


@pytest.mark.parametrize("seed", [0, 4])
def test_the_few_exceptions_to_a_law_are_flagged(seed: int) -> None:
    """Tests that a handful of values that break what all other rows follow exactly are found."""
    table = half_silent_table("a number that the context determines", seed)
    table.loc[[3, 500, 900, 1500], "y1"] = [3.5, 9.0, 1.0, 4.0]
    detector = fit(table, n_trees=64)
    assert (detector.labels_[[3, 500, 900, 1500]] == -1).all()


def test_scores_have_a_scale_where_the_context_determines_behavior() -> None:
    """Tests that heights in another unit, rounded, are no anomalies, and that of three wrong ones each is found."""
    inches = np.round(np.random.default_rng(7).normal(79.0, 3.4, 435))
    meters = (0.0254 * inches).round(2)
    clean = ConditionalSurprise(["inches"], ["meters"], n_trees=16).fit({"inches": inches, "meters": meters})
    assert (clean.labels_ == 1).all()
    assert clean.anomaly_scores_.max() < 3.0
    wrong = [7, 8, 9]
    meters[wrong] = [2.54, meters[8] + 0.1, 1.5]
    detector = ConditionalSurprise(["inches"], ["meters"], n_trees=16).fit({"inches": inches, "meters": meters})
    assert sorted(np.argsort(-detector.anomaly_scores_)[:3].tolist()) == wrong
    assert detector.anomaly_scores_.max() < 10.0


def test_false_alarms_of_new_rows_are_as_many_as_were_asked_for() -> None:
    """Tests that a detector that may flag 1 in 20 ordinary rows flags about as many."""
    detector = fit(generated_table(2000, 0, "normal", 3), false_alarms=0.05)
    flagged = (detector.predict(generated_table(4000, 100, "normal", 3)) == -1).mean()
    assert 0.03 < flagged < 0.08
    assert 0.03 < (detector.labels_ == -1).mean() < 0.08


def test_selected_rows() -> None:
    """Tests the order of selected rows, rows that are given, and that a higher rate selects no fewer."""
    table = generated_table(1000, 0, "normal", 3)
    table.loc[:9, ["y0", "y1", "y2"]] += 6.0
    detector = fit(table)
    chosen = detector.select(fdr=0.1)
    assert set(range(10)) <= set(chosen.tolist())
    assert len(chosen) <= 13
    assert (np.diff(detector.anomaly_scores_[chosen]) <= 0).all()
    assert set(chosen) <= set(detector.select(fdr=0.5))
    assert set(detector.select(fdr=0.1, rows=table[:20])) == set(range(10))
    for wrong in (0, 1, "few", None):
        with pytest.raises(ValueError, match=r"fdr is .*: it must be a share above 0 and below 1"):
            detector.select(fdr=wrong)  # type: ignore[arg-type]


def test_qcad_has_p_values_but_neither_kinds_nor_those_of_cells() -> None:
    """Tests that QCAD's p-values fall with its scores, and that what it cannot say is refused in one sentence."""
    table = mixed_table(200, missing=0.0)
    detector = QCAD(CONTEXT, BEHAVIOR, n_trees=5).fit(table)
    order = np.argsort(detector.anomaly_scores_)
    assert (np.diff(detector.p_values_[order]) <= 0).all()
    assert ((detector.p_values_ > 0) & (detector.p_values_ <= 1)).all()
    np.testing.assert_array_equal(detector.p_values(table), detector.p_values_)
    assert detector.kinds_ is None
    assert detector.cell_p_values_ is None
    with pytest.raises(ValueError, match="QCAD does not distinguish kinds of anomalies: use ConditionalSurprise"):
        detector.kinds(table)
    with pytest.raises(ValueError, match="QCAD has no p-values of single values: use ConditionalSurprise"):
        detector.cell_p_values(table)


@given(n=st.integers(1, 150), seed=st.integers(0, 999))
def test_the_tail_of_a_sum_is_that_of_a_gamma_distribution(n: int, seed: int) -> None:
    """Tests the tail of sums of ordinary evidence against SciPy's, far sums included."""
    random = np.random.default_rng(seed)
    counts, sums = random.integers(1, n + 1, 20), np.append(random.gamma(n, size=18), [0.0, 800.0])
    np.testing.assert_allclose(gamma_tail(counts, sums, n), gammaincc(counts, sums), rtol=1e-10, atol=1e-200)


def table_of_groups(n_groups: int, n_alone: int, seed: int) -> pd.DataFrame:
    """Groups of 40 rows, and groups of one row, whose levels follow the same law."""
    random = np.random.default_rng(seed)
    group = np.concatenate([np.repeat(np.arange(n_groups), 40), n_groups + np.arange(n_alone)])
    levels = 10.0 * random.normal(size=(n_groups + n_alone, 2))
    values = levels[group] + random.normal(size=(len(group), 2))
    return pd.DataFrame({"group": [f"g{each}" for each in group], "y": values[:, 0], "z": values[:, 1]})


def test_a_row_without_comparable_rows_is_not_flagged_for_it() -> None:
    """Tests that the only row of a category, fitted or new, is judged by all rows, and not by some arbitrary group."""
    detectors = [fit_groups(table_of_groups(30, 10, seed)) for seed in range(3)]
    assert sum((detector.labels_[-10:] == -1).sum() for detector in detectors) <= 2
    new = table_of_groups(30, 60, seed=9)[-60:].assign(group=[f"new{each}" for each in range(60)])
    assert (detectors[0].anomaly_score(new) > detectors[0].threshold_).mean() < 0.15
    far = new[:1].assign(y=1e4)
    assert detectors[0].anomaly_score(far)[0] > detectors[0].threshold_


def fit_groups(table: pd.DataFrame) -> ConditionalSurprise:
    return ConditionalSurprise(["group"], ["y", "z"], n_trees=32, n_jobs=1).fit(table)
