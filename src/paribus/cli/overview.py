"""The overview of a table: its columns, and a suggested command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import counted, plain
from paribus.cli.messages import as_typed, file_as_typed, one_line
from paribus.cli.options import Source
from paribus.cli.printing import print_table
from paribus.cli.signals import loading
from paribus.io.reading import ReadTable
from paribus.output.console import print_words
from paribus.tables.column import Kind, is_missing
from paribus.tables.column_format import ColumnFormat
from paribus.tables.table import Table

if TYPE_CHECKING:
    from paribus.advice.suggestion import Advice

N_EXAMPLES = 3
MAX_NAME_LENGTH = 200  # characters


@dataclass(frozen=True)
class Column:
    """A summary of a column."""

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    examples: list[str]

    @property
    def can_be_typed(self) -> bool:
        """Whether the name is short and has no invisible or control characters."""
        return plain(self.name, MAX_NAME_LENGTH) == self.name


def print_overview(read: ReadTable, command: str, source: Source) -> None:
    """Prints the columns, and a command that could follow, which reads the table with the same options."""
    with loading():
        from paribus.detectors.context_advice import suggest_context
    columns = look_at(read)
    advice = suggest_context(read.columns)
    natures = {look.name: look.nature.value for look in advice.looks}
    print_table(
        ["column", "type", "missing", "distinct", "looks like", "examples"],
        [
            [plain(c.name), c.kind.value, str(c.n_missing), str(c.n_distinct), natures[c.name], ", ".join(c.examples)]
            for c in columns
        ],
    )
    rows = counted(read.n_rows, "row")
    print_words(f"\n{one_line(read.name)}: {rows}. Choose the contextual and the behavioral columns, for example:\n")
    if not print_command(advice, columns, command, source):
        print_words("\nAt least one column is needed as context, and another one as behavior.")
        return
    left_out = [f"{plain(name)} ({one_line(why)})" for name, why in advice.left_out.items() if name != advice.id]
    if left_out:
        print_words(f"\nNot in it: {', '.join(left_out)}.")
    for alarm in advice.alarms:
        print_words(f"\nWarning: {one_line(alarm)}.")
    words = f"paribus context {file_as_typed(source.file)}"
    print_words(
        "\nA guess from the kinds of columns and how well they predict each other: adjust it to what they mean.\n"
        f"The reasons:  {words}"
    )


def print_command(advice: Advice, columns: list[Column], command: str, source: Source) -> bool:
    """Prints a command that could follow, and returns whether it is complete."""
    can_be_typed = {column.name for column in columns if column.can_be_typed}
    context = [name for name in advice.contextual if name in can_be_typed]
    behavior = [name for name in advice.behavioral if name in can_be_typed]
    start = " ".join([f"  paribus {command}", file_as_typed(source.file), *_options(source)])
    if not context:
        # No column predicts anything: those that look like circumstances may still be useful.
        context = [name for name in advice.candidates if name in can_be_typed]
    if not context or not behavior:
        print(f"{start} --context COLUMN,COLUMN --behavior COLUMN")
        return False
    named = f" --id {shlex.quote(advice.id)}" if advice.id in can_be_typed and advice.id is not None else ""
    print(f"{start} --context {_typed(context)} --behavior {_typed(behavior)}{named}")
    return True


def look_at(read: ReadTable) -> list[Column]:
    """Summarizes each column."""
    table = Table(read.columns)
    columns = []
    for position, (name, values) in enumerate(read.columns.items()):
        kind = table.kind(position)
        numbers = table.numbers(position) if kind.is_number else None
        n_missing, n_distinct, first = _count_objects(values) if numbers is None else _count_numbers(numbers)
        write = ColumnFormat.fit(table, position, numbers)
        examples = [plain(write(value), 20) for value in first]
        columns.append(Column(name, kind, n_missing, n_distinct, examples))
    return columns


def _count_numbers(values: Floats) -> tuple[int, int, list[float]]:
    """The number of missing and of distinct values, and the first few of the latter.

    >>> _count_numbers(np.array([2.0, np.nan, 2.0, 1.0]))
    (1, 2, [2.0, 1.0])
    """
    known = values[~np.isnan(values)]
    first: list[float] = []
    rest = known
    while rest.size and len(first) < N_EXAMPLES:
        first.append(float(rest[0]))
        rest = rest[rest != rest[0]]
    return len(values) - len(known), len(np.unique(known)), first


def _count_objects(values: npt.NDArray[Any]) -> tuple[int, int, list[Any]]:
    listed = values.tolist()
    distinct = [value for value in dict.fromkeys(listed) if not is_missing(value)]
    n_missing = listed.count(None) if None in listed else 0
    return n_missing, len(distinct), distinct[:N_EXAMPLES]


def _options(source: Source) -> list[str]:
    """The options for reading the table, as they were typed."""
    pairs = [("--sql", source.sql), ("--separator", source.separator), ("--encoding", source.encoding)]
    pairs += [("--date-order", source.date_order), ("--decimal", source.decimal)]
    pairs += [("--missing", text) for text in source.missing]
    pairs += [("--limit", text) for text in source.limits]
    header = {True: ["--header"], False: ["--no-header"], None: []}[source.header]
    return [*(f"{option} {as_typed(value)}" for option, value in pairs if value is not None), *header]


def _typed(columns: list[str]) -> str:
    """The names of columns as the value of an option, quoted for a shell."""
    names = ['"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in columns]
    return shlex.quote(",".join(names))
