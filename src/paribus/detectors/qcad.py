"""QCAD: quantile-based contextual anomaly detection."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus.detectors.base import ContextualDetector
from paribus.detectors.estimator import random_numbers
from paribus.detectors.fitted_detector import new_rows, rows_to_exclude, warn_unscored
from paribus.explain.known import KnownLike, read_known
from paribus.methods import qcad
from paribus.methods.fitted import Fitted, with_rows
from paribus.methods.interface import Judged, RowBatch
from paribus.methods.parameters import check_parameters, resolve_max_features
from paribus.methods.qcad.forest_plan import ForestPlan
from paribus.methods.qcad.model import DEFAULT_CLIP, QcadModel
from paribus.methods.qcad.state import QcadState
from paribus.methods.qcad.tasks import score_elsewhere
from paribus.tables.encoded_table import encode_table
from paribus.tables.table import Columns

DEFAULT_NEIGHBORS = 500


class QCAD(ContextualDetector):
    """Finds rows that are unusual given their context.

    Each row is compared with its reference group: the rows most similar to it in the contextual features. Quantile
    regression forests estimate the distribution of each behavioral feature there; the less probable the actual value,
    the higher the score. The method was published by Li and van Leeuwen (2023).

    Parameters
    ----------
    contextual : list of names or positions
        The contextual columns: numeric or categorical, missing values allowed.
    behavioral : list of names or positions, optional
        The behavioral columns: numeric, missing values allowed. By default every other numeric column.
    categorical : list of names or positions, optional
        Numeric contextual columns to treat as categorical. Text, categorical and boolean columns always are.
    n_neighbors : int, optional
        The size of a reference group; by default half the rows, with a maximum of 500.
    n_trees : int
        The number of trees per forest. The paper's experiments use 10.
    bootstrap : bool
        Whether each tree is grown on a bootstrap sample of the reference group rather than on all of it.
    max_features : int, float, "sqrt" or None
        The contextual features that a split considers: a number, a share, the square root of their number, or all.
    min_samples_split : int
        The minimum number of distinct rows for a split.
    n_quantiles : int
        The number of intervals between percentiles.
    clip : float or None
        The cap on a partial score, in multiples of the interval width of a uniform distribution. It keeps one extreme
        feature from dominating the others; it has no effect if there is a single behavioral feature.
    scale_tails : bool
        Whether the score of a value outside all percentiles grows with its distance from them.
    contamination : float or "auto"
        The share of rows to flag, up to 0.5; or "auto" to flag scores above Tukey's outer fence.
    random_state : int, RandomState or None
        The seed of the bootstrap samples and of the order of ties. The same data, parameters and seed give
        bit-identical results, for any number of threads and on any machine.
    n_jobs : int
        The number of threads; -1 for all cores.
    progress : bool or callable
        True for a progress bar, or a function that takes the number of rows done and the total number of rows.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The scores; higher is more anomalous. NaN for a row that cannot be scored. 100 means that every feature is at
        the cap; with one behavioral feature or without a clip, there is no cap and scores can be higher.
    partial_scores_ : table of rows x behavioral features
        The contribution of each feature, in the type of the fitted table. The score of a row is the mean of its partial
        scores.
    labels_ : array of shape (rows,)
        -1 for an anomaly, 1 for a normal row.
    threshold_ : float
        The score above which a row is an anomaly.
    offset_ : float
        The negative threshold, as in scikit-learn.
    n_neighbors_ : int
        The size of the reference groups.
    fit_seconds_ : float
        How long the fit took.
    contextual_features_, behavioral_features_ : list of str
        The names of the columns, or their positions as text if the table has no names.
    categories_ : dict
        The sorted categories of each categorical contextual feature.

    Examples
    --------
    >>> from paribus import QCAD, datasets
    >>> weather = datasets.load("weather")
    >>> detector = QCAD(contextual=["month", "elevation", "zone"], behavioral=["temperature", "rain", "wind"])
    >>> detector = detector.fit(weather.table)
    >>> row = detector.anomaly_scores_.argmax()
    >>> {name: column[row] for name, column in weather.table.items()}
    {'month': 'December', 'elevation': 2300.0, 'zone': 'inland', 'temperature': 9.0, 'rain': 0.4, 'wind': 6.0}
    """

    method = qcad.METHOD

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_neighbors: int | None = None,
        n_trees: int = 100,
        bootstrap: bool = True,
        max_features: int | float | str | None = None,
        min_samples_split: int = 10,
        n_quantiles: int = 100,
        clip: float | None = DEFAULT_CLIP,
        scale_tails: bool = True,
        contamination: float | str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: Progress = False,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.n_neighbors = n_neighbors
        self.n_trees = n_trees
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.min_samples_split = min_samples_split
        self.n_quantiles = n_quantiles
        self.clip = clip
        self.scale_tails = scale_tails
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: None = None, *, known: KnownLike | None = None) -> QCAD:
        """Fits the detector to a table and scores its rows, each against the others.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table. Also a pyarrow Dataset or RecordBatchReader, a DuckDB relation or a polars LazyFrame, which are
            read in batches, or a Spark or Dask DataFrame, which is fitted in its cluster: if there are more than
            2,097,152 rows, the detector is fitted to a sample of them.
        y : ignored
        known : path or list of dicts, optional
            Known rows: each entry has a `row` (its label or position) or a `rule` such as "z = 0",
            a `status` ("confirmed", "false alarm" or "known cause") and a `note`. They are left out of lists, and
            confirmed anomalies are excluded from the fit.

        Returns
        -------
        QCAD
            The fitted detector.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table).anomaly_scores_.shape
        (16,)
        """
        start = time.perf_counter()
        check_parameters(self.get_params(deep=False))
        n_threads = resolve_n_jobs(self.n_jobs)
        entries = () if known is None else read_known(known)
        gathered, workers = self._gather(X, entries)
        table = encode_table(gathered, self.contextual, self.behavioral, self.categorical)
        excluded = rows_to_exclude(entries, table)
        learned = table.without_behavior(excluded)
        n_rows, n_features = table.all_context.shape
        n_neighbors = _resolve_n_neighbors(self.n_neighbors, n_rows)

        random = random_numbers(self.random_state)
        tie_order = random.permutation(n_rows).astype(np.uint32)
        plan = ForestPlan.draw(
            random,
            n_neighbors,
            n_features,
            n_trees=self.n_trees,
            bootstrap=self.bootstrap,
            max_features=resolve_max_features(self.max_features, n_features),
            min_samples_split=self.min_samples_split,
            n_quantiles=self.n_quantiles,
            scale_tails=self.scale_tails,
        )

        state = QcadState(tie_order, plan, self.clip)
        model = QcadModel(learned, state)
        fitted_rows = model.match(learned.all_context, learned.all_behavior)
        with reporter(self.progress, n_rows, "Scoring") as tick:
            rows = RowBatch(learned.all_context, learned.all_behavior, fitted_rows, n_threads, tick)
            partial, reach = (
                model.score_and_reach(rows) if workers is None else score_elsewhere(workers, rows, learned, state)
            )
        judged = Judged(partial)
        if len(excluded):
            judged = with_rows(judged, excluded, model.judge(new_rows(table, excluded, n_threads)))
            partial = judged.partial
        scores = self.method.total(partial)
        if np.isnan(scores).all():
            raise ValueError(
                "no row can be scored: no behavioral value is present both in a row and in its reference group; "
                "try a larger n_neighbors"
            )
        warn_unscored(scores)

        # All attributes are set together, after everything that can fail.
        threshold = self.method.threshold(scores, self.contamination, 0.0)
        seconds = time.perf_counter() - start
        fitted = Fitted(table, self.method, state, judged, reach, threshold, seconds, excluded)
        self._remember(fitted, model, entries)
        return self


def _resolve_n_neighbors(n_neighbors: int | None, n_rows: int) -> int:
    if n_neighbors is None:
        return max(1, min(n_rows // 2, DEFAULT_NEIGHBORS))
    if n_neighbors > n_rows - 1:
        warnings.warn(
            f"n_neighbors is {n_neighbors}, but there are only {n_rows - 1} other rows: all of them are used",
            UserWarning,
            stacklevel=3,
        )
    return min(n_neighbors, n_rows - 1)
