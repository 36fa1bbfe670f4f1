"""A table that is read and fitted, at once or by a sample of its rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._common.progress import reporter
from paribus._common.text import listed, plain
from paribus.cli.columns import ChosenColumns
from paribus.cli.delivery import columns_of
from paribus.cli.delivery_options import Columns, Delivery
from paribus.cli.large import check_rows_fit, is_large, sample_size
from paribus.cli.messages import note, warnings_as_notes
from paribus.cli.options import RoleOptions, Source
from paribus.cli.signals import loading
from paribus.explain.known import CONFIRMED, KnownEntry
from paribus.io.reading import ReadTable, TableStream
from paribus.io.writing import check_format
from paribus.io.writing.options import WriteOptions
from paribus.methods.parameters import check_parameters
from paribus.methods.registry import REGISTRY, Entry, find_by_option
from paribus.tables.rows import unnamed
from paribus.tables.table import NamedRows

if TYPE_CHECKING:
    from paribus.detectors.base import ContextualDetector
    from paribus.output.results import Results

# The maximum number of columns that a note lists.
MAX_LISTED = 12


@dataclass(frozen=True)
class FittedTable:
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


def fit_table(
    source: Source,
    roles: RoleOptions,
    parameters: dict[str, Any],
    stack: ExitStack,
    *,
    asked: str | None = None,
    wanted: Delivery | None = None,
    known: tuple[KnownEntry, ...] = (),
    memory: int | None = None,
) -> FittedTable:
    """Reads a table and fits a detector to it, or to a sample of its rows if it is too large.

    Raises an error before the fit if the row `asked` does not exist, or if a file cannot hold the names of the columns.
    """
    chosen = ChosenColumns(
        roles,
        lambda used, there: carried_columns(used, there, wanted, known),
        find_by_option(parameters["method"]).judges_categories,
    )
    out = None if wanted is None else wanted.out
    option, parameters = parameters["method"], {k: v for k, v in parameters.items() if k != "method"}
    check_parameters(parameters)
    stream: TableStream | None = None
    if asked is None and is_large(source, memory):
        table, stream = _sample(source.open(chosen.choose, stack), chosen, memory)
    else:
        table = source.read(chosen.choose)
    if asked is not None:
        find_row(table, roles.id, asked)
    check_rows_fit(table.name, table.n_rows, len(table.columns))
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
        progress=wants_bar(),
        **parameters,
    )
    labels, heading = row_labels(table, roles.id)
    if stream is not None and labels is None:
        # Rows of a sample are identified by their content, not by their number in the table.
        numbered = [entry for entry in known if entry.row is not None]
        known = tuple(entry for entry in known if entry.row is None)
        if any(entry.status == CONFIRMED for entry in numbered):
            note(
                "confirmed rows are not listed again, but the fit may use them: name rows by --id COLUMN to avoid that"
            )
    with warnings_as_notes():
        detector.fit(table.columns if labels is None else NamedRows(table.columns, labels), known=known)
    if chosen.behavioral is None and not chosen.contexts:
        _note_behavior(detector)
    # What follows is quick, and a progress bar would only flicker.
    detector.set_params(progress=False)
    return FittedTable(detector, table, labels, heading, detector.fit_seconds_, stream)


def _note_behavior(detector: ContextualDetector) -> None:
    """Notes which columns are judged if none were chosen."""
    names = [plain(name) for name in detector.behavioral_features_]
    shown = names if len(names) <= MAX_LISTED else [*names[: MAX_LISTED - 1], f"{len(names) - MAX_LISTED + 1} more"]
    note(f"without --behavior, every other numeric column is judged: {listed(shown, 'and')}")


def _sample(stream: TableStream, chosen: ChosenColumns, memory: int | None) -> tuple[ReadTable, TableStream | None]:
    """The rows to fit, and the stream if they are not all."""
    n_rows = sample_size(memory, len(stream.names), chosen.n_fitted(stream.names), stream.n_rows)
    check_rows_fit(stream.name, min(n_rows, stream.n_rows), len(stream.names))
    with loading():
        from paribus.tables.row_sample import sample_rows
        from paribus.tables.streams import TableBatches
    with reporter(wants_bar(), stream.n_rows, "Reading") as tick:
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
    return ReadTable(stream.name, columns, n_drawn, stream.types.found), None if sample.is_complete else stream


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


def row_labels(table: ReadTable, id: str | None) -> tuple[Any, str]:
    """The labels of the rows, and the heading of their column."""
    return (None, "row") if id is None else (_labels(table, id), "id")


def _labels(table: ReadTable, id: str) -> Any:
    """The values of the column of names, with a generated name where one is missing."""
    labels = table.columns[id].copy()
    names = set(labels)
    for row, label in enumerate(labels):
        if label is None:
            labels[row] = unnamed(row, names)
    return labels


def carried_columns(
    chosen: Sequence[str], there: Sequence[str], wanted: Delivery | None, known: tuple[KnownEntry, ...]
) -> list[str]:
    """The columns without a role that results are to show, or that rules are about."""
    is_all = wanted is not None and (
        (wanted.out is not None and wanted.columns is Columns.ALL) or wanted.report is not None
    )
    asked = columns_of(known)
    return [name for name in there if name not in chosen and (is_all or name in asked)]


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


def wants_bar() -> bool:
    """Whether to show a progress bar: in a terminal."""
    return sys.stderr.isatty() and sys.stdout.isatty()
