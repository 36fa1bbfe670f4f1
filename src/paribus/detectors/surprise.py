"""ConditionalSurprise: how improbable each value is, given the context and given the other behavior."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus.detectors.base import ContextualDetector, warn_unscored
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

    For each behavioral feature it learns the distribution of its values given the context, and given the context and
    all other behavioral features, from forests over the whole table. A row's score is how much more surprising its
    values are than usual: minus the logarithm of a smooth density, above what is usual in the table. So it finds values
    that are strange for their circumstances, and values that are each plausible but do not go together. Each row is
    judged by trees that have not seen it. docs/surprise.md has the method in full.

    Parameters
    ----------
    contextual : list of names or positions
        The columns that are circumstances: numbers or categories, missing values allowed.
    behavioral : list of names or positions, optional
        The columns that are behavior: numbers, missing values allowed. By default every other numeric column.
    categorical : list of names or positions, optional
        Contextual columns of numbers that are categories. Text, categories and booleans always are.
    n_trees : int
        Trees per forest. They come in pairs on separate rows, and each row is judged by one tree of each pair.
    max_features : int, float, "sqrt" or None
        The columns that a split tries: a number, a share, the square root of their number, or all.
    min_samples_leaf : int
        The rows that a leaf has at least.
    max_samples : int
        The rows that a tree is grown on at most; half of the table if that is less.
    clip : float or None
        The cap of a surprise, in nats: with 3, a value that is 20 times less likely than usual counts nearly as much as
        one that is a million times less likely. It keeps one extreme feature from outvoting all others; with a single
        behavioral feature it does nothing but set the scale.
    contamination : float or "auto"
        The share of rows to be flagged, up to 0.5; or "auto" for those above Tukey's outer fence of the scores.
    random_state : int, RandomState or None
        Seeds the samples and the columns that splits try. The same data, parameters and seed give the same bits, on any
        number of threads.
    n_jobs : int
        Threads; -1 for as many as there are cores.
    progress : bool or callable
        True for a bar, or a function of the rows done and the rows in all.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        Higher is more anomalous. 0 is no more surprising than usual; of several features, near 100 is a row
        whose every value is at the cap or beyond, given the context and given all. NaN for a row without behavior.
    partial_scores_ : table of rows x behavioral features
        What each feature contributes, in the type of the fitted table: the mean of a row's partial scores is its score.
    labels_ : array of shape (rows,)
        -1 for an anomaly, 1 for a normal row.
    offset_ : float
        Minus the score above which a row is an anomaly.
    n_neighbors_ : int
        The rows that a reference group has at most.
    fit_seconds_ : float
        How long the fit took.
    contextual_features_, behavioral_features_ : list of str
        Their names (positions, as text, if the table had none).
    categories_ : dict
        The categories of each contextual feature that has some, sorted.

    Examples
    --------
    >>> from paribus import ConditionalSurprise, datasets
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    >>> strangest = detector.anomaly_scores_.argmax()
    >>> {name: column[strangest] for name, column in weather.table.items()}
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
        """Learns the table and scores its rows, each by trees that have not seen it.

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
