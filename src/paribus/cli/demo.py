"""`paribus demo`: the strangest days of a made-up country's weather, each with the reason."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from paribus import datasets
from paribus._common.atomic_files import check_writable
from paribus._common.text import listed, score_text
from paribus.detectors.surprise import ConditionalSurprise
from paribus.output.console import Grid, output_console, print_words

TOP = 10
# What the head of a report has in it.
GENERATOR = b'<meta name="generator" content="paribus '
HEAD = 4096
HEADINGS = ("row", "when and where", "score", "mostly for its", "90 % there", "all days")


def run(report: Path | None = None) -> None:
    """Finds the anomalies of the bundled weather table, prints them, and writes a report if it is told where."""
    if report is not None:
        _check_replaceable(check_writable(report))
    weather = datasets.load("weather")
    n_rows = len(weather.table["month"])
    start = time.perf_counter()
    detector = ConditionalSurprise(weather.contextual, weather.behavioral).fit(weather.table)
    seconds = time.perf_counter() - start
    print_words(
        f"Each of {n_rows:,} days compared with {detector.view().compared_with('day')} in "
        f"{listed(weather.contextual, 'and')}, in {seconds:.1f} s."
    )

    top = np.argsort(-detector.anomaly_scores_, kind="stable")[:TOP]
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
    print_words("\nThe strangest days, given when and where they were:")
    output_console().print(Grid(HEADINGS, shown, numbers=("row", "score")))
    print_words("Many of these values are ordinary in the whole table. They are rare where they stand.")
    if report is not None:
        detector.report(report, title="Strange days in a made-up country")
        print_words(f"\nThe report is in {report}.")


def _check_replaceable(target: Path) -> None:
    """Says so if there is a file already that is not a report: nobody has asked for it to be replaced."""
    if not target.is_file():
        return
    with target.open("rb") as file:
        if GENERATOR not in file.read(HEAD):
            raise FileExistsError(f"{target.name} is there already and is not a report of paribus: say --report PATH")


if __name__ == "__main__":
    run()
