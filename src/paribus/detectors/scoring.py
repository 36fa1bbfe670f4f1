"""Scores of rows, fitted or new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus._common.validation import check_whole_number, is_number
from paribus.detectors.batches import by_batches
from paribus.detectors.estimator import require_fitted
from paribus.detectors.fitted_detector import FittedDetector, warn_unscored
from paribus.output.frame import RowScores
from paribus.tables.table import Table


class ScoringDetector(FittedDetector):
    """Scores rows against the fitted ones."""

    def anomaly_score(self, rows: Any) -> Floats:
        """Scores rows against the fitted ones. A row that is identical to a fitted row gets the score of that row.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table. Also a pyarrow Dataset or RecordBatchReader, a DuckDB relation or
            a polars LazyFrame, here and in all methods that take rows.

        Returns
        -------
        array of shape (rows,)
            The scores; higher is more anomalous. NaN for a row that cannot be scored.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.anomaly_score(cities.table) == detector.anomaly_scores_).all())
        True
        """
        scores = self._scores(rows)
        warn_unscored(scores)
        self.warn_outside()
        return scores

    @by_batches
    def _scores(self, rows: Any) -> Floats:
        return self.method.total(self._judge(self._read(rows)).partial)

    def score_batch(self, batch: Any, *, keep: Sequence[str] = (), sentences: bool = False) -> Any:
        """Scores some rows of a larger table: an Arrow batch in, an Arrow batch out.

        All other engines are adapters around this function: it needs only the batch and the detector, which may
        come from a file, and a row gets the same bits in every batch.

        Parameters
        ----------
        batch : pyarrow RecordBatch, or any other table
            Rows with the columns of the fitted table.
        keep : sequence of str
            Columns of the batch to put before the results, such as a key.
        sentences : bool
            Whether to explain flagged rows, which takes some milliseconds each.

        Returns
        -------
        RecordBatch, or a table of the type of `batch`
            The columns are `score`, `p_value`, `label` ("anomaly", "normal" or "not scored"), `kind` (missing if the
            method has no kinds), `partial_...` for each behavioral feature, and `sentence` if it is requested,
            missing for rows that are not flagged. Scores of rows that cannot be scored are missing. A batch
            without rows gives the same columns, with the same types.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> batch = pa.RecordBatch.from_pydict(weather.table)[:100]
        >>> detector.score_batch(batch, keep=["month"]).schema.names
        ['month', 'score', 'p_value', 'label', 'kind', 'partial_temperature', 'partial_rain', 'partial_wind']
        """
        table = self._read(batch)
        kept = {name: table.find_column(name) for name in keep}
        judged = self._judge(table)
        total = self.method.total(judged.partial)
        partial = {name: judged.partial[:, place] for place, name in enumerate(self.behavioral_features_)}
        scores = RowScores(total, partial, self.threshold_)
        found: dict[str, npt.NDArray[Any]] = {
            "score": total,
            "p_value": self.method.p_values(total, lambda: self.anomaly_scores_),
            "label": scores.label,
            "kind": np.full(table.n_rows, None, dtype=object) if judged.kinds is None else judged.kinds,
            **scores.named_parts(),
        }
        if sentences:
            found["sentence"] = self._sentences(table, np.flatnonzero(scores.label == "anomaly"))
        if twice := sorted(kept.keys() & found.keys()):
            raise ValueError(f"column '{twice[0]}' cannot be kept, because a result has its name: rename it")
        return table.with_results(kept.values(), found)

    def _sentences(self, table: Table, rows: Positions) -> npt.NDArray[np.object_]:
        """By row of a table: why it is flagged; None for rows that are not requested."""
        raise NotImplementedError

    def partial_scores(self, rows: Any) -> Any:
        """Splits the scores of rows into the contributions of the behavioral features.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        table of rows x behavioral features
            The partial scores, in the type of `rows`. The score of a row is their sum (`QCAD`: their mean).

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> list(detector.partial_scores(cities.table))
        ['Rain', 'Wind']
        """
        found = self._partial_scores(rows)
        self.warn_outside()
        return found

    @by_batches
    def _partial_scores(self, rows: Any) -> Any:
        table = self._read(rows)
        return self._as_table(table, self._judge(table).partial)

    def p_values(self, rows: Any) -> Floats:
        """Computes how probable scores as high as those of rows are for ordinary rows.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            The p-values. NaN for a row that cannot be scored.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> bool((detector.p_values(weather.table) == detector.p_values_).all())
        True
        """
        return self.method.p_values(self.anomaly_score(rows), lambda: self.anomaly_scores_)

    @by_batches
    def cell_p_values(self, rows: Any) -> Any:
        """Computes for each value how probable a value at most as dense is in the row's context.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        table of rows x behavioral features
            The p-values, rounded to 0.05 %, in the type of `rows`. NaN for missing values.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> cells = detector.cell_p_values({name: column[:1] for name, column in weather.table.items()})
        >>> list(cells)
        ['temperature', 'rain', 'wind']
        """
        table = self._read(rows)
        found = self._judge(table).cell_p_values
        if found is None:
            raise ValueError(f"{type(self).__name__} has no p-values of single values: use ConditionalSurprise")
        return self._as_table(table, found)

    @by_batches
    def kinds(self, rows: Any) -> npt.NDArray[np.object_]:
        """Names the kind of anomaly that each row would be.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            "whole" for the row as a whole given its context, "combination" for values that do not go together,
            "value" for a single value.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> bool((detector.kinds(weather.table) == detector.kinds_).all())
        True
        """
        found = self._judge(self._read(rows)).kinds
        if found is None:
            raise ValueError(f"{type(self).__name__} does not distinguish kinds of anomalies: use ConditionalSurprise")
        return found

    def select(self, fdr: float = 0.1, *, rows: Any = None) -> Positions:
        """Selects rows such that the expected share of ordinary ones among them is at most `fdr`.

        The procedure is that of Benjamini and Hochberg, on the p-values of the rows.

        Parameters
        ----------
        fdr : float
            The false discovery rate: the share of the selected rows that may be ordinary, above 0 and below 1.
        rows : table, optional
            The rows to select from, instead of the fitted ones.

        Returns
        -------
        array
            The positions of the selected rows, in descending order of score.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> len(detector.select(fdr=0.1)) <= len(detector.select(fdr=0.2))
        True
        """
        from scipy.stats import false_discovery_control

        require_fitted(self)
        if not (is_number(fdr) and 0 < fdr < 1):
            raise ValueError(f"fdr is {fdr!r}: it must be a share above 0 and below 1")
        p_values = self.p_values_ if rows is None else self.p_values(rows)
        known = np.flatnonzero(~np.isnan(p_values))
        if known.size == 0:
            return known
        chosen = known[false_discovery_control(np.clip(p_values[known], 0.0, 1.0)) <= fdr]
        return np.asarray(chosen[np.argsort(p_values[chosen], kind="stable")])

    def false_share(self, n_rows: int | None = None, *, rows: Any = None) -> float:
        """Estimates the share of ordinary rows among those with the highest scores.

        The expected number of ordinary rows among them is the p-value of the last one times the number of all rows.

        Parameters
        ----------
        n_rows : int, optional
            The number of rows, from the top of the list; the flagged ones by default.
        rows : table, optional
            The rows to look at, instead of the fitted ones.

        Returns
        -------
        float
            The expected share, 1 at most; 0 for no rows.

        Examples
        --------
        >>> from paribus import ConditionalSurprise, datasets
        >>> weather = datasets.load("weather")
        >>> detector = ConditionalSurprise(weather.contextual, weather.behavioral, n_trees=8).fit(weather.table)
        >>> detector.false_share(len(detector.select(fdr=0.1))) <= 0.1
        True
        """
        require_fitted(self)
        p_values = self.p_values_ if rows is None else self.p_values(rows)
        ascending = np.sort(p_values[~np.isnan(p_values)])
        if n_rows is None:
            labels = self.labels_ if rows is None else self.predict(rows)
            n_rows = int((labels == -1).sum())
        check_whole_number("n_rows", n_rows, 0, len(ascending))
        if n_rows == 0:
            return 0.0
        return float(min(1.0, ascending[n_rows - 1] * len(ascending) / n_rows))

    @by_batches
    def percentiles(self, rows: Any) -> npt.NDArray[np.float64]:
        """Estimates the distribution of each behavioral feature in each row's context, in original units.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows, behavioral features, n_quantiles + 1)
            The percentiles in ascending order. Those of `QCAD` range from the smallest to the largest value with any
            weight. `ConditionalSurprise` has 101 percentiles of its smooth density, which range from 0.5 % to 99.5 %.

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

    @by_batches
    def reference_group(self, rows: Any) -> tuple[Positions, Floats]:
        """Finds the fitted rows that each row is compared with.

        A row that is identical to a fitted row is not compared with that row. If several fitted rows are identical to
        it, the same one of them is always left out.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        positions, distances : arrays of shape (rows, neighbors)
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

    def score_samples(self, X: Any) -> Floats:
        """Scores rows with scikit-learn's sign: minus the anomaly score, so that lower is more anomalous.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            The negative scores.

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
        """Scores rows relative to the threshold, with scikit-learn's sign: `score_samples` minus `offset_`.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            Negative for anomalies.

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
        """Labels rows as anomalies or normal rows.

        Parameters
        ----------
        X : table
            Rows with the columns of the fitted table.

        Returns
        -------
        array of shape (rows,)
            -1 for anomalies, 1 for normal rows and for rows without a score.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> bool((detector.predict(cities.table) == detector.labels_).all())
        True
        """
        return self._label(self.anomaly_score(X))
