"""Results as a dataframe and as a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from paribus._common.atomic_files import AnyPath, atomic_write, check_writable
from paribus._common.validation import check_whole_number
from paribus.detectors.explaining import ExplainingDetector
from paribus.detectors.explanation import Explanation
from paribus.output.frame import RowScores
from paribus.output.report.names import RowNames
from paribus.tables.table import ColumnKey


class ReportingDetector(ExplainingDetector):
    """Puts results into a dataframe or a report."""

    def to_frame(self, *, columns: bool = False, sentences: bool = False) -> Any:
        """Puts the results for all fitted rows into one table, in the order of the rows.

        Parameters
        ----------
        columns : bool
            Whether to add the columns of the fitted table. Results whose names they take get the suffix " (paribus)".
        sentences : bool
            Whether to add a column `sentence` that explains each anomaly. It is empty for other rows.

        Returns
        -------
        table
            In the type of the fitted table; a dict of columns for an array. The columns are `row` (the row's label in a
            pandas index, or its position), `score`, `rank` (1 is the highest score), `label` ("anomaly", "normal" or
            "not scored"), and `partial_...` for each behavioral feature.

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

    def row_scores(self) -> RowScores:
        """Gives the scores of the fitted rows with their ranks and labels, for score files.

        Returns
        -------
        RowScores
            The scores, partial scores, ranks and labels.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> float(detector.row_scores().rank.min())
        1.0
        """
        check_is_fitted(self)
        partial = {name: self._fitted.judged.partial[:, place] for place, name in enumerate(self.behavioral_features_)}
        return RowScores(self.anomaly_scores_, partial, self.threshold_, self._fitted.table.original.labels())

    def report(
        self, path: AnyPath, n_rows: int = 50, *, title: str | None = None, id_column: ColumnKey | None = None
    ) -> Path:
        """Writes a self-contained HTML page about the fitted table and its highest scores.

        The page needs neither a network nor other files. An existing file is replaced only when the new one is
        complete.

        Parameters
        ----------
        path : path
            Where to write the page.
        n_rows : int
            The maximum number of rows to explain, in descending order of score.
        title : str, optional
            The title of the page.
        id_column : name or position of a column, optional
            The column that names the rows; by default their labels in a pandas index, or their positions.

        Returns
        -------
        Path
            The path of the page.

        Examples
        --------
        >>> import tempfile
        >>> from paribus import QCAD, datasets
        >>> weather = datasets.load("weather")
        >>> detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     detector.report(f"{folder}/weather.html", n_rows=5, title="Unusual days").read_text()[:15]
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
        """Writes the page of `report` about rows that have already been explained.

        Parameters
        ----------
        path : path
            Where to write the page.
        explanations : sequence of Explanation
            The rows to show, in descending order of score.
        title : str, optional
            The title of the page.
        names : RowNames
            The names of the rows.

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
