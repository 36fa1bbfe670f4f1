"""Detectors and the frames of a cluster: fit, scores, and the highest rows with their explanations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from paribus._common.atomic_files import AnyPath, check_writable
from paribus._common.validation import check_whole_number
from paribus.detectors.base import ContextualDetector
from paribus.detectors.cluster_rows import TIE, ScoreRows
from paribus.detectors.estimator import require_fitted
from paribus.detectors.explanation import Explanation
from paribus.engines import find_engine
from paribus.engines.interface import Engine
from paribus.engines.workers import as_shared, shared_folder
from paribus.explain.group import AnomalyGroup
from paribus.explain.known import KnownLike, read_known
from paribus.output.report.names import RowNames
from paribus.output.results import MAX_FINDINGS, Results, WholeTable
from paribus.tables.column import Kind
from paribus.tables.drawing import MAX_SAMPLE
from paribus.tables.roles import find_columns
from paribus.tables.table import Table

# The number of ordinary fitted rows that flagged rows are shown among.
N_BACKGROUND = 20_000

Detector = TypeVar("Detector", bound=ContextualDetector)


@dataclass(frozen=True)
class HighestRows:
    """The rows of a frame with the highest scores, and how many rows there are."""

    table: Any
    """The rows, in descending order of score, in the type of the engine: pyarrow for Spark, pandas for Dask."""
    n_rows: int
    """The number of rows of the frame."""
    n_scored: int
    """The number of rows that have a score."""
    n_flagged: int
    """The number of rows with a score above the threshold."""


def fit(
    detector: Detector,
    frame: Any,
    *,
    key: str | None = None,
    n_rows: int = MAX_SAMPLE,
    known: KnownLike | None = None,
) -> Detector:
    """Fits a detector to a Spark or Dask DataFrame, in its cluster.

    Each partition draws rows by a hash of their content, in one pass: which ones does not depend on partitions, order
    or engine. The sample is collected, and each column is fitted by a separate task on the workers. The result is
    that of the same sample on one machine, to the last bit. `detector.fit(frame)` does the same.

    Parameters
    ----------
    detector : ConditionalSurprise or QCAD
        The detector. Columns are given by name.
    frame : Spark or Dask DataFrame
        The table.
    key : str, optional
        A column that distinguishes rows that are otherwise equal.
    n_rows : int
        The maximum number of rows that the detector is fitted to.
    known : path or list of dicts, optional
        Rules for known rows, as for `fit` of a detector.

    Returns
    -------
    detector
        The fitted detector. Its `column_tallies_` has counts, ranges and categories of all rows, by column; its
        scores are those of the rows that were drawn.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import fit
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> detector.anomaly_scores_.shape
    (16,)
    """
    engine = require_engine(frame)
    entries = () if known is None else read_known(known)
    drawn = detector.draw(engine, frame, known=entries, key=key, n_rows=n_rows)
    detector.fit(drawn, known=entries)
    return detector


def score(
    detector: ContextualDetector, frame: Any, *, keep: Sequence[str] | None = None, sentences: bool = False
) -> Any:
    """Scores all rows of a Spark or Dask DataFrame, lazily and in batches.

    Parameters
    ----------
    detector : fitted detector
        The detector. It is sent to the workers as a file.
    frame : Spark or Dask DataFrame
        Rows with the columns of the fitted table.
    keep : list of str, optional
        The columns of the frame to keep; by default all.
    sentences : bool
        Whether to explain flagged rows, which takes some milliseconds each.

    Returns
    -------
    Spark or Dask DataFrame
        A lazy frame of the same engine: the columns that are kept, then `score`, `p_value`, `label`, `kind`,
        `partial_...` for each behavioral feature and, on request, `sentence`.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import fit, score
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> score(detector, frame, keep=["City"]).compute()[["City", "label"]].shape
    (16, 2)
    """
    engine = require_engine(frame)
    kept = engine.names(frame) if keep is None else list(keep)
    return _scored(engine, detector, frame, kept, sentences=sentences, has_tie=False)


def highest(
    detector: ContextualDetector, frame: Any, n_rows: int = 10, *, keep: Sequence[str] = (), sentences: bool = False
) -> HighestRows:
    """Finds the rows of a Spark or Dask DataFrame with the highest scores.

    Parameters
    ----------
    detector : fitted detector
        The detector.
    frame : Spark or Dask DataFrame
        Rows with the columns of the fitted table.
    n_rows : int
        The maximum number of rows.
    keep : list of str
        Columns to keep, besides those of the detector.
    sentences : bool
        Whether to explain flagged rows.

    Returns
    -------
    HighestRows
        The rows, with their results, and the total number of rows.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import fit, highest
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> found = highest(detector, frame, 3)
    >>> len(found.table), found.n_rows
    (3, 16)
    """
    return score_and_find(detector, frame, n_rows, keep=keep, sentences=sentences)


def score_and_find(
    detector: ContextualDetector,
    frame: Any,
    n_rows: int,
    *,
    keep: Sequence[str] = (),
    sentences: bool = False,
    out: str | None = None,
    out_columns: Sequence[str] = (),
    only_flagged: bool = False,
) -> HighestRows:
    """Finds the highest rows, as `highest` does, and writes the results for all rows, or the flagged ones, to a folder.

    Rows are scored once. The folder has Parquet files of `out_columns` and the results.
    """
    check_whole_number("n_rows", n_rows, 1)
    engine = require_engine(frame)
    names = list(dict.fromkeys([*_roles(detector), *keep, *out_columns]))
    scored = _scored(engine, detector, frame, names, sentences=sentences, has_tie=True)

    def written(rows: Any) -> Any:
        results = [name for name in engine.names(rows) if name not in names and name != TIE]
        chosen = rows[rows["label"] == "anomaly"] if only_flagged else rows
        return engine.select(chosen, [*out_columns, *results])

    def counted(rows: Any) -> dict[str, Any]:
        return {
            "rows": rows["label"] == rows["label"],
            "unscored": rows["label"] == "not scored",
            "flagged": rows["label"] == "anomaly",
        }

    table, counts = engine.highest(scored, n_rows, ["score", TIE], counted, out=None if out is None else (written, out))
    found = Table(table)
    scores = found.numbers(found.find_column("score"))
    shown = [name for name in (found.names or []) if name != TIE]
    table = Table(found.take(np.flatnonzero(~np.isnan(scores))))
    return HighestRows(
        table.new({name: table.cells(table.find_column(name)) for name in shown}),
        counts["rows"],
        counts["rows"] - counts["unscored"],
        counts["flagged"],
    )


def explain(
    detector: ContextualDetector, frame: Any, n_rows: int = 10, *, id_column: str | None = None
) -> list[Explanation]:
    """Explains the rows of a Spark or Dask DataFrame with the highest scores.

    Parameters
    ----------
    detector : fitted detector
        The detector.
    frame : Spark or Dask DataFrame
        Rows with the columns of the fitted table.
    n_rows : int
        The maximum number of rows to explain.
    id_column : str, optional
        The column that names the rows; without it, they are numbered from 0 in descending order of score.

    Returns
    -------
    list of Explanation
        In descending order of score.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import explain, fit
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> [each.rank for each in explain(detector, frame, 2)]
    [1, 2]
    """
    found = highest(detector, frame, n_rows, keep=[] if id_column is None else [id_column])
    return explain_rows(detector, found, n_rows, id_column)


def groups(detector: ContextualDetector, frame: Any, *, id_column: str | None = None) -> list[AnomalyGroup]:
    """Finds groups of flagged rows of a Spark or Dask DataFrame that have the same cause.

    The flagged rows, at most 10,000, are grouped among a sample of ordinary ones.

    Parameters
    ----------
    detector : fitted detector
        The detector.
    frame : Spark or Dask DataFrame
        Rows with the columns of the fitted table.
    id_column : str, optional
        The column that names the rows.

    Returns
    -------
    list of AnomalyGroup
        The groups, the largest first. Positions are those of `highest`.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import fit, groups
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> groups(detector, frame)
    []
    """
    found = highest(detector, frame, MAX_FINDINGS, keep=[] if id_column is None else [id_column])
    return results_of(detector, found, id_column).groups


def report(
    detector: ContextualDetector,
    frame: Any,
    path: AnyPath,
    n_rows: int = 50,
    *,
    title: str | None = None,
    id_column: str | None = None,
) -> Path:
    """Writes a self-contained HTML page about the rows of a Spark or Dask DataFrame with the highest scores.

    Parameters
    ----------
    detector : fitted detector
        The detector.
    frame : Spark or Dask DataFrame
        Rows with the columns of the fitted table.
    path : path
        Where to write the page, on this machine.
    n_rows : int
        The maximum number of rows to explain with pictures.
    title : str, optional
        The title of the page.
    id_column : str, optional
        The column that names the rows.

    Returns
    -------
    Path
        The path of the page.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from paribus import ConditionalSurprise, datasets
    >>> from paribus.dask import fit, report
    >>> cities = datasets.load("cities")
    >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
    >>> detector = fit(ConditionalSurprise(cities.contextual, cities.behavioral, n_trees=4), frame)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report(detector, frame, f"{folder}/cities.html", n_rows=2).stat().st_size > 10_000
    True
    """
    check_whole_number("n_rows", n_rows, 1)
    target = check_writable(path)
    found = highest(detector, frame, max(n_rows, MAX_FINDINGS), keep=[] if id_column is None else [id_column])
    write_report(detector, found, target, n_rows, title=title, id_column=id_column)
    return target


def write_report(
    detector: ContextualDetector,
    found: HighestRows,
    path: AnyPath,
    n_rows: int,
    *,
    title: str | None = None,
    id_column: str | None = None,
) -> None:
    """Writes the page of `report` about rows that have been found."""
    results = results_of(detector, found, id_column)
    names = RowNames(results.rows.table, None, results.rows.labels)
    chosen = results.highest(n_rows)
    detector.write_report(path, list(results.explain(chosen)), results=results, title=title, names=names)


def explain_rows(
    detector: ContextualDetector, found: HighestRows, n_rows: int, id_column: str | None
) -> list[Explanation]:
    """Explains rows that have been found."""
    rows, labels = _local(detector, found, id_column)
    if not found.n_scored:
        return []
    results = detector.results(rows, labels=labels)
    chosen = results.highest(n_rows)
    return [each for each in results.explain(chosen) if isinstance(each, Explanation)]


def results_of(detector: ContextualDetector, found: HighestRows, id_column: str | None) -> Results:
    """The results for rows that have been found, among a sample of ordinary rows."""
    rows, labels = _local(detector, found, id_column)
    fitted = detector.view().store.original
    ordinary = np.flatnonzero(detector.labels_ == 1)[:N_BACKGROUND]
    names = _roles(detector)
    background = Table(fitted.take(ordinary))
    joined = {
        name: np.concatenate([each, background.values(background.find_column(name))]) for name, each in rows.items()
    }
    assert list(joined) == names
    n_ordinary = found.n_scored - found.n_flagged
    stands_for = max(1.0, n_ordinary / max(len(ordinary), 1))
    weights = np.append(np.ones(len(labels)), np.full(len(ordinary), stands_for))
    whole = WholeTable(found.n_rows, found.n_scored, found.n_flagged, weights)
    own = np.arange(len(labels)).astype(object) if id_column is None else labels
    unnamed = np.array([f"fitted row {row}" for row in ordinary], dtype=object)
    return detector.results(joined, labels=np.concatenate([own, unnamed]), whole=whole)


def require_engine(frame: Any) -> Engine:
    """The engine of a frame. Raises an error for any other table."""
    engine = find_engine(frame)
    if engine is None:
        raise TypeError(
            f"this is a {type(frame).__name__}, not a Spark or Dask DataFrame: use the methods of the detector"
        )
    return engine


def _local(
    detector: ContextualDetector, found: HighestRows, id_column: str | None
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[Any]]:
    """The columns of the detector, and the names of rows."""
    table = Table(found.table)
    rows = {name: table.values(table.find_column(name)) for name in _roles(detector)}
    if id_column is None:
        return rows, np.arange(table.n_rows)
    labels = np.empty(table.n_rows, dtype=object)
    labels[:] = table.cells(table.find_column(id_column))
    return rows, labels


def _roles(detector: ContextualDetector) -> list[str]:
    require_fitted(detector)
    view = detector.view()
    if not view.roles_by_name:
        raise ValueError("the detector was fitted by positions of columns: on a cluster they are given by name")
    return list(dict.fromkeys([*detector.contextual_features_, *view.behavior_columns]))


def _scored(
    engine: Engine, detector: ContextualDetector, frame: Any, keep: Sequence[str], *, sentences: bool, has_tie: bool
) -> Any:
    roles = _roles(detector)
    engine.check()
    frame = engine.select(frame, _present(engine, frame, list(dict.fromkeys([*keep, *roles]))))
    empty = Table(engine.empty(frame))
    categories = frozenset(detector.categories_) & set(roles)
    for name in roles:
        kind = empty.kind(empty.find_column(name))
        if name in detector.view().behavior_columns and name not in categories and kind is Kind.CATEGORICAL:
            raise TypeError(f"column '{name}' held numbers at fit and does not here: convert it")
    path = os.path.join(shared_folder(), "model")
    detector.save(path)
    model = engine.share(as_shared(path, "model"))
    work = ScoreRows(model, tuple(keep), tuple(roles), categories, sentences, engine.threads_per_task, has_tie)
    return engine.transform(frame, work, work.score(detector, engine.empty(frame)), keep)


def _present(engine: Engine, frame: Any, names: list[str]) -> list[str]:
    """The names, all of which are columns of the frame."""
    find_columns(Table({name: [] for name in engine.names(frame)}), names)
    return names
