"""What the commands do. This module is imported when one of them runs, so that the help appears quickly.

The detector, which takes longest to import, is imported after the table has been read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.text import counted, listed, none_above, plain, score_text
from paribus.cli.columns import check_look, find_column
from paribus.cli.fitting import find_row, fit_table, row_labels, wants_bar
from paribus.cli.large import is_large, parse_memory, score_stream
from paribus.cli.messages import file_as_typed, note
from paribus.cli.options import RoleOptions, Source
from paribus.cli.outputs import check_outputs, check_report, output_folder
from paribus.cli.overview import print_overview
from paribus.cli.pictures import check_formats, require_matplotlib, save_pictures
from paribus.cli.printing import print_anomalies, print_explanation, print_json
from paribus.cli.signals import loading
from paribus.cli.summary import Summary
from paribus.explain.explanation import RowExplanation
from paribus.io.reading import Choose, ReadTable, Wanted
from paribus.io.reading.raw import all_columns
from paribus.io.writing import check_format, write_columns
from paribus.methods.parameters import check_parameters
from paribus.output.frame import RowScores
from paribus.tables.joining import join_tables
from paribus.tables.table import Table

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector

# The minimum number of rows that a report explains.
MIN_REPORTED_ROWS = 50
# Rows by which the columns of a table are listed that is too large to be read for it.
MAX_LISTED_ROWS = 2**18


def detect(
    source: Source,
    roles: RoleOptions,
    out: Path | None,
    report: Path | None,
    top: int,
    as_json: bool,
    memory: str | None,
    parameters: dict[str, Any],
) -> None:
    """Finds the anomalies in a table, and prints or writes them."""
    limit = parse_memory(memory)
    if not roles.context:
        if roles.behavior or roles.categorical or out or report or as_json:
            raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
        print_overview(_look_into(source, limit), "detect", source)
        return
    if out is not None:
        check_format(out)
    check_outputs([source.file], {"--out": out, "--report": report})
    if report is not None:
        check_report(report)
    with ExitStack() as stack:
        fitted = fit_table(source, roles, parameters, stack, out=out, memory=limit, must_be_whole=report is not None)
        detector = fitted.detector
        if fitted.stream is not None:
            start = time.perf_counter()
            found = score_stream(detector, fitted.stream, roles.id, out, top, wants_bar())
            explanations = detector.explain_all(top, rows=found.rows) if len(found.scores) else []
            summary = Summary.of_stream(found)
            seconds = fitted.seconds + time.perf_counter() - start
        else:
            scores = fitted.scores()
            if out is not None:
                write_columns(out, scores.columns())
            explanations = detector.explain_all(top if report is None else max(top, MIN_REPORTED_ROWS))
            summary = Summary.of(scores, top)
            seconds = fitted.seconds
    _note_summary(detector, fitted.table, summary, seconds, is_fitted=True)
    if out is not None:
        note(f"the scores of all rows are in {out}")
    if report is not None:
        from paribus.output.report.names import RowNames

        names = RowNames(detector.view().store.original, roles.id)
        detector.write_report(report, explanations, names=names)
        note(f"the report is in {report}")
    _print_top(detector, fitted.table.name, summary, explanations[:top], as_json)


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
        fitted = fit_table(source, roles, parameters, stack, asked=row)
        _note_summary(fitted.detector, fitted.table, Summary.of(fitted.scores(), 0), fitted.seconds, is_fitted=True)
        explanation = fitted.detector.explain(find_row(fitted.table, roles.id, row))
        written = [] if plots is None else save_pictures(explanation, plots, row, chosen)
    if as_json:
        print_json(explanation.to_dict())
    else:
        print_explanation(explanation)
    if written:
        note(f"the pictures are {listed([str(path) for path in written], 'and')}")


def fit(source: Source, roles: RoleOptions, model: Path, memory: str | None, parameters: dict[str, Any]) -> None:
    """Fits a model to a table, and saves it."""
    limit = parse_memory(memory)
    if not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    check_outputs([source.file], {"--model": model})
    with ExitStack() as stack:
        fitted = fit_table(source, roles, parameters, stack, memory=limit)
    _note_summary(fitted.detector, fitted.table, Summary.of(fitted.scores(), 0), fitted.seconds, is_fitted=True)
    fitted.detector.save(model)
    note(f"the model is in {model}: score new rows with  paribus score {file_as_typed(str(model))} FILE")


def score(
    model: Path,
    source: Source,
    id: str | None,
    out: Path | None,
    top: int,
    as_json: bool,
    n_jobs: int,
    memory: str | None,
) -> None:
    """Scores the rows of a table with a saved model."""
    limit = parse_memory(memory)
    if out is not None:
        check_format(out)
    check_outputs([source.file, str(model)], {"--out": out})
    with loading():
        from paribus.detectors.load import load

    check_parameters({"n_jobs": n_jobs})
    detector = load(model).set_params(n_jobs=n_jobs, progress=wants_bar())
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

    def choose(there: list[str]) -> Wanted:
        return _check_columns(wanted, id, there)

    def check(columns: dict[str, Any]) -> None:
        for name in sorted(texts):
            known = [value for value in detector.categories_[name] if isinstance(value, str)]
            check_look(name, known, columns[name])

    if is_large(source, limit):
        _score_large(detector, source, choose, check, id, out, top, as_json)
        return
    table = source.read(choose)
    check(table.columns)
    _note_missing(table, names)
    start = time.perf_counter()
    rows = _with_all_columns(detector, table.columns)
    partial = detector.partial_scores(rows)
    total = detector.method.total(np.column_stack(list(partial.values())))
    scores = RowScores(total, partial, detector.threshold_, *row_labels(table, id))
    summary = Summary.of(scores, top)
    top_rows = {name: values[summary.positions] for name, values in rows.items()}
    explanations = detector.explain_all(top, rows=top_rows) if len(summary.positions) else []
    _note_unscored(summary)
    _note_summary(detector, table, summary, time.perf_counter() - start)
    if out is not None:
        write_columns(out, scores.columns())
        note(f"the scores of all rows are in {out}")
    _print_top(detector, table.name, summary, explanations, as_json)


def _score_large(
    detector: ContextualDetector,
    source: Source,
    choose: Choose,
    check: Callable[[dict[str, Any]], None],
    id: str | None,
    out: Path | None,
    top: int,
    as_json: bool,
) -> None:
    """Scores a table that is read in batches."""
    start = time.perf_counter()
    with ExitStack() as stack:
        stream = source.open(choose, stack)
        first = next(stream.batches())
        check(first)
        stream = stream.mapped(lambda columns: _with_all_columns(detector, columns))
        found = score_stream(detector, stream, id, out, top, wants_bar())
    summary = Summary.of_stream(found)
    explanations = detector.explain_all(top, rows=found.rows) if len(found.scores) else []
    _note_unscored(summary)
    table = ReadTable(stream.name, first, stream.n_rows)
    _note_summary(detector, table, summary, time.perf_counter() - start)
    if out is not None:
        note(f"the scores of all rows are in {out}")
    _print_top(detector, stream.name, summary, explanations, as_json)


def _with_all_columns(detector: ContextualDetector, columns: dict[str, Any]) -> dict[str, Any]:
    """The columns that the detector expects; if roles were given by position, those without a role are empty."""
    if detector.view().roles_by_name:
        return columns
    nothing = np.full(len(next(iter(columns.values()))), np.nan)
    return {name: columns.get(name, nothing) for name in detector.feature_names_in_}


def _note_unscored(summary: Summary) -> None:
    if n_unscored := summary.n_rows - summary.n_scored:
        note(
            f"{n_unscored:,} row(s) have no score, because neither they nor their reference groups have a behavioral "
            "value"
        )


def _look_into(source: Source, memory: int | None) -> ReadTable:
    """A table whose columns are to be listed: all of it, or the first rows of one that is too large."""
    if not is_large(source, memory):
        return source.read(all_columns)
    with ExitStack() as stack:
        stream = source.open(all_columns, stack)
        batches: list[dict[str, Any]] = []
        n_rows = 0
        for batch in stream.batches():
            batches.append(batch)
            n_rows += len(next(iter(batch.values())))
            if n_rows >= MAX_LISTED_ROWS:
                break
        if n_rows < stream.n_rows:
            note(f"{stream.name} has {stream.n_rows:,} rows: its columns are listed by the first {n_rows:,}")
        return ReadTable(stream.name, join_tables(batches), n_rows)


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


def _note_summary(
    detector: ContextualDetector, table: ReadTable, summary: Summary, seconds: float, *, is_fitted: bool = False
) -> None:
    context = [plain(name) for name in detector.contextual_features_ if _has_values(table, name)] or ["nothing"]
    if len(context) > 5:
        context = [*context[:4], f"{len(context) - 4} more"]
    found = f"{summary.n_flagged:,} with a score above {score_text(summary.threshold)}"
    if summary.n_flagged == 0 and summary.n_scored:
        # New rows are compared with the threshold of the fitted rows, which `--contamination` does not change.
        is_automatic = is_fitted and detector.contamination == "auto"
        advice = "--contamination 0.01" if is_automatic else ""
        found = none_above(summary.threshold, summary.lowest, summary.highest, advice)
    note(
        f"{counted(summary.n_rows, 'row')}, each compared with {detector.view().compared_with('row')} in "
        f"{listed(context, 'and')}; {found}; {seconds:.1f} s"
    )


def _print_top(
    detector: ContextualDetector,
    source: str,
    summary: Summary,
    explanations: Sequence[RowExplanation],
    as_json: bool,
) -> None:
    rows = list(zip(summary.labels, summary.positions, summary.ranks, summary.scores, explanations, strict=True))
    if not as_json:
        print_anomalies(
            summary.heading,
            [(plain(label), int(rank), float(score), explanation) for label, _, rank, score, explanation in rows],
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
            "source": source,
            "rows": summary.n_rows,
            "scored": summary.n_scored,
            "anomalies": summary.n_flagged,
            "threshold": summary.threshold,
            "n_neighbors": detector.n_neighbors_,
            "contextual": detector.contextual_features_,
            "behavioral": detector.behavioral_features_,
            "categorical": list(detector.categories_),
            "parameters": parameters,
            "top": [
                explanation.to_dict() | {"row": _plain(label), "position": int(position), "rank_in_file": int(rank)}
                for label, position, rank, _, explanation in rows
            ],
        }
    )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
