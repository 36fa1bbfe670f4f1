"""The options of the commands: where the table is, which columns play which role, how the detector works."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paribus.methods.registry import REGISTRY

if TYPE_CHECKING:
    from paribus.io.reading import Choose, ReadTable

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
        from paribus.io.reading import TextOptions, read

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
        typer.Option(metavar="CHARACTER", help="What stands between values, or 'tab'.  [default: auto-detected]"),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line holds names.  [default: auto-detected]"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="The text encoding, such as latin-1.  [default: auto-detected]")
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
            help="The behavior: columns of numbers.  [default: all other columns of numbers]",
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


Method = StrEnum("Method", {entry.option.upper(): entry.option for entry in REGISTRY})  # type: ignore[misc]
DEFAULT_METHOD = Method(REGISTRY[0].option)


def parameters(
    method: Annotated[
        Method,
        typer.Option(help="; ".join(f"{entry.option}: {entry.summary}" for entry in REGISTRY) + "."),
    ] = DEFAULT_METHOD,
    n_trees: Annotated[
        int | None, typer.Option(metavar="N", help="Trees per forest.  [default: 64; qcad: 100]")
    ] = None,
    max_features: Annotated[
        str | None,
        typer.Option(metavar="N|SHARE|sqrt|all", help="Columns that a split tries.  [default: 0.7; qcad: all]"),
    ] = None,
    clip: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|none",
            help="The cap of a partial score: nats, or for qcad widths of an even interval.  [default: 3; qcad: 10]",
        ),
    ] = None,
    contamination: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|auto",
            help="The share of rows to flag, up to 0.5; auto: those far above the other scores.  [default: auto]",
        ),
    ] = None,
    random_state: Annotated[
        str | None,
        typer.Option(
            metavar="SEED|none",
            help="The same seed gives the same scores; none: a new one each time.  [default: 0]",
        ),
    ] = None,
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Threads; -1 for as many as there are cores.")] = -1,
    min_samples_leaf: Annotated[
        int | None, typer.Option(metavar="N", help="Rows in a leaf, at least.  [default: 4; not for qcad]")
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option(metavar="N", help="Rows per tree, at most.  [default: 32768; not for qcad]")
    ] = None,
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Rows that each is compared with.  [qcad only; default: half the rows, at most 500]"
        ),
    ] = None,
    bootstrap: Annotated[
        bool | None,
        typer.Option("--bootstrap/--no-bootstrap", help="Whether trees see a bootstrap.  [qcad only; default: yes]"),
    ] = None,
    min_samples_split: Annotated[
        int | None,
        typer.Option(metavar="N", help="A node with fewer distinct rows is a leaf.  [qcad only; default: 10]"),
    ] = None,
    n_quantiles: Annotated[
        int | None,
        typer.Option(metavar="N", help="Intervals that a distribution is cut into.  [qcad only; default: 100]"),
    ] = None,
    scale_tails: Annotated[
        bool | None,
        typer.Option(
            "--scale-tails/--no-scale-tails",
            help="Whether the score beyond all percentiles grows with the distance.  [qcad only; default: yes]",
        ),
    ] = None,
) -> dict[str, Any]:
    """The method, and those of its parameters that were given."""
    given = {
        "n_trees": n_trees,
        "max_features": _number_or("--max-features", max_features, {"all": None, "sqrt": "sqrt"}),
        "clip": _number_or("--clip", clip, {NONE: None}),
        "contamination": _number_or("--contamination", contamination, {"auto": "auto"}),
        "random_state": _number_or("--random-state", random_state, {NONE: None}),
        "n_jobs": n_jobs,
        "min_samples_leaf": min_samples_leaf,
        "max_samples": max_samples,
        "n_neighbors": n_neighbors,
        "bootstrap": bootstrap,
        "min_samples_split": min_samples_split,
        "n_quantiles": n_quantiles,
        "scale_tails": scale_tails,
    }
    typed = {"max_features": max_features, "clip": clip, "random_state": random_state}
    return {"method": method} | {name: value for name, value in given.items() if typed.get(name, value) is not None}


def _number_or(option: str, text: str | None, words: dict[str, str | None]) -> int | float | str | None:
    """A whole number, a number with a point, or one of some words."""
    if text is None:
        return None
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{option} is {text!r}: it must be a number or {' or '.join(words)}")
