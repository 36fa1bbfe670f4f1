"""The state of a fitted detector, and how rows are read and encoded like the fitted ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.progress import Progress, reporter
from paribus._common.text import listed
from paribus._common.threads import resolve_n_jobs
from paribus._common.workers import Workers
from paribus.detectors.estimator import BaseEstimator, OutlierMixin, require_fitted, validate_columns
from paribus.detectors.row_scorer import RowScorer
from paribus.engines import find_engine
from paribus.engines.interface import Engine
from paribus.engines.sampling import DrawnFrame, sample_frame
from paribus.engines.workers import EngineWorkers
from paribus.explain.known import KnownEntry, confirmed_rows, read_known
from paribus.explain.view import FittedView
from paribus.methods.fitted import Fitted
from paribus.methods.interface import FittedMethod, Judged, Method, RowBatch
from paribus.methods.parameters import PAST, check_parameters
from paribus.tables.drawing import MAX_SAMPLE
from paribus.tables.encoded_table import EncodedTable
from paribus.tables.encoding import sorted_categories
from paribus.tables.roles import column_keys, find_columns, require_columns
from paribus.tables.row_sample import sample_rows
from paribus.tables.streams import find_batches
from paribus.tables.table import Columns, Contexts, NamedRows, Table
from paribus.tables.time_parts import TREND

if TYPE_CHECKING:
    from paribus.methods.teaching import EvidenceShares

# Attributes that hold the results for the fitted rows.
RESULTS = ("partial_scores_", "anomaly_scores_", "labels_", "p_values_", "kinds_", "cell_p_values_")


class FittedDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Holds the fitted state. The subclasses in this package add scoring, explanations and output."""

    contextual: Contexts
    behavioral: Columns | None
    categorical: Columns | None
    contamination: float | str
    n_jobs: int | None
    progress: Progress
    method: ClassVar[Method]
    """How the fitted state is used, stored and described."""
    _known: tuple[KnownEntry, ...]
    """The known rows."""
    _view: FittedView | None
    _n_outside: int
    """The number of rows outside the fitted time range that were scored since the last warning."""
    _method: FittedMethod | None
    _evidence: EvidenceShares | None
    """The composition of the fitted rows' scores, once answers were given."""

    def view(self) -> FittedView:
        """Gives read access to the fitted detector, for pictures and reports.

        Returns
        -------
        FittedView
            The fitted rows, the roles and formats of their columns, and their scores.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.view().compared_with("row")
        'the 8 rows most like it'
        """
        require_fitted(self)
        if self._view is None:
            self._view = FittedView.of(self._fitted, self._get_method, self._n_threads)
        return self._view

    def scorer(self) -> RowScorer:
        """Returns a fast scorer of rows, for streams and services.

        Its forests are kept in the form that is fast for single rows, which takes more memory.

        Returns
        -------
        RowScorer
            Encodes and judges rows.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> row = {name: column[0] for name, column in weather.table.items()}
        >>> detector.scorer().judge(*detector.scorer().encode(row)).partial.shape
        (1, 3)
        """
        require_fitted(self)
        return RowScorer(
            self._fitted, self._get_method(), lambda rows: self._encode(self._read(rows)), self._n_threads()
        )

    @classmethod
    def restore(cls, name: str, parameters: dict[str, Any], fitted: Fitted) -> Self:
        """Creates a fitted detector from the contents of a model file.

        Parameters
        ----------
        name : str
            The name of the file in error messages.
        parameters : dict
            The parameters of the constructor.
        fitted : Fitted
            The result of the fit.

        Returns
        -------
        detector
            The fitted detector.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> QCAD.restore("weather.paribus", {"n_trees": 10}, None)
        Traceback (most recent call last):
        ...
        ValueError: weather.paribus is damaged: its parameters are not those of a detector
        """
        if not {"contextual"} <= parameters.keys() <= set(cls._get_param_names()) - {"progress"}:
            raise ValueError(f"{name} is damaged: its parameters are not those of a detector")
        try:
            check_parameters(parameters)
            known = read_known(fitted.known)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is damaged: {error}") from None
        detector = cls(**parameters)
        detector._remember(fitted, None, known)
        return detector

    def _remember(self, fitted: Fitted, method: FittedMethod | None, known: tuple[KnownEntry, ...] = ()) -> None:
        """Sets all fitted attributes at once, except those that are computed from results that may be in a file."""
        self._known = known
        fitted.known = [entry.fields for entry in known]
        table, roles = fitted.table, fitted.table.roles
        self.n_features_in_ = table.n_columns
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_neighbors_ = fitted.state.n_reference
        self.contextual_features_ = [table.name(p) for p in roles.contextual]
        self.behavioral_features_ = table.behavior_names
        columns = [*self.contextual_features_, *self.behavioral_features_]
        all_codes = [*table.encoding.codes, *table.behavior_encoding.codes]
        self.categories_ = {
            name: sorted_categories(codes) for name, codes in zip(columns, all_codes, strict=False) if codes is not None
        }
        self._fitted = fitted
        self._method = method
        self._evidence = None
        self._view = None
        self._n_outside = 0
        self.threshold_ = fitted.threshold
        self.offset_ = -fitted.threshold
        self.fit_seconds_ = fitted.seconds
        for name in RESULTS:
            self.__dict__.pop(name, None)
        self._warn_of_unseen()

    def __getattr__(self, name: str) -> Any:
        # Called for attributes that are not set. Fitted attributes are computed from the results on first use.
        if name not in RESULTS or "_fitted" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        fitted = self._fitted
        match name:
            case "partial_scores_":
                self.partial_scores_ = self._as_table(fitted.table.original, fitted.judged.partial)
            case "anomaly_scores_":
                self.anomaly_scores_ = fitted.scores
            case "labels_":
                self.labels_ = self._label(self.anomaly_scores_)
            case "p_values_":
                self.p_values_ = self.method.p_values(self.anomaly_scores_, lambda: self.anomaly_scores_)
            case "kinds_":
                self.kinds_ = fitted.judged.kinds
            case "cell_p_values_":
                self.cell_p_values_ = fitted.judged.cell_p_values
        return self.__dict__[name]

    def _gather(self, table: Any, known: tuple[KnownEntry, ...] = ()) -> tuple[Any, Workers | None]:
        """A table to fit in memory: the table itself, or a sample of the rows of one that is read in batches.

        Also the workers that can help, if the table is on a cluster.
        """
        self.__dict__.pop("column_tallies_", None)
        workers: Workers | None = None
        if (engine := find_engine(table)) is not None:
            table = self.draw(engine, table, known=known)
        found = None if isinstance(table, DrawnFrame) else find_batches(table)
        if isinstance(table, DrawnFrame):
            sample, workers = table.sample, table.workers
        elif found is None:
            return table, None
        else:
            with reporter(self.progress, found.n_rows, "Reading") as tick:
                sample = sample_rows(found, self.contextual, self.behavioral, categorical=self.categorical, tick=tick)
        self.column_tallies_ = sample.tallies
        if not sample.is_complete:
            n_drawn = Table(sample.table).n_rows
            scores_all = "anomaly_score scores all" if workers is None else f"{table.module}.score scores all"
            warnings.warn(
                f"the detector is fitted to {n_drawn:,} of the {sample.n_rows:,} rows, and its scores are those of "
                f"these: {scores_all}",
                UserWarning,
                stacklevel=3,
            )
        return sample.table, workers

    def draw(
        self,
        engine: Engine,
        frame: Any,
        *,
        known: tuple[KnownEntry, ...] = (),
        key: str | None = None,
        n_rows: int = MAX_SAMPLE,
    ) -> DrawnFrame:
        """Draws the rows of a Spark or Dask DataFrame to fit to, in the cluster. `fit` takes the result.

        Parameters
        ----------
        engine : Engine
            The engine of the frame.
        frame : Spark or Dask DataFrame
            The table.
        known : tuple of KnownEntry
            The known rows.
        key : str, optional
            A column that distinguishes rows that are otherwise equal.
        n_rows : int
            The maximum number of rows.

        Returns
        -------
        DrawnFrame
            The rows that were drawn, and the workers.

        Examples
        --------
        >>> import dask.dataframe as dd
        >>> import pandas as pd
        >>> from paribus import ConditionalSurprise, datasets
        >>> from paribus.engines import find_engine
        >>> cities = datasets.load("cities")
        >>> frame = dd.from_pandas(pd.DataFrame(cities.table), npartitions=2)
        >>> detector = ConditionalSurprise(cities.contextual, cities.behavioral)
        >>> detector.draw(find_engine(frame), frame).sample.n_rows
        16
        """
        if getattr(self, "reference", None) == PAST:
            raise ValueError(
                f"reference='past' is not available on {engine.name}: fit to a table on one machine, or use 'all'"
            )
        has_labels = any(entry.row is not None for entry in known)
        if has_labels and key is None:
            raise ValueError(
                f"rows of a {engine.name} DataFrame have no labels: name the column of their ids with key=... of "
                f"{engine.module}.fit, or give known rows by a rule"
            )
        given = [self.contextual, self.behavioral, self.categorical]
        if not all(isinstance(name, str) for name in column_keys(given)):
            raise ValueError(f"columns of a {engine.name} DataFrame are given by name, not by position")
        engine.check()
        sample = sample_frame(
            engine,
            frame,
            self.contextual,
            self.behavioral,
            categorical=self.categorical,
            key=key,
            n_rows=n_rows,
            # Rules may be about any column.
            columns=engine.names(frame) if known else None,
        )
        if has_labels:
            rows = Table(sample.table)
            columns = {name: rows.values(rows.find_column(name)) for name in engine.names(frame)}
            labels = np.array(rows.cells(rows.find_column(str(key))), dtype=object)
            sample = replace(sample, table=NamedRows(columns, labels))
        return DrawnFrame(sample, EngineWorkers(engine), engine.module)

    def _warn_of_unseen(self) -> None:
        """Warns of categories that a table has and the sample of its rows does not."""
        for name, tally in getattr(self, "column_tallies_", {}).items():
            if tally.counts is None or name not in self.categories_:
                continue
            unseen = sorted(map(str, tally.counts.keys() - set(self.categories_[name])))
            if unseen:
                some = listed([f"'{each}'" for each in unseen[:3]], "and")
                what = "a category" if len(unseen) == 1 else f"{len(unseen):,} categories"
                warnings.warn(
                    f"column '{name}' has {what} in none of the rows that the detector is fitted to, such as {some}: "
                    "they are judged as unseen categories",
                    UserWarning,
                    stacklevel=4,
                )

    def _read(self, rows: Any) -> Table:
        require_fitted(self)
        if (engine := find_engine(rows)) is not None:
            raise TypeError(
                f"this is a {engine.name} DataFrame, whose rows are on a cluster: use the functions of {engine.module}"
            )
        table = Table(rows)
        if not self._fitted.table.roles.by_name:
            # Roles are given by position, so the columns must be those of the fit, in the same order.
            if isinstance(rows, Mapping):
                require_columns(table, list(getattr(self, "feature_names_in_", [])))
            else:
                validate_columns(self, nw.to_native(rows, pass_through=True))
        return table

    def _encode(self, table: Table) -> tuple[Floats, Floats]:
        roles = self._fitted.table.roles
        contextual, behavioral = self._contextual_columns(table), roles.behavioral
        if roles.by_name:
            behavioral = find_columns(table, [self._fitted.table.name(position) for position in behavioral])
        encoding = self._fitted.table.behavior_encoding
        if table.n_rows == 0:
            return np.empty((0, len(contextual))), np.empty((0, encoding.n_features))
        return self._fitted.table.encoding.encode(table, contextual), encoding.encode(table, behavioral)

    def _contextual_columns(self, table: Table) -> list[int]:
        roles = self._fitted.table.roles
        return find_columns(table, self.contextual_features_) if roles.by_name else roles.contextual

    def _batch(self, table: Table, doing: str) -> Any:
        """The rows of a table as a batch for the method, while progress is shown."""
        return self._encoded_batch(*self._encode(table), doing)

    @contextmanager
    def _encoded_batch(self, context: Floats, behavior: Floats, doing: str) -> Iterator[RowBatch]:
        fitted = self._get_method().match(context, behavior)
        with reporter(self.progress, len(context), doing) as tick:
            yield RowBatch(context, behavior, fitted, self._n_threads(), tick)

    def _judge(self, table: Table) -> Judged:
        return self._judge_encoded(*self._encode(table))

    def _judge_encoded(self, context: Floats, behavior: Floats, tick: Callable[[int], object] | None = None) -> Judged:
        with self._encoded_batch(context, behavior, "Scoring") as batch:
            if tick is not None:
                batch = replace(batch, tick=tick)
            self._n_outside += int(self._fitted.table.encoding.is_outside(batch.context).sum())
            return self._get_method().judge(batch)

    def warn_outside(self) -> None:
        """Warns once about rows outside the fitted time range, of all that were scored since the last warning.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table).warn_outside()
        """
        n_outside, self._n_outside = self._n_outside, 0
        if n_outside == 0:
            return
        times = [each for each in self._fitted.table.encoding.times if each is not None]
        cycles = [part.replace("_", " ") for part in times[0].parts if part != TREND]
        judged_by = f" by their {listed(cycles, 'and')}," if cycles else ""
        rows, are = ("row", "is") if n_outside == 1 else ("rows", "are")
        warnings.warn(
            f"{n_outside:,} {rows} {are} outside the fitted time range, and judged{judged_by} as if they were at its "
            "ends: values that follow a trend look unusual there, until the detector is fitted to newer rows",
            UserWarning,
            stacklevel=3,
        )

    def _label(self, scores: Floats) -> npt.NDArray[np.int64]:
        return np.where(scores > self.threshold_, -1, 1)

    def _as_table(self, table: Table, partial: Floats) -> Any:
        return table.like({name: partial[:, i] for i, name in enumerate(self.behavioral_features_)})

    def _n_threads(self) -> int:
        return resolve_n_jobs(self.n_jobs)

    def _get_method(self) -> FittedMethod:
        if self._method is None:
            self._method = self.method.restore(self._fitted.learned, self._fitted.state, self._n_threads())
        return self._method

    def __getstate__(self) -> dict[str, Any]:
        # Both are rebuilt on demand.
        state: dict[str, Any] = super().__getstate__()
        return state | {"_method": None, "_view": None, "_evidence": None} if "_method" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def rows_to_exclude(entries: Sequence[KnownEntry], table: EncodedTable) -> Positions:
    """The rows that are confirmed anomalies, which are excluded from the fit."""
    if not entries:
        return np.empty(0, dtype=np.int64)
    labels = table.original.labels()
    names = [str(label) for label in (range(table.n_rows) if labels is None else labels)]
    is_confirmed = confirmed_rows(entries, table.original, names)
    if is_confirmed.all():
        raise ValueError("all rows are known to be confirmed anomalies, so there are none to learn from")
    return np.flatnonzero(is_confirmed)


def new_rows(table: EncodedTable, rows: Positions, n_threads: int) -> RowBatch:
    """Some rows of a table as if they were new."""
    return RowBatch(table.context(rows), table.behavior(rows), np.full(len(rows), -1, dtype=np.int64), n_threads)


def warn_unscored(scores: Floats) -> None:
    """Warns about rows that have no score."""
    unscored = np.flatnonzero(np.isnan(scores))
    if unscored.size:
        listed = ", ".join(str(row) for row in unscored[:5]) + (", ..." if unscored.size > 5 else "")
        rows, have = ("row", "has") if unscored.size == 1 else ("rows", "have")
        warnings.warn(
            f"{unscored.size} {rows} {have} no score, because no behavioral feature has a value both in the row and in "
            f"its reference group: {rows} {listed}",
            UserWarning,
            stacklevel=3,
        )
