"""Injected anomalies: which rows change, by how much, and what does not change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import datasets
from paribus.datasets import inject
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table

Array = np.ndarray[Any, Any]

SCHEMES = ["perturb", "swap", "shift", "single", "small", "common", "scale"]


def change(before: pd.DataFrame, after: pd.DataFrame) -> Array:
    """What was added to each behavioral value, in ranges of its feature; NaN where there is no value."""
    ranges = before[BEHAVIOR].max() - before[BEHAVIOR].min()
    return np.asarray((after[BEHAVIOR] - before[BEHAVIOR]) / ranges, dtype=float)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 30),
    missing=st.sampled_from([0.0, 0.3]),
    scheme=st.sampled_from(SCHEMES),
)
def test_the_labelled_rows_change_and_no_others(seed: int, n: int, missing: float, scheme: str) -> None:
    """Tests the number of anomalies, that only their behavior changes, that missing values stay, and the seed."""
    before = mixed_table(60, seed % 1000, missing)
    original = before.copy()
    after, labels = inject(before, CONTEXT, BEHAVIOR, n=n, seed=seed, scheme=scheme)
    pd.testing.assert_frame_equal(before, original)
    assert labels.sum() == n
    assert set(labels) <= {0, 1}
    pd.testing.assert_frame_equal(after[CONTEXT], before[CONTEXT])
    pd.testing.assert_frame_equal(after[labels == 0], before[labels == 0], check_exact=True)
    assert (after.isna() == before.isna()).all(axis=None)
    assert before.loc[labels == 1, BEHAVIOR].notna().any(axis=1).all()
    again, same = inject(before, CONTEXT, BEHAVIOR, n=n, seed=seed, scheme=scheme)
    pd.testing.assert_frame_equal(again, after, check_exact=True)
    assert (labels == same).all()


def test_the_papers_perturbation_is_uniform_on_its_two_intervals() -> None:
    """Tests the range and the distribution of what is added: both signs, all sizes, independent features."""
    before = mixed_table(4000, missing=0.0)
    after, labels = inject(before, CONTEXT, BEHAVIOR, n=2000, seed=1)
    added = change(before, after)[labels == 1]
    sizes = np.abs(added)
    assert sizes.min() >= 0.1 - 1e-9
    assert sizes.max() <= 0.5 + 1e-9
    assert np.histogram(sizes, 4, (0.1, 0.5))[0] / sizes.size == pytest.approx([0.25] * 4, abs=0.03)
    assert np.mean(added > 0) == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(added.T)[0, 1]) < 0.06


def test_rows_are_drawn_uniformly() -> None:
    """Tests that all rows are chosen with the same probability."""
    table = {"c": list(range(20)), "b": [float(i % 7) for i in range(20)]}
    times = sum(inject(table, ["c"], ["b"], n=5, seed=seed)[1] for seed in range(2000))
    # 500 times each, plus or minus five standard deviations.
    assert np.abs(np.asarray(times) - 500).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


def test_a_swapped_row_has_the_behavior_of_the_farthest_of_a_sample() -> None:
    """Tests that the swapped behavior is that of one other row, usually a distant one."""
    before = mixed_table(400, missing=0.0)
    after, labels = inject(before, CONTEXT, BEHAVIOR, n=40, seed=2, scheme="swap")
    scaled = before[BEHAVIOR] / (before[BEHAVIOR].max() - before[BEHAVIOR].min())
    ranks = []
    for row in np.flatnonzero(labels):
        donors = np.flatnonzero((before[BEHAVIOR] == after.loc[row, BEHAVIOR]).all(axis=1))
        assert len(donors) == 1
        distances = np.sqrt(((scaled - scaled.loc[row]) ** 2).sum(axis=1))
        assert donors[0] != row
        ranks.append((distances > distances[donors[0]]).sum())
    # The farthest of 50 out of 399: about 400 / 51 rows are farther on average.
    assert np.mean(ranks) == pytest.approx(400 / 51 - 1, rel=0.5)


def test_a_small_table_is_swapped_within_a_quarter_of_its_rows() -> None:
    """Tests that with 8 rows the farther of two random rows is taken, so the farthest of all only sometimes."""
    table = {"c": [0.0] * 8, "b": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0]}
    swapped = [inject(table, ["c"], ["b"], n=1, seed=seed, scheme="swap") for seed in range(3000)]
    low = [after["b"][int(labels.argmax())] == 100.0 for after, labels in swapped if not labels[7]]
    # Two of seven others: the row at 100 is among them with probability 2/7.
    assert np.mean(low) == pytest.approx(2 / 7, abs=0.04)


def test_a_shift_is_never_negative() -> None:
    """Tests that Kuo's scheme adds up to 50 / 12 ranges, uniformly."""
    before = mixed_table(4000, missing=0.0)
    after, labels = inject(before, CONTEXT, BEHAVIOR, n=2000, seed=1, scheme="shift")
    added = change(before, after)[labels == 1]
    assert added.min() >= 0
    assert added.max() <= 50 / 12
    assert added.mean() == pytest.approx(25 / 12, rel=0.05)


def test_a_common_shift_is_one_amount_for_all_behaviors_of_a_row() -> None:
    """Tests that all features of a row move by the same share of their ranges, uniformly, in both directions."""
    before = mixed_table(4000, missing=0.0)
    after, labels = inject(before, CONTEXT, BEHAVIOR, n=2000, seed=1, scheme="common")
    added = change(before, after)[labels == 1]
    np.testing.assert_allclose(added, np.repeat(added[:, :1], added.shape[1], axis=1))
    sizes = np.abs(added[:, 0])
    assert np.histogram(sizes, 4, (0.1 - 1e-9, 0.5 + 1e-9))[0] / 2000 == pytest.approx([0.25] * 4, abs=0.05)
    assert np.mean(added > 0) == pytest.approx(0.5, abs=0.05)


def test_a_unit_mistake_scales_one_value_that_is_not_zero() -> None:
    """Tests the two factors, that every feature is drawn, and that zeros and rows of zeros are not drawn."""
    random = np.random.default_rng(0)
    behavior = random.integers(0, 4, size=(2000, 3)).astype(float)
    table = {"c": np.arange(2000.0)} | {f"b{i}": column for i, column in enumerate(behavior.T)}
    n_usable = int(behavior.any(axis=1).sum())
    assert n_usable < 2000
    after, labels = inject(table, ["c"], n=n_usable, seed=1, scheme="scale", behavioral=["b0", "b1", "b2"])
    changed = np.column_stack([after[f"b{i}"] for i in range(3)])
    is_changed = changed != behavior
    assert (labels == is_changed.sum(axis=1)).all()
    assert labels.sum() == n_usable
    assert is_changed.sum(axis=0) == pytest.approx([n_usable / 3] * 3, rel=0.1)
    factors, times = np.unique(np.round(changed[is_changed] / behavior[is_changed], 9), return_counts=True)
    np.testing.assert_allclose(factors, [1 / 2.54, 10.0])
    assert times / n_usable == pytest.approx([0.5, 0.5], abs=0.05)
    with pytest.raises(ValueError, match=f"from 0 to {n_usable:,}"):
        inject(table, ["c"], n=n_usable + 1, scheme="scale")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_kind_of_table_gets_the_same_injection(scheme: str) -> None:
    """Tests that dicts, arrays and pandas, polars and pyarrow tables keep their type, with the same changes."""
    frame = mixed_table(80, missing=0.1)
    frame.index = pd.Index(range(100, 180))
    columns = {name: frame[name].to_numpy() for name in frame}
    lists = {name: frame[name].tolist() for name in frame}
    polars = pl.from_pandas(frame)
    arrow = polars.to_arrow()
    expected, labels = inject(frame, CONTEXT, BEHAVIOR, n=9, seed=4, scheme=scheme)
    assert expected.index.equals(frame.index)
    for table in (columns, lists, polars, arrow, arrow.combine_chunks().to_batches()[0]):
        after, same = inject(table, CONTEXT, BEHAVIOR, n=9, seed=4, scheme=scheme)
        assert (same == labels).all()
        assert isinstance(after, type(table) if not isinstance(table, pa.RecordBatch) else pa.Table)
        for name in BEHAVIOR:
            values = np.array(pd.Series(after[name].to_pylist() if isinstance(after, pa.Table) else after[name]))
            np.testing.assert_array_equal(values.astype(float), expected[name].to_numpy())
    assert isinstance(inject(lists, CONTEXT, BEHAVIOR, n=9)[0]["pulse"], list)
    assert isinstance(inject(columns, CONTEXT, BEHAVIOR, n=9)[0]["pulse"], np.ndarray)
    after, _ = inject(polars, CONTEXT, BEHAVIOR, n=9, seed=4, scheme=scheme)
    assert after.null_count().row(0) == polars.null_count().row(0)
    array = frame.to_numpy(dtype=object)
    after, _ = inject(array, [0, 1, 2], [3, 4], n=9, seed=4, scheme=scheme)
    np.testing.assert_array_equal(after[:, 3:].astype(float), expected[BEHAVIOR].to_numpy())


@pytest.mark.parametrize("make", [np.array, list, np.ma.array])
def test_arrays_of_whole_numbers_get_room_for_fractions(make: Any) -> None:
    """Tests that what is added to whole numbers is not rounded, and that the input array is not changed."""
    table = make([[i, 10 * i] for i in range(12)])
    after, labels = inject(table, [0], [1], n=3)
    row = int(labels.argmax())
    assert 11.0 - 1e-9 <= abs(after[row, 1] - 10 * row) <= 55.0 + 1e-9
    assert [tuple(line) for line in table] == [(i, 10 * i) for i in range(12)]


def test_a_masked_value_stays_missing() -> None:
    """Tests that a masked array keeps its mask."""
    table = np.ma.array([[float(i), float(i)] for i in range(12)])
    table[3, 0] = table[5, 1] = np.ma.masked
    after, labels = inject(table, [0], [1], n=11)
    assert labels[5] == 0
    assert after[3, 0] is None
    assert np.isnan(after[5, 1])


def test_constant_features_stay_and_empty_rows_are_not_drawn() -> None:
    """Tests that constant features are not changed, and that rows without any other feature are not chosen."""
    table = {"c": [1.0, 2.0, 3.0, 4.0], "same": [5.0] * 4, "b": [1.0, None, 3.0, 2.0]}
    after, labels = inject(table, ["c"], ["same", "b"], n=3)
    assert after["same"] == [5.0] * 4
    assert labels.tolist() == [1, 0, 1, 1]
    with pytest.raises(ValueError, match="n is 4: it must be a whole number from 0 to 3"):
        inject(table, ["c"], ["same", "b"], n=4)


@pytest.mark.parametrize(
    ("scheme", "rows", "values"),
    [
        ("perturb", [2, 4, 8], [-0.4753139605456931, -0.3691859378037057, 12.110382802815487]),
        ("swap", [2, 4, 8], [4.0, 7.0, 2.0]),
        ("shift", [2, 4, 8], [18.40952042235097, 40.1373535187886, 41.44148752932799]),
        ("small", [2, 4, 8], [1.1561715098635768, 2.6827035155490737, 9.252595700703871]),
        ("common", [2, 4, 8], [-0.4753139605456931, -0.3691859378037057, 12.110382802815487]),
        ("scale", [2, 3, 8], [20.0, 30.0, 80.0]),
    ],
)
def test_a_seed_means_the_same_in_the_next_version(scheme: str, rows: list[int], values: list[float]) -> None:
    """Tests the rows and values of seed 0, because published results must stay reproducible."""
    table = {"c": list(range(10)), "b": [float(i) for i in range(10)]}
    after, labels = inject(table, ["c"], ["b"], n=3, seed=0, scheme=scheme)
    assert np.flatnonzero(labels).tolist() == rows
    assert [after["b"][row] for row in rows] == pytest.approx(values)


def test_a_data_set_brings_roles_and_number() -> None:
    """Tests that a data set gives the same result as its table, with as many anomalies as in the paper."""
    data = datasets.load("Syn3")
    table, labels = inject(data, seed=8)
    expected, same = inject(data.table, data.contextual, data.behavioral, n=50, seed=8)
    assert table == expected
    assert (labels == same).all()
    with pytest.raises(ValueError, match="has its own roles"):
        inject(data, ["c1"])
    with pytest.raises(ValueError, match="n is not given"):
        inject(datasets.load("cities"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": -1}, "n is -1: it must be a whole number from 0 to 60"),
        ({"n": 61}, "n is 61: it must be a whole number from 0 to 60"),
        ({"n": 2.0}, "n is 2.0"),
        ({"n": None}, "n is not given"),
        ({"scheme": "shuffle"}, "scheme is 'shuffle': it must be one of perturb, swap, shift"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"behavioral": ["puls"]}, "'puls' is not in the table: did you mean 'pulse'"),
        ({"contextual": None}, "no contextual column is named"),
        ({"contextual": ["pulse"]}, "both contextual and behavioral"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    """Tests that each wrong argument gives one sentence that says what is allowed."""
    given_arguments: dict[str, Any] = {"contextual": CONTEXT, "behavioral": BEHAVIOR, "n": 5} | arguments
    with pytest.raises(ValueError, match=message):
        inject(mixed_table(60, missing=0.0), **given_arguments)
