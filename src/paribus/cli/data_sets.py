"""`paribus datasets`: the data sets that come with the package, or can be downloaded, as a list and as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from paribus._common.text import listed
from paribus.cli.printing import print_table
from paribus.datasets import load, summaries
from paribus.io.writing import check_format, write_columns
from paribus.output.console import print_words


def list_all() -> None:
    """Prints a line for each data set."""
    print_table(
        ["name", "rows", "context", "behavior", "anomalies", "description"],
        [
            [
                each.name,
                str(each.n_rows),
                str(len(each.contextual)),
                str(len(each.behavioral)),
                "" if each.n_anomalies is None else str(each.n_anomalies),
                each.description,
            ]
            for each in summaries()
        ],
    )


def describe(name: str, out: Path | None) -> None:
    """Prints what a data set is, and saves it if a path is given."""
    if out is not None:
        check_format(out)
    data = load(name)
    if out is not None:
        write_columns(out, {column: np.asarray(values) for column, values in data.table.items()})
    print_words(f"{data.name}: {data.description}")
    print_words(f"context: {listed(data.contextual, 'and')}; behavior: {listed(data.behavioral, 'and')}")
    if out is not None:
        print_words(f"The table of {data.n_rows:,} rows is in {out}.")
