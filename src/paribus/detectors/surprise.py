"""ConditionalSurprise: how improbable each value is, given the context and given the other behavior."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus.detectors.base import ContextualDetector
from paribus.detectors.fitted_detector import warn_unscored
from paribus.methods import scores as scoring
from paribus.methods import surprise
from paribus.methods.fitted import Fitted
from paribus.methods.parameters import check_parameters
from paribus.methods.surprise.model import DEFAULT_CLIP, SurpriseModel
from paribus.methods.surprise.state import SurpriseSettings, SurpriseState
from paribus.tables.encoded_table import encode_table
from paribus.tables.table import Columns


class ConditionalSurprise(ContextualDetector):
    """Finds rows that are improbable given their context.

    For each behavioral feature, forests over the whole table estimate the distribution of its values given the context,
    and given the context and all other behavioral features. The score of a row is how much more surprising its values
    are than usual, where the surprise is the negative logarithm of a smooth density. The detector finds values that are
    unusual in their context as well as values that are plausible one by one but do not go together. All scores of
    fitted rows are out of sample.

    Parameters
    ----------
    contextual : list of names or positions
        The contextual columns: numeric or categorical, missing values allowed.
    behavioral : list of names or positions, optional
        The behavioral columns: numeric, missing values allowed. By default every other numeric column.
    categorical : list of names or positions, optional
        Numeric contextual columns to treat as categorical. Text, categorical and boolean columns always are.
    n_trees : int
        The number of trees per forest. Trees come in pairs on disjoint halves of the rows, and each row is scored by
        the tree of each pair that has not seen it.
    max_features : int, float, "sqrt" or None
        The columns that a split considers: a number, a share, the square root of their number, or all.
    min_samples_leaf : int
        The minimum number of rows in a leaf.
    max_samples : int
        The maximum number of rows that a tree is grown on; half the table if that is less.
    clip : float or None
        The cap on a surprise, in nats: with 3, a value that is 20 times less likely than usual counts nearly as much as
        one that is a million times less likely. It keeps one extreme feature from dominating the others; with a single
        behavioral feature it only sets the scale.
    contamination : float or "auto"
        The share of rows to flag, up to 0.5; or "auto" to flag scores above Tukey's outer fence.
    random_state : int, RandomState or None
        The seed of the samples and of the columns that splits consider. The same data, parameters and seed give
        bit-identical results for any number of threads.
    n_jobs : int
        The number of threads; -1 for all cores.
    progress : bool or callable
        True for a progress bar, or a function that takes the number of rows done and the total number of rows.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The scores; higher is more anomalous. 0 is no more surprising than usual. With several features, a score near
        100 means that every value is at the cap, given the context and given all. NaN for a row without behavior.
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
        The maximum size of a reference group.
    fit_seconds_ : float
        How long the fit took.
    contextual_features_, behavioral_features_ : list of str
        The names of the columns, or their positions as text if the table has no names.
    categories_ : dict
        The sorted categories of each categorical contextual feature.

    Examples
    --------
    >>> from paribus import ConditionalSurprise, datasets
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    >>> row = detector.anomaly_scores_.argmax()
    >>> {name: column[row] for name, column in weather.table.items()}
    {'month': 'July', 'elevation': 60.0, 'zone': 'coast', 'temperature': -2.5, 'rain': 14.0, 'wind': 20.5}
    """

    method = surprise.METHOD

    def __init__(
        self,
        contextual: Columns,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        n_trees: int = 64,
        max_features: int | float | str | None = 0.7,
        min_samples_leaf: int = 4,
        max_samples: int = 2**15,
        clip: float | None = DEFAULT_CLIP,
        contamination: float | str = "auto",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: Progress = False,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.clip = clip
        self.contamination = contamination
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: None = None) -> ConditionalSurprise:
        """Fits the detector to a table and scores its rows, each by trees that have not seen it.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table.
        y : ignored

        Returns
        -------
        ConditionalSurprise
            The fitted detector.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> detector.anomaly_scores_.shape
        (2000,)
        """
        start = time.perf_counter()
        check_parameters(self.get_params(deep=False))
        n_threads = resolve_n_jobs(self.n_jobs)
        table = encode_table(X, self.contextual, self.behavioral, self.categorical)
        n_rows = table.n_rows
        seed = int(check_random_state(self.random_state).randint(2**31))
        settings = SurpriseSettings(
            self.n_trees, self.max_features, self.min_samples_leaf, self.max_samples, self.clip, seed
        )
        model = SurpriseModel(table, settings)
        with reporter(self.progress, n_rows, "Learning") as tick:
            partial = model.fit(n_threads, tick)
        scores = scoring.total(partial)
        warn_unscored(scores)
        fitted = Fitted(
            table,
            self.method,
            SurpriseState(settings, n_rows, model.learned),
            partial,
            model.reach(),
            scoring.threshold(scores, self.contamination),
            time.perf_counter() - start,
        )
        self._remember(fitted, model)
        return self
