"""`paribus demo`: the most unusual days in the weather of a fictional country, with reasons."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from paribus import datasets
from paribus._common.atomic_files import check_writable
from paribus._common.text import listed, score_text
from paribus.detectors.surprise import ConditionalSurprise
from paribus.output.console import Grid, output_console, print_words

N_SHOWN = 10
# A report has this in its first bytes.
GENERATOR = b'<meta name="generator" content="paribus '
HEAD_SIZE = 4096  # bytes
HEADINGS = ("row", "when and where", "score", "main reason", "usual range", "among all days")


def run(report: Path | None = None) -> None:
    """Finds the anomalies in the bundled weather table, prints them, and writes a report if a path is given."""
    if report is not None:
        _check_replaceable(check_writable(report))
    weather = datasets.load("weather")
    n_rows = len(weather.table["month"])
    start = time.perf_counter()
    detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    seconds = time.perf_counter() - start
    print_words(
        f"Compared each of {n_rows:,} days with {detector.view().compared_with('day')} in "
        f"{listed(weather.contextual, 'and')}, in {seconds:.1f} s."
    )

    top = np.argsort(-detector.anomaly_scores_, kind="stable")[:N_SHOWN]
    rows = {name: [column[i] for i in top] for name, column in weather.table.items()}
    percentiles = detector.percentiles(rows)
    parts = detector.partial_scores(rows)
    formats = detector.view().behavior_formats
    shown = []
    for place, row in enumerate(top):
        strongest = max(range(len(weather.behavioral)), key=lambda f: parts[weather.behavioral[f]][place])
        name = weather.behavioral[strongest]
        low, high = percentiles[place, strongest, [5, 95]]
        write = formats[strongest]
        shown.append(
            [
                str(row),
                f"{str(rows['month'][place])[:3]}, {rows['elevation'][place]:,.0f} m, {rows['zone'][place]}",
                score_text(detector.anomaly_scores_[row]),
                f"{name} {rows[name][place]}",
                f"{write(low)} to {write(high)}",
                f"above {int(100 * np.mean(np.array(weather.table[name], dtype=float) < rows[name][place]))}%",
            ]
        )
    print_words("\nThe most unusual days, given their time and place:")
    output_console().print(Grid(HEADINGS, shown, numbers=("row", "score")))
    print_words("Many of these values are ordinary in the table as a whole, but rare in their context.")
    if report is not None:
        detector.report(report, title="Unusual days in a fictional country")
        print_words(f"\nThe report is in {report}.")


def _check_replaceable(target: Path) -> None:
    """Raises an error if there is a file that is not a report: the user did not ask to replace it."""
    if not target.is_file():
        return
    with target.open("rb") as file:
        if GENERATOR not in file.read(HEAD_SIZE):
            raise FileExistsError(f"{target.name} exists and is not a paribus report: use --report PATH")


if __name__ == "__main__":
    run()
