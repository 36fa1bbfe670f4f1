"""`paribus demo`: the strangest days of a made-up country's weather, each with the reason."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from paribus import QCAD, datasets
from paribus.files import check_writable

TOP = 10


def run(report: Path | None = None) -> None:
    """Finds the anomalies of the bundled weather table, prints them, and writes a report if it is told where."""
    if report is not None:
        check_writable(report)
    console = Console()
    weather = datasets.load("weather")
    n_rows = len(weather.table["month"])
    start = time.perf_counter()
    detector = QCAD(weather.contextual, weather.behavioral).fit(weather.table)
    seconds = time.perf_counter() - start
    console.print(
        f"Each of {n_rows:,} days compared with the {detector.n_neighbors_} days most like it in "
        f"{', '.join(weather.contextual[:-1])} and {weather.contextual[-1]}, in {seconds:.1f} s.\n"
    )

    top = np.argsort(-detector.anomaly_scores_, kind="stable")[:TOP]
    rows = {name: [column[i] for i in top] for name, column in weather.table.items()}
    percentiles = detector.percentiles(rows)
    parts = detector.partial_scores(rows)
    shown = RichTable(
        title="The strangest days, given when and where they were",
        box=box.SIMPLE,
        pad_edge=False,
        collapse_padding=True,
    )
    for heading in ("row", "when and where", "score", "mostly for its", "90 % there", "all days"):
        shown.add_column(heading, justify="right" if heading in ("row", "score") else "left", no_wrap=True)
    for place, row in enumerate(top):
        strongest = max(range(len(weather.behavioral)), key=lambda f: parts[weather.behavioral[f]][place])
        name = weather.behavioral[strongest]
        low, high = percentiles[place, strongest, [5, 95]]
        shown.add_row(
            str(row),
            f"{str(rows['month'][place])[:3]}, {rows['elevation'][place]:,.0f} m, {rows['zone'][place]}",
            f"{detector.anomaly_scores_[row]:.1f}",
            f"{name} {rows[name][place]}",
            f"{low} to {high}",
            f"above {np.mean(np.array(weather.table[name], dtype=float) < rows[name][place]):.0%}",
        )
    console.print(shown)
    console.print("Many of these values are ordinary in the whole table. They are rare where they stand.")
    if report is not None:
        detector.report(report, title="Strange days in a made-up country")
        console.print(f"\nThe report is in {report}.", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    run()
