"""Threads, processes and interpreters: the same scores from all of them, or one sentence."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from paribus import QCAD, ConditionalSurprise, datasets

CITIES = datasets.load("cities")
ROLES = ["Latitude", "Season"], ["Rain", "Wind"]
MAKERS: list[Any] = [ConditionalSurprise, QCAD]


def fit_and_score(make: Any, n_jobs: int = 2) -> list[float]:
    detector = make(*ROLES, n_trees=4, n_jobs=n_jobs).fit(CITIES.table)
    return [*detector.anomaly_scores_.tolist(), *detector.anomaly_score(CITIES.table).tolist()]


@pytest.mark.parametrize("make", MAKERS)
def test_many_threads_at_once_give_the_same_scores(make: Any) -> None:
    """Tests that detectors can be fitted, and one can be used, from many threads at the same time."""
    expected = fit_and_score(make)
    shared = make(*ROLES, n_trees=4).fit(CITIES.table)
    with ThreadPoolExecutor(12) as pool:
        fits = [pool.submit(fit_and_score, make) for _ in range(12)]
        asked = [pool.submit(shared.anomaly_score, CITIES.table) for _ in range(24)]
        told = [pool.submit(lambda row: shared.explain(row).to_dict()["score"], row % 16) for row in range(12)]
    assert all(each.result() == expected for each in fits)
    assert all(each.result().tolist() == expected[16:] for each in asked)
    assert [each.result() for each in told] == [expected[row % 16] for row in range(12)]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a free-threaded build of Python")
def test_the_interpreter_lock_stays_off_in_free_threaded_builds() -> None:
    """Tests that paribus declares that it needs no global interpreter lock, or threads would wait for each other."""
    code = "import sys, paribus._core; sys.exit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_fork_during_a_fit_works_in_both_processes() -> None:
    """Tests that a process that is forked while other threads compute can fit on its own."""
    code = """
import os, sys, threading
from tests.faults.test_processes import fit_and_score, ConditionalSurprise
expected, stop, failures = fit_and_score(ConditionalSurprise), threading.Event(), []
def keep_busy():
    while not stop.is_set():
        if fit_and_score(ConditionalSurprise) != expected:
            failures.append("parent")
busy = threading.Thread(target=keep_busy)
busy.start()
child = os.fork()
if child == 0:
    os._exit(0 if fit_and_score(ConditionalSurprise) == expected else 9)
_, status = os.waitpid(child, 0)
stop.set()
busy.join()
sys.exit(os.waitstatus_to_exitcode(status) or len(failures))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False, timeout=120).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
def test_process_pools_give_the_same_scores() -> None:
    """Tests pools of forked and of new processes, with detectors that are sent to them."""
    expected = fit_and_score(ConditionalSurprise)
    detector = ConditionalSurprise(*ROLES, n_trees=4).fit(CITIES.table)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        sent = [pool.submit(detector.anomaly_score, CITIES.table) for _ in range(2)]
        fits = [pool.submit(fit_and_score, ConditionalSurprise, 1)]
        assert all(each.result().tolist() == expected[16:] for each in sent)
        assert fits[0].result() == expected


def test_a_subinterpreter_is_refused_with_a_sentence() -> None:
    """Tests that an import in a subinterpreter, which numpy does not support, is an error and not a crash."""
    code = """
import sys
try:
    import _interpreters as interpreters
    run = lambda text: interpreters.exec(interpreters.create("legacy"), text)
except ModuleNotFoundError:
    import _xxsubinterpreters as interpreters
    run = lambda text: interpreters.run_string(interpreters.create(isolated=False), text)
problem = run('''
try:
    from paribus import ConditionalSurprise
    print("imported", flush=True)
except ImportError as error:
    print(error, flush=True)
''')
if problem: print(problem)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "paribus cannot be used in a subinterpreter: use threads or processes" in done.stdout


@pytest.mark.parametrize("make", MAKERS)
def test_a_progress_function_that_raises_leaves_the_detector_as_it_was(make: Any) -> None:
    """Tests that an error of the caller's own function stops a fit, reaches the caller, and changes nothing."""
    detector = make(*ROLES, n_trees=4).fit(CITIES.table)
    scores = detector.anomaly_scores_.copy()

    def stop(n_done: int, n_rows: int) -> None:
        raise LookupError("enough")

    detector.set_params(progress=stop)
    with pytest.raises(LookupError, match="enough"):
        detector.fit({name: values[:12] for name, values in CITIES.table.items()})
    detector.set_params(progress=False)
    assert (detector.anomaly_scores_ == scores).all()
    assert (detector.anomaly_score(CITIES.table) == np.array(fit_and_score(make)[16:])).all()
