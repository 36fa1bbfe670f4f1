"""Spark: executors in processes of their own give what one machine gives."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paribus.spark as on_spark
from paribus import sample_rows
from paribus.cli.app import app
from paribus.engines.checks import check_versions, own_versions
from paribus.engines.spark import SparkEngine, make_probe
from tests.engines.java import ADVICE, find_java
from tests.engines.tables import BEHAVIOR, CONTEXT, N_ROWS, N_SAMPLE, qcad, shuffled, stations, surprise
from tests.support.budget import ending_a_shared_process
from tests.support.system_packages import must_have

pytestmark = [
    pytest.mark.needs_cluster,
    # pyspark 4 says so of every new pandas; nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Sockets of pyspark's own, and a sample instead of all rows.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:the detector is fitted to:UserWarning"),
]
# Little time for Java to optimize what runs for a few seconds.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session with two executors of one core each."""
    if find_java() is None:
        reason = f"Spark needs Java: {ADVICE}"
        pytest.fail(reason) if must_have() else pytest.skip(reason)
    from pyspark import SparkContext
    from pyspark import __file__ as home
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        settings = {
            "spark.driver.extraJavaOptions": JAVA,
            "spark.executor.extraJavaOptions": JAVA,
            "spark.executorEnv.PYTHONPATH": paths,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
            # A lost executor is one failure.
            "spark.task.maxFailures": "2",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("paribus-tests")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        application = session.sparkContext.applicationId
        yield session
        session.stop()
        gateway: Any = SparkContext._gateway
        with ending_a_shared_process():
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
        shutil.rmtree(Path(home).parent / "work" / application, ignore_errors=True)


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    return spark.createDataFrame(pa.Table.from_pandas(stations(), preserve_index=False))


def by_id(frame: Any) -> pd.DataFrame:
    return frame.toArrow().to_pandas().set_index("id").loc[stations()["id"]]


@pytest.mark.parametrize("n_partitions", [1, 7])
def test_partitions_give_the_same_bits(spark: Any, rows: Any, n_partitions: int) -> None:
    """Tests that the fit and the scores of shuffled rows in any number of partitions are those of one machine."""
    sample = sample_rows(stations(), CONTEXT, BEHAVIOR, n_rows=N_SAMPLE)
    expected = surprise().fit(sample.table)
    scores = expected.score_batch(stations())
    table = pa.Table.from_pandas(shuffled(n_partitions), preserve_index=False)
    frame = spark.createDataFrame(table).repartition(n_partitions)
    found = on_spark.fit(surprise(), frame, n_rows=N_SAMPLE)
    assert (found.anomaly_scores_ == expected.anomaly_scores_).all()
    scored = by_id(on_spark.score(found, frame))
    for name in ("score", "p_value", "partial_rain"):
        assert np.array_equal(scored[name].to_numpy(), scores[name].to_numpy(), equal_nan=True)
    assert scored["label"].tolist() == scores["label"].tolist()


def test_fit_of_a_detector_takes_a_frame(rows: Any) -> None:
    """Tests that `fit` recognizes a Spark DataFrame, and tallies all of its rows."""
    expected = surprise().fit(stations())
    found = surprise().fit(rows)
    assert sorted(found.anomaly_scores_) == sorted(expected.anomaly_scores_)
    assert found.column_tallies_["month"].counts == stations()["month"].value_counts().to_dict()
    with pytest.raises(TypeError, match=r"use the functions of paribus\.spark"):
        found.anomaly_score(rows)


def test_qcad_gives_the_same_bits(rows: Any) -> None:
    """Tests that QCAD is that of one machine whose rows come in the order of their hashes."""
    sample = sample_rows(stations(), CONTEXT, BEHAVIOR, n_rows=N_SAMPLE)
    expected = qcad().fit(sample.table)
    found = on_spark.fit(qcad(), rows, n_rows=N_SAMPLE)
    assert np.array_equal(found.anomaly_scores_, expected.anomaly_scores_, equal_nan=True)
    scored = by_id(on_spark.score(found, rows, keep=["id"]))
    assert np.array_equal(scored["score"].to_numpy(float), expected.anomaly_score(stations()), equal_nan=True)


def test_a_killed_executor_changes_nothing(rows: Any, tmp_path: Path) -> None:
    """Tests that scores are the same after an executor has died in the middle."""
    detector = surprise().fit(stations())
    marker = tmp_path / "killed"

    def kill_once(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if not marker.exists():
                marker.touch()
                # The Python worker is a child of a daemon, and that of the executor.
                daemon = os.getppid()
                executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill(executor, signal.SIGKILL)
            yield batch

    scored = on_spark.score(detector, rows.repartition(4).mapInArrow(kill_once, rows.schema))
    assert (by_id(scored)["score"].to_numpy() == detector.anomaly_scores_).all()
    assert marker.exists()


def test_a_failed_batch_names_its_column(rows: Any) -> None:
    """Tests that an infinite value is an error of one sentence that names its column."""
    detector = surprise().fit(stations())
    bad = rows.selectExpr("month", "elevation", "rain", "case when id = 'S9' then double('inf') else wind end as wind")
    with pytest.raises(ValueError, match=r"^a task failed on a Spark executor: .*column 'wind' has an infinite value"):
        on_spark.highest(detector, bad, 2)
    with pytest.raises(TypeError, match="column 'wind' held numbers at fit and does not here"):
        on_spark.score(detector, rows.selectExpr("month", "elevation", "rain", "string(wind) as wind"))


def test_large_results_of_tasks_come_in_pieces(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that results which Java could not collect at once are whole, and in the order of tasks."""
    monkeypatch.setattr("paribus.engines.spark.MAX_AT_ONCE", 2**20)
    sizes = [5_000_000, 0, 2_500_000]
    found = list(SparkEngine(spark).run(lambda size: bytes(size) + b"end", sizes))
    assert [(len(each), each[-3:]) for each in found] == [(size + 3, b"end") for size in sizes]


def test_executors_say_what_they_lack(spark: Any) -> None:
    """Tests that executors are checked without paribus on them, and that a missing package is one sentence."""
    answer = spark.range(1).mapInArrow(make_probe(["paribus_of_another_planet"]), "found string").collect()[0][0]
    assert answer == "paribus_of_another_planet="
    with pytest.raises(ValueError, match="the Spark executors do not have paribus: install"):
        check_versions({"paribus": None}, own_versions(), "the Spark executors")


def test_the_highest_rows_are_those_of_the_whole_table(rows: Any, tmp_path: Path) -> None:
    """Tests the list, with sentences, and the report of a frame."""
    detector = surprise(contamination=0.02).fit(stations())
    found = on_spark.highest(detector, rows, 5, keep=["id"], sentences=True)
    expected = stations()["id"].to_numpy()[np.argsort(-detector.anomaly_scores_, kind="stable")[:5]]
    assert set(found.table["id"].to_pylist()) == set(expected)
    assert found.table["sentence"][0].as_py().startswith("wind 480")
    assert (found.n_rows, found.n_scored) == (N_ROWS, N_ROWS)
    assert found.n_flagged == (detector.labels_ == -1).sum()
    page = on_spark.report(detector, rows, tmp_path / "r.html", 2, id_column="id").read_text()
    assert "S7" in page


def test_the_shell(spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that a folder of Parquet files is scored in the running session, into a folder of flagged rows."""
    folder = tmp_path / "rows"
    folder.mkdir()
    pq.write_table(pa.Table.from_pandas(stations(), preserve_index=False), folder / "a.parquet")
    options = ["-c", "month,elevation", "-b", "rain,wind", "--id", "id", "--n-trees", "4", "--top", "1"]
    place = ["--engine", "spark", "--out", str(tmp_path / "out"), "--only", "flagged"]
    app(["detect", str(folder), *options, *place], standalone_mode=False)
    assert capfd.readouterr().out.splitlines()[1].startswith("S7\t1\t")
    expected = surprise().fit(stations())
    scored = pd.read_parquet(tmp_path / "out")
    assert sorted(scored["score"]) == sorted(expected.anomaly_scores_[expected.labels_ == -1])
