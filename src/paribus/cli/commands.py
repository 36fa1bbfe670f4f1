"""What the commands do. This module is imported when one of them runs, so that the help appears quickly.

The detector, which takes longest to import, is imported after the table has been read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.progress import reporter
from paribus._common.text import counted, listed, none_above, plain, score_text
from paribus.cli.columns import ChosenColumns, check_look, find_column
from paribus.cli.delivery import check_whole, columns_of, deliver, deliver_summary, prepared
from paribus.cli.delivery_options import Columns, Delivery
from paribus.cli.large import is_large, parse_memory, sample_size, score_stream
from paribus.cli.messages import file_as_typed, note, warnings_as_notes
from paribus.cli.options import RoleOptions, Source
from paribus.cli.outputs import check_outputs, output_folder
from paribus.cli.overview import print_overview
from paribus.cli.pictures import check_formats, require_matplotlib, save_pictures
from paribus.cli.printing import print_explanation, print_json
from paribus.cli.signals import loading
from paribus.cli.summary import Summary
from paribus.explain.explanation import RowExplanation
from paribus.explain.known import KnownEntry, read_known
from paribus.io.reading import ReadTable, TableStream, Wanted
from paribus.io.reading.raw import all_columns
from paribus.io.writing import check_format
from paribus.io.writing.options import WriteOptions
from paribus.methods.parameters import check_parameters
from paribus.methods.registry import REGISTRY, Entry, find_by_option
from paribus.tables.rows import unnamed
from paribus.tables.table import NamedRows, Table, nearest_name

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector
    from paribus.output.results import Results


def detect(source: Source, roles: RoleOptions, wanted: Delivery, memory: str | None, parameters: dict[str, Any]) -> int:
    """Finds the anomalies in a table, and delivers them. Returns the exit code."""
    limit = parse_memory(memory)
    if not roles.context:
        if roles.behavior or roles.categorical or wanted.is_anywhere:
            raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
        print_overview(_look_into(source, limit), "detect", source)
        return 0
    with prepared(wanted, [source.file]) as known, ExitStack() as stack:
        fitted = _fit(source, roles, parameters, stack, wanted=wanted, known=known, memory=limit)
        detector = fitted.detector
        if fitted.stream is not None:
            return _deliver_large(detector, fitted.stream, roles.id, wanted, fitted.seconds, is_fitted=True)
        results = fitted.results()
        _note_summary(detector, fitted.table, Summary.of(results), fitted.seconds, is_fitted=True)
        return deliver(detector, results, fitted.table, wanted, roles.id)


def explain(
    source: Source | None,
    roles: RoleOptions,
    model: Path | None,
    row: str,
    plots: Path | None,
    formats: list[str] | None,
    as_json: bool,
    full: bool,
    parameters: dict[str, Any],
) -> None:
    """Explains one row: of a table, or of the rows of a model."""
    if source is None and model is None:
        raise ValueError("name a FILE whose row to explain, or a model with --model PATH")
    if model is None and not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    if model is not None and (roles.context or roles.behavior or roles.categorical):
        raise ValueError("a model has its contextual and behavioral columns: leave out the options for columns")
    if model is not None and (given := sorted(parameters.keys() - {"method", "n_jobs"})):
        raise ValueError(f"a model has its parameters: leave out --{given[0].replace('_', '-')}")
    chosen = check_formats(formats or ["svg", "png"])
    if formats and plots is None:
        raise ValueError("--format needs --plots FOLDER, which is where pictures are saved")
    with ExitStack() as stack:
        if plots is not None:
            require_matplotlib()
            stack.enter_context(output_folder(plots))
        if model is not None:
            explanation = _explain_with(model, source, roles.id, row, parameters["n_jobs"])
        else:
            assert source is not None
            fitted = _fit(source, roles, parameters, stack, asked=row)
            _note_summary(fitted.detector, fitted.table, Summary.of(fitted.results()), fitted.seconds, is_fitted=True)
            explanation = fitted.detector.explain(find_row(fitted.table, roles.id, row))
        written = [] if plots is None else save_pictures(explanation, plots, row, chosen)
    if as_json:
        print_json(explanation.to_dict() if full else explanation.to_short_dict())
    else:
        print_explanation(explanation)
    if written:
        note(f"the pictures are {listed([str(path) for path in written], 'and')}")


def _explain_with(model: Path, source: Source | None, id: str | None, row: str, n_jobs: int) -> RowExplanation:
    """Explains a row of a model, or a row of another table with a model."""
    detector = _load(model, n_jobs)
    if source is None:
        original = detector.view().store.original
        labels = original.labels()
        if labels is None:
            if not row.strip().isdecimal() or int(row) >= original.n_rows:
                raise ValueError(f"there is no row {row}: the rows of the model are 0 to {original.n_rows - 1}")
            return detector.explain(int(row))
        names = [str(label) for label in labels]
        if row not in names:
            raise ValueError(f"the model has no row {row}{nearest_name(row, names).replace('choose from', 'such as')}")
        return detector.explain(names.index(row))
    table = _Reader(detector, id).read(source)
    position = find_row(table, id, row)
    one = {name: values[position : position + 1] for name, values in _with_all_columns(detector, table.columns).items()}
    return detector.explain_all(1, rows=NamedRows(one, np.array([row], dtype=object)))[0]


def fit(
    source: Source,
    roles: RoleOptions,
    model: Path,
    known: Path | None,
    memory: str | None,
    parameters: dict[str, Any],
) -> None:
    """Fits a model to a table, and saves it."""
    limit = parse_memory(memory)
    if not roles.context:
        raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
    check_outputs([source.file] if known is None else [source.file, str(known)], {"--model": model})
    entries = () if known is None else read_known(known)
    with ExitStack() as stack:
        fitted = _fit(source, roles, parameters, stack, known=entries, memory=limit)
    _note_summary(fitted.detector, fitted.table, Summary.of(fitted.results()), fitted.seconds, is_fitted=True)
    fitted.detector.save(model, note=fitted.table.name)
    note(f"the model is in {model}: score new rows with  paribus score {file_as_typed(str(model))} FILE")


def score(model: Path, source: Source, id: str | None, wanted: Delivery, n_jobs: int, memory: str | None) -> int:
    """Scores the rows of a table with a saved model. Returns the exit code."""
    limit = parse_memory(memory)
    with prepared(wanted, [source.file, str(model)]) as known:
        detector = _load(model, n_jobs)
        if wanted.out is not None:
            check_format(wanted.out, detector.behavioral_features_, WriteOptions(table=wanted.out_table))
        reader = _Reader(detector, id, wanted, known)
        if is_large(source, limit):
            check_whole(wanted)
            with ExitStack() as stack:
                stream = source.open(reader.choose, stack)
                reader.check(next(stream.batches()))
                stream = stream.mapped(lambda columns: _with_all_columns(detector, columns))
                return _deliver_large(detector, stream, id, wanted, 0.0)
        table = reader.read(source)
        start = time.perf_counter()
        labels, heading = _row_labels(table, id)
        rows = _with_all_columns(detector, table.columns)
        results = detector.results(rows, known=known, labels=labels, heading=heading)
        summary = Summary.of(results)
        _note_unscored(summary)
        _note_outside(detector)
        _note_summary(detector, table, summary, time.perf_counter() - start)
        return deliver(detector, results, table, wanted, None)


def _deliver_large(
    detector: ContextualDetector,
    stream: TableStream,
    id: str | None,
    wanted: Delivery,
    seconds: float,
    *,
    is_fitted: bool = False,
) -> int:
    """Scores a table that is read in batches, and delivers the results. Returns the exit code."""
    start = time.perf_counter()
    found = score_stream(detector, stream, id, wanted, _wants_bar())
    _note_outside(detector)
    explanations = detector.explain_all(wanted.top, rows=found.rows) if len(found.scores) else []
    share = float(detector.view().p_values(np.array([detector.threshold_]))[0])
    summary = Summary.of_stream(found, share)
    if not is_fitted:
        _note_unscored(summary)
    first = ReadTable(stream.name, next(stream.batches()), stream.n_rows)
    _note_summary(detector, first, summary, seconds + time.perf_counter() - start, is_fitted=is_fitted)
    return deliver_summary(detector, stream.name, summary, explanations, wanted)


def _note_outside(detector: ContextualDetector) -> None:
    """Says how many rows are outside of the fitted time."""
    with warnings_as_notes():
        detector.warn_outside()


def _note_unscored(summary: Summary) -> None:
    if n_unscored := summary.n_rows - summary.n_scored:
        note(
            f"{n_unscored:,} row(s) have no score, because neither they nor their reference groups have a behavioral "
            "value"
        )


def show(model: Path, as_json: bool) -> None:
    """Prints what a model was fitted to, when, and how well it is calibrated."""
    from paribus.cli.show import as_words, describe
    from paribus.output.console import print_words

    facts = describe(model, _load(model, -1))
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        print_words(f"{name.replace('_', ' ')}: {value if isinstance(value, str) else as_words(value)}")


def _load(model: Path, n_jobs: int) -> ContextualDetector:
    with loading():
        from paribus.detectors.load import load

    check_parameters({"n_jobs": n_jobs})
    detector: ContextualDetector = load(model).set_params(n_jobs=n_jobs, progress=_wants_bar())
    if not detector.view().columns_have_names:
        raise ValueError(
            f"{model.name} was fitted to a table without column names, so it cannot find its columns in a file: "
            "fit it to a table with column names, or use it in Python"
        )
    return detector


class _Reader:
    """Reads the columns of a table that a model needs, and those that results are to carry along."""

    def __init__(
        self,
        detector: ContextualDetector,
        id: str | None,
        wanted: Delivery | None = None,
        known: tuple[KnownEntry, ...] = (),
    ) -> None:
        self._detector, self._id, self._wanted, self._known = detector, id, wanted, known
        self._names = [*detector.contextual_features_, *detector.view().behavior_columns]
        # Codes such as 007 were text when the model was fitted, so they are text now.
        self._texts = {
            name for name, each in detector.categories_.items() if any(isinstance(value, str) for value in each)
        }

    def choose(self, there: list[str]) -> Wanted:
        """Which columns to read, and as which types. Raises an error if one is not there."""
        id, texts = self._id, self._texts
        chosen = self._names if id is None else [*self._names, id]
        for name in chosen:
            find_column("--id" if name == id else "the model needs a column", name, there)
        carried = _carried(chosen, there, self._wanted, self._known)
        return Wanted(
            [*chosen, *carried],
            frozenset(self._detector.view().behavior_columns) - self._detector.categories_.keys(),
            frozenset(texts if id is None else texts | {id}),
            strict=True,
            carried=frozenset(carried),
        )

    def check(self, columns: dict[str, Any]) -> None:
        """Raises an error if text looks entirely different from that of the fitted table."""
        for name in sorted(self._texts):
            known = [value for value in self._detector.categories_[name] if isinstance(value, str)]
            check_look(name, known, columns[name])

    def read(self, source: Source) -> ReadTable:
        """Reads a table."""
        table = source.read(self.choose)
        self.check(table.columns)
        _note_missing(table, self._names)
        return table


def _carried(
    chosen: Sequence[str], there: Sequence[str], wanted: Delivery | None, known: tuple[KnownEntry, ...]
) -> list[str]:
    """The columns without a role that results are to show, or that rules are about."""
    is_all = wanted is not None and (
        (wanted.out is not None and wanted.columns is Columns.ALL) or wanted.report is not None
    )
    asked = columns_of(known)
    return [name for name in there if name not in chosen and (is_all or name in asked)]


def _with_all_columns(detector: ContextualDetector, columns: dict[str, Any]) -> dict[str, Any]:
    """The columns that the detector expects; if roles were given by position, those without a role are empty."""
    if detector.view().roles_by_name:
        return columns
    nothing = np.full(len(next(iter(columns.values()))), np.nan)
    return {name: columns.get(name, nothing) for name in detector.feature_names_in_}


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

    def results(self) -> Results:
        """The results for the fitted rows."""
        return self.detector.results(labels=self.labels, heading=self.heading)


def _fit(
    source: Source,
    roles: RoleOptions,
    parameters: dict[str, Any],
    stack: ExitStack,
    *,
    asked: str | None = None,
    wanted: Delivery | None = None,
    known: tuple[KnownEntry, ...] = (),
    memory: int | None = None,
) -> _FittedTable:
    """Reads a table and fits a detector to it, or to a sample of its rows if it is too large.

    Raises an error before the fit if the row `asked` does not exist, or if a file cannot hold the names of the columns.
    """
    chosen = ChosenColumns(
        roles,
        lambda used, there: _carried(used, there, wanted, known),
        find_by_option(parameters["method"]).judges_categories,
    )
    out = None if wanted is None else wanted.out
    option, parameters = parameters["method"], {k: v for k, v in parameters.items() if k != "method"}
    check_parameters(parameters)
    stream: TableStream | None = None
    if asked is None and is_large(source, memory):
        table, stream = _sample(source.open(chosen.choose, stack), chosen, memory, wanted)
    else:
        table = source.read(chosen.choose)
    if asked is not None:
        find_row(table, roles.id, asked)
    if out is not None:
        others = [name for name, values in table.columns.items() if values.dtype.kind in "fiu"]
        behavior = chosen.behavioral or [name for name in others if name not in (chosen.contextual or [])]
        check_format(out, behavior, WriteOptions(table=wanted.out_table if wanted is not None else ""))
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
        detector.fit(table.columns if labels is None else NamedRows(table.columns, labels), known=known)
    # What follows is quick, and a progress bar would only flicker.
    detector.set_params(progress=False)
    return _FittedTable(detector, table, labels, heading, detector.fit_seconds_, stream)


def _sample(
    stream: TableStream, chosen: ChosenColumns, memory: int | None, wanted: Delivery | None
) -> tuple[ReadTable, TableStream | None]:
    """The rows to fit, and the stream if they are not all."""
    n_rows = sample_size(memory, len(stream.names))
    if wanted is not None and stream.n_rows > n_rows:
        check_whole(wanted, f"{stream.n_rows:,} are too many for it here", f"a table of up to {n_rows:,} rows")
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
    if summary.n_flagged:
        found += f", where chance would give {score_text(summary.expected)}"
    elif summary.n_scored:
        # New rows are compared with the threshold of the fitted rows, which `--contamination` does not change.
        is_automatic = is_fitted and detector.contamination == "auto"
        advice = "--contamination 0.01" if is_automatic else ""
        found = none_above(summary.threshold, summary.lowest, summary.highest, advice)
    note(
        f"{counted(summary.n_rows, 'row')}, each compared with {detector.view().compared_with('row')} in "
        f"{listed(context, 'and')}; {found}; {seconds:.1f} s"
    )
