"""`paribus detect --engine`: a folder of Parquet files on Spark or Dask."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from paribus._common.text import counted, expected_text, listed, none_above, plain, score_text
from paribus.cli.columns import ChosenColumns
from paribus.cli.delivery import deliver_summary
from paribus.cli.delivery_options import MIN_REPORTED_ROWS, Columns, Delivery
from paribus.cli.messages import note, warnings_as_notes
from paribus.cli.options import EngineName, RoleOptions, Source
from paribus.cli.outputs import check_outputs, check_report
from paribus.cli.signals import loading
from paribus.cli.summary import Summary
from paribus.methods.parameters import check_parameters
from paribus.methods.registry import find_by_option
from paribus.tables.table import Table

Read = Callable[[str], Any]


def detect(
    engine: EngineName,
    address: str | None,
    source: Source,
    roles: RoleOptions,
    wanted: Delivery,
    memory: str | None,
    parameters: dict[str, Any],
) -> int:
    """Finds the anomalies in a folder of Parquet files, and delivers them. Returns the exit code."""
    _check(engine, source, roles, wanted, memory)
    entry = find_by_option(parameters["method"])
    settings = {name: value for name, value in parameters.items() if name != "method"}
    check_parameters(settings)
    with _opened(engine, address) as read:
        with loading():
            from paribus.detectors import cluster
            from paribus.output.results import MAX_FINDINGS
        frame = read(source.file)
        chosen = ChosenColumns(roles, judges_categories=entry.judges_categories)
        chosen.choose(list(frame.columns))
        detector = entry.estimator(
            chosen.contexts or chosen.contextual or [], chosen.behavioral, categorical=chosen.categorical, **settings
        )
        start = time.perf_counter()
        with warnings_as_notes():
            cluster.fit(detector, frame, key=roles.id)
        used = list(dict.fromkeys([*detector.contextual_features_, *detector.view().behavior_columns]))
        kept = {Columns.NONE: [], Columns.ROLES: used, Columns.ALL: list(frame.columns)}[wanted.columns]
        named = [] if roles.id is None else [roles.id]
        found = cluster.score_and_find(
            detector,
            frame,
            wanted.top if wanted.report is None else max(wanted.top, MAX_FINDINGS),
            keep=named,
            out=None if wanted.out is None else os.path.abspath(wanted.out),
            out_columns=list(dict.fromkeys([*named, *kept])),
            only_flagged=wanted.only_flagged,
        )
        explanations = cluster.explain_rows(detector, found, wanted.top, roles.id)
        summary = _summary(detector, found, [each.row for each in explanations], roles.id)
        _note(detector, summary, time.perf_counter() - start)
        if wanted.report is not None:
            n_shown = max(wanted.top, MIN_REPORTED_ROWS)
            cluster.write_report(detector, found, wanted.report, n_shown, id_column=roles.id)
            note(f"the report is in {wanted.report}")
        return deliver_summary(detector, os.path.basename(source.file.rstrip("/")), summary, explanations, wanted)


def _check(engine: EngineName, source: Source, roles: RoleOptions, wanted: Delivery, memory: str | None) -> None:
    """Raises an error if an option is not available here."""
    if not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    for option, value in (
        ("--memory", memory),
        ("--sql", source.sql),
        ("--known", wanted.known),
        ("--plots", wanted.plots),
    ):
        if value is not None:
            raise ValueError(f"{option} cannot be used with --engine {engine.value}: leave one of them out")
    is_remote = "://" in source.file
    if not is_remote and not os.path.exists(source.file):
        raise FileNotFoundError(f"there is no file or folder {source.file}")
    if not is_remote and not _has_parquet(source.file):
        raise ValueError(f"--engine {engine.value} reads Parquet files, and there are none in {source.file}")
    inputs = [] if is_remote else [source.file]
    check_outputs(inputs, {"--report": wanted.report})
    if wanted.report is not None:
        check_report(wanted.report)
    if wanted.out is not None:
        if wanted.out.exists():
            raise FileExistsError(f"--out {wanted.out} exists, and --engine writes a new folder: choose another name")
        check_outputs(inputs, {"--out": wanted.out})


def _has_parquet(path: str) -> bool:
    if os.path.isfile(path):
        return path.endswith(".parquet")
    return any(file.endswith(".parquet") for _, _, files in os.walk(path) for file in files)


@contextmanager
def _opened(engine: EngineName, address: str | None) -> Iterator[Read]:
    """A function that reads Parquet files on an engine; the engine is stopped if it was started here."""
    try:
        opened = _on_spark(address) if engine is EngineName.SPARK else _on_dask(address)
        with opened as read:
            yield read
    except ModuleNotFoundError as error:
        if error.name not in ("pyspark", "dask", "distributed", "pyarrow"):
            raise
        raise ValueError(
            f"--engine {engine.value} needs {error.name}: install it with  pip install 'paribus[{engine.value}]'"
        ) from None


@contextmanager
def _on_spark(address: str | None) -> Iterator[Read]:
    from paribus.engines.checks import check_java
    from paribus.engines.spark import explained

    with loading():
        from pyspark.sql import SparkSession
    check_java()
    is_running = SparkSession.getActiveSession() is not None
    builder = SparkSession.builder.appName("paribus")
    with explained():
        session = (builder if address is None else builder.master(address)).getOrCreate()
    # What matters is in the error that is raised.
    session.sparkContext.setLogLevel("OFF")

    def read(path: str) -> Any:
        with explained():
            return session.read.parquet(path if "://" in path else Path(path).resolve().as_uri())

    try:
        yield read
    finally:
        if not is_running:
            session.stop()


@contextmanager
def _on_dask(address: str | None) -> Iterator[Read]:
    with loading():
        import dask.dataframe
        from distributed import Client
    # Its workers log on their own.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        # Without an address, that of the environment (DASK_SCHEDULER_ADDRESS), or a cluster on this machine.
        client = Client(address)
    except OSError as error:
        raise ValueError(f"there is no Dask scheduler at {address}: {error}") from None

    def read(path: str) -> Any:
        try:
            return dask.dataframe.read_parquet(path)
        except FileNotFoundError:
            raise FileNotFoundError(f"there are no Parquet files at {path}") from None

    with client:
        yield read


def _summary(detector: Any, found: Any, labels: list[Any], id: str | None) -> Summary:
    table = Table(found.table)
    scores = table.numbers(table.find_column("score"))[: len(labels)]
    share = float(detector.view().p_values(np.array([detector.threshold_]))[0])
    return Summary(
        "rank" if id is None else "id",
        found.n_rows,
        found.n_scored,
        found.n_flagged,
        detector.threshold_,
        share * found.n_scored,
        float(detector.anomaly_scores_.min()),
        float(scores[0]) if len(scores) else np.nan,
        labels if id is not None else [number + 1 for number in range(len(labels))],
        np.arange(len(labels)),
        len(scores) - np.searchsorted(scores[::-1], scores, "right") + 1,
        scores,
    )


def _note(detector: Any, summary: Summary, seconds: float) -> None:
    context = [plain(name) for name in detector.contextual_features_]
    found = f"{summary.n_flagged:,} with a score above {score_text(summary.threshold)}"
    if summary.n_flagged:
        found += f", where chance would give {expected_text(summary.expected)}"
    else:
        found = none_above(summary.threshold, summary.lowest, summary.highest, "")
    note(f"{counted(summary.n_rows, 'row')}, each judged in {listed(context, 'and')}; {found}; {seconds:.1f} s")
