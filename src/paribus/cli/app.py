"""The commands and their help. What a command needs is imported when it runs, so that the help appears quickly."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer

from paribus.cli import bench, delivery_options, options
from paribus.cli.groups import takes
from paribus.cli.signals import loading

# Plain help, because help with frames takes twice as long to appear.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench.app, name="bench")

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model saved by `paribus fit`.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Read a table of any size in batches, and use about this much memory, such as 2GB. "
        "[default: batches only for files that are too large for this machine]",
    ),
]
OnEngine = Annotated[
    options.EngineName | None,
    typer.Option(
        "--engine", help="Fit and score a folder of Parquet files on Spark or Dask. --out is then a new folder."
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="With --engine: the master of Spark, or the scheduler of Dask.  [default: that of the environment, or "
        "this machine]",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


# Set by `--debug`, which may come before or after the command.
settings = SimpleNamespace(debug=False)


def _debug(wanted: bool) -> None:
    settings.debug = settings.debug or wanted


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(version("paribus"))
        raise typer.Exit


@app.callback()
def paribus(
    debug: Annotated[bool, typer.Option("--debug", callback=_debug, help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the rows of a table that are unusual given their context, and explain why.

    \b
    paribus demo
    paribus detect days.csv
    paribus detect days.csv --context month,elevation --behavior rain,wind
    """  # noqa: D301


@app.command()
@takes(source=options.source, roles=options.roles, wanted=delivery_options.delivery, parameters=options.parameters)
def detect(
    source: options.Source,
    roles: options.RoleOptions,
    wanted: delivery_options.Delivery,
    memory: Memory = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Rank rows by what the answers in the --known file teach.")
    ] = False,
    engine: OnEngine = None,
    cluster: Cluster = None,
    *,
    parameters: dict[str, Any],
) -> int:
    """Find the rows that are unusual given their context.

    Without --context, this lists the columns and suggests a command.

    \b
    paribus detect days.csv
    paribus detect days.csv --context month,elevation --behavior rain,wind
    paribus detect days.csv.gz -c month -c elevation -b rain,wind --id station --report days.html --out days.xlsx
    paribus detect days.csv -c month -b rain --known known.csv --max-flagged 0.5%
    cat days.jsonl | paribus detect - -c month -b rain --json
    paribus detect sqlite:///weather.db --sql days -c month -b rain
    paribus detect years/ -c month -b rain --memory 2GB --out scores.parquet
    paribus detect years/ -c month -b rain --engine spark --out scores
    """  # noqa: D301
    if cluster is not None and engine is None:
        raise typer.BadParameter("--cluster needs --engine spark or --engine dask")
    if learn and engine is not None:
        raise typer.BadParameter("--learn needs a table on this machine: leave out --engine")
    if engine is not None:
        with loading():
            from paribus.cli import cluster as on_cluster
        return on_cluster.detect(engine, cluster, source, roles, wanted, memory, parameters)
    with loading():
        from paribus.cli import commands
    return commands.detect(source, roles, wanted, memory, learn, parameters)


@app.command()
@takes(source=options.source)
def context(
    source: options.Source,
    behavior: Annotated[
        list[str] | None,
        typer.Option(
            "--behavior", "-b", metavar="COLUMNS", help="The columns to explain.  [default: those that are quantities]"
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Save a heat map of the gains: .svg, .png or .pdf.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Advise which columns of a table are context.

    Names the columns that look like ids, codes, times, constants or free text, measures how well each possible
    context predicts each behavioral column, out of sample, and proposes a context.

    \b
    paribus context days.csv
    paribus context days.csv -b rain,wind --picture gains.svg
    """  # noqa: D301
    with loading():
        from paribus.cli import advice
    advice.context(source, behavior or [], picture, as_json)


@app.command()
@takes(source=options.source_or_model, roles=options.roles, parameters=options.parameters)
def explain(
    source: options.Source | None,
    row: Annotated[
        str,
        typer.Option(
            "--row", "-r", metavar="ROW", help="The row to explain: its name with --id, otherwise its number, from 0."
        ),
    ],
    roles: options.RoleOptions,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            "-m",
            metavar="PATH",
            help="A model saved by `paribus fit`, instead of a fit; without FILE, ROW is a row that it was fitted to.",
        ),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the pictures of the explanation in this folder.")
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="FORMAT", help="Picture format: svg, png or pdf; can be repeated.  [default: svg,png]"
        ),
    ] = None,
    as_json: AsJson = False,
    full: Annotated[bool, typer.Option("--full", help="With --json: all details about the row.")] = False,
    *,
    parameters: dict[str, Any],
) -> None:
    """Explain one row of a table, or one row with a model.

    \b
    paribus explain days.csv --row 137 --context month,elevation --behavior rain,wind
    paribus explain days.csv --row Zell --id station -c month -b rain --plots pictures
    paribus explain --model days.paribus --row 137
    paribus explain tomorrow.csv --model days.paribus --row 3
    """  # noqa: D301
    with loading():
        from paribus.cli import commands
    commands.explain(source, roles, model, row, plots, formats, as_json, full, parameters)


@app.command()
@takes(source=options.source, roles=options.roles, parameters=options.parameters)
def fit(
    source: options.Source,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="PATH", help="Where to save the model.")],
    roles: options.RoleOptions,
    known: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A list of known rows: confirmed anomalies are excluded from the fit."),
    ] = None,
    memory: Memory = None,
    *,
    parameters: dict[str, Any],
) -> None:
    """Fit a model to a table and save it for `paribus score`.

    The file contains the rows of the table: share it only with people who may see them.

    \b
    paribus fit days.csv --context month,elevation --behavior rain,wind --model days.paribus
    """  # noqa: D301
    with loading():
        from paribus.cli import commands
    commands.fit(source, roles, model, known, memory, parameters)


@app.command()
@takes(source=options.source, wanted=delivery_options.delivery)
def score(
    model: Model,
    source: options.Source,
    id: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that names the rows.  [default: numbers from 0]"),
    ] = None,
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Number of threads; -1 for all cores.")] = -1,
    memory: Memory = None,
    *,
    wanted: delivery_options.Delivery,
) -> int:
    """Score new rows with a saved model.

    \b
    paribus score days.paribus tomorrow.csv --out scores.csv
    paribus score days.paribus tomorrow.csv --report tomorrow.html --known known.csv --fail-if-flagged
    """  # noqa: D301
    with loading():
        from paribus.cli import commands
    return commands.score(model, source, id, wanted, n_jobs, memory)


@app.command()
def explore(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A table, a model saved by `paribus fit`, or a report.  [default: choose in the page]",
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The file of answers.  [default: NAME.known.csv next to the table]"),
    ] = None,
    port: Annotated[int, typer.Option(metavar="N", help="The port to listen at; 0 for any that is free.")] = 0,
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Number of threads; -1 for all cores.")] = -1,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")] = True,
) -> None:
    """Look at a table in the browser, ask why rows are unusual, and teach the detector.

    The page is served to this machine only. Your answers are stored in a file for --known of the other commands.
    Ctrl-C stops it.

    \b
    paribus explore
    paribus explore days.csv
    paribus explore days.paribus --known known.csv
    """  # noqa: D301
    with loading():
        from paribus.cli import exploring
    exploring.explore(file, known, port, n_jobs, browser)


@app.command()
def show(model: Model, as_json: AsJson = False) -> None:
    """Show what a saved model was fitted to, and how well it is calibrated.

    \b
    paribus show days.paribus
    """  # noqa: D301
    with loading():
        from paribus.cli import commands
    commands.show(model, as_json)


@app.command()
def watch(
    model: Model,
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="JSON lines or CSV: a file, - for standard input; or a database's URL."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Write the verdict on every row as a line of JSON.")] = False,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="Write verdicts to this file.")] = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Store checkpoints here, and continue from there after a stop or a crash."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Wait for more rows at the end of a file or of a query.")
    ] = False,
    key: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A column that identifies rows: a repeated row is not judged again."),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(metavar="QUERY", help="The query to poll; :last is the key of the last row that was judged."),
    ] = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Seconds between two polls of the query.")] = 5.0,
    alert_command: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="Run this program for each alarm, with the alarm as JSON on its input."),
    ] = None,
    learn: Annotated[bool, typer.Option(help="Whether to learn from rows.")] = True,
    protect: Annotated[bool, typer.Option(help="Whether to exclude anomalies from learning.")] = True,
    window: Annotated[
        str, typer.Option(metavar="N", help="Learn from this many recent rows, or from a time such as 7d or 12h.")
    ] = "4096",
    half_life: Annotated[
        int | None, typer.Option(metavar="N", help="Number of rows after which weights are halved.")
    ] = None,
    fdr: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="The maximum expected share of ordinary rows among the odd ones of 1,000 rows."
        ),
    ] = 0.1,
    alpha: Annotated[
        float, typer.Option(metavar="P", help="The probability of a false alarm of a change, ever.")
    ] = 0.01,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the time of each row.")] = None,
) -> None:
    """Judge rows as they arrive, and raise an alarm if one is odd or if the stream has changed.

    \b
    tail -F readings.jsonl | paribus watch days.paribus - --json
    paribus watch days.paribus readings.csv --follow --out verdicts.jsonl --json --state watch.state
    """  # noqa: D301
    with loading():
        from paribus.cli import watch as watching
        from paribus.stream.watching import Wanted
    wanted = Wanted(source, sql, key, every, follow, out, state, as_json, alert_command)
    options_of_monitor = {
        "learn": learn, "protect": protect, "window": watching.parse_window(window), "half_life": half_life, "fdr": fdr,
        "alpha": alpha, "time": time,
    }  # fmt: skip
    watching.run(model, wanted, options_of_monitor)


@app.command()
def serve(
    model: Model,
    port: Annotated[int, typer.Option(metavar="PORT", help="The port to listen at, on this machine only.")] = 8321,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The token that requests must have; random by default.",
            envvar="PARIBUS_TOKEN",
            show_envvar=True,
        ),
    ] = None,
    max_rows: Annotated[int, typer.Option(metavar="N", help="The maximum number of rows of a request.")] = 10_000,
    max_waiting: Annotated[
        int, typer.Option(metavar="N", help="The maximum number of waiting rows; further requests get status 429.")
    ] = 20_000,
    n_jobs: Annotated[int, typer.Option(metavar="N", help="Number of threads; -1 for all cores.")] = -1,
) -> None:
    """Score rows over HTTP, on this machine: POST /score and /explain, GET /health, /metrics and /openapi.json.

    \b
    paribus serve days.paribus --port 8321
    """  # noqa: D301
    with loading():
        from paribus.cli import serve as serving
    serving.run(model, port, token, max_rows, max_waiting, n_jobs)


@app.command()
def demo(
    report: Annotated[Path, typer.Option(metavar="PATH", help="Where to write the report.")] = Path(
        "paribus-demo.html"
    ),
) -> None:
    """Find unusual days in a bundled table, and write a report."""
    with loading():
        from paribus.cli.demo import run
        from paribus.cli.outputs import check_report
    check_report(report)
    run(report)


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A data set to describe, or to save.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Save the table: .csv, .tsv, .jsonl, .parquet, .xlsx or a database."),
    ] = None,
) -> None:
    """List the data sets that paribus.datasets.load can load, or save one of them as a file.

    \b
    paribus datasets weather --out days.csv
    """  # noqa: D301
    with loading():
        from paribus.cli import data_sets
    if name is not None:
        data_sets.describe(name, out)
    elif out is not None:
        raise typer.BadParameter("--out needs the name of a data set: 'paribus datasets' lists them")
    else:
        data_sets.list_all()
