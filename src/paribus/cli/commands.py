"""What the commands do. This module is imported when one of them runs, so that the help appears quickly.

The detector, which takes longest to import, is imported after the table has been read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.progress import reporter
from paribus._common.text import counted, listed, none_above, plain, score_text
from paribus.cli.columns import ChosenColumns, check_look, find_column
from paribus.cli.large import is_large, parse_memory, sample_size, score_stream
from paribus.cli.messages import file_as_typed, note, warnings_as_notes
from paribus.cli.options import RoleOptions, Source
from paribus.cli.outputs import check_outputs, check_report, output_folder
from paribus.cli.overview import print_overview
from paribus.cli.pictures import check_formats, require_matplotlib, save_pictures
from paribus.cli.printing import print_anomalies, print_explanation, print_json
from paribus.cli.signals import loading
from paribus.cli.summary import Summary
from paribus.explain.explanation import RowExplanation
from paribus.io.reading import Choose, ReadTable, TableStream, Wanted
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
        fitted = _fit(source, roles, parameters, stack, out=out, memory=limit, must_be_whole=report is not None)
        detector = fitted.detector
        if fitted.stream is not None:
            start = time.perf_counter()
            found = score_stream(detector, fitted.stream, roles.id, out, top, _wants_bar())
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
        fitted = _fit(source, roles, parameters, stack, asked=row)
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
        fitted = _fit(source, roles, parameters, stack, memory=limit)
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
    detector = load(model).set_params(n_jobs=n_jobs, progress=_wants_bar())
    if out is not None:
        check_format(out, detector.behavioral_features_)
    if not detector.view().columns_have_names:
        raise ValueError(
            f"{model.name} was fitted to a table without column names, so it cannot find its columns in a file: "
            "fit it to a table with column names, or use it in Python"
        )
    behavior = detector.view().behavior_columns
    names = [*detector.contextual_features_, *behavior]
    # Codes such as 007 were text when the model was fitted, so they are text now.
    texts = {name for name, each in detector.categories_.items() if any(isinstance(value, str) for value in each)}
    wanted = Wanted(
        names if id is None else [*names, id],
        frozenset(name for name in behavior if name not in detector.categories_),
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
    with warnings_as_notes():
        partial = detector.partial_scores(rows)
    total = detector.method.total(np.column_stack(list(partial.values())))
    scores = RowScores(total, partial, detector.threshold_, *_row_labels(table, id))
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
        found = score_stream(detector, stream, id, out, top, _wants_bar())
    with warnings_as_notes():
        detector.warn_outside()
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


def _look_into(source: Source, memory: int | None) -> ReadTable:
    """A table whose columns are to be listed: all of it, or the first rows of one that is too large."""
    if not is_large(source, memory):
        return source.read(all_columns)
    with ExitStack() as stack:
        stream = source.open(all_columns, stack)
        first = next(stream.batches())
        n_rows = len(next(iter(first.values())))
        if n_rows < stream.n_rows:
            note(f"{stream.name} has {stream.n_rows:,} rows: its columns are listed by the first {n_rows:,}")
        return ReadTable(stream.name, first, n_rows)


@dataclass(frozen=True)
class _FittedTable:
    """A detector that was fitted to a table."""

    detector: ContextualDetector
    table: ReadTable
    """The rows that it was fitted to."""
    labels: Any
    heading: str
    seconds: float
    stream: TableStream | None = None
    """All rows, if the detector was fitted to a sample."""

    def scores(self) -> RowScores:
        """The scores of the fitted rows."""
        found = self.detector
        return RowScores(
            found.anomaly_scores_, dict(found.partial_scores_), found.threshold_, self.labels, self.heading
        )


def _fit(
    source: Source,
    roles: RoleOptions,
    parameters: dict[str, Any],
    stack: ExitStack,
    *,
    asked: str | None = None,
    out: Path | None = None,
    memory: int | None = None,
    must_be_whole: bool = False,
) -> _FittedTable:
    """Reads a table and fits a detector to it, or to a sample of its rows if it is too large.

    Raises an error before the fit if the row `asked` does not exist, or if `out` cannot hold the names of the columns.
    """
    chosen = ChosenColumns(roles, find_by_option(parameters["method"]).judges_categories)
    option, parameters = parameters["method"], {k: v for k, v in parameters.items() if k != "method"}
    check_parameters(parameters)
    stream: TableStream | None = None
    if asked is None and is_large(source, memory):
        table, stream = _sample(source.open(chosen.choose, stack), chosen, memory, must_be_whole)
    else:
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
        chosen.contexts or chosen.contextual or [],
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
    return _FittedTable(detector, table, labels, heading, detector.fit_seconds_, stream)


def _sample(
    stream: TableStream, chosen: ChosenColumns, memory: int | None, must_be_whole: bool
) -> tuple[ReadTable, TableStream | None]:
    """The rows to fit, and the stream if they are not all."""
    n_rows = sample_size(memory, len(stream.names))
    if must_be_whole and stream.n_rows > n_rows:
        raise ValueError(
            f"a report holds all rows, and {stream.n_rows:,} are too many for it here: leave out --report, or make one "
            f"of a table of up to {n_rows:,} rows"
        )
    with loading():
        from paribus.tables.row_sample import sample_rows
        from paribus.tables.streams import TableBatches
    with reporter(_wants_bar(), stream.n_rows, "Reading") as tick:
        sample = sample_rows(
            TableBatches(stream.batches, stream.n_rows),
            chosen.contexts or chosen.contextual or [],
            chosen.behavioral,
            categorical=chosen.categorical,
            key=chosen.typed.id,
            n_rows=n_rows,
            tick=tick,
        )
    columns: dict[str, Any] = sample.table
    n_drawn = len(next(iter(columns.values())))
    if not sample.is_complete:
        note(f"{stream.name} has {sample.n_rows:,} rows: the detector is fitted to a sample of {n_drawn:,}")
    return ReadTable(stream.name, columns, n_drawn), None if sample.is_complete else stream


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
