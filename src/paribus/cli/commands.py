"""What the commands do. This module is imported when one of them runs, so that the help appears quickly.

The detector, which takes longest to import, is imported after the table has been read.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.memory import allowed_memory
from paribus._common.text import counted, expected_text, listed, none_above, plain, score_text
from paribus.cli.columns import check_look, find_column
from paribus.cli.delivery import deliver, prepared
from paribus.cli.delivery_options import Delivery
from paribus.cli.fitting import carried_columns, find_row, fit_table, row_labels, wants_bar
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
from paribus.explain.known import KnownEntry, read_known, usable_rules
from paribus.io.reading import ReadTable, TableStream, Wanted
from paribus.io.reading.raw import all_columns
from paribus.io.writing import check_format
from paribus.io.writing.options import WriteOptions
from paribus.methods.parameters import check_parameters
from paribus.tables.joining import join_tables
from paribus.tables.table import NamedRows, Table, nearest_name

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector

# The number of rows from which columns are listed if the table is too large to be read.
MAX_LISTED_ROWS = 2**18


def detect(
    source: Source, roles: RoleOptions, wanted: Delivery, memory: str | None, learn: bool, parameters: dict[str, Any]
) -> int:
    """Finds the anomalies in a table, and delivers them. Returns the exit code."""
    limit = parse_memory(memory)
    if learn and wanted.known is None:
        raise ValueError("--learn needs --known PATH, which has the answers to learn from")
    if not roles.context:
        if roles.behavior or roles.categorical or wanted.is_anywhere:
            raise ValueError("choose the contextual columns with --context COLUMN,COLUMN")
        print_overview(_look_into(source, limit), "detect", source)
        return 0
    with prepared(wanted, [source.file]) as known, ExitStack() as stack, allowed_memory(limit):
        fitted = fit_table(source, roles, parameters, stack, wanted=wanted, known=known, memory=limit)
        detector = fitted.detector
        if fitted.stream is not None:
            if learn:
                raise ValueError("--learn needs a table that fits into memory: leave it out, or use fewer rows")
            return _deliver_large(detector, fitted.stream, roles.id, wanted, known, fitted.seconds, is_fitted=True)
        results = fitted.results()
        results.label_column = roles.id
        _note_summary(detector, fitted.table, Summary.of(results), fitted.seconds, is_fitted=True)
        if learn:
            results.ranking = detector.lesson(results.marks, results.entries).scores
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
        raise ValueError("the model has its own contextual and behavioral columns: leave out the options for columns")
    if model is not None and (given := sorted(parameters.keys() - {"method", "n_jobs"})):
        raise ValueError(f"the model has its own parameters: leave out --{given[0].replace('_', '-')}")
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
            fitted = fit_table(source, roles, parameters, stack, asked=row)
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
    with ExitStack() as stack, allowed_memory(limit):
        fitted = fit_table(source, roles, parameters, stack, known=entries, memory=limit)
    _note_summary(fitted.detector, fitted.table, Summary.of(fitted.results()), fitted.seconds, is_fitted=True)
    fitted.detector.save(model, note=fitted.table.name)
    note(f"the model is in {model}: score new rows with  paribus score {file_as_typed(str(model))} FILE")


def score(model: Path, source: Source, id: str | None, wanted: Delivery, n_jobs: int, memory: str | None) -> int:
    """Scores the rows of a table with a saved model. Returns the exit code."""
    limit = parse_memory(memory)
    with prepared(wanted, [source.file, str(model)]) as known, allowed_memory(limit):
        detector = _load(model, n_jobs)
        if wanted.out is not None:
            check_format(wanted.out, detector.behavioral_features_, WriteOptions(table=wanted.out_table))
        of_model = read_known(detector.view().known)
        reader = _Reader(detector, id, wanted, (*known, *of_model))
        with ExitStack() as stack:
            stream = source.open(reader.choose, stack) if is_large(source, limit) else None
            if stream is not None and stream.n_rows > reader.max_rows(stream, limit):
                reader.check(next(stream.batches()))
                entries = (*known, *_of_model(of_model, stream.names, id))
                stream = stream.mapped(lambda columns: _with_all_columns(detector, columns))
                return _deliver_large(detector, stream, id, wanted, entries, 0.0)
            table = reader.read(source, stream)
        start = time.perf_counter()
        labels, heading = row_labels(table, id)
        rows = _with_all_columns(detector, table.columns)
        results = detector.results(rows, known=known, labels=labels, heading=heading)
        results.label_column = id
        summary = Summary.of(results)
        _note_unscored(summary)
        _note_outside(detector)
        _note_summary(detector, table, summary, time.perf_counter() - start)
        return deliver(detector, results, table, wanted, id)


def _deliver_large(
    detector: ContextualDetector,
    stream: TableStream,
    id: str | None,
    wanted: Delivery,
    known: tuple[KnownEntry, ...],
    seconds: float,
    *,
    is_fitted: bool = False,
) -> int:
    """Scores a table that is read in batches, and delivers the results. Returns the exit code."""
    start = time.perf_counter()
    with ExitStack() as stack:
        found = score_stream(detector, stream, id, wanted, known, wants_bar(), stack, is_sampled=is_fitted)
        _note_outside(detector)
        summary = Summary.of(found.results)
        if not is_fitted:
            _note_unscored(summary)
        first = ReadTable(stream.name, next(stream.batches()), stream.n_rows)
        _note_summary(detector, first, summary, seconds + time.perf_counter() - start, is_fitted=is_fitted)
        return deliver(detector, found.results, first, wanted, id, lambda: found.write(wanted, wants_bar()))


def _of_model(known: tuple[KnownEntry, ...], names: list[str], id: str | None) -> tuple[KnownEntry, ...]:
    """What a model knows that applies to other rows: rules about columns that are there, and rows by their names."""
    by_name = () if id is None else tuple(entry for entry in known if entry.row is not None)
    return (*by_name, *usable_rules(known, names))


def _note_outside(detector: ContextualDetector) -> None:
    """Notes how many rows are outside the fitted time range."""
    with warnings_as_notes():
        detector.warn_outside()


def _note_unscored(summary: Summary) -> None:
    if n_unscored := summary.n_rows - summary.n_scored:
        note(
            f"{counted(n_unscored, 'row')} without a score: no behavioral column has a value both there and among "
            "comparable rows"
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
    detector: ContextualDetector = load(model).set_params(n_jobs=n_jobs, progress=wants_bar())
    if not detector.view().columns_have_names:
        raise ValueError(
            f"{model.name} was fitted to a table without column names, so it cannot find its columns in a file: "
            "fit it to a table with column names, or use it in Python"
        )
    return detector


class _Reader:
    """Reads the columns of a table that a model needs, and those that are passed through to the results."""

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
        """Which columns to read, and as which types. Raises an error if one is missing."""
        id, texts = self._id, self._texts
        chosen = self._names if id is None else [*self._names, id]
        for name in chosen:
            if name == id:
                find_column("--id", name, there)
            elif name not in there:
                hint = nearest_name(name, there).replace("choose from", "there are")
                raise ValueError(f"the model needs the column '{name}', which is not there{hint}")
        carried = carried_columns(chosen, there, self._wanted, self._known)
        return Wanted(
            [*chosen, *carried],
            frozenset(self._detector.view().behavior_columns) - self._detector.categories_.keys(),
            frozenset(texts if id is None else texts | {id}),
            strict=True,
            carried=frozenset(carried),
        )

    def max_rows(self, stream: TableStream, memory: int | None) -> int:
        """The maximum number of rows that are read into memory."""
        return sample_size(memory, len(stream.names), len(self._names), stream.n_rows)

    def check(self, columns: dict[str, Any]) -> None:
        """Raises an error if text looks entirely different from that of the fitted table."""
        for name in sorted(self._texts):
            known = [value for value in self._detector.categories_[name] if isinstance(value, str)]
            check_look(name, known, columns[name])

    def read(self, source: Source, stream: TableStream | None = None) -> ReadTable:
        """Reads a table, from a stream if it has been opened."""
        table = source.read(self.choose) if stream is None else stream.read()
        self.check(table.columns)
        _note_missing(table, self._names)
        return table


def _with_all_columns(detector: ContextualDetector, columns: dict[str, Any]) -> dict[str, Any]:
    """The columns that the detector expects; if roles were given by position, those without a role are empty."""
    if detector.view().roles_by_name:
        return columns
    nothing = np.full(len(next(iter(columns.values()))), np.nan)
    return {name: columns.get(name, nothing) for name in detector.feature_names_in_}


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
    if summary.n_flagged:
        found += f", where chance would give {expected_text(summary.expected)}"
    elif summary.n_scored:
        # New rows are compared with the threshold of the fitted rows, which `--contamination` does not change.
        is_automatic = is_fitted and detector.contamination == "auto"
        advice = "--contamination 0.01" if is_automatic else ""
        found = none_above(summary.threshold, summary.lowest, summary.highest, advice)
    note(
        f"{counted(summary.n_rows, 'row')}, each compared with {detector.view().compared_with('row')} in "
        f"{listed(context, 'and')}; {found}; {seconds:.1f} s"
    )
