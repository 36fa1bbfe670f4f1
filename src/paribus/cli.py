"""`paribus` in the shell. Whatever a command needs is imported inside of it: the help must not wait for it."""

from __future__ import annotations

import sys

import typer

from paribus import bench_cli

# Plain help: with frames around it, it takes twice as long to appear.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


app.add_typer(bench_cli.app, name="bench")


@app.callback()
def paribus() -> None:
    """Finds the rows of a table that are unusual given their context, and says why."""


@app.command()
def datasets() -> None:
    """List the data sets that paribus.datasets.load takes."""
    from paribus.datasets import summaries

    _print_table(
        ["name", "rows", "context", "behaviour", "anomalies", "what it is"],
        [
            [
                each.name,
                str(each.n_rows),
                str(len(each.contextual)),
                str(len(each.behavioral)),
                "" if each.n_anomalies is None else str(each.n_anomalies),
                each.description,
            ]
            for each in summaries()
        ],
    )


def main() -> None:
    """What the shell calls."""
    app()


def _print_table(headings: list[str], rows: list[list[str]]) -> None:
    """A table for a person at a terminal; lines with tabs between the values for a program in a pipe."""
    if not sys.stdout.isatty():
        for row in [headings, *rows]:
            typer.echo("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, collapse_padding=True)
    for place, heading in enumerate(headings):
        is_number = all(row[place].isdigit() for row in rows if row[place])
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=place < len(headings) - 1)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
