"""QCAD: quantile-based contextual anomaly detection."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus.detectors.base import ContextualDetector, warn_unscored
from paribus.methods import qcad
from paribus.methods import scores as scoring
from paribus.methods.fitted import Fitted
from paribus.methods.interface import RowBatch
from paribus.methods.parameters import check_parameters, resolve_max_features
from paribus.methods.qcad.forest_plan import ForestPlan
from paribus.methods.qcad.model import DEFAULT_CLIP, QcadModel
from paribus.methods.qcad.state import QcadState
from paribus.tables.encoded_table import encode_table
from paribus.tables.table import Columns

DEFAULT_NEIGHBORS = 500


class QCAD(ContextualDetector):
    """Finds rows that are unusual given their context.

    Each row is compared with the rows most like it in the contextual features. Quantile regression forests on this
    reference group give the distribution that each behavioral feature has there; the less probable the actual value,
    the higher the score. The method is that of Li and van Leeuwen (2023); docs/method.md has it in full.

    Parameters
    ----------
    contextual : list of names or positions
        The columns that are circumstances: numbers or categories, missing values allowed.
    behavioral : list of names or positions, optional
        The columns that are behavior: numbers, missing values allowed. By default every other numeric column.
    categorical : list of names or positions, optional
        Contextual columns of numbers that are categories. Text, categories and booleans always are.
    n_neighbors : int, optional
        The size of a reference group; by default half the rows, at most 500.
    n_trees : int
        Trees per forest. The paper's tables use 10.
    bootstrap : bool
        Whether each tree sees a bootstrap of the reference group, or all of it.
    max_features : int, float, "sqrt" or None
        The contextual features that a split tries: a number, a share, the square root of their number, or all.
    min_samples_split : int
        A node with fewer distinct rows is a leaf.
    n_quantiles : int
        The number of intervals that the distribution is cut into.
    clip : float or None
        The cap of a partial score, in widths that an interval of a uniform distribution would have. It keeps one
        extreme feature from outvoting all others; with a single behavioral feature it does nothing.
    scale_tails : bool
        Whether the score outside of all percentiles grows with the distance to them.
    contamination : float or "auto"
        The share of rows to be flagged, up to 0.5; or "auto" for those above Tukey's outer fence of the scores.
    random_state : int, RandomState or None
        Seeds the bootstraps and the order of ties. The same data, parameters and seed give the same bits, on any number
        of threads and any machine.
    n_jobs : int
        Threads; -1 for as many as there are cores.
    progress : bool or callable
        True for a bar, or a function of the rows done and the rows in all.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        Higher is more anomalous; NaN for a row without behavior. 100 is a row whose every feature is at the cap. With
        one behavioral feature, or without a clip, nothing is cut, and scores can be higher.
    partial_scores_ : table of rows x behavioral features
        What each feature contributes, in the type of the fitted table: the mean of a row's partial scores is its score.
    labels_ : array of shape (rows,)
        -1 for an anomaly, 1 for a normal row.
    offset_ : float
        Minus the score above which a row is an anomaly.
    n_neighbors_ : int
        The size of the reference groups.
    fit_seconds_ : float
        How long the fit took.
    contextual_features_, behavioral_features_ : list of str
        Their names (positions, as text, if the table had none).
    categories_ : dict
        The categories of each contextual feature that has some, sorted.

    Examples
    --------
    >>> from paribus import QCAD, datasets
    >>> weather = datasets.load("weather")
    >>> detector = QCAD(contextual=["month", "elevation", "zone"], behavioral=["temperature", "rain", "wind"])
    >>> detector = detector.fit(weather.table)
    >>> strangest = detector.anomaly_scores_.argmax()
    >>> {name: column[strangest] for name, column in weather.table.items()}
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

    def fit(self, X: Any, y: None = None) -> QCAD:
        """Learns the reference table and scores its rows, each against the others.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table.
        y : ignored
        """
        start = time.perf_counter()
        check_parameters(self.get_params(deep=False))
        n_threads = resolve_n_jobs(self.n_jobs)
        table = encode_table(X, self.contextual, self.behavioral, self.categorical)
        n_rows, n_features = table.all_context.shape
        n_neighbors = _resolve_n_neighbors(self.n_neighbors, n_rows)

        random = check_random_state(self.random_state)
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
        model = QcadModel(table, state)
        fitted_rows = model.match(table.all_context, table.all_behavior)
        with reporter(self.progress, n_rows, "Scoring") as tick:
            partial, reach = model.score_and_reach(
                RowBatch(table.all_context, table.all_behavior, fitted_rows, n_threads, tick)
            )
        scores = scoring.total(partial)
        if np.isnan(scores).all():
            raise ValueError(
                "no row can be scored: none has a behavioral value that also occurs in its reference group; "
                "try a larger n_neighbors"
            )
        warn_unscored(scores)

        # All at once, when nothing can fail any more.
        threshold = scoring.threshold(scores, self.contamination)
        seconds = time.perf_counter() - start
        self._remember(Fitted(table, self.method, state, partial, reach, threshold, seconds), model)
        return self


def _resolve_n_neighbors(n_neighbors: int | None, n_rows: int) -> int:
    if n_neighbors is None:
        return max(1, min(n_rows // 2, DEFAULT_NEIGHBORS))
    if n_neighbors > n_rows - 1:
        warnings.warn(
            f"n_neighbors is {n_neighbors}, but a row has only {n_rows - 1} others: these are used",
            UserWarning,
            stacklevel=3,
        )
    return min(n_neighbors, n_rows - 1)
