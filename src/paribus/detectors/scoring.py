"""Scores of rows, fitted or new."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats, Positions
from paribus.detectors.fitted_detector import FittedDetector, warn_unscored
from paribus.methods import scores as scoring


class ScoringDetector(FittedDetector):
    """Scores rows against the fitted ones."""

    def anomaly_score(self, rows: Any) -> Floats:
        """Scores rows against the fitted ones. A row that is identical to a fitted row gets the score of that row.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

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
        scores = scoring.total(self._partial_scores(self._read(rows)))
        warn_unscored(scores)
        return scores

    def partial_scores(self, rows: Any) -> Any:
        """Splits the scores of rows into the contributions of the behavioral features.

        Parameters
        ----------
        rows : table
            Rows with the columns of the fitted table.

        Returns
        -------
        table of rows x behavioral features
            The partial scores, in the type of `rows`. The score of a row is the mean of its partial scores.

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
