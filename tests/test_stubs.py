"""The committed type stub of the engine."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path


def test_the_stub_is_up_to_date(tmp_path: Path) -> None:
    """Tests that _core.pyi is the stub that nanobind generates for the compiled module."""
    generated = tmp_path / "_core.pyi"
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "paribus._core", "-o", str(generated)], check=True
    )
    assert generated.read_text() == files("paribus").joinpath("_core.pyi").read_text()
