"""Lets allocations of the engine fail: run by a test, with the library of failing_new.cpp preloaded.

Usage: out_of_memory.py LIBRARY N_TRIES. Prints how many allocations failed.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from functools import partial

import numpy as np

from paribus import QCAD, ConditionalSurprise, datasets


def main() -> None:
    """Fits and scores with memory that is used up at some moment; detectors must be as they were before."""
    faults = ctypes.CDLL(sys.argv[1])
    faults.allocations.restype = ctypes.c_long
    faults.fail_after.argtypes = [ctypes.c_long]
    n_tries = int(sys.argv[2])
    cities = datasets.load("cities")
    roles = ["Latitude", "Season"], ["Rain", "Wind"]
    table = {name: np.tile(values, 3) for name, values in cities.table.items()}
    other = {name: values[:20] for name, values in table.items()}
    n_failed = 0
    for make in (ConditionalSurprise, QCAD):
        detector = make(*roles, n_trees=4, n_jobs=2).fit(table)
        scores, new = detector.anomaly_scores_.copy(), detector.anomaly_score(other)
        for work in (partial(detector.fit, other), partial(detector.anomaly_score, other)):
            faults.fail_after(10**9)
            work()
            n_allocations = faults.allocations()
            faults.fail_after(-1)
            detector.fit(table)
            for n in sorted({int(each) for each in np.linspace(0, n_allocations - 1, n_tries)}):
                faults.fail_after(n)
                try:
                    work()
                except MemoryError:
                    n_failed += 1
                except Exception as error:
                    # Python's own objects and threads need memory, too.
                    if not any(word in str(error) for word in ("memory", "thread")):
                        raise
                    n_failed += 1
                else:
                    # What is not needed any more, or with fewer threads, may be left out.
                    faults.fail_after(-1)
                    detector.fit(table)
                finally:
                    faults.fail_after(-1)
                assert (detector.anomaly_scores_ == scores).all(), "the fitted scores changed"
                assert (detector.anomaly_score(other) == new).all(), "the scores of new rows changed"
    print(n_failed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
