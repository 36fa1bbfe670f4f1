"""The base class of the detectors: everything except for their parameters and `fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from paribus._common.atomic_files import AnyPath
from paribus.detectors.estimator import require_fitted
from paribus.detectors.reporting import ReportingDetector
from paribus.explain.known import KnownLike
from paribus.persistence.model import load_model, save_model


class ContextualDetector(ReportingDetector):
    """Base class of contextual detectors. A subclass adds the parameters and `fit`."""

    def fit(self, X: Any, y: None = None, *, known: KnownLike | None = None) -> Self:
        """Fits the detector to a table and scores its rows.

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
        self

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table).labels_.shape
        (16,)
        """
        raise NotImplementedError

    def fit_predict(self, X: Any, y: None = None) -> npt.NDArray[np.int64]:
        """Fits the detector and returns the labels of the fitted rows.

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

    def save(self, path: AnyPath, *, note: str = "") -> None:
        """Writes the fitted detector to a file, for `load`.

        The file is a zip archive of JSON and numpy arrays, without pickle. It contains the fitted rows. An existing
        file is replaced only when the new one is complete.

        Parameters
        ----------
        path : path
            Where to write it.
        note : str
            A note about the model, such as the name of the table; `paribus show` prints it.

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
        require_fitted(self)
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "progress"}
        if note:
            self._fitted.note = note
        save_model(path, parameters, self._fitted)

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Reads a detector from a file that `save` wrote. Its results are bit-identical to those of the original.

        A file cannot execute code. Tables of fitted rows, such as `Explanation.reference`, are dicts of columns unless
        the fitted table was an array, since the file does not record the dataframe library. A random number generator
        and a progress function are not saved.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        detector
            The fitted detector.

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
            raise ValueError(f"{name} holds a {fitted.method.name}, not a {cls.__name__}: read it with paribus.load")
        return cls.restore(Path(path).name, parameters, fitted)
