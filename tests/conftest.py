"""Settings and fixtures that all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.budget import Budget
from tests.support.detectors import DETECTORS
from tests.support.models import wide_table
from tests.support.running import write_table
from tests.support.tables import BEHAVIOR, CONTEXT

# If the tests run in the background, signals may be ignored, and commands would inherit that.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

# PyOD compiles some of its functions when they are first called, which takes far longer than the small tables here.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

settings.register_profile("default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sanitize", settings.get_profile("default"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--budget", action="store_true", help="print processor time by file, and limit it by test")


class ClosedFigures:
    """Closes the figures of each test and example: matplotlib warns of more than 20 that are open in a process."""

    def pytest_runtest_teardown(self) -> None:
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


class RestedCollector:
    """Keeps the garbage collector away from what lives as long as the tests: modules and the tests themselves.

    It would look through half a million such objects again and again, which was a quarter of the time that it takes to
    collect the tests.
    """

    def pytest_collection(self) -> None:
        gc.disable()

    def pytest_collection_finish(self) -> None:
        gc.freeze()
        gc.enable()

    def pytest_sessionfinish(self) -> None:
        gc.enable()
        gc.unfreeze()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RestedCollector(), "rested collector")
    config.pluginmanager.register(ClosedFigures(), "closed figures")
    if config.getoption("--budget"):
        config.pluginmanager.register(Budget(), "budget")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests that share a cluster first, and those that share a browser next.

    One process runs them all, since others steal from the end of its list. It mostly waits, and the others work.
    """

    def place(item: pytest.Item) -> int:
        if item.get_closest_marker("needs_cluster") is not None:
            return 0
        return 1 if "browser" in getattr(item, "fixturenames", ()) else 2

    items.sort(key=place)


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder of the paper's data sets, which are not part of the project."""
    path = Path(os.environ.get("PARIBUS_DATA", "nowhere"))
    if not (path / "RawData").is_dir():
        pytest.skip("needs the paper's data, in the folder that PARIBUS_DATA names")
    return path


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 300 days for the command line."""
    return write_table(tmp_path_factory.mktemp("days") / "days.csv")


@pytest.fixture(scope="session", params=DETECTORS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small model, of each detector."""
    path = tmp_path_factory.mktemp("saved") / "m.paribus"
    options: dict[str, Any] = {"n_neighbors": 8} if request.param == "qcad" else {}
    detector = DETECTORS[request.param]([*CONTEXT, "weekend"], BEHAVIOR, n_trees=3, max_features=2, **options)
    detector.fit(wide_table(40).drop(columns=["when"])).save(path)
    return path.read_bytes()


@pytest.fixture
def model(tmp_path: Path, saved: bytes) -> Path:
    """The path of a copy of `saved`, which tests may damage."""
    path = tmp_path / "model" / "m.paribus"
    path.parent.mkdir()
    path.write_bytes(saved)
    return path
