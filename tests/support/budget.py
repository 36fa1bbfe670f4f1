"""The budget of the suite: the processor time of each test, its children included, and the most expensive files."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

MAX_SECONDS = 6.0
"""Processor time that one test may take, without its fixtures, on a machine of the usual speed."""
MAX_TOTAL_SECONDS = 360.0
"""Processor time of all tests, for four minutes on two cores beside what clusters and browsers take."""
USUAL_YARDSTICK = 0.0025
"""Processor time of the yardstick on the machine that the limits are for, in seconds.

Where it took 0.0051 s, the suite took 555 s, and new rows were scored less than half as fast as there.
"""

_beside = 0.0
"""Processor time of clusters and browsers that have ended in this process."""

N_FILES = 12
N_TESTS_PER_YARDSTICK = 10


def processor_seconds() -> float:
    """Of this process and of all children that have ended."""
    return sum(os.times()[:4])


@contextmanager
def ending_a_shared_process() -> Iterator[None]:
    """Ends a cluster or a browser, whose processor time would count for the test that happens to be the last."""
    global _beside
    before = os.times()
    try:
        yield
    finally:
        after = os.times()
        _beside += after.children_user + after.children_system - before.children_user - before.children_system


def yardstick_seconds() -> float:
    """The processor time that a fixed piece of work takes now, in Python and in NumPy."""
    start = time.process_time()
    values = (np.arange(10_000) * 7_919) % 10_007
    for _ in range(10):
        np.sort(values)
    sum({place: str(place) for place in range(10_000)})
    return time.process_time() - start


class Budget:
    """Measures tests where they run, and adds them up where the results are printed (with pytest-xdist, elsewhere).

    A busy or slow machine takes more processor time for the same work. A yardstick is measured with every tenth test:
    where it takes twice as long as usual, so may the tests.
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._besides = 0.0
        self._longest: dict[str, float] = {}
        self._yardsticks: list[float] = []
        self._before = self._beside_before = self._yardstick = 0.0
        self._n_tests = 0

    @property
    def slowness(self) -> float:
        """How much longer the yardstick took than it usually does, on average over all tests; at least 1."""
        return max(1.0, float(np.mean(self._yardsticks or [0.0])) / USUAL_YARDSTICK)

    @property
    def max_total_seconds(self) -> float:
        """The processor time that all tests may take on this machine."""
        return MAX_TOTAL_SECONDS * self.slowness

    @property
    def too_long(self) -> dict[str, float]:
        """The tests that took more than they may."""
        return {name: seconds for name, seconds in self._longest.items() if seconds > MAX_SECONDS * self.slowness}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self._yardstick = yardstick_seconds() if self._n_tests % N_TESTS_PER_YARDSTICK == 0 else 0.0
        self._n_tests += 1
        self._before = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        after = processor_seconds()
        report.beside_seconds = _beside - self._beside_before
        report.processor_seconds = after - self._before - report.beside_seconds
        self._beside_before = _beside
        report.yardstick_seconds = self._yardstick
        self._before = after
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = getattr(report, "processor_seconds", 0.0)
        self._seconds[report.nodeid.split("::")[0]] += seconds
        self._besides += getattr(report, "beside_seconds", 0.0)
        if report.when == "call":
            if yardstick := getattr(report, "yardstick_seconds", 0.0):
                self._yardsticks.append(yardstick)
            if seconds > MAX_SECONDS:
                self._longest[report.nodeid] = seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_too_long = self.too_long or sum(self._seconds.values()) > self.max_total_seconds
        if is_too_long and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = sum(self._seconds.values())
        terminalreporter.section(f"processor time: {total:.0f} s of {self.max_total_seconds:.0f} s, by file")
        terminalreporter.line(f"Clusters and browsers that tests share took {self._besides:.0f} s besides.")
        terminalreporter.line(f"This machine took {self.slowness:.2f} times as long as usual for the same work.")
        for name, seconds in sorted(self._seconds.items(), key=lambda each: -each[1])[:N_FILES]:
            terminalreporter.line(f"{seconds:6.1f} s  {name}")
        for name, seconds in self.too_long.items():
            terminalreporter.line(
                f"{name}: {seconds:.1f} s, more than the {MAX_SECONDS * self.slowness:.1f} s that a test may take"
            )
