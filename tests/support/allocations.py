"""Allocations of C++ code that fail on purpose: a library to preload, and the program that runs with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

FAULTS = Path(__file__).parents[1] / "faults"
COMPILER = shutil.which(os.environ.get("CXX", "c++"))


def run_out_of_memory(folder: Path, n_tries: int) -> subprocess.CompletedProcess[str]:
    """Lets that many allocations fail in each kind of work; what is printed last is how many did."""
    library = folder / "failing_new.so"
    command = [str(COMPILER), "-shared", "-fPIC", "-std=c++20", "-o", str(library), str(FAULTS / "failing_new.cpp")]
    subprocess.run(command, check=True)
    return subprocess.run(
        [sys.executable, str(FAULTS / "out_of_memory.py"), str(library), str(n_tries)],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(FAULTS.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
