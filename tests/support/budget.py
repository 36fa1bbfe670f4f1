"""The budget of the suite: the processor time of each test, its children included, and the most expensive files."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

MAX_SECONDS = 6.0
"""Processor time that one test may take, without its fixtures."""
MAX_TOTAL_SECONDS = 360.0
"""Processor time of all tests, for four minutes on two cores beside what clusters and browsers take."""

N_FILES = 12


def processor_seconds() -> float:
    """Of this process and of all children that have ended."""
    return sum(os.times()[:4])


class Budget:
    """Measures tests where they run, and adds them up where the results are printed (with pytest-xdist, elsewhere)."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._too_long: dict[str, float] = {}
        self._before = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self._before = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        after = processor_seconds()
        report.processor_seconds = after - self._before
        self._before = after
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = getattr(report, "processor_seconds", 0.0)
        self._seconds[report.nodeid.split("::")[0]] += seconds
        if report.when == "call" and seconds > MAX_SECONDS:
            self._too_long[report.nodeid] = seconds

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        is_too_long = self._too_long or sum(self._seconds.values()) > MAX_TOTAL_SECONDS
        if is_too_long and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        total = sum(self._seconds.values())
        terminalreporter.section(f"processor time: {total:.0f} s of {MAX_TOTAL_SECONDS:.0f} s, by file")
        for name, seconds in sorted(self._seconds.items(), key=lambda each: -each[1])[:N_FILES]:
            terminalreporter.line(f"{seconds:6.1f} s  {name}")
        for name, seconds in self._too_long.items():
            terminalreporter.line(f"{name}: {seconds:.1f} s, more than the {MAX_SECONDS:g} s that a test may take")
