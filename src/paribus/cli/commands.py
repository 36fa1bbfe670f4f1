"""What the commands do. This module is imported when one of them runs, so that the help appears quickly.

The detector, which takes longest to import, is imported after the table has been read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.text import counted, listed, none_above, plain, score_text
from paribus.cli.columns import ChosenColumns, check_look, find_column
from paribus.cli.messages import file_as_typed, note, warnings_as_notes
from paribus.cli.options import RoleOptions, Source
from paribus.cli.outputs import check_outputs, check_report, output_folder
from paribus.cli.overview import print_overview
from paribus.cli.pictures import check_formats, require_matplotlib, save_pictures
from paribus.cli.printing import print_anomalies, print_explanation, print_json
from paribus.cli.signals import loading
from paribus.explain.explanation import RowExplanation
from paribus.io.reading import ReadTable, Wanted
from paribus.io.reading.raw import all_columns
from paribus.io.writing import check_format, write_columns
from paribus.methods.parameters import check_parameters
from paribus.methods.registry import REGISTRY, Entry, find_by_option
from paribus.output.frame import RowScores
from paribus.tables.rows import unnamed
from paribus.tables.table import NamedRows, Table

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector

# The minimum number of rows that a report explains.
MIN_REPORTED_ROWS = 50


def detect(
    source: Source,
    roles: RoleOptions,
    out: Path | None,
    report: Path | None,
    top: int,
    as_json: bool,
    parameters: dict[str, Any],
) -> None:
    """Finds the anomalies in a table, and prints or writes them."""
    if not roles.context:
        if roles.behavior or roles.categorical or out or report or as_json:
            raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
        print_overview(source.read(all_columns), "detect", source)
        return
    if out is not None:
        check_format(out)
    check_outputs([source.file], {"--out": out, "--report": report})
    if report is not None:
        check_report(report)
    detector, table, scores = _fit(source, roles, parameters, out=out)
    if out is not None:
        write_columns(out, scores.columns())
        note(f"the scores of all rows are in {out}")
    explanations = detector.explain_all(top if report is None else max(top, MIN_REPORTED_ROWS))
    if report is not None:
        from paribus.output.report.names import RowNames

        names = RowNames(detector.view().store.original, roles.id)
        detector.write_report(report, explanations, names=names)
        note(f"the report is in {report}")
    _print_top(detector, table, scores, explanations[:top], scores.highest(top), as_json)


def explain(
    source: Source,
    roles: RoleOptions,
    row: str,
    plots: Path | None,
    formats: list[str] | None,
    as_json: bool,
    parameters: dict[str, Any],
) -> None:
    """Explains one row."""
    if not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    chosen = check_formats(formats or ["svg", "png"])
    if formats and plots is None:
        raise ValueError("--format needs --plots FOLDER, which is where pictures are saved")
    with ExitStack() as stack:
        if plots is not None:
            require_matplotlib()
            stack.enter_context(output_folder(plots))
        detector, table, _ = _fit(source, roles, parameters, asked=row)
        explanation = detector.explain(find_row(table, roles.id, row))
        written = [] if plots is None else save_pictures(explanation, plots, row, chosen)
    if as_json:
        print_json(explanation.to_dict())
    else:
        print_explanation(explanation)
    if written:
        note(f"the pictures are {listed([str(path) for path in written], 'and')}")


def fit(source: Source, roles: RoleOptions, model: Path, parameters: dict[str, Any]) -> None:
    """Fits a model to a table, and saves it."""
    if not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    check_outputs([source.file], {"--model": model})
    detector, *_ = _fit(source, roles, parameters)
    detector.save(model)
    note(f"the model is in {model}: score new rows with  paribus score {file_as_typed(str(model))} FILE")


def score(model: Path, source: Source, id: str | None, out: Path | None, top: int, as_json: bool, n_jobs: int) -> None:
    """Scores the rows of a table with a saved model."""
    if out is not None:
        check_format(out)
    check_outputs([source.file, str(model)], {"--out": out})
    with loading():
        from paribus.detectors.load import load

    check_parameters({"n_jobs": n_jobs})
    detector = load(model).set_params(n_jobs=n_jobs, progress=_wants_bar())
    if out is not None:
        check_format(out, detector.behavioral_features_)
    if not detector.view().columns_have_names:
        raise ValueError(
            f"{model.name} was fitted to a table without column names, so it cannot find its columns in a file: "
            "fit it to a table with column names, or use it in Python"
        )
    names = [*detector.contextual_features_, *detector.behavioral_features_]
    # Codes such as 007 were text when the model was fitted, so they are text now.
    texts = {name for name, each in detector.categories_.items() if any(isinstance(value, str) for value in each)}
    wanted = Wanted(
        names if id is None else [*names, id],
        frozenset(detector.behavioral_features_),
        frozenset(texts if id is None else texts | {id}),
        strict=True,
    )
    table = source.read(lambda there: _check_columns(wanted, id, there))
    for name in sorted(texts):
        known = [value for value in detector.categories_[name] if isinstance(value, str)]
        check_look(name, known, table.columns[name])
    _note_missing(table, names)
    start = time.perf_counter()
    rows = table.columns
    if not detector.view().roles_by_name:
        # The roles were given by position, so all fitted columns must be there, even those without a role.
        nothing = np.full(table.n_rows, np.nan)
        rows = {name: table.columns.get(name, nothing) for name in detector.feature_names_in_}
    partial = detector.partial_scores(rows)
    total = detector.method.total(np.column_stack(list(partial.values())))
    scores = RowScores(total, partial, detector.threshold_, *_row_labels(table, id))
    highest = scores.highest(top)
    top_rows = {name: values[highest] for name, values in rows.items()}
    explanations = detector.explain_all(top, rows=top_rows) if len(highest) else []
    if n_unscored := int(np.isnan(total).sum()):
        note(
            f"{n_unscored:,} row(s) have no score, because neither they nor their reference groups have a behavioral "
            "value"
        )
    _summarize(detector, table, scores, time.perf_counter() - start)
    if out is not None:
        write_columns(out, scores.columns())
        note(f"the scores of all rows are in {out}")
    _print_top(detector, table, scores, explanations, highest, as_json)


def find_row(table: ReadTable, id: str | None, row: str) -> int:
    """The position of the row that was typed: by its name if there is a column of names, otherwise by its number."""
    if id is None:
        if not row.strip().isdecimal() or int(row) >= table.n_rows:
            raise ValueError(
                f"there is no row {row}: rows are numbered from 0 to {table.n_rows - 1}; "
                "use --id COLUMN to find rows by name"
            )
        return int(row)
    labels = _labels(table, id)
    found = np.flatnonzero(labels == row)
    if len(found) == 1:
        return int(found[0])
    if len(found) > 1:
        numbers = ", ".join(str(each) for each in found[:5])
        raise ValueError(f"{len(found)} rows are called {row}: omit --id and give a row number, such as {numbers}")
    from difflib import get_close_matches

    close = get_close_matches(row, list(labels), n=1)
    raise ValueError(f"column '{id}' has no row {row}" + (f": did you mean {close[0]}?" if close else ""))


def _fit(
    source: Source,
    roles: RoleOptions,
    parameters: dict[str, Any],
    *,
    asked: str | None = None,
    out: Path | None = None,
) -> tuple[ContextualDetector, ReadTable, RowScores]:
    """Reads a table and fits a detector to it. Returns the detector, the table, and the scores of its rows.

    Raises an error before the fit if the row `asked` does not exist, or if `out` cannot hold the names of the columns.
    """
    chosen = ChosenColumns(roles)
    option, parameters = parameters["method"], {k: v for k, v in parameters.items() if k != "method"}
    check_parameters(parameters)
    table = source.read(chosen.choose)
    if asked is not None:
        find_row(table, roles.id, asked)
    if out is not None:
        others = [name for name, values in table.columns.items() if values.dtype.kind in "fiu"]
        check_format(out, chosen.behavioral or [name for name in others if name not in (chosen.contextual or [])])
    with loading():
        make = find_by_option(option).estimator
    _check_method(option, parameters)
    detector: ContextualDetector = make(
        chosen.contextual or [],
        chosen.behavioral,
        categorical=chosen.categorical,
        progress=_wants_bar(),
        **parameters,
    )
    labels, heading = _row_labels(table, roles.id)
    with warnings_as_notes():
        detector.fit(table.columns if labels is None else NamedRows(table.columns, labels))
    # What follows is quick, and a progress bar would only flicker.
    detector.set_params(progress=False)
    scores = RowScores(detector.anomaly_scores_, dict(detector.partial_scores_), detector.threshold_, labels, heading)
    _summarize(detector, table, scores, detector.fit_seconds_)
    return detector, table, scores


def _check_method(option: str, parameters: dict[str, Any]) -> None:
    """Raises an error if a parameter was given that only another method has."""
    own = _parameter_names(find_by_option(option))
    for name in sorted(parameters):
        if name in own:
            continue
        other = next(entry for entry in REGISTRY if name in _parameter_names(entry))
        typed = f"--{name.replace('_', '-')}"
        raise ValueError(f"{typed} is for --method {other.option}: add that, or leave {typed} out")


def _parameter_names(entry: Entry) -> set[str]:
    return set(signature(entry.estimator).parameters)


def _row_labels(table: ReadTable, id: str | None) -> tuple[Any, str]:
    """The labels of the rows, and the heading of their column."""
    return (None, "row") if id is None else (_labels(table, id), "id")


def _labels(table: ReadTable, id: str) -> Any:
    """The values of the column of names, with a made-up name where one is missing."""
    labels = table.columns[id].copy()
    names = set(labels)
    for row, label in enumerate(labels):
        if label is None:
            labels[row] = unnamed(row, names)
    return labels


def _check_columns(wanted: Wanted, id: str | None, there: list[str]) -> Wanted:
    for name in wanted.names or []:
        find_column("--id" if name == id else "the model needs a column", name, there)
    return wanted


def _note_missing(table: ReadTable, names: list[str]) -> None:
    for name in names:
        if not _has_values(table, name):
            note(f"{table.name}: column '{name}' has no values at all, so no row is compared by it")


def _has_values(table: ReadTable, name: str) -> bool:
    return Table({name: table.columns[name]}).has_values(0)


def _wants_bar() -> bool:
    return sys.stderr.isatty() and sys.stdout.isatty()


def _summarize(detector: ContextualDetector, table: ReadTable, scores: RowScores, seconds: float) -> None:
    context = [plain(name) for name in detector.contextual_features_ if _has_values(table, name)] or ["nothing"]
    if len(context) > 5:
        context = [*context[:4], f"{len(context) - 4} more"]
    n_flagged = int(scores.is_anomaly.sum())
    known = scores.total[~np.isnan(scores.total)]
    found = f"{n_flagged:,} with a score above {score_text(scores.threshold)}"
    if n_flagged == 0 and known.size:
        # New rows are compared with the threshold of the fitted rows, which `--contamination` does not change.
        is_automatic = scores.total is detector.anomaly_scores_ and detector.contamination == "auto"
        advice = "--contamination 0.01" if is_automatic else ""
        found = none_above(scores.threshold, float(known.min()), float(known.max()), advice)
    note(
        f"{counted(table.n_rows, 'row')}, each compared with {detector.view().compared_with('row')} in "
        f"{listed(context, 'and')}; {found}; {seconds:.1f} s"
    )


def _print_top(
    detector: ContextualDetector,
    table: ReadTable,
    scores: RowScores,
    explanations: Sequence[RowExplanation],
    positions: Any,
    as_json: bool,
) -> None:
    ranks = scores.rank
    if not as_json:
        print_anomalies(
            scores.row_heading,
            [
                (plain(scores.row_label(row)), int(ranks[row]), float(scores.total[row]), explanation)
                for row, explanation in zip(positions, explanations, strict=True)
            ],
        )
        return
    parameters = {
        name: value
        for name, value in detector.get_params(deep=False).items()
        if name not in ("contextual", "behavioral", "categorical", "progress")
    }
    print_json(
        {
            "paribus": version("paribus"),
            "source": table.name,
            "rows": table.n_rows,
            "scored": int((~np.isnan(scores.total)).sum()),
            "anomalies": int(scores.is_anomaly.sum()),
            "threshold": scores.threshold,
            "n_neighbors": detector.n_neighbors_,
            "contextual": detector.contextual_features_,
            "behavioral": detector.behavioral_features_,
            "categorical": list(detector.categories_),
            "parameters": parameters,
            "top": [
                explanation.to_dict()
                | {"row": _plain(scores.row_label(row)), "position": int(row), "rank_in_file": int(ranks[row])}
                for row, explanation in zip(positions, explanations, strict=True)
            ],
        }
    )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
