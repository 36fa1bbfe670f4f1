"""The results of experiments: files with one line of JSON per task, and means over trials."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, TypeAlias

Measure: TypeAlias = Literal["prc_auc", "roc_auc", "precision_at_n", "seconds"]
MEASURES: dict[Measure, str] = {"prc_auc": "PRC AUC", "roc_auc": "ROC AUC", "precision_at_n": "P@n"}


@dataclass(frozen=True)
class Task:
    """The unit of an experiment: one detector on one table with one injection of anomalies."""

    experiment: str
    dataset: str
    method: str
    trial: int
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters of the detector, besides those that the name of the method implies."""
    shape: tuple[int, int, int] | None = None
    """The numbers of rows, contextual and behavioral features of a generated table; None for a named data set."""

    @property
    def key(self) -> str:
        """A text that identifies the task."""
        return json.dumps([self.experiment, self.dataset, self.method, self.trial, self.parameters, self.shape])


@dataclass(frozen=True)
class Result:
    """The result of a task."""

    task: Task
    seconds: float
    """The duration of the fit."""
    prc_auc: float | None = None
    roc_auc: float | None = None
    precision_at_n: float | None = None
    error: str | None = None
    """The error message if the task failed."""
    seed: int | None = None
    """The seed of the injection and of the detector."""
    settings: dict[str, Any] = field(default_factory=dict)
    """All parameters of the detector, including defaults, except for the roles of columns."""
    versions: dict[str, str] = field(default_factory=dict)
    """The versions of the packages that results depend on."""
    machine: dict[str, Any] = field(default_factory=dict)
    """The properties of the machine that the duration depends on."""
    found: dict[str, Any] = field(default_factory=dict)
    """The measures of the experiment "real": the fields of `real.Found`."""

    def to_line(self) -> str:
        """The result as a line of a result file."""
        return json.dumps(asdict(self.task) | {k: v for k, v in asdict(self).items() if k != "task"})

    @classmethod
    def from_line(cls, line: str) -> Result:
        """Reads a result from a line of a result file."""
        entry = json.loads(line)
        own = {each.name: entry.pop(each.name) for each in fields(Task)}
        if own["shape"] is not None:
            own["shape"] = tuple(own["shape"])
        return cls(Task(**own), **entry)


class ResultFile:
    """A file of results to which lines are appended, so that an interrupted run can be resumed.

    Parameters
    ----------
    path : Path
        The file, which is created together with its folder when the first result is appended.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Result]:
        """The last result of each task."""
        results = {}
        if self.path.exists():
            for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
                try:
                    result = Result.from_line(line)
                except (ValueError, KeyError, TypeError):
                    if not line.endswith("}"):
                        # A run was killed while it wrote this line.
                        continue
                    raise ValueError(f"line {number} of '{self.path}' is not a result: remove the line") from None
                results[result.task.key] = result
        return list(results.values())

    def append(self, result: Result) -> None:
        """Appends a result and flushes it to disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as stream:
            # An incomplete last line, left by a killed run, must not merge with this one.
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.write(b"\n")
            stream.write(result.to_line().encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


@dataclass(frozen=True)
class Mean:
    """The mean and the standard deviation of a measure over trials."""

    mean: float
    deviation: float | None
    """The standard deviation; None for a single trial."""
    n_trials: int

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        """The mean of the given values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")


# Differences from the paper up to this, or up to the paper's standard deviation, do not count.
REACH = 0.02
MARKS = {1: " ▲", 0: "", -1: " ▼"}


def verdict(found: Mean, reported: Mean) -> int:
    """1 if a mean is above the paper's by more than the tolerance, -1 if it is below, 0 if it is within.

    >>> verdict(Mean(0.95, 0.01, 10), Mean(0.90, 0.04, 10)), verdict(Mean(0.87, 0.01, 10), Mean(0.90, 0.04, 10))
    (1, 0)
    """
    difference = found.mean - reported.mean
    if abs(difference) <= max(REACH, reported.deviation or 0.0) + 1e-9:
        return 0
    return 1 if difference > 0 else -1


def is_generated(dataset: str) -> bool:
    """Whether a data set of the paper is synthetic.

    >>> is_generated("Syn10"), is_generated("SynMachine")
    (True, False)
    """
    return dataset.startswith("Syn") and dataset[3:].isdecimal()


def means(results: Iterable[Result], measure: Measure = "prc_auc") -> dict[tuple[str, str], Mean]:
    """The mean of a measure over trials, for each data set and method."""
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        value = getattr(result, measure)
        if value is not None and result.error is None:
            values.setdefault((result.task.dataset, result.task.method), []).append(value)
    return {key: Mean.of(trials) for key, trials in values.items()}


@cache
def paper_means(measure: Measure = "prc_auc") -> dict[tuple[str, str], Mean]:
    """The results that Li and van Leeuwen (2023) report for each data set and method.

    >>> paper_means()["Energy", "ROCOD"]
    Mean(mean=0.42, deviation=0.06, n_trials=10)
    """
    text = files("paribus.evaluation").joinpath("paper_results.csv").read_text(encoding="utf-8")
    return {
        (row["dataset"], row["method"]): Mean(
            # Without a deviation there was only one trial.
            float(row["mean"]),
            float(row["std"]) if row["std"] else None,
            10 if row["std"] else 1,
        )
        for row in csv.DictReader(text.splitlines())
        if row["metric"] == MEASURES[measure]
    }
