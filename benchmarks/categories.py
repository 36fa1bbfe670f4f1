"""Flipped labels: how many ConditionalSurprise, cleanlab and outliertree find, and how many clean rows are flagged.

The label of some rows is replaced by another one. Each method ranks the rows and lists those that it takes for wrong:
ConditionalSurprise with the label as behavior and everything else as context; cleanlab's `find_label_issues` by the
out-of-sample probabilities of scikit-learn's random forest, in five folds; outliertree with the label as its only
target. Writes `benchmarks/categories.json` and the table of `docs/results/categories.md`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from cleanlab.filter import find_label_issues  # type: ignore[import-untyped]
from cleanlab.rank import get_label_quality_scores  # type: ignore[import-untyped]
from pages import write_part
from sklearn import datasets as sklearn_datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from paribus import ConditionalSurprise
from paribus.evaluation import average_precision
from paribus.evaluation.outlier_tree import OutlierTree

TABLES = ("iris", "wine", "breast_cancer", "digits", "generated")
SHARES = (0.0, 0.02, 0.05)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "results" / "categories.md"


def load(name: str) -> tuple[Any, Any]:
    """Features and labels."""
    if name == "generated":
        random = np.random.default_rng(7)
        features = random.normal(size=(3000, 5))
        odds = np.exp(3.0 * features[:, :4])
        chosen = (odds.cumsum(axis=1) / odds.sum(axis=1, keepdims=True) > random.random((3000, 1))).argmax(axis=1)
        return features, chosen
    found = getattr(sklearn_datasets, f"load_{name}")()
    return found.data, found.target


def flip(labels: Any, share: float, seed: int) -> tuple[Any, Any]:
    """The labels, some of them replaced by others; and which ones."""
    random = np.random.default_rng(seed)
    is_wrong = random.random(len(labels)) < share
    n_classes = int(labels.max()) + 1
    shifts = random.integers(1, n_classes, size=len(labels))
    return np.where(is_wrong, (labels + shifts) % n_classes, labels), is_wrong


def by_paribus(features: Any, labels: Any) -> tuple[Any, Any]:
    """Scores, and which rows are listed."""
    table = {f"x{place}": column for place, column in enumerate(features.T)}
    names = list(table)
    detector = ConditionalSurprise(names, ["label"], n_jobs=1).fit(table | {"label": labels.astype(str)})
    return detector.anomaly_scores_, detector.labels_ == -1


def by_cleanlab(features: Any, labels: Any) -> tuple[Any, Any]:
    """Scores, and which rows are listed."""
    forest = RandomForestClassifier(200, min_samples_leaf=2, random_state=0)
    probabilities = cross_val_predict(forest, features, labels, cv=FOLDS, method="predict_proba")
    return -get_label_quality_scores(labels, probabilities), find_label_issues(labels, probabilities, n_jobs=1)


def by_outliertree(features: Any, labels: Any) -> tuple[Any, Any]:
    """Scores, and which rows are listed."""
    table = {f"x{place}": column for place, column in enumerate(features.T)}
    names = list(table)
    found = OutlierTree(names, ["label"]).fit(table | {"label": labels.astype(str)})
    return found.anomaly_scores_, found.labels_ == -1


METHODS = {"ConditionalSurprise": by_paribus, "cleanlab": by_cleanlab, "outliertree": by_outliertree}


def measure(name: str, share: float, n_seeds: int) -> list[dict[str, Any]]:
    """What each method finds in a table, on average over several draws of wrong labels."""
    features, labels = load(name)
    lines = []
    for method, run in METHODS.items():
        precisions, listed, right, wrong, start = [], 0, 0, 0, time.process_time()
        for seed in range(n_seeds if share else 1):
            flipped, is_wrong = flip(labels, share, seed)
            scores, is_listed = run(features, flipped)
            if is_wrong.any():
                precisions.append(average_precision(is_wrong, scores))
            listed, right = listed + int(is_listed.sum()), right + int((is_listed & is_wrong).sum())
            wrong += int(is_wrong.sum())
        lines.append(
            {
                "table": name,
                "rows": len(labels),
                "share": share,
                "method": method,
                "average_precision": round(float(np.mean(precisions)), 3) if precisions else None,
                "wrong": wrong,
                "listed": listed,
                "listed_and_wrong": right,
                "processor_seconds": round(time.process_time() - start, 1),
            }
        )
    return lines


def as_table(lines: list[dict[str, Any]]) -> str:
    """The lines in Markdown."""
    rows = [
        "| table | rows | wrong labels | method | average precision | listed | of these wrong |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for line in lines:
        precision = "-" if line["average_precision"] is None else f"{line['average_precision']:.3f}"
        rows.append(
            f"| {line['table']} | {line['rows']:,} | {line['wrong']:,} ({line['share']:.0%}) | {line['method']} "
            f"| {precision} | {line['listed']:,} | {line['listed_and_wrong']:,} |"
        )
    return "\n".join(rows) + "\n"


def main() -> None:
    """Runs all cells, and writes what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2, help="draws of wrong labels for each table and share")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in arguments.tables:
        for share in SHARES:
            lines += measure(name, share, arguments.seeds)
            print(json.dumps(lines[-3:]), flush=True)
    if arguments.tables == list(TABLES):
        (HERE / "categories.json").write_text(json.dumps(lines, indent=1) + "\n")
        write_part(PAGE, as_table(lines))


if __name__ == "__main__":
    main()
