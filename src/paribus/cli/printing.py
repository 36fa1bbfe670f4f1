"""What goes to standard output: tables for a person, lines with tabs for a program, JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paribus.explanation import Explanation


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], bold: Sequence[bool] = ()) -> None:
    """A table for a person at a terminal; lines with tabs between the values for a program in a pipe.

    The last column is text that may be wrapped. `bold`: the rows that matter most.
    """
    if not sys.stdout.isatty():
        for row in [headings, *rows]:
            print("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(headings):
        is_number = all(row[place].replace(".", "").isdigit() for row in rows if row[place])
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=place < len(headings) - 1)
    for place, row in enumerate(rows):
        # Text, never markup: a value may be "[red]".
        style = "bold" if place < len(bold) and bold[place] else ""
        table.add_row(*(Text(cell, style=style) for cell in row[:-1]), Text(row[-1]))
    Console().print(table)


def print_anomalies(label: str, rows: Sequence[tuple[str, int, float, Explanation]]) -> None:
    """The highest scores, each with its sentence. `rows`: names, ranks, scores and explanations."""
    print_table(
        [label, "rank", "score", "why"],
        [[name, str(rank), f"{score:.1f}", str(explanation)] for name, rank, score, explanation in rows],
        [explanation.is_anomaly for *_, explanation in rows],
    )


def print_explanation(explanation: Explanation) -> None:
    """One explanation: tables at a terminal, and the same in plain text in a pipe."""
    from rich.console import Console

    if sys.stdout.isatty():
        Console().print(explanation)
    else:
        # A pipe has no width: wide enough for the tables. No colours, whatever the environment says.
        Console(width=120, force_terminal=False, color_system=None).print(explanation)


def print_json(value: Any) -> None:
    """A value as JSON."""
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # A letter beyond ASCII could steer a terminal, and not every output has it.
    if sys.stdout.isatty() or not _can_be_written(text):
        text = json.dumps(value, allow_nan=False, indent=2)
    print(text)


def _can_be_written(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
