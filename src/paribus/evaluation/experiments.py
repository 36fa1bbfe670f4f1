"""One detector, one data set, one injection: the cell that comparisons are made of."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from paribus import baselines, datasets
from paribus.evaluation.metrics import average_precision, precision_at_n, roc_auc


@dataclass(frozen=True)
class Cell:
    """How well one detector found the anomalies of one injection, and how long it took."""

    dataset: str
    method: str
    trial: int
    prc_auc: float
    roc_auc: float
    precision_at_n: float
    seconds: float

    @property
    def key(self) -> tuple[str, str, int]:
        """What was run."""
        return self.dataset, self.method, self.trial


@dataclass(frozen=True)
class Mean:
    """The mean and deviation of a measure over trials. One trial has no deviation."""

    mean: float
    deviation: float | None
    n_trials: int | None = None

    def __str__(self) -> str:
        return f"{self.mean:.2f}" + ("" if self.deviation is None else f" ± {self.deviation:.2f}")


def run_cell(dataset: str, method: str, trial: int, *, label: str | None = None, **parameters: Any) -> Cell:
    """Injects the paper's number of anomalies, lets a rival look for them, and measures.

    The trial is the seed of both the injection and the detector: the same cell gives the same result. Parameters other
    than the rival's defaults make another method of it, with a label of its own.

    Examples
    --------
    >>> cell = run_cell("Syn1", "ROCOD", trial=0)
    >>> cell.prc_auc > 0.9
    True
    """
    data = datasets.load(dataset)
    table, labels = datasets.inject(data, seed=trial)
    detector = baselines.get(method)(
        data.contextual, data.behavioral, categorical=data.categorical, random_state=trial, **parameters
    )
    start = time.perf_counter()
    scores = detector.fit(table).anomaly_scores_
    seconds = time.perf_counter() - start
    return Cell(
        data.name,
        label or method,
        trial,
        round(average_precision(labels, scores), 4),
        round(roc_auc(labels, scores), 4),
        round(precision_at_n(labels, scores), 4),
        round(seconds, 2),
    )


def read_cells(path: Path) -> list[Cell]:
    """The cells of a result file; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            Cell(
                row["dataset"],
                row["method"],
                int(row["trial"]),
                *(float(row[name]) for name in ("prc_auc", "roc_auc", "precision_at_n", "seconds")),
            )
            for row in csv.DictReader(stream)
        ]


def append_cell(path: Path, cell: Cell) -> None:
    """Adds a cell to a result file, so that a run that is broken off goes on where it was."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Cell)], lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(asdict(cell))


def means(cells: Iterable[Cell], measure: str = "prc_auc") -> dict[tuple[str, str], Mean]:
    """The mean of a measure for each data set and method."""
    values: dict[tuple[str, str], list[float]] = {}
    for cell in cells:
        values.setdefault((cell.dataset, cell.method), []).append(getattr(cell, measure))
    return {
        key: Mean(fmean(trials), stdev(trials) if len(trials) > 1 else None, len(trials))
        for key, trials in values.items()
    }


def paper_means(measure: str = "prc_auc") -> dict[tuple[str, str], Mean]:
    """What Li and van Leeuwen (2023) report for each data set and method, over ten injections.

    Where they give no deviation there was only one.

    >>> paper_means()["Energy", "ROCOD"]
    Mean(mean=0.42, deviation=0.06, n_trials=10)
    """
    wanted = {"prc_auc": "PRC AUC", "roc_auc": "ROC AUC", "precision_at_n": "P@n"}[measure]
    text = files("paribus.evaluation").joinpath("paper_results.csv").read_text(encoding="utf-8")
    return {
        (row["dataset"], row["method"]): Mean(
            float(row["mean"]), float(row["std"]) if row["std"] else None, 10 if row["std"] else 1
        )
        for row in csv.DictReader(text.splitlines())
        if row["metric"] == wanted
    }
