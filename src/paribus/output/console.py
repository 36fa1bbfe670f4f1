"""Text and tables for terminals of any width, and for pipes."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

# The width in characters that is assumed for a pipe: enough for most tables.
PIPE_WIDTH = 120
# The minimum width in characters of a column that may be wrapped; if it does not fit, a list is shown instead.
MIN_WRAPPED_WIDTH = 24
INDENT = "  "


def output_console() -> Console:
    """The console for standard output; plain text in a pipe, even if the environment requests colors."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(width=PIPE_WIDTH, force_terminal=False, color_system=None, highlight=False)


def print_words(words: str) -> None:
    """Prints a paragraph: wrapped in a terminal, on one line in a pipe."""
    from rich.text import Text

    output_console().print(Text(words), soft_wrap=not sys.stdout.isatty())


@dataclass(frozen=True)
class Grid:
    """A rich renderable: a table, or a list of its rows where the table does not fit.

    Cells are text, never markup, since a value may be "[red]".
    """

    headings: Sequence[str]
    """The headings of the columns."""
    rows: Sequence[Sequence[str]]
    """The cells, row by row."""
    styles: Sequence[str] = ()
    """The style of each row; none by default."""
    numbers: Collection[str] = ()
    """The headings of right-aligned columns."""
    wrapped: Collection[str] = ()
    """The headings of columns that may take several lines."""
    has_prose: bool = False
    """Whether the last column is prose, which is neither styled nor given its heading in a list."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.measure import Measurement

        table = self._table()
        needed = Measurement.get(console, options.update(max_width=10_000), table).minimum
        if needed <= options.max_width:
            yield table
        else:
            yield from self._list(console, options.max_width)

    def _table(self) -> Table:
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        for place, heading in enumerate(self.headings):
            natural = max(cell_len(text) for text in [heading, *(row[place] for row in self.rows)])
            table.add_column(
                # Text, not markup, like the cells.
                Text(heading),
                justify="right" if heading in self.numbers else "left",
                min_width=min(natural, MIN_WRAPPED_WIDTH) if heading in self.wrapped else natural,
                no_wrap=heading not in self.wrapped,
                overflow="fold",
            )
        for row, style in zip(self.rows, self._styles(), strict=True):
            table.add_row(
                *(Text(cell, style=style) for cell in row[:-1]), Text(row[-1], "" if self.has_prose else style)
            )
        return table

    def _list(self, console: Console, width: int) -> Iterator[RenderableType]:
        from rich.text import Text

        last = len(self.headings) - self.has_prose
        for row, style in zip(self.rows, self._styles(), strict=True):
            yield Text()
            yield Text(f"{self.headings[0]} {row[0]}", style=style, overflow="fold")
            pairs = zip(self.headings[1:last], row[1:last], strict=True)
            facts = [f"{heading} {cell}" for heading, cell in pairs if cell]
            for words in [*_filled(facts, width - len(INDENT)), *row[last:]]:
                for line in Text(words).wrap(console, max(1, width - len(INDENT)), overflow="fold"):
                    yield Text(INDENT + line.plain.rstrip())
        yield Text()

    def _styles(self) -> Sequence[str]:
        return self.styles or [""] * len(self.rows)


def _filled(facts: Sequence[str], width: int) -> list[str]:
    """Lines with as many facts on each as fit.

    >>> _filled(["value 8.73", "score 58.8", "median 10.46"], 24)
    ['value 8.73 · score 58.8', 'median 10.46']
    """
    from rich.cells import cell_len

    lines = [""]
    for fact in facts:
        longer = f"{lines[-1]} · {fact}" if lines[-1] else fact
        lines = [*lines[:-1], longer] if cell_len(longer) <= width or not lines[-1] else [*lines, fact]
    return lines
