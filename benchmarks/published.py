"""Where the paper's numbers for QCAD and ROCOD come from: what its authors' scripts do, next to what they report.

The published scripts turn all context values into text before they take distances, so that two numbers either are equal
or have nothing in common. Their forests come from scikit-garden, which interpolates linearly between the values of a
distribution where the paper's text takes the smallest value that is large enough.

QCAD is run here with 10 trees: by Gower's distance, by that of the script, and by that of the script with interpolated
percentiles. Nothing else differs from `paribus.QCAD`. ROCOD is run with the distance threshold of the paper, 0.9: a row
with a tenth of its values in common is a neighbor. Its area under the precision-recall curve has straight lines
between its points, which gives (1 + rate of anomalies) / 2 when all scores are equal.

Writes `results/published.json` next to this file, and two tables of docs/results/results.md from it. What is in the file is not
run again.
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
from paribus.methods import scores as scoring
from paribus.methods.qcad.forest_plan import ForestPlan
from paribus.methods.qcad.model import make_engine, rescale

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "published.json"
PAGE = HERE.parent / "docs" / "results" / "results.md"
# Large tables take long, and their results vary little.
TRIALS, TRIALS_OF_LARGE, LARGE = 5, 3, 2000
Results: TypeAlias = dict[str, dict[str, list[float]]]
"""Data set -> detector and area -> one number for each trial."""
TREES = 10
THRESHOLD = 0.9


class PublishedQCAD(Baseline):
    """QCAD on the reference groups of the published script. Of rows at the same distance, a seeded draw comes first."""

    interpolates = False

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
        raw = np.array([self._partial_scores(rows, place, group, plan) for place, group in enumerate(groups)])
        return scoring.total(rescale(raw, usual.clip))

    def _partial_scores(self, rows: Rows, place: int, group: npt.NDArray[np.int64], plan: ForestPlan) -> Floats:
        """Those of one row, given its reference group: an engine whose table is the group, asked about this row."""
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
        # In units of the group's range, and wanted in units of the table's, which is 1. A distribution that is one
        # value has no range: the score is the distance to it.
        ranges = np.ptp(behavior, axis=0)
        partial: Floats = np.where(ranges > 0, scores[0] * ranges, np.abs(actual - behavior[0]))
        return partial


class InterpolatedQCAD(PublishedQCAD):
    """The same with the percentiles of scikit-garden."""

    interpolates = True


def interpolate(values: Floats, weights: Floats, n_quantiles: int) -> Floats:
    """Percentiles of a weighted distribution, linear between values that stand for the middle of their weights."""
    order = np.argsort(values)
    order = order[weights[order] > 0]
    sums = np.cumsum(weights[order])
    shares = (sums - weights[order] / 2) / sums[-1]
    percentiles = np.interp(np.linspace(0, 1, n_quantiles + 1), shares, values[order])
    return np.asarray(percentiles)


def interval_width(percentiles: Floats, value: float) -> float:
    """The partial score as docs/methods/qcad.md has it, from percentiles 0 to 100."""
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


DETECTORS: dict[str, Callable[..., Any]] = {
    "QCAD, Gower distance": lambda *roles, **rest: QCAD(*roles, n_trees=TREES, n_jobs=1, **rest),
    "QCAD, text distance": PublishedQCAD,
    "QCAD, text distance, interpolated": InterpolatedQCAD,
    "ROCOD": PublishedROCOD,
}
AREAS = {"average precision": average_precision, "area": area_with_straight_lines}


def measure(name: str, label: str) -> dict[str, list[float]]:
    """A detector on one data set by both areas, trial by trial."""
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
    """What was measured last."""
    return dict(json.loads(RESULTS.read_text(encoding="utf-8")))


def write_page(results: Results) -> None:
    """Puts both tables into docs/results/results.md."""
    areas = [f"{label}: average precision" for label in DETECTORS if label.startswith("QCAD")]
    titles = ["Gower's distance", "the script's distance", "and interpolated percentiles"]
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
