"""Settings that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
