"""ConditionalSurprise: how improbable each value is, given the context and given the other behavior."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from paribus._common.arrays import Floats, Positions
from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus.detectors.base import ContextualDetector
from paribus.detectors.estimator import random_numbers, require_fitted
from paribus.detectors.fitted_detector import new_rows, rows_to_exclude, warn_unscored
from paribus.explain.known import KnownLike, read_known
from paribus.methods import surprise
from paribus.methods.fitted import Fitted, with_rows
from paribus.methods.interface import FittedMethod, Judged, RowBatch
from paribus.methods.parameters import PAST, check_parameters
from paribus.methods.surprise.fitting import renew
from paribus.methods.surprise.model import SurpriseModel
from paribus.methods.surprise.past import find_moments, judge_by_past
from paribus.methods.surprise.renewal import pool_rows
from paribus.methods.surprise.state import SurpriseSettings, SurpriseState
from paribus.tables.encoded_table import encode_table
from paribus.tables.table import Columns, Contexts
from paribus.tables.time_parts import TimePartsOption


class ConditionalSurprise(ContextualDetector):
    """Finds rows that are improbable given their context.

    For each behavioral feature, forests over the whole table estimate the distribution of its values given the context,
    and given the context and all other behavioral features. Each value yields evidence: the negative logarithm of the
    probability of a value at most as dense. A row can be strange as a whole, its values may not go together, or one
    value may be wrong; the frequency of each case is learned from the table. The score of a row is the negative decimal
    logarithm of the probability that an ordinary row is as strange. All scores of fitted rows are out of sample.

    Parameters
    ----------
    contextual : list of names or positions, or dict
        The contextual columns: numbers, categories or timestamps, missing values allowed. A dict has the context of
        each behavioral column, as in `{"temperature": ["month", "elevation"], "rain": ["month"]}`: each is judged given
        its own context, and given its own context and the other behavior.
    behavioral : list of names or positions, optional
        The behavioral columns: numbers, categories or booleans, missing values allowed. By default every other numeric
        column.
    categorical : list of names or positions, optional
        Numeric columns to treat as categorical. Text, categorical and boolean columns always are.
    missing : bool or "auto"
        Whether to judge missing values as behavior: in all behavioral columns, in none, or with "auto" in those where
        at least 0.5 % of the rows (and 20) lack a value and as many have one. Such features are called "... (missing)".
    time_parts : "auto", list of str, or dict
        The parts by which timestamps of contextual columns are compared: "hour" of day, "weekday", "day_of_year"
        (cycles: 23 h is near 0 h, and December near January), "trend" (time since the beginning) and "holiday". A list
        counts for all columns of timestamps, a dict by column. With "auto", the parts that vary in the table and can be
        distinguished.
    holidays : str, optional
        The country whose holidays count, as in "US" or "US-NY" (`pip install 'paribus[time]'`).
    reference : "all" or "past"
        What rows are judged by: all others, or with "past" only rows that came before, by the first contextual column
        of timestamps. The table is divided into ten periods, and each is judged by a fit to all earlier rows; the
        first has no scores. It takes about six times as long.
    n_trees : int
        The number of trees per forest. Trees come in pairs on disjoint halves of the rows, and each row is scored by
        the tree of each pair that has not seen it.
    max_features : int, float, "sqrt" or None
        The columns that a split considers: a number, a share, the square root of their number, or all.
    min_samples_leaf : int
        The minimum number of rows in a leaf.
    max_samples : int
        The maximum number of rows that a tree is grown on; half the table if that is less.
    contamination : float or "auto"
        The share of rows to flag, up to 0.5; or "auto" to flag by `false_alarms`.
    false_alarms : float
        With `contamination="auto"`: the share of ordinary rows that are flagged by chance.
    random_state : int, RandomState or None
        The seed of the samples and of the columns that splits consider. The same rows, parameters and seed give
        bit-identical results in any order of the rows and for any number of threads.
    n_jobs : int
        The number of threads; -1 for all cores.
    progress : bool or callable
        True for a progress bar, or a function that takes the number of rows done and the total number of rows.

    Attributes
    ----------
    anomaly_scores_ : array of shape (rows,)
        The scores; higher is more anomalous. A score of 3 means that 1 in 1,000 ordinary rows is as strange. NaN for a
        row without behavior.
    partial_scores_ : table of rows x behavioral features
        The contribution of each feature, in the type of the fitted table. The score of a row is the sum of its partial
        scores.
    p_values_ : array of shape (rows,)
        The probability that an ordinary row is as strange.
    cell_p_values_ : array of shape (rows, behavioral features)
        The probability of a value at most as dense in the row's context, rounded to 0.05 %.
    kinds_ : array of shape (rows,)
        What would be strange about each row: "whole", "combination" or "value".
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
        The sorted categories of each categorical column.

    Examples
    --------
    >>> from paribus import ConditionalSurprise, datasets
    >>> weather = datasets.load("weather")
    >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    >>> row = detector.anomaly_scores_.argmax()
    >>> {name: column[row] for name, column in weather.table.items()}
    {'month': 'December', 'elevation': 2300.0, 'zone': 'inland', 'temperature': 9.0, 'rain': 0.4, 'wind': 6.0}
    """

    method = surprise.METHOD

    def __init__(
        self,
        contextual: Contexts,
        behavioral: Columns | None = None,
        *,
        categorical: Columns | None = None,
        time_parts: TimePartsOption = "auto",
        holidays: str | None = None,
        reference: str = "all",
        missing: bool | str = "auto",
        n_trees: int = 64,
        max_features: int | float | str | None = 0.7,
        min_samples_leaf: int = 4,
        max_samples: int = 2**15,
        contamination: float | str = "auto",
        false_alarms: float = 0.001,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = -1,
        progress: Progress = False,
    ) -> None:
        self.contextual = contextual
        self.behavioral = behavioral
        self.categorical = categorical
        self.time_parts = time_parts
        self.holidays = holidays
        self.reference = reference
        self.missing = missing
        self.n_trees = n_trees
        self.max_features = max_features
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.contamination = contamination
        self.false_alarms = false_alarms
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: None = None, *, known: KnownLike | None = None) -> ConditionalSurprise:
        """Fits the detector to a table and scores its rows, each by trees that have not seen it.

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
        entries = () if known is None else read_known(known)
        gathered, workers = self._gather(X, entries)
        table = encode_table(
            gathered,
            self.contextual,
            self.behavioral,
            self.categorical,
            self.time_parts,
            self.holidays,
            judges_categories=True,
            missing=self.missing,
        ).by_content()
        excluded = rows_to_exclude(entries, table)
        learned = table.without_behavior(excluded)
        n_rows = table.n_rows
        seed = int(random_numbers(self.random_state).randint(2**31))
        by_past = self.reference == PAST
        settings = SurpriseSettings(
            self.n_trees, self.max_features, self.min_samples_leaf, self.max_samples, seed, by_past
        )
        if by_past:
            find_moments(learned)
        with reporter(self.progress, n_rows, "Fitting") as tick:
            latest, state, judged = SurpriseModel.fit(learned, settings, n_threads, tick, workers)
        model: FittedMethod = latest
        if by_past:
            with reporter(self.progress, n_rows, "Judging by the past") as tick:
                model, judged = judge_by_past(learned, settings, latest, n_threads, tick)
        if len(excluded):
            judged = with_rows(judged, excluded, model.judge(new_rows(table, excluded, n_threads)))
        scores = self.method.total(judged.partial)
        if by_past:
            _warn_without_past(scores)
        else:
            warn_unscored(scores)
        threshold = self.method.threshold(scores, self.contamination, self.false_alarms)
        seconds = time.perf_counter() - start
        fitted = Fitted(table, self.method, state, judged, latest.reach(), threshold, seconds, excluded)
        self._remember(fitted, model, entries)
        return self

    def renewed(
        self, numbers: Positions, recent: dict[str, list[Any]], recent_numbers: Positions, share: float, seed: int
    ) -> tuple[ConditionalSurprise, Positions] | None:
        """Replaces the oldest trees by trees that grow on recent rows, and calibrates scores by these.

        For streams: `paribus.Monitor` calls it from time to time. The detector itself does not change.

        Parameters
        ----------
        numbers : array
            By fitted row: its number in a stream, ascending.
        recent : dict of columns
            The recent rows, some of which may be fitted ones.
        recent_numbers : array
            Their numbers, ascending.
        share : float
            The share of the pairs of trees to replace, up to 1.
        seed : int
            The seed of random draws.

        Returns
        -------
        detector, numbers
            The renewed detector, and the numbers of its rows: the recent ones, and those that older trees hold. None
            if the recent rows need a new fit, for example because they have new categories.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> recent = {name: list(column[-1000:]) for name, column in weather.table.items()}
        >>> found, numbers = detector.renewed(np.arange(2000), recent, np.arange(1000, 2000), 0.25, 0)
        >>> found.anomaly_score(weather.table).shape
        (2000,)
        """
        require_fitted(self)
        start = time.perf_counter()
        state, threads = self._fitted.state, resolve_n_jobs(self.n_jobs)
        assert isinstance(state, SurpriseState)
        n_pairs = min(state.settings.n_pairs, max(1, round(share * state.settings.n_pairs)))
        try:
            context, behavior = self.scorer().encode(recent)
            found = pool_rows(self._fitted.table, state, numbers, recent, recent_numbers, context, behavior, n_pairs)
            renewed = renew(found.table, state, found.moved, found.recent, n_pairs, seed, threads)
        except ValueError:
            return None
        table = found.table

        def judge_all() -> Judged:
            everything = np.arange(table.n_rows)
            model = SurpriseModel.recall(table, renewed)
            return model.judge(RowBatch(table.all_context, table.all_behavior, everything, threads))

        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "progress"}
        seconds = time.perf_counter() - start
        fitted = Fitted(table, self.method, renewed, judge_all, self._fitted.reach, self._fitted.threshold, seconds)
        return ConditionalSurprise.restore("the detector", parameters, fitted), found.numbers


def _warn_without_past(scores: Floats) -> None:
    if n_unscored := int(np.isnan(scores).sum()):
        warnings.warn(
            f"{n_unscored:,} of the {len(scores):,} rows have no score, because they are the first in time and have no "
            "past to be judged by, or have no timestamp or no behavior",
            UserWarning,
            stacklevel=3,
        )
