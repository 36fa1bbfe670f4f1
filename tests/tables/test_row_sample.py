"""Samples of tables of any size: by what rows hold, whatever their order and however they are split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus.tables.drawing import Sample
from paribus.tables.row_sample import sample_rows
from paribus.tables.streams import TableBatches


def batches_of(table: pd.DataFrame, size: int) -> TableBatches:
    def batches() -> Iterator[pd.DataFrame]:
        return (table[begin : begin + size] for begin in range(0, len(table), size))

    return TableBatches(batches)


def sampled(table: Any, n_rows: int, **options: Any) -> Sample:
    return sample_rows(table, ["site"], ["load"], n_rows=n_rows, **options)


def lines(sample: Sample) -> list[tuple[Any, ...]]:
    return list(pd.DataFrame(sample.table)[["site", "load"]].itertuples(index=False, name=None))


def random_table(n_rows: int, n_values: int, common: float, seed: int) -> pd.DataFrame:
    """Rows that repeat, a share of them one and the same."""
    random = np.random.default_rng(seed)
    load = random.integers(0, n_values, n_rows) / 4.0
    table = pd.DataFrame({"site": random.choice(["a", "b", "c"], n_rows), "load": load, "key": np.arange(n_rows)})
    table.loc[random.random(n_rows) < common, ["site", "load"]] = ["a", 0.0]
    return table


@settings(max_examples=15)
@given(
    n_rows=st.integers(2, 200),
    n_values=st.sampled_from([3, 40, 10**6]),
    common=st.sampled_from([0.0, 0.4, 1.0]),
    limit=st.sampled_from([2, 30, 150]),
    size=st.sampled_from([7, 100, 1000]),
    seed=st.integers(0, 2**16),
)
def test_order_and_batches_change_nothing(
    n_rows: int, n_values: int, common: float, limit: int, size: int, seed: int
) -> None:
    """Tests that shuffled rows in other batches give the same sample, which is no larger than wanted."""
    table = random_table(n_rows, n_values, common, seed)
    first = sampled(batches_of(table, size), limit)
    second = sampled(table.sample(frac=1.0, random_state=seed), limit)
    assert first.n_rows == second.n_rows == n_rows
    assert first.is_complete == second.is_complete == (n_rows <= limit)
    if first.is_complete:
        assert lines(first) == list(table[["site", "load"]].itertuples(index=False, name=None))
    else:
        assert lines(first) == lines(second)
        assert len(lines(first)) <= limit


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_rows_that_are_very_common_keep_their_share(share: float) -> None:
    """Tests that a row that makes up a part of the table makes up the same part of the sample, and is never dropped."""
    random = np.random.default_rng(0)
    load = np.where(random.random(40_000) < share, 7.0, random.normal(size=40_000))
    table = pd.DataFrame({"site": "a", "load": load})
    found = np.array([line[1] for line in lines(sampled(batches_of(table, 3_000), 4_000))])
    assert 3_500 <= len(found) <= 4_000
    deviation = np.sqrt(share * (1 - share) / 4_000)
    assert abs((found == 7.0).mean() - (load == 7.0).mean()) < 5 * deviation


def test_the_sample_is_like_the_table() -> None:
    """Tests that values have the distribution of the table, also those that repeat."""
    table = random_table(30_000, 200, 0.0, 1)
    found = np.array([line[1] for line in lines(sampled(batches_of(table, 1_000), 3_000))])
    assert abs(found.mean() - table["load"].mean()) < 5 * table["load"].std() / np.sqrt(100)
    assert 2_500 <= len(found) <= 3_000


def test_a_key_tells_equal_rows_apart() -> None:
    """Tests that with a key each row is drawn for itself."""
    table = random_table(5_000, 1, 1.0, 0)
    plain, keyed = sampled(table, 500), sampled(table, 500, key="key")
    assert len(lines(keyed)) == 500
    assert len(set(pd.DataFrame(keyed.table)["key"])) == 500
    assert 350 < len(lines(plain)) <= 500


def test_libraries_give_the_same_sample() -> None:
    """Tests that pandas, polars and pyarrow tables, eager or lazy, have the same rows drawn."""
    table = random_table(500, 10**6, 0.1, 2)
    expected = lines(sampled(table, 100))
    arrow = pa.Table.from_pandas(table)
    for other in (pl.DataFrame(table), pl.LazyFrame(table), arrow, ds.dataset(arrow), arrow.to_reader(64)):
        sample = sampled(other, 100)
        assert lines(Sample(pa.table(sample.table).to_pydict(), 0, False)) == expected


def test_roles_are_checked_before_the_table_is_read() -> None:
    """Tests that a misspelled column is reported after one batch."""

    def batches() -> Iterator[pd.DataFrame]:
        yield random_table(10, 5, 0.0, 0)
        raise AssertionError

    with pytest.raises(ValueError, match="contextual column 'sit' is not in the table: did you mean 'site'"):
        sample_rows(TableBatches(batches), ["sit"], ["load"])


def test_a_table_without_rows_is_refused() -> None:
    """Tests that nothing to draw from is one sentence."""
    with pytest.raises(ValueError, match="the table has no rows"):
        sampled(TableBatches(lambda: iter(())), 100)
