"""The options for where results go: files, the report, pictures, standard output, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# The minimum number of rows that a report explains with pictures.
MIN_REPORTED_ROWS = 50


class Columns(StrEnum):
    """Which original columns a file of results holds."""

    NONE = "none"
    ROLES = "roles"
    ALL = "all"


class Only(StrEnum):
    """Which rows a file of results holds."""

    FLAGGED = "flagged"


@dataclass(frozen=True)
class Delivery:
    """Where results go."""

    out: Path | None
    out_table: str
    columns: Columns
    only: Only | None
    report: Path | None
    plots: Path | None
    formats: list[str] | None
    known: Path | None
    top: int
    as_json: bool
    full: bool
    fail_if_flagged: bool
    max_flagged: str | None

    @property
    def only_flagged(self) -> bool:
        """Whether the file holds flagged rows only."""
        return self.only is Only.FLAGGED

    @property
    def is_anywhere(self) -> bool:
        """Whether any option requests results."""
        return bool(self.out or self.report or self.plots or self.known or self.as_json or self.fail_if_flagged)

    def allows(self, n_flagged: int, n_rows: int) -> bool:
        """Whether this number of flagged rows is allowed."""
        if self.max_flagged is not None:
            return n_flagged <= parse_limit(self.max_flagged, n_rows)
        return not (self.fail_if_flagged and n_flagged)


def delivery(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write the results to this file: .csv, .tsv, .parquet, .jsonl, .xlsx, or a table in .duckdb, .sqlite "
            "or .db.",
        ),
    ] = None,
    columns: Annotated[
        Columns, typer.Option(help="The original columns in the file of --out: none, those with a role, or all.")
    ] = Columns.ROLES,
    only: Annotated[Only | None, typer.Option(help="The rows in the file of --out.  [default: all]")] = None,
    out_table: Annotated[str, typer.Option(metavar="NAME", help="The table in a database of --out.")] = "scores",
    report: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write a report to this file, as a single HTML page.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save pictures of the rows that are shown in this folder.")
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="FORMAT", help="Picture format: svg, png or pdf; can be repeated.  [default: svg,png]"
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A list of known rows and rules, .csv or .json: they are not listed again."),
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many rows to show, highest scores first.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    full: Annotated[bool, typer.Option("--full", help="With --json: all details about each row.")] = False,
    fail_if_flagged: Annotated[
        bool, typer.Option("--fail-if-flagged", help="Exit with code 3 if any row is flagged and not known.")
    ] = False,
    max_flagged: Annotated[
        str | None,
        typer.Option(metavar="N|SHARE", help="Exit with code 3 only if more are flagged, such as 20 or 0.5%."),
    ] = None,
) -> Delivery:
    """Where results go."""
    if max_flagged is not None:
        parse_limit(max_flagged, 0)
    if full and not as_json:
        raise typer.BadParameter("--full needs --json")
    if only is not None and out is None:
        raise typer.BadParameter("--only needs --out PATH")
    return Delivery(
        out,
        out_table,
        columns,
        only,
        report,
        plots,
        formats,
        known,
        top,
        as_json,
        full,
        fail_if_flagged,
        max_flagged,
    )


def parse_limit(text: str, n_rows: int) -> float:
    """A number of rows that was given as such, or as a share of all rows.

    >>> parse_limit("0.5%", 1000), parse_limit("20", 1000)
    (5.0, 20.0)
    """
    digits = text.strip()
    try:
        if digits.endswith("%") and 0 <= float(digits[:-1]) <= 100:
            return float(digits[:-1]) / 100 * n_rows
        if digits.isdecimal():
            return float(digits)
    except ValueError:
        pass
    raise typer.BadParameter(
        f"--max-flagged is {text!r}: it must be a number of rows, such as 20, or a share, such as 0.5%"
    )
