"""Lets allocations of the engine fail: run by a test, with the library of failing_new.cpp preloaded.

Usage: out_of_memory.py LIBRARY N_TRIES. Prints how many allocations failed.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from paribus import QCAD, ConditionalSurprise, _core, datasets
from tests.support.forests import grow_forest

CITIES = {name: np.tile(values, 3) for name, values in datasets.load("cities").table.items()}
ROLES = ["Latitude", "Season"], ["Rain", "Wind"]
FEW = {name: values[:20] for name, values in CITIES.items()}


def fails(faults: Any, n: int, work: Callable[[], object]) -> bool:
    """Whether some work ends with a MemoryError if all allocations after the first n fail; any other error is wrong."""
    faults.fail_after(n)
    try:
        work()
    except MemoryError:
        return True
    finally:
        faults.fail_after(-1)
    return False


def with_lists() -> list[Callable[[], object]]:
    """Calls of the engine with lists, which have to become C++'s own before anything else happens."""
    columns, flags = np.arange(20.0)[None], np.zeros(1, dtype=np.uint8)
    rows, fitted = np.ascontiguousarray(columns.T), np.full(20, -1, dtype=np.int64)
    values = rows[:, 0].copy()
    forest = grow_forest(columns, flags, values, np.zeros(1, dtype=np.uint16), 1, 1, 2, 8, 0)
    smoothing = _core.Smoothing("plain", 0.0, 1.0, 1.0, 1.0, 0.0, 0.1)
    view, level = (forest, None, 1.0, 1.0, 1.0), np.array([0.5])
    none = np.empty(0, dtype=np.uint32), np.empty(0)
    return [
        partial(_core.FeatureKinds, flags, [flags]),
        partial(_core.Target, rows, 0, 0.0, 1.0, 0.0, [(0, 0.0, 1.0, 0.0, 1.0, None)], *none, 0.0, 1.0),
        partial(_core.column_evidence, [view], smoothing, rows, fitted, values),
        partial(_core.column_findings, [view], smoothing, rows, fitted, values, level),
        partial(_core.column_distributions, [view], smoothing, rows, fitted, level),
        partial(_core.quantiles_of_atoms, [view], smoothing, np.zeros((1, 20, 2)), level),
        partial(_core.column_quantiles, [view], smoothing, rows, fitted, level),
        partial(_core.second_means, [forest], rows, fitted),
        partial(_core.FoundLeaves, [forest], len(rows)),
        partial(_core.reference_rows, [[(forest, 1.0)]], rows, np.ones(1), rows, fitted, 2),
    ]


def main() -> None:
    """Fits, scores and explains with memory that is used up at some moment; detectors must be as they were before."""
    faults = ctypes.CDLL(sys.argv[1])
    faults.allocations.restype = ctypes.c_long
    faults.fail_after.argtypes = [ctypes.c_long]
    n_tries, n_failed = int(sys.argv[2]), 0
    for work in with_lists():
        work()
        for n in range(3):
            assert fails(faults, n, work), f"{work} has no allocation {n}"
            n_failed += 1
    for make in (ConditionalSurprise, QCAD):
        detector = make(*ROLES, n_trees=4, n_jobs=2).fit(CITIES)
        scores, new = detector.anomaly_scores_.copy(), detector.anomaly_score(FEW)
        for work in (partial(detector.fit, FEW), partial(detector.anomaly_score, FEW), partial(detector.explain, 3)):
            faults.fail_after(10**9)
            work()
            n_allocations = faults.allocations()
            faults.fail_after(-1)
            detector.fit(CITIES)
            for n in sorted({int(each) for each in np.linspace(0, n_allocations - 1, n_tries)}):
                if fails(faults, n, work):
                    n_failed += 1
                else:
                    # With fewer threads, for example, less is needed.
                    detector.fit(CITIES)
                assert (detector.anomaly_scores_ == scores).all(), "the fitted scores changed"
                assert (detector.anomaly_score(FEW) == new).all(), "the scores of new rows changed"
    print(n_failed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
