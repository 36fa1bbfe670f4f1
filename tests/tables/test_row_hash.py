"""The order of rows by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import ConditionalSurprise
from paribus.tables.encoded_table import encode_table
from paribus.tables.row_hash import canonical_order, hash_contents, hash_names, hash_rows

Array = np.ndarray[Any, Any]


def hashes_of(table: Any) -> Array:
    encoded = encode_table(table, ["site", "level"], ["load"], None)
    named = [None if codes is None else hash_names(list(codes)) for codes in encoded.encoding.codes]
    return hash_rows([*encoded.all_context.T, *encoded.all_behavior.T], [*named, None])


def test_hashes_depend_on_values_alone() -> None:
    """Tests that the library, the width of numbers, the sign of zero and the other categories do not matter."""
    columns: dict[str, list[Any]] = {
        "site": ["b", "ä", None, "b"],
        "level": [3, 0, 7, 3],
        "load": [1.5, -2.0, 0.0, 1.5],
    }
    expected = hashes_of(columns)
    assert len(set(expected.tolist())) == 3
    frame = pd.DataFrame(columns)
    others = [
        frame,
        frame.astype({"site": "category", "level": "int8", "load": "float32"}),
        frame.assign(load=[1.5, -2.0, -0.0, 1.5], level=frame["level"].astype(float)),
        pl.DataFrame(columns),
        pa.table(columns).cast(pa.schema([("site", pa.string()), ("level", pa.uint16()), ("load", pa.float32())])),
    ]
    for other in others:
        np.testing.assert_array_equal(hashes_of(other), expected)
    np.testing.assert_array_equal(hashes_of(frame[1:]), expected[1:])
    # Samples that are drawn elsewhere, or with another version, must be the same.
    assert int(expected[0]) == 10964868503703708413


def test_rows_that_share_a_hash_are_ordered_by_their_values() -> None:
    """Tests that the order is the same for each order that rows come in, also of unequal ones with equal hashes."""
    rows = np.array([[1.0, np.nan], [1.0, 2.0], [0.0, 5.0], [1.0, 2.0], [9.0, 9.0]])
    hashes = np.array([4, 4, 4, 4, 1], dtype=np.uint64)
    expected = rows[canonical_order(hashes, rows)]
    assert not np.array_equal(expected, rows, equal_nan=True)
    for seed in range(10):
        shuffled = np.random.default_rng(seed).permutation(5)
        order = canonical_order(hashes[shuffled], rows[shuffled][:, :1], rows[shuffled][:, 1:])
        np.testing.assert_array_equal(rows[shuffled][order], expected)


def odd_table(n_rows: int, n_copies: int, missing: float, seed: int) -> pd.DataFrame:
    """Ties, copies, missing values, and periods that every k-th row of a table would fall in with."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "site": random.choice(["a", "b", "c"], n_rows),
            "hour": np.arange(n_rows) % 24,
            "load": random.normal(size=n_rows).round(1),
            "heat": np.sin(np.arange(n_rows) % 24) + random.normal(size=n_rows),
        }
    )
    table = pd.concat([table, table[: min(n_copies, n_rows)]], ignore_index=True)
    gaps = random.random(table.shape) < missing
    return table.mask(pd.DataFrame(gaps, columns=table.columns))


@settings(max_examples=10)
@given(
    n_rows=st.sampled_from([5, 60, 200]),
    n_copies=st.sampled_from([0, 3, 30]),
    missing=st.sampled_from([0.0, 0.1]),
    seed=st.integers(0, 2**16),
)
def test_the_order_of_rows_changes_nothing(n_rows: int, n_copies: int, missing: float, seed: int) -> None:
    """Tests that shuffled rows get the same bits, in scores, p-values of cells, distributions and words."""
    table = odd_table(n_rows, n_copies, missing, seed)
    shuffled = np.random.default_rng(seed).permutation(len(table))
    other = table.iloc[shuffled].reset_index(drop=True)
    detectors = [ConditionalSurprise(["site", "hour"], ["load", "heat"], n_trees=8) for _ in range(2)]
    try:
        first = detectors[0].fit(table)
    except (ValueError, UserWarning):
        # Tables without behavior to compare.
        return
    second = detectors[1].fit(other)
    np.testing.assert_array_equal(second.partial_scores_, first.partial_scores_.iloc[shuffled])
    np.testing.assert_array_equal(second.cell_p_values_, np.asarray(first.cell_p_values_)[shuffled])
    np.testing.assert_array_equal(second.kinds_, np.asarray(first.kinds_)[shuffled])
    assert second.threshold_ == first.threshold_
    new = odd_table(20, 0, 0.0, seed + 1)
    np.testing.assert_array_equal(second.anomaly_score(new), first.anomaly_score(new))
    np.testing.assert_array_equal(second.percentiles(table[:5]), first.percentiles(table[:5]))
    mine, theirs = (detector.reference_group(table[:5]) for detector in (first, second))
    np.testing.assert_array_equal(theirs[1], mine[1])
    found, expected = (each.iloc[rows[0].ravel()] for each, rows in ((other, theirs), (table, mine)))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))
    row = int(np.argmax(np.nan_to_num(first.anomaly_scores_)))
    assert second.explain(int(np.flatnonzero(shuffled == row)[0])).sentence == first.explain(row).sentence


@pytest.mark.parametrize("threshold", [0.1, 0.001])
def test_a_share_is_flagged_in_any_order(threshold: float) -> None:
    """Tests that the labels of rows do not depend on their order either."""
    table = odd_table(200, 20, 0.0, 3)
    shuffled = np.random.default_rng(0).permutation(len(table))
    first, second = (
        ConditionalSurprise(["site", "hour"], ["load", "heat"], n_trees=8, contamination=threshold).fit_predict(each)
        for each in (table, table.iloc[shuffled])
    )
    np.testing.assert_array_equal(second, first[shuffled])


@given(st.integers(2, 40), st.integers(1, 3), st.integers(0, 2), st.integers(2, 5), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_hashes_of_contents_do_not_depend_on_names(
    n_rows: int, n_categorical: int, n_numeric: int, n_codes: int, seed: int
) -> None:
    """Tests that other names and codes of categories give rows the same hashes, unless names alone tell them apart."""
    random = np.random.default_rng(seed)
    numbers = [random.integers(0, 4, size=n_rows).astype(float) for _ in range(n_numeric)]
    codes = [random.integers(0, n_codes, size=n_rows).astype(float) for _ in range(n_categorical)]
    for column in codes:
        column[random.random(n_rows) < 0.1] = np.nan

    def hashed(columns: list[Array], names: list[list[str]]) -> Array:
        every = [*numbers, *columns]
        return hash_rows(every, hash_contents(every, [*[None] * n_numeric, *names]))

    names = [[f"{place}-{code}" for code in range(n_codes)] for place in range(n_categorical)]
    new_codes = [random.permutation(n_codes) for _ in range(n_categorical)]
    renamed = [
        np.where(np.isnan(column), np.nan, own[np.nan_to_num(column).astype(int)])
        for column, own in zip(codes, new_codes, strict=True)
    ]
    before, after = hashed(codes, names), hashed(renamed, [[f"new {n}" for n in range(n_codes)]] * n_categorical)
    if n_numeric and n_categorical == 1:
        known = ~np.isnan(codes[0])
        contents = [
            tuple(sorted(map(tuple, np.column_stack(numbers)[known & (codes[0] == code)].tolist())))
            for code in range(n_codes)
        ]
        different = [contents.count(each) == 1 for each in contents]
        same = np.array([np.isnan(code) or different[int(code)] for code in codes[0]])
        np.testing.assert_array_equal(before[same], after[same])
    # What cannot be told apart by content is in rows that are alike: the number of equal rows is the same.
    assert sorted(np.unique(before, return_counts=True)[1]) == sorted(np.unique(after, return_counts=True)[1])


def test_a_changed_row_hardly_changes_hashes() -> None:
    """Tests that rows keep their hashes where one row of a thousand gets another value, so that samples stay alike."""
    random = np.random.default_rng(0)
    columns = [random.normal(size=1000), random.integers(0, 5, size=1000).astype(float)]
    names = [None, list("abcde")]
    before = hash_rows(columns, hash_contents(columns, names))
    changed = 0
    for row in range(50):
        other = [columns[0].copy(), columns[1]]
        other[0][row] = 99.0
        changed += int((hash_rows(other, hash_contents(other, names)) != before).sum())
    assert changed < 50 * 10
