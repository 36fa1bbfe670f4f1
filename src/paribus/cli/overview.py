"""The columns of a table, and how to go on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

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
LONGEST_NAME = 200
# Numbers with no more distinct values than this are more likely circumstances than behaviour.
FEW = 12
# A text that is different in more of the rows than this says nothing about a row but its name.
MOSTLY_DISTINCT = 0.5
# More would not be a suggestion.
MOST_SUGGESTED = 5


@dataclass(frozen=True)
class Column:
    """What there is to know of a column."""

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    n_rows: int
    examples: list[str]

    @property
    def is_name(self) -> bool:
        """Whether the values seem to name rows."""
        n_known = self.n_rows - self.n_missing
        return self.kind is Kind.CATEGORICAL and n_known > FEW and self.n_distinct > MOSTLY_DISTINCT * n_known

    @property
    def can_be_typed(self) -> bool:
        """Whether the name is short, and nothing in it is invisible or steers the terminal."""
        return plain(self.name, LONGEST_NAME) == self.name

    @property
    def is_circumstance(self) -> bool:
        """Whether this looks like context."""
        return not self.is_name and self.n_distinct > 1 and (self.kind is not Kind.NUMERIC or self.n_distinct <= FEW)


def print_overview(read: ReadTable, command: str, source: Source) -> None:
    """Prints the columns, and a command that could be next: it reads the table as this one did."""
    columns = look_at(read)
    print_table(
        ["column", "type", "missing", "distinct", "examples"],
        [[plain(c.name), c.kind.value, str(c.n_missing), str(c.n_distinct), ", ".join(c.examples)] for c in columns],
    )
    rows = counted(read.n_rows, "row")
    print_words(f"\n{one_line(read.name)}: {rows}. Say which columns are context, and which are behaviour:\n")
    context, behavior = suggest([column for column in columns if column.can_be_typed])
    start = " ".join([f"  paribus {command}", file_as_typed(source.file), *_options(source)])
    if not context or not behavior:
        print(f"{start} --context COLUMN,COLUMN --behavior COLUMN")
        print_words("\nBehaviour must be numbers, and at least one other column must be left for the context.")
        return
    print(f"{start} --context {_typed(context)} --behavior {_typed(behavior)}")
    print_words("\nThis is only a guess by type: you know what the columns mean.")


def look_at(read: ReadTable) -> list[Column]:
    """What there is to know of each column."""
    table = Table(read.columns)
    columns = []
    for position, (name, values) in enumerate(read.columns.items()):
        kind = table.kind(position)
        numbers = table.numbers(position) if kind.is_number else None
        known = [value for value in (values if numbers is None else numbers).tolist() if not is_missing(value)]
        distinct = list(dict.fromkeys(known))
        write = ColumnFormat.fit(table, position, numbers)
        examples = [plain(write(value), 20) for value in distinct[:N_EXAMPLES]]
        columns.append(Column(name, kind, len(values) - len(known), len(distinct), len(values), examples))
    return columns


def suggest(columns: list[Column]) -> tuple[list[Column], list[Column]]:
    """Columns that could be context, and columns that could be behaviour."""
    context = [column for column in columns if column.is_circumstance]
    behavior = [c for c in columns if c.kind is Kind.NUMERIC and c.n_distinct > 1 and c not in context]
    if not context:
        # All are numbers: the first ones are more often what is known before.
        half = len(behavior) // 2
        context, behavior = behavior[:half], behavior[half:]
    if not behavior:
        numbers = [column for column in context if column.kind is Kind.NUMERIC]
        behavior = numbers[-1:]
        context = [column for column in context if column not in behavior]
    return context[:MOST_SUGGESTED], behavior[:MOST_SUGGESTED]


def _options(source: Source) -> list[str]:
    """How the table was to be read, as it was typed."""
    pairs = [("--sql", source.sql), ("--separator", source.separator), ("--encoding", source.encoding)]
    pairs += [("--missing", text) for text in source.missing]
    header = {True: ["--header"], False: ["--no-header"], None: []}[source.header]
    return [*(f"{option} {as_typed(value)}" for option, value in pairs if value is not None), *header]


def _typed(columns: list[Column]) -> str:
    """The names as a person types them in a shell."""
    names = ['"' + c.name.replace('"', '""') + '"' if set(c.name) & set(',"') else c.name for c in columns]
    return shlex.quote(",".join(names))
