"""Reproduces the paper's numbers for QCAD and ROCOD by following its authors' scripts.

The published scripts convert all contextual values to text before they compute distances, so that two numbers are
either equal or have nothing in common. Their forests come from scikit-garden, which interpolates linearly between the
values of a distribution, whereas the paper's text takes the smallest value whose cumulative weight is large enough.

QCAD is run here with 10 trees and three variants: with Gower's distance, with the distance of the script, and with the
distance of the script and interpolated percentiles. Otherwise it is the same as `paribus.QCAD`. ROCOD is run with the
paper's distance threshold of 0.9, by which rows that share a tenth of their values are neighbors. Its area under the
precision-recall curve interpolates linearly between points, which gives (1 + rate of anomalies) / 2 if all scores are
equal.

Writes `results/published.json` next to this file, and two tables of docs/results/results.md from it. Results
that the file already contains are not computed again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from paper.markdown import header, rewrite_part, row
from sklearn.linear_model import LinearRegression
from sklearn.metrics import auc, precision_recall_curve

from paribus import QCAD, datasets, gower_neighbors
from paribus._common.arrays import Floats
from paribus.baselines.base import Baseline, Rows
from paribus.baselines.rocod import ROCOD, explained_share, neighbor_means, squared_deviations
from paribus.detectors.qcad import DEFAULT_NEIGHBORS
from paribus.evaluation import average_precision
from paribus.evaluation.experiments import paper_sets
from paribus.evaluation.results import MARKS, Mean, is_generated, paper_means, verdict
from paribus.methods.qcad.forest_plan import ForestPlan
from paribus.methods.qcad.model import make_engine, rescale
from paribus.methods.scores import mean_score

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "published.json"
PAGE = HERE.parent / "docs" / "results" / "results.md"
# Tables with more than `LARGE` rows get fewer trials: they are slow, and their results vary little.
TRIALS, TRIALS_OF_LARGE, LARGE = 5, 3, 2000
Results: TypeAlias = dict[str, dict[str, list[float]]]
"""Data set -> detector and area -> the values of all trials."""
TREES = 10
THRESHOLD = 0.9


class PublishedQCAD(Baseline):
    """QCAD on the reference groups of the published script, with ties in random order."""

    interpolates = False

    def _check_parameters(self) -> None:
        """There are no parameters to check."""

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
        raw = np.array([self._partial_scores(rows, place, group, plan) for place, group in enumerate(groups)])
        return mean_score(rescale(raw, usual.clip))

    def _partial_scores(self, rows: Rows, place: int, group: npt.NDArray[np.int64], plan: ForestPlan) -> Floats:
        """The partial scores of one row, from an engine whose table is the row's reference group."""
        behavior = rows.behavior[group]
        ties = np.arange(len(group), dtype=np.uint32)
        engine = make_engine(rows.context[group], rows.categorical.astype(np.uint8), behavior, ties, plan)
        actual = rows.behavior[place]
        question = (rows.context[place : place + 1], actual[None], np.array([-1]))
        if self.interpolates:
            _, _, weights, members, _ = engine.explain(*question)
            features = range(len(actual))
            curves = [interpolate(behavior[members[0], each], weights[0, each], plan.n_quantiles) for each in features]
            return np.array([interval_width(curve, value) for curve, value in zip(curves, actual, strict=True)])
        scores, _, _ = engine.score(*question)
        # The engine's scores are in units of the group's range; those of the script are in units of the table's, which
        # is 1. If all values of the group are equal, the score is the distance from them.
        ranges = np.ptp(behavior, axis=0)
        partial: Floats = np.where(ranges > 0, scores[0] * ranges, np.abs(actual - behavior[0]))
        return partial


class InterpolatedQCAD(PublishedQCAD):
    """QCAD on the reference groups of the published script, with the percentiles of scikit-garden."""

    interpolates = True


def interpolate(values: Floats, weights: Floats, n_quantiles: int) -> Floats:
    """The percentiles of a weighted distribution, interpolated linearly between the midpoints of the weights."""
    order = np.argsort(values)
    order = order[weights[order] > 0]
    sums = np.cumsum(weights[order])
    shares = (sums - weights[order] / 2) / sums[-1]
    percentiles = np.interp(np.linspace(0, 1, n_quantiles + 1), shares, values[order])
    return np.asarray(percentiles)


def interval_width(percentiles: Floats, value: float) -> float:
    """The partial score of a value, as defined in the paper, from percentiles 0 to 100."""
    widths = np.diff(percentiles)
    low, high = percentiles[0], percentiles[-1]
    if low <= value <= high:
        return float(widths[(percentiles[:-1] <= value) & (value <= percentiles[1:])].min())
    distance = max(low - value, value - high)
    if low == high:
        return float(distance)
    spread = percentiles[75] - percentiles[25] or (high - low) / 2
    return float((1 + distance / spread) * widths.max())


class PublishedROCOD(ROCOD):
    """ROCOD as in the published script."""

    def _score(self, rows: Rows, random: np.random.RandomState) -> Floats:
        as_text = np.ones_like(rows.categorical)
        n_neighbors, local_behavior = neighbor_means(rows.context, as_text, rows.behavior, THRESHOLD)
        line = LinearRegression().fit(rows.context, rows.behavior).predict(rows.context)
        deviations = squared_deviations(rows.behavior, n_neighbors, local_behavior, line.reshape(rows.behavior.shape))
        return np.asarray(deviations @ explained_share(rows.behavior, deviations))


def area_with_straight_lines(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """The PRC AUC of the published script, with linear interpolation."""
    precision, recall, _ = precision_recall_curve(labels, scores)
    return float(auc(recall, precision))


DETECTORS: dict[str, Callable[..., Any]] = {
    "QCAD, Gower distance": lambda *roles, **rest: QCAD(*roles, n_trees=TREES, n_jobs=1, **rest),
    "QCAD, text distance": PublishedQCAD,
    "QCAD, text distance, interpolated": InterpolatedQCAD,
    "ROCOD": PublishedROCOD,
}
AREAS = {"average precision": average_precision, "area": area_with_straight_lines}


def measure(name: str, label: str) -> dict[str, list[float]]:
    """Runs a detector on one data set; both areas of each trial."""
    found: dict[str, list[float]] = {f"{label}: {area}": [] for area in AREAS}
    data = datasets.load(name)
    for trial in range(TRIALS if data.n_rows <= LARGE else TRIALS_OF_LARGE):
        table, labels = datasets.inject(data, seed=trial)
        make = DETECTORS[label]
        detector = make(data.contextual, data.behavioral, categorical=data.categorical, random_state=trial)
        scores = detector.fit(table).anomaly_scores_
        for area, integrate in AREAS.items():
            found[f"{label}: {area}"].append(round(integrate(labels, scores), 4))
    return found


def read_results() -> Results:
    """The stored results."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def write_page(results: Results) -> None:
    """Writes both tables into docs/results/results.md, between its marks."""
    areas = [f"{label}: average precision" for label in DETECTORS if label.startswith("QCAD")]
    titles = ["Gower's distance", "the script's distance", "and interpolated percentiles"]
    rewrite_part(PAGE, "published QCAD", _table(results, "QCAD", areas, titles))
    areas, titles = (
        ["ROCOD: area", "ROCOD: average precision"],
        ["its script, its area", "its script, average precision"],
    )
    rewrite_part(PAGE, "published ROCOD", _table(results, "ROCOD", areas, titles))


def _table(results: Results, method: str, columns: Iterable[str], titles: Iterable[str]) -> list[str]:
    """The paper's value of each data set, and the columns of ours, marked where they differ from it."""
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
    return [*lines, "", f"Within range of the paper's value, of {len(results)}: {counts}."]


def main() -> None:
    """Runs all detectors on the real-world data sets, since our synthetic ones are other draws than the paper's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true", help="only rewrite the page from published.json")
    if not parser.parse_args().page_only:
        results = read_results() if RESULTS.exists() else {}
        for summary in paper_sets():
            if not is_generated(summary.name):
                found = results.setdefault(summary.name, {})
                for label in DETECTORS:
                    if f"{label}: area" not in found:
                        found |= measure(summary.name, label)
                        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
                        print(f"{summary.name}, {label}: {found[f'{label}: average precision']}", flush=True)
    write_page(read_results())


if __name__ == "__main__":
    main()
