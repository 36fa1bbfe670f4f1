"""Settings that all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from paribus import _core

settings.register_profile("default", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sanitize", settings.get_profile("default"), max_examples=15)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(params=_core.kernels())
def every_kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs a test once with each build of the hot loops that this machine has."""
    before = _core.kernel()
    _core.use_kernel(request.param)
    yield request.param
    _core.use_kernel(before)


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder of the paper's data sets, which the project does not ship."""
    folder = os.environ.get("PARIBUS_DATA", "../shared/datasets")
    path = Path(__file__).parent.parent / folder
    if not (path / "RawData").is_dir():
        pytest.skip("the paper's data is not here: PARIBUS_DATA does not name its folder")
    return path
