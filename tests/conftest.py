"""Settings that all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from paribus import QCAD
from tests.support.models import wide_table
from tests.support.running import write_table
from tests.support.tables import BEHAVIOR, CONTEXT

# Whoever starts the tests in the background may have turned signals off, and commands would inherit that.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

settings.register_profile("default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sanitize", settings.get_profile("default"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder of the paper's data sets, which the project does not ship."""
    path = Path(os.environ.get("PARIBUS_DATA", "nowhere"))
    if not (path / "RawData").is_dir():
        pytest.skip("the paper's data is not here: PARIBUS_DATA does not name its folder")
    return path


@pytest.fixture(scope="session")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 300 days for the shell."""
    return write_table(tmp_path_factory.mktemp("days") / "days.csv")


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small model."""
    path = tmp_path_factory.mktemp("saved") / "m.paribus"
    frame = wide_table(40).drop(columns=["when"])
    QCAD([*CONTEXT, "weekend"], BEHAVIOR, n_trees=3, max_features=2, n_neighbors=8).fit(frame).save(path)
    return path.read_bytes()


@pytest.fixture
def model(tmp_path: Path, saved: bytes) -> Path:
    """Its file, to be spoilt."""
    path = tmp_path / "model" / "m.paribus"
    path.parent.mkdir()
    path.write_bytes(saved)
    return path
