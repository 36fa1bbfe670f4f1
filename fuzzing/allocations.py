"""Lets hundreds of allocations of the engine fail: python -m fuzzing.allocations --tries 300.

Each must become a MemoryError, and leave a fitted detector as it was. `--write` adds the count to results.json.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from fuzzing.record import FAULTS, add_counts
from tests.support.allocations import run_out_of_memory


def main() -> int:
    """Runs the program that the tests run, with more allocations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=300, help="how many allocations of each kind of work fail")
    parser.add_argument("--write", action="store_true", help="add the count to results.json")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = run_out_of_memory(Path(folder), given.tries)
    if done.returncode != 0:
        sys.exit(done.stderr)
    print(f"{int(done.stdout):,} allocations failed, and nothing else did.")
    if given.write:
        add_counts(FAULTS, "an allocation of the engine fails", {"times": int(done.stdout), "wrong": 0})
    return 0


if __name__ == "__main__":
    sys.exit(main())
