"""The options of the commands: the source of the table, the roles of columns, the parameters of the detector."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paribus.methods.registry import REGISTRY

if TYPE_CHECKING:
    from contextlib import ExitStack

    from paribus.io.reading import Choose, ReadTable, TableStream, TextOptions

DateOrder = StrEnum("DateOrder", {"DMY": "dmy", "MDY": "mdy", "YMD": "ymd"})
DecimalSign = StrEnum("DecimalSign", {"POINT": "point", "COMMA": "comma"})
EngineName = StrEnum("EngineName", {"SPARK": "spark", "DASK": "dask"})
# The spelling of None on the command line.
NONE = "none"


@dataclass(frozen=True)
class Source:
    """The source of a table, and how to read it."""

    file: str
    sql: str | None
    separator: str | None
    header: bool | None
    encoding: str | None
    missing: list[str]
    date_order: str | None = None
    decimal: str | None = None
    limits: tuple[str, ...] = ()

    def read(self, choose: Choose) -> ReadTable:
        """Reads the chosen columns."""
        from paribus.cli.messages import note
        from paribus.io.reading import read

        return read(self.file, choose, sql=self.sql, text=self._text(), note=note)

    def open(self, choose: Choose, stack: ExitStack) -> TableStream:
        """Opens the chosen columns, to read them in batches."""
        from paribus.cli.messages import note
        from paribus.io.reading import open_stream

        return open_stream(self.file, stack, choose, sql=self.sql, text=self._text(), note=note)

    def _text(self) -> TextOptions:
        from paribus.io.reading import TextOptions, parse_limits

        separator = "\t" if self.separator in ("tab", r"\t") else self.separator
        return TextOptions(
            separator,
            self.header,
            self.encoding,
            frozenset(self.missing),
            self.date_order,
            self.decimal,
            parse_limits(self.limits),
        )


def source(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file of CSV, TSV, other delimited text, JSON lines or Parquet, gzipped or not; a folder of such "
            "files; - for standard input; or the SQLAlchemy URL of a database, with --sql.",
        ),
    ],
    sql: Annotated[
        str | None,
        typer.Option(metavar="TABLE|QUERY", help="What to read from a database, such as 'SELECT * FROM days'."),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="The separator of values, or 'tab'.  [default: auto-detected]"),
    ] = None,
    header: Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first line has column names.  [default: auto-detected]"),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="The text encoding, such as latin-1.  [default: auto-detected]")
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Text that stands for a missing value; can be repeated. "
            "Empty values are always missing, and among numbers also NA, N/A, NaN, null, none, nil, '-', '?' and '.'.",
        ),
    ] = None,
    date_order: Annotated[
        DateOrder | None,
        typer.Option(help="The order of day, month and year in dates such as 01/02/2020.  [default: auto-detected]"),
    ] = None,
    decimal: Annotated[
        DecimalSign | None,
        typer.Option(help="The decimal separator in columns where it is ambiguous.  [default: auto-detected]"),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER",
            help="Raise a limit on the input: columns, cell, line, nesting or expansion; can be repeated.",
        ),
    ] = None,
) -> Source:
    """The source of the table."""
    return Source(
        file,
        sql,
        separator,
        header,
        encoding,
        missing or [],
        date_order and date_order.value,
        decimal and decimal.value,
        tuple(limit or ()),
    )


def source_or_model(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A table as for `paribus detect`; may be left out with --model."),
    ] = None,
    sql: Annotated[str | None, typer.Option(metavar="TABLE|QUERY", help="What to read from a database.")] = None,
    separator: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="The separator of values, or 'tab'.")
    ] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line has column names.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(metavar="NAME", help="The text encoding, such as latin-1.")] = None,
    missing: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Text that stands for a missing value; can be repeated.")
    ] = None,
    date_order: Annotated[
        DateOrder | None, typer.Option(help="The order of day, month and year in dates such as 01/02/2020.")
    ] = None,
    decimal: Annotated[DecimalSign | None, typer.Option(help="The decimal separator.")] = None,
    limit: Annotated[
        list[str] | None, typer.Option(metavar="NAME=NUMBER", help="Raise a limit on the input; can be repeated.")
    ] = None,
) -> Source | None:
    """The source of a table, which may be left out."""
    if file is None:
        return None
    return source(file, sql, separator, header, encoding, missing, date_order, decimal, limit)


@dataclass(frozen=True)
class RoleOptions:
    """The columns in each role, as they were typed."""

    context: list[str]
    behavior: list[str]
    categorical: list[str]
    id: str | None


def roles(
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            "-c",
            metavar="COLUMNS",
            help="The contextual columns, separated by commas; can be repeated. "
            "Put a name with a comma in double quotes, or in an option of its own. BEHAVIOR=COLUMNS names those of one "
            "behavioral column.",
        ),
    ] = None,
    behavior: Annotated[
        list[str] | None,
        typer.Option(
            "--behavior",
            "-b",
            metavar="COLUMNS",
            help="The behavioral columns: numbers, categories or booleans (qcad: numbers).  "
            "[default: all other numeric columns]",
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMNS", help="Columns of numbers that are category codes.  [default: none]"),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names the rows.  [default: numbers from 0]"),
    ] = None,
    behaviour: Annotated[
        list[str] | None, typer.Option("--behaviour", metavar="COLUMNS", hidden=True, help="The same as --behavior.")
    ] = None,
) -> RoleOptions:
    """The columns in each role."""
    return RoleOptions(context or [], [*(behavior or []), *(behaviour or [])], categorical or [], id)


Method = StrEnum("Method", {entry.option.upper(): entry.option for entry in REGISTRY})  # type: ignore[misc]
DEFAULT_METHOD = Method(REGISTRY[0].option)


def parameters(
    method: Annotated[
        Method,
        typer.Option(help="; ".join(f"{entry.option}: {entry.summary}" for entry in REGISTRY) + "."),
    ] = DEFAULT_METHOD,
    n_trees: Annotated[
        int | None, typer.Option(metavar="N", help="Number of trees per forest.  [default: 64; qcad: 100]")
    ] = None,
    max_features: Annotated[
        str | None,
        typer.Option(
            metavar="N|SHARE|sqrt|all",
            help="Columns to try at each split.  [default: 0.7; qcad: all]",
        ),
    ] = None,
    contamination: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|auto",
            help="The share of rows to flag, at most 0.5, such as 0.02 or 2%; auto flags scores far above the others.  "
            "[default: auto]",
        ),
    ] = None,
    false_alarms: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="The share of ordinary rows that may be flagged, such as 0.1%.  [default: 0.001; not for qcad]",
        ),
    ] = None,
    judge_missing: Annotated[
        str | None,
        typer.Option(
            metavar="auto|yes|no",
            help="Whether to judge that a value is missing; auto: in columns where values are neither nearly always "
            "nor nearly never missing.  [default: auto; not for qcad]",
        ),
    ] = None,
    random_state: Annotated[
        str | None,
        typer.Option(
            metavar="SEED|none",
            help="The random seed; none for a new one each time.  [default: 0]",
        ),
    ] = None,
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Number of threads; -1 for all cores.")] = -1,
    clip: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|none",
            help="The cap of a partial score, in widths of an even interval.  [qcad only; default: 10]",
        ),
    ] = None,
    min_samples_leaf: Annotated[
        int | None, typer.Option(metavar="N", help="Minimum number of rows in a leaf.  [default: 4; not for qcad]")
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option(metavar="N", help="Maximum number of rows per tree.  [default: 32768; not for qcad]")
    ] = None,
    time_parts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[COLUMN=]PARTS",
            help="What timestamps are compared by: hour, weekday, day_of_year, trend, holiday, separated by commas; "
            "for one column with its name in front.  [default: auto, those that vary; not for qcad]",
        ),
    ] = None,
    holidays: Annotated[
        str | None,
        typer.Option(
            metavar="COUNTRY",
            help="The country or region of holidays, such as US or US-NY.  [default: none; not for qcad]",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="all|past",
            help="The rows that each row is judged by: all others, or only earlier ones.  [default: all; not for qcad]",
        ),
    ] = None,
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of rows to compare each row with.  [qcad only; default: half the rows, at most 500]",
        ),
    ] = None,
    bootstrap: Annotated[
        bool | None,
        typer.Option(
            "--bootstrap/--no-bootstrap",
            help="Whether trees use bootstrap samples.  [qcad only; default: yes]",
        ),
    ] = None,
    min_samples_split: Annotated[
        int | None,
        typer.Option(metavar="N", help="Minimum number of distinct rows to split a node.  [qcad only; default: 10]"),
    ] = None,
    n_quantiles: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of intervals of a distribution.  [qcad only; default: 100]"),
    ] = None,
    scale_tails: Annotated[
        bool | None,
        typer.Option(
            "--scale-tails/--no-scale-tails",
            help="Whether scores grow with the distance from the outermost percentile.  [qcad only; default: yes]",
        ),
    ] = None,
) -> dict[str, Any]:
    """The method, and the parameters that were given."""
    given = {
        "n_trees": n_trees,
        "max_features": _number_or("--max-features", max_features, {"all": None, "sqrt": "sqrt"}),
        "clip": _number_or("--clip", clip, {NONE: None}),
        "contamination": _share_or("--contamination", contamination, {"auto": "auto"}),
        "false_alarms": _share_or("--false-alarms", false_alarms, {}),
        "missing": _word("--judge-missing", judge_missing, {"auto": "auto", "yes": True, "no": False}),
        "random_state": _number_or("--random-state", random_state, {NONE: None}),
        "n_jobs": n_jobs,
        "min_samples_leaf": min_samples_leaf,
        "max_samples": max_samples,
        "time_parts": _time_parts(time_parts),
        "holidays": holidays,
        "reference": reference,
        "n_neighbors": n_neighbors,
        "bootstrap": bootstrap,
        "min_samples_split": min_samples_split,
        "n_quantiles": n_quantiles,
        "scale_tails": scale_tails,
    }
    typed = {"max_features": max_features, "clip": clip, "random_state": random_state}
    return {"method": method} | {name: value for name, value in given.items() if typed.get(name, value) is not None}


def _time_parts(typed: list[str] | None) -> str | list[str] | dict[str, str | list[str]] | None:
    """The time parts that were typed: for all columns, or by column.

    >>> _time_parts(["hour,weekday"]), _time_parts(["when=hour", "due=auto"]), _time_parts(["auto"])
    (['hour', 'weekday'], {'when': ['hour'], 'due': 'auto'}, 'auto')
    """
    if typed is None:
        return None
    by_column: dict[str, str | list[str]] = {}
    for text in typed:
        column, _, words = text.rpartition("=")
        parts = [word.strip() for word in words.split(",") if word.strip()]
        by_column[column] = "auto" if parts == ["auto"] else parts
    if "" in by_column:
        if len(typed) > 1:
            raise typer.BadParameter("--time-parts is given for all columns and again: give it once, or by column")
        return by_column[""]
    return by_column


def _word(option: str, text: str | None, words: dict[str, Any]) -> Any:
    """The value of one of the given words."""
    if text is None:
        return None
    if text.lower() not in words:
        raise typer.BadParameter(f"{option} is {text!r}: it must be {' or '.join(words)}")
    return words[text.lower()]


def _number_or(option: str, text: str | None, words: dict[str, str | None]) -> int | float | str | None:
    """A whole number, a float, or one of the given words."""
    if text is None:
        return None
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise typer.BadParameter(f"{option} is {text!r}: it must be {' or '.join(['a number', *words])}")


def _share_or(option: str, text: str | None, words: dict[str, str | None]) -> int | float | str | None:
    """The same for a share, which may be given as a percentage."""
    if text is not None and text.strip().endswith("%"):
        with suppress(ValueError):
            return float(text.strip()[:-1]) / 100
    return _number_or(option, text, words)
