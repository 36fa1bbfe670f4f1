"""Nearest neighbors by Gower's distance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.progress import Progress, check_progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus._core import QcadEngine
from paribus.detectors.estimator import random_numbers
from paribus.methods.parameters import MAX_NEIGHBORS
from paribus.tables.encoding import ContextEncoding
from paribus.tables.roles import assign_context, find_like
from paribus.tables.table import Columns, Table


def gower_neighbors(
    table: Any,
    k: int,
    *,
    rows: Any = None,
    columns: Columns | None = None,
    categorical: Columns | None = None,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = -1,
    progress: Progress = False,
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Finds the exact k nearest rows of a table of mixed types by Gower's distance, without an N x N matrix.

    The distance of two rows is the mean over columns of ``|a - b| / range`` for numbers, and of 0 or 1 for equal or
    different categories. A column in which either row has no value is left out of the mean; the distance of rows
    without a common column is 1.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, dict of columns, or array
        The rows to search among.
    k : int
        The number of neighbors to find, up to 65,535. If there are fewer rows, all of them are found.
    rows : table, optional
        The rows to find neighbors for, with the same columns. By default the rows of `table`; a row is not its own
        neighbor.
    columns : list of names or positions, optional
        The columns to compare; by default all.
    categorical : list of names or positions, optional
        Numeric columns to treat as categorical. Text, categorical and boolean columns always are.
    random_state : int, RandomState or None
        The seed of the order of rows at the same distance, which is random rather than that of the table.
    n_jobs : int
        The number of threads; -1 for all cores.
    progress : bool or callable
        True for a progress bar, or a function that takes the number of rows done and the total number of rows.

    Returns
    -------
    positions, distances : arrays of shape (rows, k)
        Positions in `table`, nearest first, and their distances.

    Examples
    --------
    >>> people = {"age": [30, 31, 60, 62], "town": ["Delft", "Delft", "Oss", "Delft"]}
    >>> positions, distances = gower_neighbors(people, k=2)
    >>> positions[:, 0].tolist()
    [1, 0, 3, 1]
    >>> distances[3].round(3).tolist()
    [0.484, 0.5]
    """
    n_threads = resolve_n_jobs(n_jobs)
    searched = Table(table)
    positions, kinds = assign_context(searched, columns, categorical)
    if searched.n_rows < 2 and rows is None:
        raise ValueError(f"finding neighbors takes at least 2 rows, but the table has {searched.n_rows}")
    if searched.n_rows < 1:
        raise ValueError("the table has no rows to search among")
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= MAX_NEIGHBORS:
        raise ValueError(f"k is {k!r}: it must be a whole number from 1 to {MAX_NEIGHBORS:,}")
    check_progress(progress)
    n_others = searched.n_rows - (1 if rows is None else 0)
    if k > n_others:
        warnings.warn(f"k is {k}, but there are only {n_others} rows: all are found", UserWarning, stacklevel=2)
    encoding = ContextEncoding.fit(searched, positions, kinds)
    context = encoding.encode(searched, positions)
    asked = context
    excluded = np.arange(len(context), dtype=np.int64)
    if rows is not None:
        others = Table(rows)
        asked = encoding.encode(others, find_like(others, searched, positions))
        excluded = np.full(len(asked), -1, dtype=np.int64)
    engine = QcadEngine(
        np.ascontiguousarray(context.T),
        encoding.categorical,
        np.empty((0, len(context))),
        random_numbers(random_state).permutation(len(context)).astype(np.uint32),
        np.ones((min(int(k), n_others), 1), dtype=np.uint8),
    )
    with reporter(progress, len(asked), "Finding neighbors") as tick:
        return engine.neighbors(asked, excluded, n_threads, tick)
