"""What all contextual detectors share: everything except how they are fitted."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from paribus._common.arrays import Floats, Positions
from paribus._common.atomic_files import AnyPath, atomic_write, check_writable
from paribus._common.progress import Progress, reporter
from paribus._common.threads import resolve_n_jobs
from paribus._common.validation import check_whole_number
from paribus.detectors.explanation import Explanation
from paribus.explain.build import explain_rows
from paribus.explain.view import FittedView, highest
from paribus.methods.fitted import Fitted
from paribus.methods.interface import FittedMethod, Method, RowBatch
from paribus.methods.parameters import check_parameters
from paribus.output.frame import RowScores
from paribus.output.report.names import RowNames
from paribus.persistence.model import load_model, save_model
from paribus.tables.encoding import encode_behavior
from paribus.tables.roles import find_columns, require_columns
from paribus.tables.rows import as_one_row
from paribus.tables.table import ColumnKey, Table


class ContextualDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores rows, explains them, and keeps what was fitted. A subclass adds the parameters and `fit`."""

    contamination: float | str
    n_jobs: int | None
    progress: Progress
    method: ClassVar[Method]
    """How the fitted state is used, stored and described."""
    _view: FittedView | None
    _method: FittedMethod | None

    def fit(self, X: Any, y: None = None) -> Self:
        """Learns from a table and scores its rows.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, dict of columns, or array
            The table.
        y : ignored

        Returns
        -------
        self

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table).labels_.shape
        (16,)
        """
        raise NotImplementedError

    def anomaly_score(self, rows: Any) -> Floats:
        """Scores rows against the fitted ones. A row that equals a fitted row gets that row's score.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            The scores, higher is more anomalous; NaN for a row that cannot be scored.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.anomaly_score(cities.table) == detector.anomaly_scores_).all())
        True
        """
        scores = self.method.total(self._partial_scores(self._read(rows)))
        warn_unscored(scores)
        return scores

    def partial_scores(self, rows: Any) -> Any:
        """Splits the scores of rows into what each behavioral feature contributes.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        table of rows x behavioral features
            In the type of `rows`; the mean of a row's partial scores is its score.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> list(detector.partial_scores(cities.table))
        ['Rain', 'Wind']
        """
        table = self._read(rows)
        return self._as_table(table, self._partial_scores(table))

    def percentiles(self, rows: Any) -> npt.NDArray[np.float64]:
        """Estimates the distribution of each behavioral feature in each row's context, in original units.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows, behavioral features, n_quantiles + 1)
            From the smallest to the largest value that has any weight. `ConditionalSurprise` has 101, those of its
            smooth density, where the ends are the percentiles of 0.5 % and 99.5 %.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.percentiles(cities.table).shape
        (16, 2, 101)
        """
        with self._batch(self._read(rows), "Estimating") as batch:
            return self._get_method().percentiles(batch)

    def reference_group(self, rows: Any) -> tuple[Positions, Floats]:
        """Finds the fitted rows that each row is compared with.

        A row that equals a fitted one is not compared with itself. If several fitted rows are equal, one of them stays
        out, always the same one, whichever of them is asked about.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        positions, distances : arrays of shape (rows, n_neighbors_)
            Positions in the fitted table, nearest first, and their distances.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> positions, distances = detector.reference_group(cities.table)
        >>> positions.shape
        (16, 8)
        """
        with self._batch(self._read(rows), "Finding neighbors") as batch:
            return self._get_method().neighbors(batch)

    def explain(self, row: Any = None, *, row_label: Hashable = None, n_features: int = 3) -> Explanation:
        """Explains the score of a row.

        Parameters
        ----------
        row : int, or a row
            A whole number is the position of a fitted row, from 0, as in `anomaly_scores_`. Text or a moment is its
            label in a pandas index. A dict of values, a pandas row or a table of one row is a new row.
        row_label : optional
            The label of a fitted row in a pandas index, for labels that are whole numbers.
        n_features : int
            How many behavioral features the sentence and the pictures show at most.

        Returns
        -------
        Explanation
            Which features, how far off, compared with which rows.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> print(detector.explain(137, n_features=1))
        temperature 16.5 is far above what comparable rows show (median -10.9, 90 % between -12.7 and -8.8; 23
        of the 500 nearest rows count, mostly with month February or January, elevation 1,612 to 2,070).
        """
        check_is_fitted(self)
        check_whole_number("n_features", n_features, 1)
        if row_label is not None and row is not None:
            raise ValueError(f"both a row ({row!r}) and a row_label ({row_label!r}) are given: give one of them")
        original = self._fitted.table.original
        position = original.find_row(row_label) if row_label is not None else self.view().find_row(row)
        if position is not None:
            return self._explain_fitted(np.array([position]), n_features)[0]
        asked = self._read(as_one_row(row, original))
        if asked.n_rows != 1:
            raise ValueError(f"explain takes one row, and the table has {asked.n_rows}: use explain_all(rows=...)")
        return self._explain_new(asked, [None], n_features)[0]

    def explain_all(self, n_rows: int = 10, *, rows: Any = None, n_features: int = 3) -> list[Explanation]:
        """Explains the highest scores, in descending order.

        Parameters
        ----------
        n_rows : int
            How many rows to explain. Rows without a score are left out.
        rows : table, optional
            New rows to score and to explain, instead of the fitted ones. An explanation's `row` says which of them it
            is about: its label in a pandas index, or its position.
        n_features : int
            How many behavioral features each sentence and picture shows at most.

        Returns
        -------
        list of Explanation
            The highest score first.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> [explanation.position for explanation in detector.explain_all(5)]
        [1204, 512, 171, 1541, 137]
        """
        check_is_fitted(self)
        check_whole_number("n_rows", n_rows, 1)
        check_whole_number("n_features", n_features, 1)
        if rows is None:
            chosen = highest(self.anomaly_scores_, n_rows)
            return self._explain_fitted(chosen, n_features) if chosen.size else []
        table = self._read(rows)
        chosen = highest(self.method.total(self._partial_scores(table)), n_rows)
        if chosen.size == 0:
            return []
        labels = [table.row_label(row) for row in chosen.tolist()]
        return self._explain_new(Table(table.take(chosen)), labels, n_features)

    def to_frame(self, *, columns: bool = False, sentences: bool = False) -> Any:
        """Puts the results for all fitted rows into one table, in the order of the rows.

        Parameters
        ----------
        columns : bool
            Whether to add the columns of the fitted table.
        sentences : bool
            Whether to add the sentence of each anomaly, in the column `sentence`.

        Returns
        -------
        table
            In the type of the fitted table; a dict of columns for an array. `row` is the row's label in a pandas index
            or its position, `score`, `rank` (1 is the highest score), `label` ("anomaly", "normal" or "not scored"),
            and `partial_...` for each behavioral feature.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> list(detector.to_frame())
        ['row', 'score', 'rank', 'label', 'partial_Rain', 'partial_Wind']
        """
        check_is_fitted(self)
        original = self._fitted.table.original
        found = self.row_scores().columns()
        if sentences:
            flagged = np.flatnonzero(self.labels_ == -1)
            texts = np.full(original.n_rows, None, dtype=object)
            if flagged.size:
                texts[flagged] = [str(explanation) for explanation in self._explain_fitted(flagged, 3)]
            found["sentence"] = texts
        if columns:
            taken = {original.name(p).casefold() for p in range(original.n_columns)}
            found = {name if name.casefold() not in taken else f"{name} (paribus)": v for name, v in found.items()}
            found |= {original.name(p): original.values(p) for p in range(original.n_columns)}
        return original.new(found)

    def report(
        self, path: AnyPath, n_rows: int = 50, *, title: str | None = None, id_column: ColumnKey | None = None
    ) -> Path:
        """Writes one HTML page about the fitted table and its highest scores, to look at, send or print.

        The page needs no network and no other file. It replaces an older one only when it is complete.

        Parameters
        ----------
        path : path
            Where to write it.
        n_rows : int
            How many rows to explain, in descending order of score.
        title : str, optional
            The title of the page.
        id_column : name or position of a column, optional
            The column that names the rows; by default their labels in a pandas index, or their positions.

        Returns
        -------
        Path
            Where the page is.

        Examples
        --------
        >>> import tempfile
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     detector.report(f"{folder}/weather.html", n_rows=5, title="Strange days").read_text()[:15]
        '<!doctype html>'
        """
        check_is_fitted(self)
        check_whole_number("n_rows", n_rows, 1)
        names = RowNames(self._fitted.table.original, id_column)
        target = check_writable(path)
        self.write_report(target, self.explain_all(n_rows), title=title, names=names)
        return target

    def write_report(
        self, path: AnyPath, explanations: Sequence[Explanation], *, title: str | None = None, names: RowNames
    ) -> None:
        """Writes the page of `report` about rows that have been explained already.

        Parameters
        ----------
        path : path
            Where to write it.
        explanations : sequence of Explanation
            The rows to show, in descending order of score.
        title : str, optional
            The title of the page.
        names : RowNames
            What the rows are called.

        Examples
        --------
        >>> import tempfile
        >>> from paribus import QCAD, datasets
        >>> from paribus.output.report.names import RowNames
        >>> from paribus.tables.table import Table
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     names = RowNames(Table(cities.table), "City")
        ...     detector.write_report(f"{folder}/cities.html", detector.explain_all(3), names=names)
        """
        from paribus.output.report import make_page

        page = make_page(self.view(), explanations, self.get_params(deep=False), title=title, names=names)
        with atomic_write(path) as file:
            file.write(page)

    def save(self, path: AnyPath) -> None:
        """Writes the fitted detector to a file, for `load`: all of it, or nothing.

        The file is a zip archive of JSON and numpy arrays, without pickle. It holds the fitted rows.

        Parameters
        ----------
        path : path
            Where to write it.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> with TemporaryDirectory() as folder:
        ...     detector.save(Path(folder) / "cities.paribus")
        ...     loaded = QCAD.load(Path(folder) / "cities.paribus")
        >>> bool((loaded.anomaly_score(cities.table) == detector.anomaly_scores_).all())
        True
        """
        check_is_fitted(self)
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "progress"}
        save_model(path, parameters, self._fitted)

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Reads a detector from a file that `save` wrote. It gives the same answers, to the last bit.

        No file can make it run code. A table of original rows, as in `Explanation.reference`, is a dict of columns
        unless the fitted one was an array: the file does not record the dataframe library. A random generator and a
        progress function are not saved.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        detector
            As it was when it was saved.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> with TemporaryDirectory() as folder:
        ...     detector.save(f"{folder}/cities.paribus")
        ...     QCAD.load(f"{folder}/cities.paribus").n_trees
        10
        """
        parameters, fitted = load_model(path)
        if fitted.method is not cls.method:
            name = Path(path).name
            raise ValueError(f"{name} is the model of another detector than {cls.__name__}: paribus.load reads any")
        return cls.restore(Path(path).name, parameters, fitted)

    @classmethod
    def restore(cls, name: str, parameters: dict[str, Any], fitted: Fitted) -> Self:
        """Makes a fitted detector from the parts of a model file.

        Parameters
        ----------
        name : str
            What messages call the file.
        parameters : dict
            The constructor's parameters.
        fitted : Fitted
            What the fit left behind.

        Returns
        -------
        detector

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
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} is damaged: {error}") from None
        detector = cls(**parameters)
        detector._remember(fitted, None)
        return detector

    def score_samples(self, X: Any) -> Floats:
        """Scores rows with scikit-learn's sign: minus the anomaly score, so that lower is more anomalous.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.score_samples(cities.table) == -detector.anomaly_scores_).all())
        True
        """
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> Floats:
        """Scores rows against the threshold: `score_samples` minus `offset_`, negative for anomalies.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool(((detector.decision_function(cities.table) < 0) == (detector.labels_ == -1)).all())
        True
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Labels rows.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            -1 for anomalies, 1 for normal rows and for rows that have no score.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.predict(cities.table) == detector.labels_).all())
        True
        """
        return self._label(self.anomaly_score(X))

    def fit_predict(self, X: Any, y: None = None) -> npt.NDArray[np.int64]:
        """Fits, and returns the labels of the fitted rows.

        Parameters
        ----------
        X : table
            The table.
        y : ignored

        Returns
        -------
        array of shape (rows,)
            -1 for anomalies, 1 for normal rows.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit_predict(cities.table).shape
        (16,)
        """
        return self.fit(X).labels_

    def view(self) -> FittedView:
        """Gives read access to what was fitted, for pictures and reports.

        Returns
        -------
        FittedView

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.view().compared_with("city")
        'the 8 citys most like it'
        """
        check_is_fitted(self)
        if self._view is None:
            self._view = FittedView.of(self._fitted, self._get_method, self._n_threads)
        return self._view

    def row_scores(self) -> RowScores:
        """Gives the scores of the fitted rows with their ranks and labels, for files.

        Returns
        -------
        RowScores

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> detector.row_scores().rank.min()
        1.0
        """
        check_is_fitted(self)
        partial = {name: self._fitted.judged.partial[:, place] for place, name in enumerate(self.behavioral_features_)}
        return RowScores(self.anomaly_scores_, partial, self.threshold_, self._fitted.table.original.labels())

    def _remember(self, fitted: Fitted, method: FittedMethod | None) -> None:
        """Makes this a fitted detector."""
        table, roles = fitted.table.original, fitted.table.roles
        self.n_features_in_ = table.n_columns
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_neighbors_ = fitted.state.n_reference
        self.contextual_features_ = [table.name(p) for p in roles.contextual]
        self.behavioral_features_ = [table.name(p) for p in roles.behavioral]
        self.categories_ = {
            name: list(codes)
            for name, codes in zip(self.contextual_features_, fitted.table.encoding.codes, strict=True)
            if codes is not None
        }
        self._fitted = fitted
        self._method = method
        self._view = None
        self.partial_scores_ = self._as_table(table, fitted.judged.partial)
        self.anomaly_scores_ = fitted.scores
        self.threshold_ = fitted.threshold
        self.offset_ = -fitted.threshold
        self.labels_ = self._label(self.anomaly_scores_)
        self.fit_seconds_ = fitted.seconds

    def _read(self, rows: Any) -> Table:
        check_is_fitted(self)
        table = Table(rows)
        if not self._fitted.table.roles.by_name:
            # Roles by position: the columns must be those of the fit, in the same order.
            if isinstance(rows, Mapping):
                require_columns(table, list(getattr(self, "feature_names_in_", [])))
            else:
                validate_data(self, nw.to_native(rows, pass_through=True), reset=False, skip_check_array=True)
        return table

    def _encode(self, table: Table) -> tuple[Floats, Floats]:
        roles = self._fitted.table.roles
        contextual, behavioral = self._contextual_columns(table), roles.behavioral
        if roles.by_name:
            behavioral = find_columns(table, self.behavioral_features_)
        if table.n_rows == 0:
            return np.empty((0, len(contextual))), np.empty((0, len(behavioral)))
        return self._fitted.table.encoding.encode(table, contextual), encode_behavior(table, behavioral)

    def _contextual_columns(self, table: Table) -> list[int]:
        roles = self._fitted.table.roles
        return find_columns(table, self.contextual_features_) if roles.by_name else roles.contextual

    def _partial_scores(self, table: Table) -> Floats:
        with self._batch(table, "Scoring") as batch:
            return self._get_method().judge(batch).partial

    def _batch(self, table: Table, doing: str) -> Any:
        """Rows as a method takes them, while progress is shown."""
        return self._encoded_batch(*self._encode(table), doing)

    @contextmanager
    def _encoded_batch(self, context: Floats, behavior: Floats, doing: str) -> Iterator[RowBatch]:
        fitted = self._get_method().match(context, behavior)
        with reporter(self.progress, len(context), doing) as tick:
            yield RowBatch(context, behavior, fitted, self._n_threads(), tick)

    def _explain_fitted(self, positions: Positions, n_features: int) -> list[Explanation]:
        table = self._fitted.table
        context = table.context(positions)
        own = [column.decode(context[:, place]) for place, column in enumerate(self.view().context)]
        labels = [table.original.row_label(int(position)) for position in positions]
        with self._encoded_batch(context, table.behavior(positions), "Explaining") as batch:
            return self._explain(batch, own, positions.tolist(), labels, n_features)

    def _explain_new(self, asked: Table, labels: Sequence[Hashable], n_features: int) -> list[Explanation]:
        columns = self._contextual_columns(asked)
        own = [
            column.own_values(asked, position) for column, position in zip(self.view().context, columns, strict=True)
        ]
        with self._batch(asked, "Explaining") as batch:
            return self._explain(batch, own, [None] * asked.n_rows, labels, n_features)

    def _explain(
        self,
        batch: RowBatch,
        own: Sequence[Any],
        positions: Sequence[int | None],
        labels: Sequence[Hashable],
        n_features: int,
    ) -> list[Explanation]:
        findings = self._get_method().find(batch)
        scores = self.method.total(np.array([each.partial_scores for each in findings]))
        if np.isnan(scores).any():
            named = "the row" if labels[0] is None else f"row {labels[0]}"
            raise ValueError(f"{named} has no score: neither it nor its reference group has a behavioral value")
        for row, position in enumerate(positions):
            # Of equal fitted rows the same one always stays out of the group: let it be the row in question.
            if position is not None:
                neighbors = findings[row].neighbors
                neighbors[neighbors == position] = batch.fitted[row]
        return explain_rows(
            self.view(), own, positions, labels, batch.behavior, scores, findings, n_features, Explanation
        )

    def _label(self, scores: Floats) -> npt.NDArray[np.int64]:
        return np.where(scores > self.threshold_, -1, 1)

    def _as_table(self, table: Table, partial: Floats) -> Any:
        return table.like({name: partial[:, i] for i, name in enumerate(self.behavioral_features_)})

    def _n_threads(self) -> int:
        return resolve_n_jobs(self.n_jobs)

    def _get_method(self) -> FittedMethod:
        if self._method is None:
            self._method = self.method.restore(self._fitted.table, self._fitted.state, self._n_threads())
        return self._method

    def __getstate__(self) -> dict[str, Any]:
        # Both are made again when they are needed.
        state: dict[str, Any] = super().__getstate__()
        return state | {"_method": None, "_view": None} if "_method" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def warn_unscored(scores: Floats) -> None:
    """Warns about rows that have no score."""
    unscored = np.flatnonzero(np.isnan(scores))
    if unscored.size:
        listed = ", ".join(str(row) for row in unscored[:5]) + (", ..." if unscored.size > 5 else "")
        warnings.warn(
            f"{unscored.size} row(s) have no score, because neither they nor their reference groups have a behavioral "
            f"value: row {listed}",
            UserWarning,
            stacklevel=3,
        )
