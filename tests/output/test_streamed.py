"""Rows that are kept of a table that is scored in batches, and the ranks of all."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paribus import ConditionalSurprise, datasets
from paribus.explain.known import read_known
from paribus.output import streamed
from paribus.output.report.names import RowNames
from paribus.output.results import ScoredRows
from paribus.output.streamed import RowKeeper, ScoreRanks, StoredScores
from paribus.tables.table import Table

pa = pytest.importorskip("pyarrow")

THRESHOLD = 2.5
# Few different scores, so that there are ties, and rows without one.
SCORES = st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, np.nan]), min_size=1, max_size=60)


def scored(scores: Any, first: int = 0) -> ScoredRows:
    numbers = np.asarray(scores, dtype=np.float64)
    column = np.arange(first, first + len(numbers), dtype=np.float64)[:, None]
    table = Table({"x": column[:, 0].copy(), "even": (column[:, 0] % 2 == 0).astype(np.float64)})
    kinds = np.array(["value", None, "whole"], dtype=object)[(column[:, 0] % 3).astype(int)]
    return ScoredRows(table, column, column + 1, column + 2, numbers, 10.0**-numbers, kinds, False)


def batches(scores: list[float], cuts: list[int]) -> list[ScoredRows]:
    ends = sorted({min(cut, len(scores)) for cut in cuts} | {0, len(scores)})
    return [scored(scores[low:high], low) for low, high in pairwise(ends)]


def kept(parts: list[ScoredRows], known: Any = ()) -> ScoredRows:
    keeper = RowKeeper(THRESHOLD, 2, read_known(known))
    with TemporaryDirectory() as folder:
        ranks = ScoreRanks(Path(folder) / "scores")
        for part in parts:
            keeper.add(part)
            ranks.add(part.scores)
        return keeper.finish(ranks)


def expect_equal(found: ScoredRows, expected: ScoredRows) -> None:
    for name in ("context", "behavior", "partial", "scores", "p_values", "kinds", "labels"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.table.values(0), expected.table.values(0))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most 20 rows are kept for good, of which 4 are explained."""
    for name, value in (("MAX_KEPT", 20), ("N_BACKGROUND", 6), ("MAX_FINDINGS", 4), ("RUN_SIZE", 16)):
        monkeypatch.setattr(streamed, name, value)


@given(scores=SCORES, cuts=st.lists(st.integers(0, 60), max_size=8), rule=st.booleans())
def test_what_is_kept_does_not_depend_on_batches(scores: list[float], cuts: list[int], rule: bool) -> None:
    """Tests the rows that are kept, their ranks and all counts against a sort of all rows, for any split."""
    known = [{"rule": "even = 1", "status": "false alarm"}] if rule else []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MAX_KEPT", 20), ("N_BACKGROUND", 6), ("MAX_FINDINGS", 4), ("RUN_SIZE", 16)):
            patch.setattr(streamed, name, value)
        found, at_once = kept(batches(scores, cuts), known), kept([scored(scores)], known)
    expect_equal(found, at_once)
    numbers = np.array(scores)
    if len(scores) <= 20:
        assert found.whole is None
        assert len(found.scores) == len(scores)
        return
    whole = found.whole
    assert whole is not None
    assert whole.positions is not None
    np.testing.assert_array_equal(found.scores, numbers[whole.positions])
    np.testing.assert_array_equal(found.labels, whole.positions)
    # Oracles: each by its definition.
    is_known = (np.arange(len(scores)) % 2 == 0) & rule
    descending = sorted(np.flatnonzero(~np.isnan(numbers)), key=lambda row: (-numbers[row], row))
    assert set(descending[:4]) <= set(whole.positions.tolist())
    assert set([row for row in descending if not is_known[row]][:6]) <= set(whole.positions.tolist())
    for row, rank in zip(whole.positions, whole.ranks if whole.ranks is not None else [], strict=True):
        assert np.isnan(rank) if np.isnan(numbers[row]) else rank == 1 + (numbers > numbers[row]).sum()
    assert (whole.n_rows, whole.n_scored) == (len(scores), (~np.isnan(numbers)).sum())
    assert whole.n_above == (numbers > THRESHOLD).sum()
    n_known_here = (is_known[whole.positions] & (found.scores > THRESHOLD)).sum()
    assert whole.n_known_elsewhere + n_known_here == (is_known & (numbers > THRESHOLD)).sum()
    assert whole.weights.sum() == pytest.approx(len(scores))
    known_scores = numbers[~np.isnan(numbers)]
    assert whole.lowest == known_scores.min(initial=np.inf)


@given(scores=SCORES, cuts=st.lists(st.integers(0, 60), max_size=8))
def test_stored_scores_are_read_as_they_were(scores: list[float], cuts: list[int]) -> None:
    """Tests that scores, kinds and parts come back from the file, in other batches than they came in."""
    with TemporaryDirectory() as folder:
        stored = StoredScores(Path(folder) / "scores")
        for part in batches(scores, cuts):
            stored.add(part)
        stored.rewind()
        whole = scored(scores)
        for low in range(0, len(scores), 7):
            some = slice(low, min(low + 7, len(scores)))
            total, kinds, partial = stored.read(some.stop - some.start, 1)
            np.testing.assert_array_equal(total, whole.scores[some])
            np.testing.assert_array_equal(partial, whole.partial[some])
            assert kinds.tolist() == whole.kinds[some].tolist() if whole.kinds is not None else False
        stored.close()


@pytest.fixture(scope="module")
def detector() -> ConditionalSurprise:
    weather = datasets.load("weather")
    table = {name: np.array(column) for name, column in weather.table.items()}
    table["wind"][100:112] = 0.0
    return ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=16, false_alarms=0.01).fit(table)


def weather_with_calm() -> Any:
    table = {name: np.array(column) for name, column in datasets.load("weather").table.items()}
    table["wind"][100:112] = 0.0
    return pa.table(table)


def test_batches_have_groups_frames_and_reports(detector: ConditionalSurprise, tmp_path: Path) -> None:
    """Tests that a reader gives the groups, the frame and the report of the table in memory."""
    table = weather_with_calm()
    expected, found = detector.groups(table), detector.groups(table.to_reader(max_chunksize=300))
    assert [str(group) for group in found] == [str(group) for group in expected] != []
    frames = [detector.to_frame(rows).to_pandas() for rows in (table.to_reader(max_chunksize=300), table)]
    pd.testing.assert_frame_equal(*frames, check_exact=True)
    detector.report(tmp_path / "r.html", 3, rows=table.to_reader(max_chunksize=300))
    assert "2,000" in (tmp_path / "r.html").read_text()


@pytest.mark.usefixtures("few")
def test_groups_are_found_among_a_sample(detector: ConditionalSurprise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a planted group has its rule, its size and its rows' true positions if most rows were dropped."""
    for name, value in (("MAX_KEPT", 400), ("N_BACKGROUND", 200), ("MAX_FINDINGS", 40)):
        monkeypatch.setattr(streamed, name, value)
    monkeypatch.setattr("paribus.detectors.explaining.MAX_FINDINGS", 5)
    group = next(each for each in detector.groups(weather_with_calm().to_reader(max_chunksize=150)) if each.low == 0)
    assert group.known_rule.startswith("wind = 0")
    assert set(group.positions.tolist()) <= set(range(100, 112))
    assert group.size >= 8


@pytest.mark.usefixtures("few")
def test_the_report_of_a_sampled_table_says_so(detector: ConditionalSurprise, tmp_path: Path) -> None:
    """Tests that rows of the table that the fitted ones are a sample of are not called new."""
    rows = detector.scored_rows(datasets.load("weather").table)
    for is_sampled in (True, False):
        keeper = RowKeeper(detector.threshold_, 5)
        ranks = ScoreRanks(tmp_path / f"{is_sampled}")
        keeper.add(rows)
        ranks.add(rows.scores)
        results = detector.results_of(keeper.finish(ranks, is_sampled=is_sampled))
        explanations = list(results.explain(results.highest(3)))
        names = RowNames(results.rows.table, None, results.rows.labels)
        detector.write_report(tmp_path / "r.html", explanations, results=results, names=names)
        page = (tmp_path / "r.html").read_text()
        assert ("of a sample of 2,000 rows" in page) == is_sampled
        assert ("2,000 new rows" in page) != is_sampled
