"""Writes the explanations of thousands of rows of several kinds of tables, to compare two builds byte by byte.

Run it with each build, and compare the files: a change that is only meant to be faster must not change a bit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from paribus import QCAD, ConditionalSurprise, load

Columns = dict[str, Any]


def tables(n: int, seed: int) -> Iterator[tuple[str, Columns, list[str], list[str], dict[str, Any]]]:
    """Name, columns, contextual and behavioral columns, and parameters of each table."""
    random = np.random.default_rng(seed)
    a, b, c = random.normal(size=(3, n))
    site = random.choice(["north", "south", "east", "west", "rare"], size=n, p=[0.4, 0.3, 0.2, 0.09, 0.01])
    size = random.choice(["s", "m", "l"], size=n)
    hours = np.sort(random.integers(0, 24 * 365, size=n))
    when = np.datetime64("2023-01-01T00:00:00", "us") + hours * np.timedelta64(3_600_000_000, "us")

    def gaps(values: Any, share: float) -> Any:
        return np.where(random.uniform(size=n) < share, np.nan, values)

    wind = np.exp(0.5 * a + 0.3 * random.normal(size=n))
    rain = np.where(random.uniform(size=n) < 0.6, 0.0, np.round(random.gamma(1.0, 3.0, size=n), 1))
    temperature = np.round(10 + 5 * np.sin(hours * 2 * np.pi / (24 * 365)) + 2 * a * b + random.normal(size=n), 1)
    count = random.poisson(np.exp(0.3 * a + 0.5 * (site == "north")))
    kind = np.where(random.uniform(size=n) < 0.9, np.where(a + c > 0, "up", "down"), random.choice(["up", "odd"], n))
    pressure = 1000 + 3 * a + 2 * b * b + random.standard_t(3, size=n)
    wrong = random.choice(n, n // 100, replace=False)
    wind[wrong] *= 30
    numbers = {"a": a, "b": b, "c": c, "wind": wind, "pressure": pressure, "temperature": temperature}
    behavior = ["wind", "pressure", "temperature"]
    yield "numbers", numbers, ["a", "b", "c"], behavior, {}
    yield "one behavior", numbers, ["a", "b"], ["pressure"], {}
    mixed = {"a": a, "site": site.tolist(), "size": size.tolist(), "rain": rain, "count": count, "kind": kind.tolist()}
    yield "categories", mixed, ["a", "site", "size"], ["rain", "count", "kind"], {}
    missing = {
        "a": gaps(a, 0.3),
        "b": gaps(b, 0.02),
        "site": [None if each == "east" else each for each in site.tolist()],
        "wind": gaps(wind, 0.2),
        "pressure": gaps(pressure, 0.1),
        "rain": rain,
    }
    yield "gaps", missing, ["a", "b", "site"], ["wind", "pressure", "rain"], {}
    timed = {"when": when, "site": site.tolist(), "temperature": temperature, "wind": wind, "rain": gaps(rain, 0.1)}
    yield "times", timed, ["when", "site"], ["temperature", "wind", "rain"], {}
    wide = {f"x{i}": a + random.normal(size=n) for i in range(8)} | {f"y{i}": b * i + c for i in range(4)}
    yield "many contexts", wide, [f"x{i}" for i in range(8)], [f"y{i}" for i in range(4)], {"n_trees": 32}


def taken(columns: Columns, rows: slice) -> Columns:
    """Some rows of columns."""
    return {name: column[rows] for name, column in columns.items()}


def explanations(n_fitted: int, n_new: int, scratch: Path) -> Iterator[dict[str, Any]]:
    """Explanations of fitted and of new rows, by detectors that were fitted and that were loaded."""
    warnings.simplefilter("ignore")
    for name, columns, contextual, behavioral, parameters in tables(n_fitted + n_new, 7):
        some, new = taken(columns, slice(n_fitted)), taken(columns, slice(n_fitted, None))
        detector = ConditionalSurprise(contextual, behavioral, **parameters).fit(some)
        path = scratch / "model.paribus"
        detector.save(path)
        loaded = load(path)
        found = {
            "fitted": detector.explain_all(n_fitted),
            "new": detector.explain_all(n_new, rows=new),
            "loaded": loaded.explain_all(n_new // 2, rows=new, n_features=2),
            "one": [loaded.explain(taken(new, slice(row, row + 1))) for row in range(0, n_new, 50)],
            "some fitted": [loaded.explain(row) for row in range(0, n_fitted, 200)],
        }
        if name in ("numbers", "categories", "gaps"):
            if "kind" in columns:
                behavioral = ["rain", "count"]
            qcad = QCAD(contextual, behavioral, n_trees=10).fit(taken(some, slice(600)))
            found["qcad"] = qcad.explain_all(100) + qcad.explain_all(50, rows=taken(new, slice(100)))
        for part, rows in found.items():
            for each in rows:
                yield {"table": name, "part": part, "text": str(each)} | each.to_dict()


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where to write one explanation per line")
    parser.add_argument("--fitted", type=int, default=2_000, help="the number of fitted rows of each table")
    parser.add_argument("--new", type=int, default=1_000, help="the number of new rows of each table")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, arguments.file.open("w", encoding="utf-8") as file:
        n_written = 0
        for each in explanations(arguments.fitted, arguments.new, Path(folder)):
            file.write(json.dumps(each, sort_keys=True, default=str) + "\n")
            n_written += 1
    print(f"{n_written:,} explanations")


if __name__ == "__main__":
    main()
