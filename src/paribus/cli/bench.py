"""`paribus bench`: the paper's experiments on the command line. Modules are imported when a command needs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paribus.evaluation.results import Result, ResultFile, Task

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run the paper's experiments on the paper's data.")

Folder = Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Folder of the result files.")]
Detectors = Annotated[
    list[str] | None,
    typer.Option("--detector", metavar="NAME", help="Only these detectors, separated by commas; can be repeated."),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", metavar="NAME", help="Only these data sets, separated by commas; can be repeated."),
]
Trials = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number of injections per cell, instead of the paper's.")
]
Seed = Annotated[
    int, typer.Option(metavar="N", min=0, help="Added to the number of the trial. Each seed has its own result file.")
]
Jobs = Annotated[
    int, typer.Option(metavar="N", min=-1, help="Number of processes, each with one thread; -1 for all cores.")
]
Quick = Annotated[bool, typer.Option("--quick", help="Run a part that takes less than five minutes on two cores.")]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Run failed cells again.")]

DEFAULT_FOLDER = Path("benchmarks/results")
SOME_FAILED = 1


@app.command()
def accuracy(
    detectors: Detectors = None,
    datasets: Datasets = None,
    trials: Trials = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run both detectors and the baselines on the paper's 30 data sets (tables 4 to 6).

    This takes up to three hours on two cores. Finished cells are stored: a run that was stopped continues where it was.

    \b
    paribus bench accuracy --quick
    paribus bench accuracy --detector QCAD,ROCOD --dataset Yacht,Energy --trials 3
    paribus bench accuracy --detector "ROCOD, as in the paper"
    """  # noqa: D301
    from paribus.evaluation import experiments

    chosen = _choose("--detector", detectors, list(experiments.METHODS), experiments.COMPARED)
    names = _choose_datasets(datasets, experiments.QUICK_SETS if quick else None)
    tasks = experiments.accuracy_tasks(chosen, names, trials or (experiments.QUICK_TRIALS if quick else None))
    _run("accuracy", tasks, results, seed, jobs, retry_failed)


@app.command()
def runtime(
    detectors: Detectors = None,
    trials: Trials = None,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Time QCAD, CAD and plain forests for different numbers of rows and features (figure 6).

    Cells run one after the other, each on one core. Do not use the machine for anything else meanwhile.
    """
    from paribus.evaluation import experiments

    chosen = _choose("--detector", detectors, experiments.RUNTIME_METHODS, experiments.RUNTIME_METHODS)
    max_rows = experiments.QUICK_ROWS if quick else None
    tasks = experiments.runtime_tasks(chosen, trials or (1 if quick else None), max_rows)
    _run("runtime", tasks, results, 0, 1, retry_failed)


@app.command()
def sensitivity(
    datasets: Datasets = None,
    trials: Trials = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run QCAD with other sizes of the reference group (appendix C)."""
    from paribus.evaluation import experiments

    names = _choose_datasets(datasets, experiments.QUICK_SETS if quick else experiments.STUDIED_SETS)
    tasks = experiments.sensitivity_tasks(names, trials or (experiments.QUICK_TRIALS if quick else None))
    _run("sensitivity", tasks, results, seed, jobs, retry_failed)


@app.command()
def ablation(
    datasets: Datasets = None,
    trials: Trials = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run QCAD without scaling of tails, and with other limits of partial scores (appendix D)."""
    from paribus.evaluation import experiments

    names = _choose_datasets(datasets, experiments.QUICK_SETS if quick else experiments.STUDIED_SETS)
    tasks = experiments.ablation_tasks(names, trials or (experiments.QUICK_TRIALS if quick else None))
    _run("ablation", tasks, results, seed, jobs, retry_failed)


@app.command()
def heldout(
    detectors: Detectors = None,
    datasets: Datasets = None,
    trials: Trials = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run the detectors on held-out tables that no design choice was based on, with anomalies of seven kinds.

    This takes about two hours on two cores. A data set is a table and a kind of anomaly, such as 'iris / swap'. 4 % of
    its rows are anomalies; the data sets 'iris / swap / 1 %' and 'iris / swap / 10 %' have fewer and more. By default,
    these run for the quick detectors only.

    \b
    paribus bench heldout --quick
    paribus bench heldout --detector ConditionalSurprise,RIF
    paribus bench heldout --detector RIF --dataset "iris / swap / 1 %"
    """  # noqa: D301
    from paribus.evaluation import experiments
    from paribus.evaluation.heldout import RATES, heldout_sets

    chosen = _choose("--detector", detectors, list(experiments.METHODS), experiments.COMPARED)
    known = [name for rate in RATES for name in heldout_sets(rate)]
    names = _choose("--dataset", datasets, known, experiments.QUICK_HELDOUT if quick else heldout_sets())
    n_trials = trials or (experiments.QUICK_TRIALS if quick else None)
    tasks = list(experiments.heldout_tasks(chosen, names, n_trials))
    if not datasets and not quick:
        tasks += experiments.rate_tasks(chosen, n_trials)
    _run("heldout", tasks, results, seed, jobs, retry_failed)


@app.command()
def real(
    detectors: Detectors = None,
    datasets: Datasets = None,
    jobs: Jobs = -1,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run detectors on real tables with known errors, which other packages ship.

    It counts the wrong rows in the top 50, and those that are flagged by default. This takes about an hour on two
    cores, most of it for the 336,776 rows of the table flights.

    \b
    paribus bench real --dataset weather,diamonds --detector ConditionalSurprise
    """  # noqa: D301
    from paribus.evaluation import experiments
    from paribus.evaluation.real_tables import real_tables

    chosen = _choose("--detector", detectors, list(experiments.METHODS), experiments.REAL_METHODS)
    names = _choose("--dataset", datasets, real_tables(), real_tables())
    _run("real", experiments.real_tasks(chosen, names), results, 0, jobs, retry_failed)


def _choose(option: str, asked: list[str] | None, known: list[str], default: list[str]) -> list[str]:
    """The names that were typed, in any case. Each value is a name, or several names separated by commas."""
    from paribus.cli.columns import split
    from paribus.tables.table import nearest_name

    by_lower = {name.lower(): name for name in known}
    chosen = []
    for value in asked or []:
        for part in [value] if value.strip().lower() in by_lower else split(value):
            if part.strip().lower() not in by_lower:
                raise ValueError(f"{option}: there is no '{part}'{nearest_name(part, known)}")
            chosen.append(by_lower[part.strip().lower()])
    if asked and not chosen:
        raise ValueError(f"{option} is empty: choose from {', '.join(known)}")
    return list(dict.fromkeys(chosen)) or default


def _choose_datasets(asked: list[str] | None, default: list[str] | None) -> list[str]:
    from paribus.evaluation.experiments import paper_sets

    known = [summary.name for summary in paper_sets()]
    return _choose("--dataset", asked, known, default or known)


def _run(experiment: str, tasks: Iterable[Task], folder: Path, seed: int, jobs: int, retry_failed: bool) -> None:
    """Runs the cells that have no result yet. Everything is validated before the first cell starts."""
    from functools import partial

    from paribus._common.atomic_files import check_writable
    from paribus._common.threads import resolve_n_jobs
    from paribus.cli.outputs import check_folder
    from paribus.evaluation.experiments import prepare, run_task
    from paribus.evaluation.results import ResultFile
    from paribus.evaluation.runner import pending, run

    if jobs == 0:
        raise ValueError("--jobs is 0: it must be a number of processes, or -1 for all cores")
    n_jobs = resolve_n_jobs(jobs)
    file = ResultFile(folder / f"{experiment}{f'-seed{seed}' if seed else ''}.jsonl")
    everything = list(tasks)
    todo = pending(everything, file, retry_failed)
    check_folder(folder, parents=True)
    check_writable(file.path)
    prepare(todo)
    typer.echo(f"{len(todo):,} of {len(everything):,} cells to run; results go to {file.path}", err=True)
    failed: list[Result] = []
    with _display(experiment, todo, file, n_jobs) as show:

        def keep(result: Result) -> None:
            if result.error is not None:
                failed.append(result)
            show(result)

        run(todo, file, partial(run_task, seed=seed), n_jobs=n_jobs, on_result=keep)
    if failed:
        typer.echo(f"{len(failed):,} cells failed; --retry-failed runs them again", err=True)
        raise typer.Exit(SOME_FAILED)


@contextmanager
def _display(experiment: str, todo: list[Task], file: ResultFile, n_jobs: int) -> Iterator[Callable[[Result], None]]:
    """Shows the progress: on a terminal as a bar and a line for each failure, elsewhere as a line for each result."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from paribus.evaluation.experiments import Clock

    left = {task.key: task for task in todo}
    clock = Clock(file.read())
    console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
    columns: Any = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task(experiment, total=len(todo), left="")

        def show(result: Result) -> None:
            del left[result.task.key]
            clock.note(result)
            time_left = in_words(sum(clock.expect(task) for task in left.values()) / n_jobs)
            line = _one_line(result)
            if not console.is_terminal:
                console.print(f"[{len(todo) - len(left):,} of {len(todo):,}, {time_left}] {line}")
            elif result.error is not None:
                console.print(line)
            progress.update(bar, advance=1, left=time_left)

        yield show


def in_words(seconds: float) -> str:
    """The remaining time in words.

    >>> in_words(20), in_words(600), in_words(8000)
    ('less than a minute left', 'about 10 min left', 'about 2 h 13 min left')
    """
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute left"
    return f"about {minutes} min left" if minutes < 100 else f"about {minutes // 60} h {minutes % 60} min left"


def _one_line(result: Result) -> str:
    task = result.task
    what = [task.dataset, task.method, f"trial {task.trial}", *(f"{k} {v}" for k, v in task.parameters.items())]
    if task.shape is not None:
        what.append("{} rows, {} + {} features".format(*task.shape))
    if result.prc_auc is not None:
        found = f"PRC AUC {result.prc_auc:.3f}"
    elif result.found:
        found = "{top_wrong:g} of {n_wrong} wrong rows in the top 50".format(**result.found)
    else:
        found = result.error or "timed"
    return f"{', '.join(what)}: {found} ({result.seconds:.1f} s)"
