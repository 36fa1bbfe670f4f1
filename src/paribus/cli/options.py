"""The options of the commands: where the table is, which columns play which role, how the detector works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from paribus.reading import Choose, ReadTable

# What a person types for None.
NONE = "none"


@dataclass(frozen=True)
class Source:
    """Where the table is, and how to read it."""

    file: str
    sql: str | None
    separator: str | None
    header: bool | None
    encoding: str | None
    missing: list[str]

    def read(self, choose: Choose) -> ReadTable:
        """Reads the columns that are chosen."""
        from paribus.cli.messages import note
        from paribus.reading import TextOptions, read

        separator = "\t" if self.separator in ("tab", r"\t") else self.separator
        text = TextOptions(separator, self.header, self.encoding, frozenset(self.missing))
        return read(self.file, choose, sql=self.sql, text=text, note=note)


def source(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or other delimited text, JSON lines or Parquet, gzipped or not; - for standard input; "
            "or the SQLAlchemy URL of a database, with --sql.",
        ),
    ],
    sql: Annotated[
        str | None,
        typer.Option(metavar="TABLE|QUERY", help="What to read from a database, as in 'SELECT * FROM days'."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="What stands between values, or 'tab'.  [default: found out]"),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line holds names.  [default: found out]"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="The text encoding, such as latin-1.  [default: found out]")
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A text that stands for a missing value; can be repeated. "
            "An empty value always does, and in numbers also NA, N/A, NaN, null, none, nil, '-', '?' and '.'.",
        ),
    ] = None,
) -> Source:
    """Where the table is."""
    return Source(file, sql, separator, header, encoding, missing or [])


COLUMNS_HELP = "separated by commas; can be repeated; a name with a comma stands alone, or in double quotes."


@dataclass(frozen=True)
class RoleOptions:
    """Which columns play which role, as they were typed."""

    context: list[str]
    behavior: list[str]
    categorical: list[str]
    id: str | None


def roles(
    context: Annotated[
        list[str] | None,
        typer.Option("--context", "-c", metavar="COLUMNS", help=f"The circumstances: columns {COLUMNS_HELP}"),
    ] = None,
    behavior: Annotated[
        list[str] | None,
        typer.Option(
            "--behavior",
            "--behaviour",
            "-b",
            metavar="COLUMNS",
            help="The behaviour: columns of numbers.  [default: all other columns of numbers]",
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns of the context whose numbers are codes.  [default: texts are]"),
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names rows.  [default: their number, from 0]")
    ] = None,
) -> RoleOptions:
    """Which columns play which role."""
    return RoleOptions(context or [], behavior or [], categorical or [], id)


def parameters(
    n_neighbors: Annotated[
        int | None,
        typer.Option(metavar="N", help="Rows that each is compared with.  [default: half the rows, at most 500]"),
    ] = None,
    n_trees: Annotated[int, typer.Option(metavar="N", help="Trees per forest; the paper's tables use 10.")] = 100,
    bootstrap: Annotated[bool, typer.Option(help="Whether each tree sees a bootstrap of them, or all.")] = True,
    max_features: Annotated[
        str, typer.Option(metavar="N|SHARE|sqrt|all", help="Contextual columns that a split tries.")
    ] = "all",
    min_samples_split: Annotated[
        int, typer.Option(metavar="N", help="A node with fewer distinct rows is a leaf.")
    ] = 10,
    n_quantiles: Annotated[int, typer.Option(metavar="N", help="Intervals that a distribution is cut into.")] = 100,
    clip: Annotated[
        str,
        typer.Option(metavar="NUMBER|none", help="The cap of a partial score, in widths of an even interval."),
    ] = "10",
    scale_tails: Annotated[
        bool, typer.Option(help="Whether the score beyond all percentiles grows with the distance.")
    ] = True,
    contamination: Annotated[
        str,
        typer.Option(
            metavar="SHARE|auto",
            help="The share of rows to flag, up to 0.5; auto: those far above the other scores.",
        ),
    ] = "auto",
    random_state: Annotated[
        str, typer.Option(metavar="SEED|none", help="The same seed gives the same scores; none: a new one each time.")
    ] = "0",
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Threads; -1 for as many as there are cores.")] = -1,
) -> dict[str, Any]:
    """The parameters of the detector, besides its columns."""
    return {
        "n_neighbors": n_neighbors,
        "n_trees": n_trees,
        "bootstrap": bootstrap,
        "max_features": _number_or("--max-features", max_features, {"all": None, "sqrt": "sqrt"}),
        "min_samples_split": min_samples_split,
        "n_quantiles": n_quantiles,
        "clip": _number_or("--clip", clip, {NONE: None}),
        "scale_tails": scale_tails,
        "contamination": _number_or("--contamination", contamination, {"auto": "auto"}),
        "random_state": _number_or("--random-state", random_state, {NONE: None}),
        "n_jobs": n_jobs,
    }


def _number_or(option: str, text: str, words: dict[str, str | None]) -> int | float | str | None:
    """A whole number, a number with a point, or one of some words."""
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{option} is {text!r}: it must be a number or {' or '.join(words)}")
