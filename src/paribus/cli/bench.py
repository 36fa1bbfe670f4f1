"""`paribus bench`: the paper's experiments, from the shell. Imports wait until a command needs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paribus.evaluation.results import Result, Task

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The paper's experiments, on the paper's data.")

Folder = Annotated[Path, typer.Option("--results", help="Folder of the result files.")]
Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Only this data set; may be repeated.")]
Trials = Annotated[int | None, typer.Option(min=1, help="Injections of each cell, instead of the paper's number.")]
Seed = Annotated[int, typer.Option(min=0, help="Added to the number of the trial; other seeds have other files.")]
Jobs = Annotated[int, typer.Option(min=-1, help="Processes, each with one thread; -1 for as many as cores.")]
Quick = Annotated[bool, typer.Option("--quick", help="A few small data sets and trials: five minutes.")]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Run the cells again that failed.")]

DEFAULT_FOLDER = Path("benchmarks/results")


@app.command()
def accuracy(
    detectors: Annotated[
        list[str] | None, typer.Option("--detector", help="Only this detector; may be repeated.")
    ] = None,
    datasets: Datasets = None,
    trials: Trials = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    quick: Quick = False,
    retry_failed: Retry = False,
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Run QCAD and its rivals on the paper's 30 data sets (tables 4 to 6). Three hours; goes on where it stopped."""
    from paribus.evaluation import experiments

    chosen = _choose(detectors, list(experiments.METHODS), experiments.COMPARED, "detector")
    names = _choose_datasets(datasets, experiments.QUICK_SETS if quick else None)
    tasks = experiments.accuracy_tasks(chosen, names, trials or (experiments.QUICK_TRIALS if quick else None))
    _run("accuracy", tasks, results, seed, jobs, retry_failed)


@app.command()
def runtime(trials: Trials = None, retry_failed: Retry = False, results: Folder = DEFAULT_FOLDER) -> None:
    """Time QCAD, CAD and plain forests against rows and features (figure 6), one after the other, on one core each."""
    from paribus.evaluation import experiments

    _run("runtime", experiments.runtime_tasks(trials), results, 0, 1, retry_failed)


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
    """Run QCAD without the scaling of tails, and with other caps of partial scores (appendix D)."""
    from paribus.evaluation import experiments

    names = _choose_datasets(datasets, experiments.QUICK_SETS if quick else experiments.STUDIED_SETS)
    tasks = experiments.ablation_tasks(names, trials or (experiments.QUICK_TRIALS if quick else None))
    _run("ablation", tasks, results, seed, jobs, retry_failed)


@app.command()
def page(
    target: Annotated[Path, typer.Argument(help="A Markdown page with marks where the parts go.")] = Path(
        "docs/results.md"
    ),
    results: Folder = DEFAULT_FOLDER,
) -> None:
    """Write the tables and figures of a page from the result files."""
    from paribus.evaluation.page import write_page

    if not target.is_file():
        raise typer.BadParameter(f"there is no page '{target}'")
    for part in write_page(results, target, target.parent / "pictures"):
        typer.echo(f"{target}: {part}")


def _choose(asked: list[str] | None, known: list[str], default: list[str], what: str) -> list[str]:
    from paribus.table import find_key

    return [known[find_key(name, known, what)] for name in asked] if asked else default


def _choose_datasets(asked: list[str] | None, default: list[str] | None) -> list[str]:
    from paribus.evaluation.experiments import paper_sets

    known = [summary.name for summary in paper_sets()]
    return _choose(asked, known, default or known, "data set")


def _run(experiment: str, tasks: Iterable[Task], folder: Path, seed: int, jobs: int, retry_failed: bool) -> None:
    from functools import partial

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from paribus.evaluation.experiments import Clock, run_task
    from paribus.evaluation.results import ResultFile
    from paribus.evaluation.runner import pending, run
    from paribus.parallel import resolve_n_jobs

    file = ResultFile(folder / f"{experiment}{f'-seed{seed}' if seed else ''}.jsonl")
    n_jobs = resolve_n_jobs(jobs)
    everything = list(tasks)
    todo = pending(everything, file, retry_failed)
    left = {task.key: task for task in todo}
    clock = Clock(file.read())
    console = Console(stderr=True, highlight=False, markup=False)
    console.print(f"{len(todo):,} of {len(everything):,} cells to run; results go to {file.path}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    failed = []
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task(experiment, total=len(todo), left="")

        def show(result: Result) -> None:
            if result.error is not None:
                failed.append(result)
            del left[result.task.key]
            clock.note(result)
            minutes = sum(clock.expect(task) for task in left.values()) / n_jobs / 60
            progress.update(bar, advance=1, left=f"about {minutes:,.0f} min left")
            progress.console.print(_one_line(result))

        run(todo, file, partial(run_task, seed=seed), n_jobs=n_jobs, on_result=show)
    if failed:
        console.print(f"{len(failed)} cells failed; --retry-failed runs them again", style="yellow")


def _one_line(result: Result) -> str:
    task = result.task
    what = [task.dataset, task.method, f"trial {task.trial}", *(f"{k} {v}" for k, v in task.parameters.items())]
    if task.shape is not None:
        what.append("{} rows, {} + {} features".format(*task.shape))
    found = result.error or ("timed" if result.prc_auc is None else f"PRC AUC {result.prc_auc:.3f}")
    return f"{', '.join(what)}: {found} ({result.seconds:.1f} s)"
