"""Kills a process that writes files, at random moments, hundreds of times: python -m fuzzing.kills --loops 300.

After each kill, every file must be a complete one, old or new, and the next write must remove what the killed process
has left. The disk is full every third time (a limit of the size of files), which must leave the old files, too.
`--write` adds the counts to kills.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paribus import ConditionalSurprise, load
from paribus._common.atomic_files import atomic_write
from paribus.io.reading import read
from paribus.io.writing import write_columns
from paribus.io.writing.options import WriteOptions

RESULTS = Path(__file__).parent / "kills.json"
N_ROWS = 3_000
NAMES = ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.xlsx", "t.sqlite", "t.duckdb", "model.paribus"]
OPTIONS = WriteOptions(table="results")
MAX_DELAY = 0.4  # seconds


def columns(generation: int) -> dict[str, Any]:
    """A table that says in each row which generation it is."""
    own = {name: np.full(N_ROWS, float(generation)) for name in ("score", "p_value", "rank")}
    return {"label": np.array(["anomaly"] * N_ROWS, dtype=object), **own}


def write_all(folder: Path, generation: int) -> None:
    """Writes all files once."""
    for name in NAMES[:-1]:
        write_columns(folder / name, columns(generation), OPTIONS)
    table = {"x": np.arange(40.0), "y": np.full(40, float(generation)) + np.arange(40) % 3}
    ConditionalSurprise(["x"], ["y"], n_trees=2, n_jobs=1).fit(table).save(folder / NAMES[-1])


def check_all(folder: Path) -> None:
    """Reads all files: each must be of one generation, and complete."""
    for name in NAMES[:-1]:
        path = folder / name
        if not path.exists() or name.endswith(".xlsx"):
            if path.exists():
                assert b"xl/workbook.xml" in path.read_bytes()[-5_000:], name
            continue
        database = {".sqlite": f"sqlite:///{path}", ".duckdb": f"duckdb:///{path}"}.get(path.suffix)
        found = read(database or str(path), sql="results" if database else None)
        generations = set(found.columns["score"].tolist())
        assert found.n_rows == N_ROWS, f"{name} has {found.n_rows} rows"
        assert len(generations) == 1, f"{name} mixes {generations}"
    if (folder / NAMES[-1]).exists():
        assert load(folder / NAMES[-1]).anomaly_scores_.shape == (40,)


def check_clean(folder: Path) -> None:
    """The next write must leave no file that nobody asked for; journals of databases belong to these."""
    with atomic_write(folder / "last.txt") as file:
        file.write(b"x")
    strange = [name for name in os.listdir(folder) if name not in (*NAMES, "last.txt") and not name.startswith("t.")]
    assert not strange, f"left behind: {strange}"


def _forked(work: Callable[[], None]) -> int:
    """Starts a process that does some work, and returns its number."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def _write_for_ever(folder: Path, start: int, full: bool) -> None:
    if full:
        # Writing stops at this size, as on a full disk.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
    generation = start
    while True:
        try:
            write_all(folder, generation)
        except (OSError, ValueError):
            if not full:
                raise
        generation += 1


def main() -> int:
    """Runs the loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"add the counts to {RESULTS.name}")
    given = parser.parse_args()
    chance, n_wrong = random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for loop in range(given.loops):
            full = loop % 3 == 2
            child = _forked(lambda loop=loop, full=full: _write_for_ever(folder, 1000 * loop, full))  # type: ignore[misc]
            time.sleep(chance.random() * MAX_DELAY)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for check in (check_all, check_clean):
                _, status = os.waitpid(_forked(lambda check=check: check(folder)), 0)  # type: ignore[misc]
                n_wrong += status != 0
    print(f"{given.loops} kills, {n_wrong} wrong")
    if given.write:
        known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"kills": 0, "wrong": 0}
        known = {"kills": known["kills"] + given.loops, "wrong": known["wrong"] + n_wrong}
        RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
