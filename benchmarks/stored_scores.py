"""Compares the scores of the detectors with stored digests, data set by data set.

A change of the code that should not change results is checked with

    python benchmarks/stored_scores.py

which prints each data set whose scores differ, and ends with exit code 1 if there is one. After a change of results
that is intended, `--write` stores the new digests. The paper's data sets are downloaded on first use, or read from the
folder that PARIBUS_DATA names; the slowest one takes a quarter of a minute.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from paribus import QCAD, ConditionalSurprise, datasets
from paribus.datasets import Dataset

STORED = Path(__file__).parents[1] / "tests" / "detectors" / "stored_scores.json"
# ConditionalSurprise uses exponentials and logarithms of the C library, whose last digits differ between systems.
DIGITS = {"QCAD": None, "ConditionalSurprise": 6}


def digest(scores: Any, digits: int | None = None) -> str:
    """A digest of scores: of their exact bits, or of their first significant digits.

    >>> digest([0.1 + 0.2]) == digest([0.3]), digest([0.1 + 0.2], 6) == digest([0.3], 6)
    (False, True)
    """
    array = np.asarray(scores, dtype=np.float64)
    if digits is not None:
        array = np.array([float(f"{value:.{digits}g}") for value in array.ravel()])
    # One kind of NaN, and one kind of zero.
    array = np.where(np.isnan(array), np.nan, array) + 0.0
    return hashlib.sha256(array.astype("<f8").tobytes()).hexdigest()[:16]


def score(detector: str, data: Dataset) -> str:
    """The digest of a detector's scores of a data set. There are few trees, so that it is quick."""
    roles: dict[str, Any] = {"categorical": data.categorical or None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if detector == "QCAD":
            scores = QCAD(data.contextual, data.behavioral, n_trees=5, **roles).fit(data.table).anomaly_scores_
        else:
            made = ConditionalSurprise(data.contextual, data.behavioral, n_trees=8, **roles)
            scores = made.fit(data.table).anomaly_scores_
    return digest(scores, DIGITS[detector])


def names() -> list[str]:
    """The bundled data sets, and those of the paper."""
    return ["weather", "cities", *(each.name for each in datasets.summaries() if each.n_anomalies is not None)]


def main() -> int:
    """Compares or stores digests, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--detector", choices=list(DIGITS), action="append", help="default: those that are stored")
    parser.add_argument("--dataset", choices=names(), action="append", help="default: all", metavar="NAME")
    parser.add_argument("--file", type=Path, default=STORED, help="where the digests are stored")
    parser.add_argument("--write", action="store_true", help="store the digests instead of comparing them")
    options = parser.parse_args()
    stored: dict[str, dict[str, str]] = json.loads(options.file.read_text()) if options.file.exists() else {}
    n_different = 0
    for detector in options.detector or list(stored) or list(DIGITS):
        known = stored.setdefault(detector, {})
        for name in options.dataset or names():
            found = score(detector, datasets.load(name))
            if not options.write and known.get(name) != found:
                n_different += 1
                print(f"{detector}, {name}: {known.get(name, 'nothing')} is stored, {found} is computed", flush=True)
            known[name] = found
    if options.write:
        options.file.write_text(json.dumps(stored, indent=1) + "\n")
    else:
        print(f"{n_different} differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
