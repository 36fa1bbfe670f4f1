"""Where the paper's numbers for QCAD and ROCOD come from: what its authors' scripts do, next to what they report.

The published scripts turn all context values into text before they take distances, so that two numbers either are equal
or have nothing in common.

QCAD is run here with 10 trees on reference groups of this distance; nothing else differs from `paribus.QCAD`. ROCOD is
run with the distance threshold of the paper, 0.9: a row with a tenth of its values in common is a neighbour. Its area
under the precision-recall curve has straight lines between its points, which gives (1 + rate of anomalies) / 2 when all
scores are equal.

Writes `results/published.json` next to this file, and two tables of docs/results.md from it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression
from sklearn.metrics import auc, precision_recall_curve

from paribus import QCAD, datasets, gower_neighbors, scoring
from paribus._core import Engine
from paribus.baselines.base import Baseline, Rows
from paribus.baselines.rocod import ROCOD, explained_share, neighbor_means, squared_deviations
from paribus.datasets import Dataset
from paribus.detector import DEFAULT_NEIGHBORS
from paribus.evaluation import average_precision
from paribus.evaluation.experiments import paper_sets
from paribus.evaluation.markdown import header, rewrite_part, row
from paribus.evaluation.results import MARKS, Mean, is_generated, paper_means, verdict
from paribus.forests import ForestPlan
from paribus.table import Floats

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "published.json"
PAGE = HERE.parent / "docs" / "results.md"
TRIALS = 5
Results: TypeAlias = dict[str, dict[str, list[float]]]
"""Data set -> detector and area -> one number for each trial."""
TREES = 10
THRESHOLD = 0.9


class PublishedQCAD(Baseline):
    """QCAD on the reference groups of the published script. Of rows at the same distance, a seeded draw comes first."""

    def _check_parameters(self) -> None:
        """It has none of its own."""

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        n_rows, n_features = rows.context.shape
        k = min(n_rows // 2, DEFAULT_NEIGHBORS)
        as_text = list(range(n_features))
        groups, _ = gower_neighbors(rows.context, k, categorical=as_text, random_state=random, n_jobs=1)
        usual = QCAD([0])
        plan = ForestPlan.draw(
            random,
            k,
            n_features,
            n_trees=TREES,
            bootstrap=True,
            max_features=n_features,
            min_samples_split=usual.min_samples_split,
            n_quantiles=usual.n_quantiles,
            scale_tails=True,
        )
        raw = np.array([_partial_scores(rows, place, group, plan) for place, group in enumerate(groups)])
        return scoring.total(scoring.rescale(raw, usual.clip))


def _partial_scores(rows: Rows, place: int, group: npt.NDArray[np.int64], plan: ForestPlan) -> Floats:
    """Those of one row, given its reference group: an engine whose table is the group, asked about this row."""
    behavior = rows.behavior[group]
    engine = Engine(
        np.ascontiguousarray(rows.context[group].T),
        rows.categorical.astype(np.uint8),
        np.ascontiguousarray(behavior.T),
        np.arange(len(group), dtype=np.uint32),
        plan.multiplicities,
        plan.feature_order,
        plan.max_features,
        plan.min_samples_split,
        plan.n_quantiles,
        plan.scale_tails,
    )
    here = slice(place, place + 1)
    scores, _, _ = engine.score(rows.context[here], rows.behavior[here], np.array([-1]))
    # In units of the group's range, and wanted in units of the table's, which is 1. A distribution that is one value
    # has no range: the score is the distance to it.
    ranges = np.ptp(behavior, axis=0)
    partial: Floats = np.where(ranges > 0, scores[0] * ranges, np.abs(rows.behavior[place] - behavior[0]))
    return partial


class PublishedROCOD(ROCOD):
    """ROCOD as the paper's authors published it."""

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        as_text = np.ones_like(rows.categorical)
        n_neighbors, local_behavior = neighbor_means(rows.context, as_text, rows.behavior, THRESHOLD)
        line = LinearRegression().fit(rows.context, rows.behavior).predict(rows.context)
        deviations = squared_deviations(rows.behavior, n_neighbors, local_behavior, line.reshape(rows.behavior.shape))
        return np.asarray(deviations @ explained_share(rows.behavior, deviations))


def area_with_straight_lines(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The published script's PRC AUC."""
    precision, recall, _ = precision_recall_curve(labels, scores)
    return float(auc(recall, precision))


def measure(name: str) -> dict[str, list[float]]:
    """Each detector and area on one data set, trial by trial."""
    makers: dict[str, Callable[..., Any]] = {
        "QCAD, text distance": PublishedQCAD,
        "QCAD, Gower distance": lambda *roles, **rest: QCAD(*roles, n_trees=TREES, n_jobs=1, **rest),
        "ROCOD": PublishedROCOD,
    }
    found: dict[str, list[float]] = {}
    for trial in range(TRIALS):
        data: Dataset = datasets.load(name)
        table, labels = datasets.inject(data, seed=trial)
        for label, make in makers.items():
            detector = make(data.contextual, data.behavioral, categorical=data.categorical, random_state=trial)
            scores = detector.fit(table).anomaly_scores_
            found.setdefault(f"{label}: average precision", []).append(round(average_precision(labels, scores), 4))
            found.setdefault(f"{label}: area", []).append(round(area_with_straight_lines(labels, scores), 4))
    return found


def read_results() -> Results:
    """What was measured last."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def write_page(results: Results) -> None:
    """Puts both tables into docs/results.md."""
    areas = ["QCAD, Gower distance: average precision", "QCAD, text distance: average precision"]
    titles = ["by Gower's distance", "by that of the script"]
    rewrite_part(PAGE, "published QCAD", _table(results, "QCAD", areas, titles))
    areas, titles = (
        ["ROCOD: area", "ROCOD: average precision"],
        ["its script, its area", "its script, average precision"],
    )
    rewrite_part(PAGE, "published ROCOD", _table(results, "ROCOD", areas, titles))


def _table(results: Results, method: str, columns: Iterable[str], titles: Iterable[str]) -> list[str]:
    """The paper's value, and each column of ours with the mark of its difference to it."""
    lines = header(["data set", "paper", *titles])
    n_reached = dict.fromkeys(columns, 0)
    for name, found in results.items():
        reported = paper_means()[name, method]
        cells = []
        for column in columns:
            mean = Mean.of(found[column])
            judged = verdict(mean, reported)
            n_reached[column] += judged == 0
            cells.append(f"{mean.mean:.2f}{MARKS[judged]}")
        lines.append(row([name, str(reported), *cells]))
    counts = ", ".join(f"{title} {n}" for title, n in zip(titles, n_reached.values(), strict=True))
    return [*lines, "", f"Within reach of the paper's value, of {len(results)}: {counts}."]


def main() -> None:
    """Runs it on the real-world sets; the paper's synthetic tables are other draws than ours."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true", help="write the page again from published.json")
    if not parser.parse_args().page_only:
        results = {}
        for summary in paper_sets():
            if not is_generated(summary.name):
                results[summary.name] = measure(summary.name)
                print(summary.name, {key: float(np.mean(values)) for key, values in results[summary.name].items()})
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    write_page(read_results())


if __name__ == "__main__":
    main()
