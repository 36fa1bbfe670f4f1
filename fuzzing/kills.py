"""Kills processes that write files, at random moments, hundreds of times: python -m fuzzing.kills --loops 300.

After each kill, every file must be a complete one, old or new, and the next write must remove what the killed process
has left. The disk is full every third time (a limit of the size of files), which must leave the old files, too. A watch
that is killed and started again until its source ends must have written the verdict of each row once.
`--write` adds the counts to results.json.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fuzzing.record import FAULTS, add_counts
from paribus import ConditionalSurprise, Monitor, load
from paribus._common.atomic_files import atomic_write
from paribus.cli import watch
from paribus.explain.known import KnownEntry, read_known
from paribus.explore.answers import AnswerBook
from paribus.io.reading import read
from paribus.io.writing import write_columns
from paribus.io.writing.options import WriteOptions
from paribus.stream import watching

N_ROWS = 3_000
TABLES = ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.xlsx", "t.sqlite", "t.duckdb"]
MODEL, STATE, REPORT, ANSWERS = "model.paribus", "watch.state", "report.html", "known.csv"
NAMES = [*TABLES, MODEL, STATE, REPORT, ANSWERS]
OPTIONS = WriteOptions(table="results")
# How much of its own processor time a process has before it is killed, in seconds, and how often that is looked at.
MAX_DELAY, MAX_WATCH_DELAY = 0.4, 0.8
GLANCE = 0.002
N_WATCHED = 3_000


def columns(generation: int) -> dict[str, Any]:
    """A table that says in each row which generation it is."""
    own = {name: np.full(N_ROWS, float(generation)) for name in ("score", "p_value", "rank")}
    return {"label": np.array(["anomaly"] * N_ROWS, dtype=object), **own}


def writers(folder: Path, generation: int) -> dict[str, Callable[[], object]]:
    """Functions that write one kind of file each, by the name of the file."""
    table = {"x": np.arange(40.0), "y": np.full(40, float(generation)) + np.arange(40) % 3}
    detector = ConditionalSurprise(["x"], ["y"], n_trees=2, n_jobs=1).fit(table)
    return {
        **{name: partial(write_columns, folder / name, columns(generation), OPTIONS) for name in TABLES},
        MODEL: partial(detector.save, folder / MODEL),
        REPORT: partial(detector.report, folder / REPORT, n_rows=2),
        STATE: partial(Monitor(detector).save, folder / STATE),
        ANSWERS: partial(_answer, folder / ANSWERS, generation),
    }


def write_all(folder: Path, generation: int) -> None:
    """Writes all files once."""
    work = list(writers(folder, generation).values())
    # Not always the same one is the first to be killed.
    random.Random(generation).shuffle(work)
    for write in work:
        write()


def _answer(path: Path, generation: int) -> None:
    """An answer of the explorer, beside those of before."""
    AnswerBook(path).add(KnownEntry(str(generation), None, "confirmed", "x" * 50))


def check_all(folder: Path) -> None:
    """Reads all files: each must be of one generation, and complete."""
    for name in TABLES:
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
    if (folder / MODEL).exists():
        assert load(folder / MODEL).anomaly_scores_.shape == (40,)
    if (folder / STATE).exists():
        assert Monitor.load(folder / STATE).n_rows_ == 0
    if (folder / REPORT).exists():
        assert (folder / REPORT).read_text(encoding="utf-8").rstrip().endswith("</html>")
    if (folder / ANSWERS).exists():
        assert all(entry.note == "x" * 50 for entry in read_known(folder / ANSWERS))


def check_clean(folder: Path) -> None:
    """The next write must leave no file that nobody asked for; journals of databases belong to these."""
    with atomic_write(folder / "last.txt") as file:
        file.write(b"x")
    strange = [name for name in os.listdir(folder) if name not in (*NAMES, "last.txt") and not name.startswith("t.")]
    assert not strange, f"left behind: {strange}"


def forked(work: Callable[[], None]) -> int:
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


def _kill_after(child: int, delay: float) -> None:
    """Kills a process after some of its processor time, so that it gets as far on a busy machine as on an idle one."""
    clock = ~child << 3 | 2  # what clock_getcpuclockid() returns on Linux
    has_ended = partial(os.waitid, os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    while time.clock_gettime(clock) < delay and has_ended() is None:
        time.sleep(GLANCE)
    # One that has ended waits to be asked how.
    os.kill(child, signal.SIGKILL)


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


def kill_writers(n_loops: int, chance: random.Random) -> int:
    """Kills a process that writes all files again and again. Returns how often something was wrong."""
    n_wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for loop in range(n_loops):
            full = loop % 3 == 2
            child = forked(partial(_write_for_ever, folder, 1000 * loop, full))
            _kill_after(child, chance.random() * MAX_DELAY)
            os.waitpid(child, 0)
            for check in (check_all, check_clean):
                _, status = os.waitpid(forked(partial(check, folder)), 0)
                n_wrong += status != 0
    return n_wrong


def kill_watches(n_loops: int, chance: random.Random) -> tuple[int, int]:
    """Kills a watch, and starts it again until its source ends. Returns how often, and how often verdicts differed."""
    draws = np.random.default_rng(0)
    rows = [{"id": row, "x": float(row % 7), "y": draws.normal() + row % 7} for row in range(N_WATCHED)]
    table = {name: [row[name] for row in rows[:200]] for name in ("x", "y")}
    n_kills = n_wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        source, model = folder / "rows.jsonl", folder / MODEL
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        ConditionalSurprise(["x"], ["y"], n_trees=2, n_jobs=1).fit(table).save(model)
        assert _watched(source, model, folder / "expected.jsonl", None) == 0
        expected = (folder / "expected.jsonl").read_bytes()
        while n_kills < n_loops:
            out, state = folder / f"{n_kills}.jsonl", folder / f"{n_kills}.state"
            while _watched(source, model, out, state, chance.random() * MAX_WATCH_DELAY) != 0:
                n_kills += 1
            n_wrong += out.read_bytes() != expected
            n_wrong += any(name.startswith(".") for name in os.listdir(folder))
    return n_kills, n_wrong


def _watched(source: Path, model: Path, out: Path, state: Path | None, delay: float | None = None) -> int:
    """Runs `paribus watch` to the end of its source, or until it is killed. Returns how it ended."""
    child = forked(partial(_watch, source, model, out, state))
    if delay is not None:
        _kill_after(child, delay)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), f"the watch ended with {status}"
    return status


def _watch(source: Path, model: Path, out: Path, state: Path | None) -> None:
    watching.BATCH_SIZE = watching.CHECKPOINT_ROWS = 100
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    watch.run(model, watching.Wanted(str(source), key="id", out=out, state=state, as_json=True), {"window": 256})


def main() -> int:
    """Runs the loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="add the counts to results.json")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    n_wrong = kill_writers(given.loops, chance)
    n_watches, n_other = kill_watches(given.loops // 3, chance)
    print(f"{given.loops:,} writers and {n_watches:,} watches were killed; {n_wrong + n_other:,} times it did harm")
    if given.write:
        add_counts(FAULTS, "a process that writes files is killed", {"times": given.loops, "wrong": n_wrong})
        add_counts(FAULTS, "a watch is killed", {"times": n_watches, "wrong": n_other})
    return 1 if n_wrong + n_other else 0


if __name__ == "__main__":
    sys.exit(main())
