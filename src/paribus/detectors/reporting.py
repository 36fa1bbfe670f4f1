"""Results as a dataframe and as a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paribus._common.atomic_files import AnyPath, atomic_write, check_writable
from paribus._common.validation import check_whole_number
from paribus.detectors.estimator import require_fitted
from paribus.detectors.teaching import TeachingDetector
from paribus.explain.explanation import RowExplanation
from paribus.output.report.names import RowNames
from paribus.output.results import COLUMNS, Columns, Results
from paribus.tables.joining import join_tables
from paribus.tables.streams import find_batches
from paribus.tables.table import ColumnKey, Table


class ReportingDetector(TeachingDetector):
    """Puts results into a dataframe or a report."""

    def to_frame(
        self,
        rows: Any = None,
        *,
        columns: Columns | bool = "none",
        only_flagged: bool = False,
        sentences: bool = True,
    ) -> Any:
        """Puts the results for all rows into one table, in the order of the rows.

        Parameters
        ----------
        rows : table, optional
            New rows to score, instead of the fitted ones.
        columns : {"none", "roles", "all"}
            Which original columns to add: those with a role, or all. Results whose names they take get the suffix
            " (paribus)". True is "all".
        only_flagged : bool
            Whether to leave out all rows but those that are flagged and not known.
        sentences : bool
            Whether to explain flagged rows, which takes some milliseconds each; the 10,000 highest scores at most.

        Returns
        -------
        table
            In the type of the table; a dict of columns for an array. The columns are `row` (the row's label in a pandas
            index, or its position), `score`, `p_value`, `rank` (1 is the highest score), `label` ("anomaly", "known",
            "normal" or "not scored"), `kind` (`ConditionalSurprise` only), `known` and `note` (if known rows were
            given), then for flagged rows the number of the `group`, the `sentence`, the `leading` column, its `value`,
            `usual_low` and `usual_high`, and for all rows `partial_...` for each behavioral feature.

        Examples
        --------
        >>> from paribus import QCAD, datasets
        >>> cities = datasets.load("cities")
        >>> detector = QCAD(["Latitude", "Season"], ["Rain", "Wind"], n_trees=10).fit(cities.table)
        >>> list(detector.to_frame(sentences=False))
        ['row', 'score', 'p_value', 'rank', 'label', 'partial_Rain', 'partial_Wind']
        """
        chosen: Columns = ("all" if columns else "none") if isinstance(columns, bool) else columns
        if chosen not in COLUMNS:
            raise ValueError(f"columns is {columns!r}: it must be one of {', '.join(COLUMNS)}")
        if (batches := find_batches(rows, once=True)) is not None:
            # The result has a line for each row, so the rows are brought into memory as well.
            pieces = [Table(batch) for batch in batches.batches()]
            rows = join_tables([piece.take(np.arange(piece.n_rows)) for piece in pieces])
        results = self.results(rows)
        found = results.columns(chosen, only_flagged=only_flagged, sentences=sentences)
        return results.rows.table.new(found)

    def report(
        self,
        path: AnyPath,
        n_rows: int = 50,
        *,
        rows: Any = None,
        title: str | None = None,
        id_column: ColumnKey | None = None,
    ) -> Path:
        """Writes a self-contained HTML page about the highest scores and all flagged rows.

        The page needs neither a network nor other files. An existing file is replaced only when the new one is
        complete. It lists up to 10,000 flagged rows.

        Parameters
        ----------
        path : path
            Where to write the page.
        n_rows : int
            The maximum number of rows to explain with pictures, in descending order of score.
        rows : table, optional
            New rows to score and report, instead of the fitted ones.
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
        require_fitted(self)
        check_whole_number("n_rows", n_rows, 1)
        target = check_writable(path)
        results = self.results(rows)
        names = RowNames(results.rows.table, id_column, results.rows.labels)
        chosen = results.highest(n_rows)
        explanations = list(results.explain(chosen)) if chosen.size else []
        self.write_report(target, explanations, results=results, title=title, names=names)
        return target

    def write_report(
        self,
        path: AnyPath,
        explanations: Sequence[RowExplanation],
        *,
        results: Results,
        title: str | None = None,
        names: RowNames,
    ) -> None:
        """Writes the page of `report` about rows that have already been explained.

        Parameters
        ----------
        path : path
            Where to write the page.
        explanations : sequence of Explanation
            The explanations of the highest scores of `results`, in descending order of score.
        results : Results
            The results for the rows.
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
        ...     names, results = RowNames(Table(cities.table), "City"), detector.results()
        ...     detector.write_report(f"{folder}/cities.html", detector.explain_all(3), results=results, names=names)
        """
        from paribus.output.report.page import make_page

        if not explanations:
            raise ValueError("no row has a score, so there is nothing to report")
        rows = results.highest(len(explanations)).tolist()
        explained = dict(zip(rows, explanations, strict=True))
        page = make_page(results, explained, self.get_params(deep=False), title=title, names=names)
        with atomic_write(path) as file:
            file.write(page)
