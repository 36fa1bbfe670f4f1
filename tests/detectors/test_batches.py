"""Tables that are not in memory: fitted and scored in batches, with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus import QCAD, ConditionalSurprise, load
from paribus.tables import row_sample
from tests.support.tables import BEHAVIOR, CONTEXT, mixed_table


def detector(**changes: Any) -> ConditionalSurprise:
    return ConditionalSurprise(CONTEXT, BEHAVIOR, **({"n_trees": 8, "n_jobs": 1} | changes))


TABLE = mixed_table(200, missing=0.0)


@pytest.fixture(params=["dataset", "reader", "relation", "lazy"])
def open_table(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """A function that opens the table, which is not in memory."""
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.Table.from_pandas(TABLE, preserve_index=False), path, row_group_size=50)
    ways: dict[str, Callable[[], Any]] = {
        "dataset": lambda: ds.dataset(path),
        "reader": lambda: pq.read_table(path).to_reader(30),
        "relation": lambda: duckdb.from_parquet(path),
        "lazy": lambda: pl.scan_parquet(path),
    }
    return ways[request.param]


def test_tables_that_are_not_in_memory_are_fitted_and_scored(open_table: Callable[[], Any]) -> None:
    """Tests that each kind gives the bits of the table in memory, from fit and from every scoring method."""
    expected = detector().fit(TABLE)
    found = detector().fit(open_table())
    np.testing.assert_array_equal(found.anomaly_scores_, expected.anomaly_scores_)
    np.testing.assert_array_equal(found.anomaly_score(open_table()), expected.anomaly_scores_)
    np.testing.assert_array_equal(found.predict(open_table()), expected.labels_)
    np.testing.assert_array_equal(found.p_values(open_table()), expected.p_values_)
    np.testing.assert_array_equal(found.kinds(open_table()), expected.kinds(TABLE))
    np.testing.assert_array_equal(found.percentiles(open_table()), expected.percentiles(TABLE))
    partial = found.partial_scores(open_table())
    np.testing.assert_array_equal(np.column_stack([partial[name] for name in BEHAVIOR]), expected.partial_scores_)
    for mine, theirs in zip(found.reference_group(open_table()), expected.reference_group(TABLE), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_highest_rows_are_explained(open_table: Callable[[], Any]) -> None:
    """Tests that the highest scores of all batches are explained, by their positions in the table."""
    found, expected = FITTED.explain_all(5, rows=open_table()), FITTED.explain_all(5, rows=TABLE)
    assert [(each.row, each.score, str(each)) for each in found] == [
        (each.row, each.score, str(each)) for each in expected
    ]


def test_one_bar_moves_over_all_batches() -> None:
    """Tests that progress is that of the whole table, and that the parameter stays what it was."""
    seen: list[tuple[int, int]] = []
    found = detector(progress=lambda done, total: seen.append((done, total))).fit(TABLE)
    seen.clear()
    found.anomaly_score(pa.Table.from_pandas(TABLE).to_reader(60))
    assert [done for done, _ in seen] == [60, 120, 180, 200]
    assert callable(found.progress)


def test_qcad_takes_them_too(open_table: Callable[[], Any]) -> None:
    """Tests that QCAD fits and scores a table that is not in memory."""
    expected = QCAD(CONTEXT, BEHAVIOR, n_trees=4).fit(TABLE)
    found = QCAD(CONTEXT, BEHAVIOR, n_trees=4).fit(open_table())
    np.testing.assert_array_equal(found.anomaly_score(open_table()), expected.anomaly_scores_)


def test_a_larger_table_is_sampled_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the detector is fitted to a sample, warns about it, and scores all rows, in any order and batch."""
    assert row_sample.sample_rows.__kwdefaults__ is not None
    monkeypatch.setitem(row_sample.sample_rows.__kwdefaults__, "n_rows", 80)
    table = pa.Table.from_pandas(TABLE, preserve_index=False)
    shuffled = np.random.default_rng(0).permutation(len(TABLE))
    scores = []
    for rows, size in ((np.arange(200), 200), (shuffled, 17)):
        with pytest.warns(UserWarning, match=r"fitted to \d+ of the 200 rows, and its scores are those of these"):
            found = detector().fit(table.take(rows).to_reader(size))
        assert len(found.anomaly_scores_) <= 80
        scores.append(found.anomaly_score(table.take(rows).to_reader(size)))
    np.testing.assert_array_equal(scores[1], scores[0][shuffled])


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 60), max_size=4), seed=st.integers(0, 99))
def test_a_row_gets_the_same_bits_in_every_batch(cuts: list[int], seed: int) -> None:
    """Tests that batches of any size, also empty ones, give the results of all rows at once, in the same types."""
    found = FITTED
    rows = pa.RecordBatch.from_pandas(
        mixed_table(60, seed=seed, missing=0.1).assign(key=np.arange(60)), preserve_index=False
    )
    whole = found.score_batch(rows, keep=["key"])
    ends = [0, *sorted(cuts), 60]
    pieces = [found.score_batch(rows[a:b], keep=["key"]) for a, b in pairwise(ends)]
    assert all(piece.schema == whole.schema for piece in pieces)
    assert pa.Table.from_batches(pieces).combine_chunks().equals(pa.Table.from_batches([whole]))


FITTED = detector().fit(TABLE)


def test_score_batch_says_what_the_methods_say(tmp_path: Path) -> None:
    """Tests scores, p-values, labels, kinds and parts of a batch, also from a stored model."""
    FITTED.save(tmp_path / "m.paribus")
    new = mixed_table(40, seed=5, missing=0.0)
    for found in (FITTED, load(tmp_path / "m.paribus")):
        batch = found.score_batch(pa.RecordBatch.from_pandas(new))
        assert isinstance(batch, pa.RecordBatch)
        np.testing.assert_array_equal(batch["score"], found.anomaly_score(new))
        np.testing.assert_array_equal(batch["p_value"], found.p_values(new))
        np.testing.assert_array_equal(batch["kind"], found.kinds(new))
        flagged = np.asarray(batch["label"]) == "anomaly"
        np.testing.assert_array_equal(flagged, found.predict(new) == -1)
        np.testing.assert_array_equal(batch["partial_pulse"], found.partial_scores(new)["pulse"])


def test_score_batch_answers_in_the_type_of_the_batch() -> None:
    """Tests pandas with its index, polars and dicts; missing scores are missing, not NaN, where that is different."""
    new = mixed_table(5, seed=5, missing=0.0).set_index(np.arange(7, 12))
    new.loc[7, BEHAVIOR] = np.nan
    frame = FITTED.score_batch(new, keep=["site"])
    assert list(frame.index) == list(range(7, 12))
    assert frame["label"].tolist()[0] == "not scored"
    polars = FITTED.score_batch(pl.DataFrame(new))
    assert polars["score"].null_count() == 1
    columns = FITTED.score_batch({name: new[name].to_numpy() for name in new})
    np.testing.assert_array_equal(columns["score"], frame["score"])
    with pytest.raises(ValueError, match="column 'score' cannot be kept, because a result has its name"):
        FITTED.score_batch(new.assign(score=1.0), keep=["score"])


def test_qcad_scores_batches() -> None:
    """Tests that a method without kinds has an empty column of them."""
    table = pd.DataFrame(TABLE)
    found = QCAD(CONTEXT, BEHAVIOR, n_trees=4).fit(table).score_batch(pa.RecordBatch.from_pandas(table))
    assert found["kind"].null_count == len(table)
    assert found["kind"].type == pa.string()
