"""The overview of a table: its columns, and a suggested command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paribus._common.arrays import Floats
from paribus._common.text import counted, plain
from paribus.cli.messages import as_typed, file_as_typed, one_line
from paribus.cli.options import Source
from paribus.cli.printing import print_table
from paribus.io.reading import ReadTable
from paribus.output.console import print_words
from paribus.tables.column import Kind, is_missing
from paribus.tables.column_format import ColumnFormat
from paribus.tables.table import Table

N_EXAMPLES = 3
MAX_NAME_LENGTH = 200  # characters
# Numeric columns with at most this many distinct values are more likely contextual than behavioral.
MAX_FEW_VALUES = 12
# Text with a larger share of distinct values only names the rows.
MIN_DISTINCT_SHARE = 0.5
MAX_SUGGESTED = 5  # columns per role


@dataclass(frozen=True)
class Column:
    """A summary of a column."""

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    n_rows: int
    examples: list[str]

    @property
    def is_name(self) -> bool:
        """Whether the values look like names of rows."""
        n_known = self.n_rows - self.n_missing
        return (
            self.kind is Kind.CATEGORICAL
            and n_known > MAX_FEW_VALUES
            and self.n_distinct > MIN_DISTINCT_SHARE * n_known
        )

    @property
    def can_be_typed(self) -> bool:
        """Whether the name is short and has no invisible or control characters."""
        return plain(self.name, MAX_NAME_LENGTH) == self.name

    @property
    def is_contextual(self) -> bool:
        """Whether the column looks contextual."""
        return (
            not self.is_name
            and self.n_distinct > 1
            and (self.kind is not Kind.NUMERIC or self.n_distinct <= MAX_FEW_VALUES)
        )


def print_overview(read: ReadTable, command: str, source: Source) -> None:
    """Prints the columns, and a command that could follow, which reads the table with the same options."""
    columns = look_at(read)
    print_table(
        ["column", "type", "missing", "distinct", "examples"],
        [[plain(c.name), c.kind.value, str(c.n_missing), str(c.n_distinct), ", ".join(c.examples)] for c in columns],
    )
    rows = counted(read.n_rows, "row")
    print_words(f"\n{one_line(read.name)}: {rows}. Choose the contextual and the behavioral columns, for example:\n")
    context, behavior = suggest([column for column in columns if column.can_be_typed])
    start = " ".join([f"  paribus {command}", file_as_typed(source.file), *_options(source)])
    if not context or not behavior:
        print(f"{start} --context COLUMN,COLUMN --behavior COLUMN")
        print_words("\nBehavioral columns must be numeric, and at least one other column is needed as context.")
        return
    print(f"{start} --context {_typed(context)} --behavior {_typed(behavior)}")
    print_words("\nThis is a guess from the types of the columns: adjust it to what they mean.")
    if left_out := [f"{plain(c.name)} ({_reason(c)})" for c in columns if c not in context and c not in behavior]:
        print_words(f"Not in it: {', '.join(left_out)}.")


def _reason(column: Column) -> str:
    """Why a column is not part of the suggested command."""
    if not column.can_be_typed:
        return "its name cannot be typed"
    if column.n_missing == column.n_rows:
        return "no values"
    if column.n_distinct <= 1:
        return "always the same"
    if column.is_name:
        return "names the rows: --id"
    return "unsupported values" if column.kind is Kind.UNUSABLE else f"more than {MAX_SUGGESTED} others"


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
        columns.append(Column(name, kind, n_missing, n_distinct, len(values), examples))
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


def suggest(columns: list[Column]) -> tuple[list[Column], list[Column]]:
    """Columns that may be contextual, and columns that may be behavioral."""
    context = [column for column in columns if column.is_contextual]
    behavior = [c for c in columns if c.kind is Kind.NUMERIC and c.n_distinct > 1 and c not in context]
    if not context:
        # All columns are numeric: the first ones are more often contextual.
        half = len(behavior) // 2
        context, behavior = behavior[:half], behavior[half:]
    if not behavior:
        numbers = [column for column in context if column.kind is Kind.NUMERIC]
        behavior = numbers[-1:]
        context = [column for column in context if column not in behavior]
    return context[:MAX_SUGGESTED], behavior[:MAX_SUGGESTED]


def _options(source: Source) -> list[str]:
    """The options for reading the table, as they were typed."""
    pairs = [("--sql", source.sql), ("--separator", source.separator), ("--encoding", source.encoding)]
    pairs += [("--date-order", source.date_order), ("--decimal", source.decimal)]
    pairs += [("--missing", text) for text in source.missing]
    header = {True: ["--header"], False: ["--no-header"], None: []}[source.header]
    return [*(f"{option} {as_typed(value)}" for option, value in pairs if value is not None), *header]


def _typed(columns: list[Column]) -> str:
    """The names of columns as the value of an option, quoted for a shell."""
    names = ['"' + c.name.replace('"', '""') + '"' if set(c.name) & set(',"') else c.name for c in columns]
    return shlex.quote(",".join(names))
