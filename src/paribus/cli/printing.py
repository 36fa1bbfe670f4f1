"""Results on standard output: tables on a terminal, tab-separated lines in a pipe, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paribus._common.text import score_text
from paribus.output.console import Grid, output_console
from paribus.output.tables import as_lines

if TYPE_CHECKING:
    from paribus.explain.explanation import RowExplanation
    from paribus.explain.group import AnomalyGroup


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], bold: Sequence[bool] = ()) -> None:
    """Prints a table on a terminal, or tab-separated lines in a pipe.

    The last column is text that may be wrapped. `bold` says which rows to emphasize.
    """
    if not sys.stdout.isatty():
        for row in [headings, *rows]:
            print("\t".join(row))
        return
    numbers = [
        heading
        for place, heading in enumerate(headings)
        if all(row[place].replace(".", "").isdigit() for row in rows if row[place])
    ]
    styles = ["bold" if each else "" for each in bold]
    output_console().print(Grid(headings, rows, styles, numbers, wrapped=headings[-1:], has_prose=True))


def print_groups(groups: Sequence[AnomalyGroup]) -> None:
    """Prints groups of flagged rows with the same cause, and an empty line."""
    print_table(
        ["group", "rows", "what they have in common"],
        [[str(group.number), str(group.size), str(group).partition(": ")[2]] for group in groups],
    )
    print()


def print_anomalies(
    label: str, rows: Sequence[tuple[str, int, float, str, RowExplanation]], *, has_groups: bool = False
) -> None:
    """Prints the rows with the highest scores. `rows` are names, ranks, scores, groups and explanations."""
    print_table(
        [label, "rank", "score", *(["group"] if has_groups else []), "why"],
        [
            [name, str(rank), score_text(score, grouped=False), *([group] if has_groups else []), str(explanation)]
            for name, rank, score, group, explanation in rows
        ],
        [explanation.is_anomaly for *_, explanation in rows],
    )


def print_explanation(explanation: RowExplanation) -> None:
    """Prints one explanation: as tables on a terminal, or as tab-separated lines in a pipe."""
    if sys.stdout.isatty():
        output_console().print(explanation)
    else:
        print("\n".join(as_lines(explanation)))


def print_json(value: Any) -> None:
    """Prints a value as JSON."""
    import json

    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    # Non-ASCII characters could control a terminal, and not every output encoding has them.
    if sys.stdout.isatty() or not _can_be_written(text):
        text = json.dumps(value, allow_nan=False, indent=2)
    print(text)


def _can_be_written(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
