"""Results of experiments: one line of JSON for each finished cell, and what they amount to."""

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
    """One detector, one table, one injection: the cell that experiments are made of."""

    experiment: str
    dataset: str
    method: str
    trial: int
    parameters: dict[str, Any] = field(default_factory=dict)
    """Of the detector, besides those that the method stands for."""
    shape: tuple[int, int, int] | None = None
    """Rows, contextual and behavioral features of a generated table; None for a data set by name."""

    @property
    def key(self) -> str:
        """What makes it this task and no other."""
        return json.dumps([self.experiment, self.dataset, self.method, self.trial, self.parameters, self.shape])


@dataclass(frozen=True)
class Result:
    """What came of a task."""

    task: Task
    seconds: float
    prc_auc: float | None = None
    roc_auc: float | None = None
    precision_at_n: float | None = None
    error: str | None = None
    """Why there are no measures, if so."""
    seed: int | None = None
    """Of the injection and of the detector."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Every parameter of the detector, defaults included, but the roles of columns."""
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    """What the duration depends on."""

    def to_line(self) -> str:
        """One line of a result file."""
        return json.dumps(asdict(self.task) | {k: v for k, v in asdict(self).items() if k != "task"})

    @classmethod
    def from_line(cls, line: str) -> Result:
        """The result that a line holds."""
        entry = json.loads(line)
        own = {each.name: entry.pop(each.name) for each in fields(Task)}
        if own["shape"] is not None:
            own["shape"] = tuple(own["shape"])
        return cls(Task(**own), **entry)


class ResultFile:
    """A file of results that grows by a line at a time. A run that was killed goes on where it was.

    Parameters
    ----------
    path : Path
        The file; it and its folder are made when the first result comes.
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
                        # What a killed run left.
                        continue
                    raise ValueError(f"line {number} of '{self.path}' is not a result: remove it") from None
                results[result.task.key] = result
        return list(results.values())

    def append(self, result: Result) -> None:
        """Adds a result, and sees to it that it is on the disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as stream:
            # A line that was torn when the last run was killed must not swallow this one.
            if stream.tell() > 0:
                stream.seek(-1, os.SEEK_END)
                if stream.read(1) != b"\n":
                    stream.write(b"\n")
            stream.write(result.to_line().encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


@dataclass(frozen=True)
class Mean:
    """The mean and deviation of a measure over trials. One trial has no deviation."""

    mean: float
    deviation: float | None
    n_trials: int

    @classmethod
    def of(cls, values: list[float]) -> Mean:
        """The mean of some values."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")


# A difference to the paper that is neither above this nor above the paper's own deviation is none.
REACH = 0.02
MARKS = {1: " ▲", 0: "", -1: " ▼"}


def verdict(found: Mean, reported: Mean) -> int:
    """1 if a mean is above what the paper reports by more than chance, -1 if below, 0 if within reach.

    >>> verdict(Mean(0.95, 0.01, 10), Mean(0.90, 0.04, 10)), verdict(Mean(0.87, 0.01, 10), Mean(0.90, 0.04, 10))
    (1, 0)
    """
    difference = found.mean - reported.mean
    if abs(difference) <= max(REACH, reported.deviation or 0.0) + 1e-9:
        return 0
    return 1 if difference > 0 else -1


def is_generated(dataset: str) -> bool:
    """Whether a data set of the paper is one of its synthetic ones.

    >>> is_generated("Syn10"), is_generated("SynMachine")
    (True, False)
    """
    return dataset.startswith("Syn") and dataset[3:].isdecimal()


def means(results: Iterable[Result], measure: Measure = "prc_auc") -> dict[tuple[str, str], Mean]:
    """The mean of a measure for each data set and method, over the trials that have it."""
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        value = getattr(result, measure)
        if value is not None and result.error is None:
            values.setdefault((result.task.dataset, result.task.method), []).append(value)
    return {key: Mean.of(trials) for key, trials in values.items()}


@cache
def paper_means(measure: Measure = "prc_auc") -> dict[tuple[str, str], Mean]:
    """What Li and van Leeuwen (2023) report for each data set and method.

    >>> paper_means()["Energy", "ROCOD"]
    Mean(mean=0.42, deviation=0.06, n_trials=10)
    """
    text = files("paribus.evaluation").joinpath("paper_results.csv").read_text(encoding="utf-8")
    return {
        (row["dataset"], row["method"]): Mean(
            # Where they give no deviation there was only one trial.
            float(row["mean"]),
            float(row["std"]) if row["std"] else None,
            10 if row["std"] else 1,
        )
        for row in csv.DictReader(text.splitlines())
        if row["metric"] == MEASURES[measure]
    }
