"""Memory that is used up: one sentence, and detectors are as they were before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.allocations import COMPILER, run_out_of_memory
from tests.support.running import ROLES, run, write_table

N_TRIES = 12


@pytest.mark.skipif(sys.platform != "linux" or COMPILER is None, reason="needs Linux and a C++ compiler")
def test_a_failed_allocation_leaves_the_detector_as_it_was(tmp_path: Path) -> None:
    """Tests that any allocation of the engine may fail: it becomes a MemoryError, and a fitted detector still works."""
    done = run_out_of_memory(tmp_path, N_TRIES)
    assert done.returncode == 0, done.stderr[-2000:]
    # Most of them: what is not needed with fewer threads does not fail.
    assert int(done.stdout) >= 4 * N_TRIES


@pytest.mark.skipif(sys.platform != "linux", reason="needs the limits of Linux")
def test_a_process_without_memory_says_so_in_one_line(tmp_path: Path) -> None:
    """Tests that ulimit -v is respected: a table that does not fit is an error before it is read."""
    days = write_table(tmp_path / "days.csv", 60)
    limited = ["bash", "-c", 'ulimit -v 290000; exec "$@"', "-", sys.executable, "-m", "paribus", "detect", str(days)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*limited, *ROLES], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert "memory" in done.stderr
    assert run("detect", days, *ROLES, "--n-trees", "2", cwd=tmp_path).returncode == 0
