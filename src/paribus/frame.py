"""The frame of a contextual detector: everything but how it is fitted."""

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

from paribus import scoring
from paribus.arguments import check_whole_number
from paribus.encoding import encode_behavior
from paribus.explainer import explain
from paribus.explanation import Explanation
from paribus.files import AnyPath, atomic_write, check_writable
from paribus.fitted import Fitted
from paribus.fitted_view import FittedView, highest
from paribus.formatting import ColumnFormat
from paribus.judge import AskedRows, Judge
from paribus.model_file import load_model, save_model
from paribus.parallel import resolve_n_jobs
from paribus.parameters import check_parameters
from paribus.profile import context_columns
from paribus.progress import Progress, reporter
from paribus.roles import find_columns, require_columns
from paribus.rows import as_one_row, is_label
from paribus.table import Floats, Table


class ContextualDetector(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores rows, explains them, and keeps what was fitted. A subclass has the parameters, `fit`, and a judge."""

    contamination: float | str
    n_jobs: int | None
    progress: Progress
    _memory_type: type

    def fit(self, X: Any, y: None = None) -> Self:
        """Learns the reference table."""
        raise NotImplementedError

    def anomaly_score(self, rows: Any) -> Floats:
        """The score of each row, compared with the fitted rows. A row that equals a fitted one gets its score."""
        scores = scoring.total(self._partial_scores(self._read(rows)))
        warn_unscored(scores)
        return scores

    def partial_scores(self, rows: Any) -> Any:
        """What each behavioural feature contributes to each row's score, as a table of the caller's type."""
        table = self._read(rows)
        return self._as_table(table, self._partial_scores(table))

    def percentiles(self, rows: Any) -> npt.NDArray[np.float64]:
        """The distribution of each behavioural feature in each row's context, in original units.

        Returns
        -------
        array of shape (rows, behavioural features, n_quantiles + 1)
            From the smallest to the largest value that has any weight. `ConditionalSurprise` has 101, those of its
            smooth density, where the ends are the percentiles of 0.5 % and 99.5 %.
        """
        with self._asking(self._read(rows), "Estimating") as asked:
            return self._get_judge().percentiles(asked)

    def reference_group(self, rows: Any) -> tuple[npt.NDArray[np.int64], Floats]:
        """The fitted rows that each row is compared with.

        A row that equals a fitted one is not compared with itself. If several fitted rows are equal, one of them stays
        out, always the same one, whichever of them is asked about.

        Returns
        -------
        positions, distances : arrays of shape (rows, n_neighbors_)
            Positions in the fitted table, nearest first, and their distances.
        """
        with self._asking(self._read(rows), "Finding neighbours") as asked:
            return self._get_judge().neighbors(asked)

    def explain(self, row: Any = None, *, label: Hashable = None, top: int = 3) -> Explanation:
        """Why a row has the score that it has.

        Parameters
        ----------
        row : int, or a row
            A whole number is the position of a fitted row, from 0, as in `anomaly_scores_`. Text or a moment is its
            label in a pandas index. A dict of values, a pandas row or a table of one row is a new row.
        label : optional
            The label of a fitted row in a pandas index, for labels that are whole numbers.
        top : int
            How many behavioural features the sentence and the pictures show at most.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> print(detector.explain(137, top=1))
        temperature 16.5 is far above what comparable rows show (median -10.9, 90 % between -12.7 and -8.8; 23
        of the 500 nearest rows count, mostly with month February or January, elevation 1,612 to 2,070).
        """
        check_is_fitted(self)
        check_whole_number("top", top, 1)
        if label is not None and row is not None:
            raise ValueError(f"both a row ({row!r}) and a label ({label!r}) are named: give one of them")
        position = self._fitted.table.find_row(label) if label is not None else self._find_row(row)
        if position is None:
            asked = self._read(as_one_row(row, self._fitted.table))
            if asked.n_rows != 1:
                raise ValueError(f"explain takes one row, and the table has {asked.n_rows}: use explain_all(rows=...)")
            return self._explain(asked, [None], [None], top)[0]
        labels = [self._fitted.table.row_label(position)]
        return self._explain(Table(self._fitted.table.take(np.array([position]))), [position], labels, top)[0]

    def explain_all(self, top_n: int = 10, *, rows: Any = None, top: int = 3) -> list[Explanation]:
        """The explanations of the highest scores, from the highest downwards.

        Parameters
        ----------
        top_n : int
            How many rows to explain. Rows without a score are left out.
        rows : table, optional
            New rows to score and to explain, instead of the fitted ones. An explanation's `row` says which of them it
            is about: its label in a pandas index, or its position.
        top : int
            How many behavioural features each sentence and picture shows at most.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> [explanation.position for explanation in detector.explain_all(5)]
        [1204, 512, 171, 1541, 137]
        """
        check_is_fitted(self)
        check_whole_number("top_n", top_n, 1)
        check_whole_number("top", top, 1)
        table = self._fitted.table if rows is None else self._read(rows)
        scores = self.anomaly_scores_ if rows is None else scoring.total(self._partial_scores(table))
        chosen = highest(scores, top_n)
        if chosen.size == 0:
            return []
        labels = [table.row_label(row) for row in chosen.tolist()]
        positions = chosen.tolist() if rows is None else [None] * len(chosen)
        return self._explain(Table(table.take(chosen)), positions, labels, top)

    def report(self, path: AnyPath, top: int = 50, *, title: str | None = None, id: str | int | None = None) -> Path:
        """Writes one HTML page about the fitted table and its highest scores, to look at, send or print.

        The page needs no network and no other file. It replaces an older one only when it is complete.

        Parameters
        ----------
        path : path
            Where to write it.
        top : int
            How many rows to explain, from the highest score downwards.
        title : str, optional
            What stands over the page.
        id : name or position of a column, optional
            What to call the rows; by default their labels in a pandas index, or their positions.

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
        ...     detector.report(f"{folder}/weather.html", top=5, title="Strange days").read_text()[:15]
        '<!doctype html>'
        """
        from paribus.report import make_page
        from paribus.report.names import RowNames

        check_is_fitted(self)
        check_whole_number("top", top, 1)
        names = RowNames(self._fitted.table, id)
        target = check_writable(path)
        page = make_page(self, top, title=title, names=names)
        with atomic_write(target) as file:
            file.write(page)
        return target

    def save(self, path: AnyPath) -> None:
        """Writes the fitted detector to a file, for `load`: all of it, or nothing.

        The file is a zip archive of JSON and numpy arrays, without pickle. It holds the fitted rows.

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
        """A detector from a file that `save` wrote. It gives the same answers, to the last bit.

        No file can make it run code. A table of original rows, as in `Explanation.reference`, is a dict of columns
        unless the fitted one was an array: the file knows no dataframe library. A random generator and a progress
        function are not saved.
        """
        parameters, fitted = load_model(path)
        if not isinstance(fitted.memory, cls._memory_type):
            name = Path(path).name
            raise ValueError(f"{name} is the model of another detector than {cls.__name__}: paribus.load reads any")
        return cls._restore(Path(path).name, parameters, fitted)

    @classmethod
    def _restore(cls, name: str, parameters: dict[str, Any], fitted: Fitted) -> Self:
        """A detector from the parts of a file of that name."""
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
        """Minus the anomaly score: scikit-learn's sign, lower is more anomalous."""
        return -self.anomaly_score(X)

    def decision_function(self, X: Any) -> Floats:
        """`score_samples` minus the threshold: negative for anomalies."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """-1 for anomalies, 1 for normal rows, and for rows that have no score."""
        return self._label(self.anomaly_score(X))

    def fit_predict(self, X: Any, y: None = None) -> npt.NDArray[np.int64]:
        """Fits, and returns the labels of the fitted rows."""
        return self.fit(X).labels_

    def _remember(self, fitted: Fitted, judge: Judge | None) -> None:
        """Makes this a fitted detector."""
        table, roles = fitted.table, fitted.roles
        self.n_features_in_ = table.n_columns
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_neighbors_ = fitted.memory.n_reference
        self.contextual_features_ = [table.name(p) for p in roles.contextual]
        self.behavioral_features_ = [table.name(p) for p in roles.behavioral]
        self.categories_ = {
            name: list(codes)
            for name, codes in zip(self.contextual_features_, fitted.encoding.codes, strict=True)
            if codes is not None
        }
        self._fitted = fitted
        self._judge = judge
        self._view: FittedView | None = None
        self.partial_scores_ = self._as_table(table, fitted.partial)
        self.anomaly_scores_ = scoring.total(fitted.partial)
        self.offset_ = -fitted.threshold
        self.labels_ = self._label(self.anomaly_scores_)
        self.fit_seconds_ = fitted.seconds

    def _read(self, rows: Any) -> Table:
        check_is_fitted(self)
        table = Table(rows)
        if not self._fitted.roles.by_name:
            # Roles by position: the columns must be those of the fit, in the same order.
            if isinstance(rows, Mapping):
                require_columns(table, list(getattr(self, "feature_names_in_", [])))
            else:
                validate_data(self, nw.to_native(rows, pass_through=True), reset=False, skip_check_array=True)
        return table

    def _encode(self, table: Table) -> tuple[Floats, Floats]:
        contextual, behavioral = self._contextual_columns(table), self._fitted.roles.behavioral
        if self._fitted.roles.by_name:
            behavioral = find_columns(table, self.behavioral_features_)
        if table.n_rows == 0:
            return np.empty((0, len(contextual))), np.empty((0, len(behavioral)))
        return self._fitted.encoding.encode(table, contextual), encode_behavior(table, behavioral)

    def _contextual_columns(self, table: Table) -> list[int]:
        roles = self._fitted.roles
        return find_columns(table, self.contextual_features_) if roles.by_name else roles.contextual

    def _partial_scores(self, table: Table) -> Floats:
        with self._asking(table, "Scoring") as asked:
            return self._get_judge().score(asked)

    @contextmanager
    def _asking(self, table: Table, doing: str) -> Iterator[AskedRows]:
        """Rows as a judge takes them, while progress is shown."""
        context, behavior = self._encode(table)
        fitted = self._get_judge().match(context, behavior)
        with reporter(self.progress, len(context), doing) as tick:
            yield AskedRows(context, behavior, fitted, self._n_threads(), tick)

    def _expected(self, context: Floats, excluded: int | None) -> npt.NDArray[np.float64]:
        """Percentiles in contexts as the engine has them; `excluded` is a fitted row that is no reference."""
        unknown = np.full((len(context), len(self.behavioral_features_)), np.nan)
        fitted = np.full(len(context), -1 if excluded is None else excluded, dtype=np.int64)
        return self._get_judge().percentiles(AskedRows(context, unknown, fitted, self._n_threads()))

    def _find_row(self, row: Any) -> int | None:
        """The position of a fitted row; None for a new row."""
        if is_label(row):
            return self._fitted.table.find_row(row)
        if row is not None and not np.isscalar(row):
            return None
        if isinstance(row, bool) or not isinstance(row, int | np.integer):
            raise TypeError(f"row is {row!r}: it must be the position of a fitted row, from 0, or a new row")
        if not 0 <= row < self._fitted.table.n_rows:
            raise ValueError(
                f"row {row} is not in the fitted table, whose rows are 0 to {self._fitted.table.n_rows - 1:,}; "
                f"for a label of its index say explain(label={row})"
            )
        return int(row)

    def _explain(
        self, asked: Table, positions: Sequence[int | None], labels: Sequence[Hashable], top: int
    ) -> list[Explanation]:
        with self._asking(asked, "Explaining") as rows:
            findings = self._get_judge().find(rows)
        scores = scoring.total(np.array([each.partial_scores for each in findings]))
        if np.isnan(scores).any():
            named = "the row" if labels[0] is None else f"row {labels[0]}"
            raise ValueError(f"{named} has no score, for want of a behavioural value in it or in its reference group")
        for row, position in enumerate(positions):
            # Of equal fitted rows the same one always stays out of the group: let it be the row in question.
            if position is not None:
                neighbors = findings[row].neighbors
                neighbors[neighbors == position] = rows.fitted[row]
        return explain(
            self._get_view(),
            asked,
            self._contextual_columns(asked),
            positions,
            labels,
            rows.behavior,
            scores,
            findings,
            top,
        )

    def _get_view(self) -> FittedView:
        check_is_fitted(self)
        if self._view is None:
            fitted = self._fitted
            self._view = FittedView(
                table=fitted.table,
                context=context_columns(fitted.table, fitted.roles.contextual, fitted.encoding, fitted.context),
                behavior_names=self.behavioral_features_,
                behavior_formats=[
                    ColumnFormat.fit(fitted.table, position, fitted.behavior[:, column])
                    for column, position in enumerate(fitted.roles.behavioral)
                ],
                behavior=fitted.behavior,
                scores=self.anomaly_scores_,
                partial_scores=fitted.partial,
                sorted_scores=np.sort(self.anomaly_scores_[~np.isnan(self.anomaly_scores_)]),
                reach=fitted.reach,
                threshold=-self.offset_,
            )
        return self._view

    def _label(self, scores: Floats) -> npt.NDArray[np.int64]:
        return np.where(scores > -self.offset_, -1, 1)

    def _as_table(self, table: Table, partial: Floats) -> Any:
        return table.like({name: partial[:, i] for i, name in enumerate(self.behavioral_features_)})

    def _n_threads(self) -> int:
        return resolve_n_jobs(self.n_jobs)

    def _get_judge(self) -> Judge:
        if self._judge is None:
            self._judge = self._make_judge(self._fitted)
        return self._judge

    def _make_judge(self, fitted: Fitted) -> Judge:
        raise NotImplementedError

    def _compared_with(self, noun: str) -> str:
        """Whom a row is compared with, in words; the noun is what a row is called."""
        raise NotImplementedError

    def _full_score(self, is_capped: bool) -> str:
        """What a partial score of 100 means, which may be the highest there is."""
        raise NotImplementedError

    _source: ClassVar[str]
    """The method, and who published it, in a sentence."""

    def __getstate__(self) -> dict[str, Any]:
        # Both are made again when they are needed.
        state: dict[str, Any] = super().__getstate__()
        return state | {"_judge": None, "_view": None} if "_judge" in state else state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def warn_unscored(scores: Floats) -> None:
    """Says which rows have no score."""
    unscored = np.flatnonzero(np.isnan(scores))
    if unscored.size:
        listed = ", ".join(str(row) for row in unscored[:5]) + (", ..." if unscored.size > 5 else "")
        warnings.warn(
            f"{unscored.size} row(s) get no score, for want of a behavioural value in them or in their reference group"
            f": row {listed}",
            UserWarning,
            stacklevel=3,
        )
