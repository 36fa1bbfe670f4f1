"""Dask: a cluster of processes gives what one machine gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

import paribus.dask as on_dask
from paribus import sample_rows
from paribus.cli.app import app
from paribus.detectors.cluster import score_and_find
from paribus.detectors.cluster_rows import ScoreRows
from tests.engines.tables import BEHAVIOR, CONTEXT, N_ROWS, N_SAMPLE, qcad, shuffled, stations, surprise

pytestmark = [
    pytest.mark.needs_cluster,
    # Sockets of workers that were killed on purpose, and a sample instead of all rows.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:the detector is fitted to:UserWarning"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """One worker. All workers are copies of a process that has imported what they need, which takes long."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(["distributed", "dask.dataframe", "paribus.detectors.cluster"])
        with LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=50,
        ) as started:
            yield started


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as connected:
        yield connected


def frame_of(table: pd.DataFrame, n_partitions: int) -> Any:
    return dd.from_pandas(table, npartitions=n_partitions)


def by_id(table: Any) -> pd.DataFrame:
    return table.set_index("id").loc[stations()["id"]]


def test_a_cluster_gives_the_same_bits(client: Client, cluster: LocalCluster) -> None:
    """Tests that fits and scores of shuffled rows on one worker and on three are those of one machine."""
    sample = sample_rows(stations(), CONTEXT, BEHAVIOR, n_rows=N_SAMPLE)
    expected = surprise().fit(sample.table)
    scores = expected.score_batch(stations())
    for n_workers, n_partitions in ((1, 1), (3, 7)):
        cluster.scale(n_workers)
        client.wait_for_workers(n_workers)
        frame = frame_of(shuffled(n_workers), n_partitions)
        found = on_dask.fit(surprise(), frame, n_rows=N_SAMPLE)
        assert (found.anomaly_scores_ == expected.anomaly_scores_).all()
        scored = by_id(on_dask.score(found, frame).compute())
        for name in ("score", "p_value", "partial_rain"):
            assert np.array_equal(scored[name].to_numpy(), scores[name].to_numpy(), equal_nan=True)
        assert scored["label"].tolist() == scores["label"].tolist()


def test_fit_of_a_detector_takes_a_frame() -> None:
    """Tests that `fit` recognizes a Dask DataFrame, without a cluster too, and tallies all of its rows."""
    expected = surprise().fit(stations())
    found = surprise().fit(frame_of(shuffled(2), 3))
    assert sorted(found.anomaly_scores_) == sorted(expected.anomaly_scores_)
    tally = found.column_tallies_["rain"]
    assert (tally.n_rows, tally.n_missing, tally.highest) == (N_ROWS, 21, stations()["rain"].max())
    with pytest.raises(TypeError, match=r"use the functions of paribus\.dask"):
        found.anomaly_score(frame_of(stations(), 1))


def test_qcad_gives_the_same_bits(client: Client) -> None:
    """Tests that QCAD is that of one machine whose rows come in the order of their hashes."""
    sample = sample_rows(stations(), CONTEXT, BEHAVIOR, n_rows=N_SAMPLE)
    expected = qcad().fit(sample.table)
    frame = frame_of(shuffled(3), 3)
    found = on_dask.fit(qcad(), frame, n_rows=N_SAMPLE)
    assert np.array_equal(found.anomaly_scores_, expected.anomaly_scores_, equal_nan=True)
    scored = by_id(on_dask.score(found, frame, keep=["id"]).compute())
    assert np.array_equal(scored["score"].to_numpy(), expected.anomaly_score(stations()), equal_nan=True)


def test_a_killed_worker_changes_nothing(client: Client, tmp_path: Path) -> None:
    """Tests that scores are the same after a worker has died in the middle."""
    detector = surprise().fit(stations())
    marker = tmp_path / "killed"

    def kill_once(partition: pd.DataFrame) -> pd.DataFrame:
        if len(partition) and not marker.exists():
            marker.touch()
            os._exit(1)
        return partition

    frame = frame_of(stations(), 4)
    scored = on_dask.score(detector, frame.map_partitions(kill_once, meta=frame.partitions[0].compute()[:0]))
    assert (by_id(scored.compute())["score"].to_numpy() == detector.anomaly_scores_).all()
    assert marker.exists()


def test_a_failed_batch_names_its_column() -> None:
    """Tests that an infinite value in a partition is an error that names its column."""
    detector = surprise().fit(stations())
    table = stations().copy()
    table.loc[500, "wind"] = np.inf
    with pytest.raises(ValueError, match="a batch cannot be scored: column 'wind' has an infinite value"):
        on_dask.score(detector, frame_of(table, 3)).compute(scheduler="sync")
    with pytest.raises(ValueError, match="column 'wind' was there at fit and is missing here"):
        on_dask.score(detector, frame_of(table.drop(columns="wind"), 3))
    with pytest.raises(ValueError, match="column 'score' cannot be kept"):
        on_dask.score(detector, frame_of(table.assign(score=1.0), 3))


def test_the_highest_rows_are_those_of_the_whole_table(tmp_path: Path) -> None:
    """Tests the list, the explanations and the report of a frame."""
    detector = surprise(contamination=0.02).fit(stations())
    frame = frame_of(shuffled(4), 3)
    found = on_dask.highest(detector, frame, 5, keep=["id"], sentences=True)
    expected = stations()["id"].to_numpy()[np.argsort(-detector.anomaly_scores_, kind="stable")[:5]]
    assert set(found.table["id"]) == set(expected)
    assert found.table["id"].iloc[0] == "S7"
    assert found.table["sentence"].iloc[0].startswith("wind 480")
    assert (found.n_rows, found.n_scored) == (N_ROWS, N_ROWS)
    assert found.n_flagged == (detector.labels_ == -1).sum()
    assert on_dask.explain(detector, frame, 2, id_column="id")[0].row == "S7"
    page = on_dask.report(detector, frame, tmp_path / "r.html", 3, id_column="id").read_text()
    assert "S7" in page
    assert f"{N_ROWS}" in page


def test_groups_of_a_frame() -> None:
    """Tests that flagged rows with one cause make a group, among all rows of the frame."""
    detector = surprise().fit(stations())
    table = shuffled(6)
    table.loc[:11, "wind"] = 480.0
    assert on_dask.groups(detector, frame_of(table, 2), id_column="id")[0].rule.startswith("wind is 480")


def test_the_shell(client: Client, cluster: LocalCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that a folder of Parquet files is scored on a cluster, into a folder, and that mistakes are sentences."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for part in range(2):
        stations()[part::2].to_parquet(folder / f"{part}.parquet", index=False)
    roles = ["-c", "month,elevation", "-b", "rain,wind", "--id", "id", "--n-trees", "4"]
    place = ["--engine", "dask", "--cluster", str(cluster.scheduler_address)]
    app(["detect", str(folder), *roles, *place, "--out", str(tmp_path / "out"), "--top", "1"], standalone_mode=False)
    assert capfd.readouterr().out.splitlines()[1].startswith("S7\t1\t")
    scored = pd.read_parquet(tmp_path / "out")
    expected = surprise().fit(stations())
    assert (by_id(scored)["score"].to_numpy() == expected.anomaly_scores_).all()
    with pytest.raises(FileExistsError, match="writes a new folder"):
        app(["detect", str(folder), *roles, *place, "--out", str(tmp_path / "out")], standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reference": "past"}, "reference='past' is not available on Dask"),
        ({"contextual": [0]}, "given by name, not by position"),
    ],
)
def test_what_a_cluster_cannot_do_is_said_first(options: dict[str, Any], words: str) -> None:
    """Tests that parameters which need one machine are refused in one sentence."""
    with pytest.raises(ValueError, match=words):
        surprise().set_params(**options).fit(frame_of(stations(), 2))
    with pytest.raises(ValueError, match="give known rows by a rule"):
        surprise().fit(frame_of(stations(), 2), known=[{"row": "S7", "status": "confirmed"}])


def test_known_rows_are_named_by_the_key() -> None:
    """Tests that a confirmed anomaly is excluded from the fit as on one machine, if a column names the rows."""
    known = [{"row": "S7", "status": "confirmed"}]
    expected = surprise().fit(stations().set_index("id"), known=known)
    found = on_dask.fit(surprise(), frame_of(shuffled(8), 2), key="id", known=known)
    assert sorted(found.anomaly_scores_) == sorted(expected.anomaly_scores_)
    assert sorted(found.anomaly_scores_) != sorted(surprise().fit(stations()).anomaly_scores_)


def test_rows_are_scored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the list, the counts and the folder of results come from one computation."""
    detector = surprise().fit(stations())
    scored = []
    original = ScoreRows.__call__

    def counted(work: ScoreRows, batch: Any) -> Any:
        scored.append(len(batch))
        return original(work, batch)

    monkeypatch.setattr(ScoreRows, "__call__", counted)
    with dask.config.set(scheduler="sync"):
        score_and_find(detector, frame_of(stations(), 3), 2, out=str(tmp_path / "out"), out_columns=["id"])
    assert sum(scored) == N_ROWS
    assert len(pd.read_parquet(tmp_path / "out")) == N_ROWS
