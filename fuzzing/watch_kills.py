"""Kills `paribus watch` at random moments while rows arrive: python -m fuzzing.watch_kills --kills 40.

There are three kinds of sources: a pipe whose sender repeats everything after each kill, with a key; a file that grows,
by parts of lines; and a table of a database that is polled. A watch is killed and started again until all rows have a
verdict. Its output must then be that of a watch that was never killed, to the byte: no verdict is lost or doubled.
`--write` stores the counts, and writes them into docs/results/streams.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess as Process
from pathlib import Path
from typing import Any

import numpy as np
from paper.markdown import header, rewrite_part, row

from paribus import ConditionalSurprise
from paribus.cli import watch
from paribus.stream import watching

RESULTS = Path(__file__).parent / "watch_kills.json"
PAGE = Path(__file__).parents[1] / "docs" / "results" / "streams.md"
N_ROWS = 2_500
# The processor time after which a watch is killed, in seconds; a start takes about a tenth of a second.
MIN_DELAY, MAX_DELAY = 0.02, 0.5
GLANCE = 0.005
MAX_SECONDS = 300
FORKED = multiprocessing.get_context("fork")
SQL = "select * from readings where id > :last order by id limit 200"


def make_rows() -> list[dict[str, Any]]:
    """Rows with a key, a context and a behavior."""
    draws = np.random.default_rng(0)
    return [{"id": number, "x": float(number % 7), "y": draws.normal() + number % 7} for number in range(N_ROWS)]


@contextmanager
def beside(work: Callable[[], None]) -> Iterator[Process]:
    """Does something in another process meanwhile. A thread would not do: a fork may copy what it has locked."""
    process = FORKED.Process(target=work)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def append_lines(path: Path, lines: bytes) -> None:
    """Appends to a file, now and then, without regard to where lines end."""
    with open(path, "ab", buffering=0) as file:
        for begin in range(0, len(lines), 1_777):
            file.write(lines[begin : begin + 1_777])
            time.sleep(GLANCE)


def insert_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Inserts rows into a table, some at a time."""
    database = sqlite3.connect(path, timeout=60)
    with database:
        database.execute("create table if not exists readings (id integer primary key, x real, y real)")
    for begin in range(0, len(rows), 60):
        with database:
            database.executemany("insert into readings values (:id, :x, :y)", rows[begin : begin + 60])
        time.sleep(GLANCE)
    database.close()


def nothing() -> None:
    """A pipe has a sender of its own for each watch."""


def write_pipe(descriptor: int, lines: bytes) -> None:
    """Sends everything to a reader that may be killed."""
    with suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as pipe:
        for begin in range(0, len(lines), 4_096):
            pipe.write(lines[begin : begin + 4_096])


def run_watch(wanted: watching.Wanted, model: Path, pipe: tuple[int, int] | None = None) -> None:
    """Runs a watch with checkpoints after few rows."""
    watching.BATCH_SIZE = watching.CHECKPOINT_ROWS = 100
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if pipe is not None:
        os.dup2(pipe[0], 0)
        os.close(pipe[1])
    watch.run(model, wanted, {"window": 256})


def run_for(process: Process, delay: float, out: Path) -> bool:
    """Waits until a watch has had some processor time, or has done everything. Returns whether it has."""
    assert process.pid is not None
    clock = ~process.pid << 3 | 2  # what clock_getcpuclockid() returns on Linux
    until = time.monotonic() + MAX_SECONDS
    while process.is_alive():
        assert time.monotonic() < until, "the watch does not go on"
        if out.exists() and out.read_bytes().count(b"\n") >= N_ROWS:
            return True
        with suppress(OSError):
            if time.clock_gettime(clock) >= delay:
                return False
        time.sleep(GLANCE)
    return True


def watch_with_kills(kind: str, folder: Path, model: Path, lines: bytes, chance: random.Random) -> tuple[int, bytes]:
    """Watches a source of a kind from its beginning to its end. Returns how often it was killed, and the verdicts."""
    out, state, grows, table = (folder / f"{kind} {name}" for name in ("out", "state", "rows", "table"))
    grows.touch()
    rows = [json.loads(line) for line in lines.splitlines()]
    wanted = {
        "pipe": watching.Wanted("-", key="id"),
        "file": watching.Wanted(str(grows), follow=True, key="id"),
        "database": watching.Wanted(f"sqlite:///{table}", SQL, "id", every=0.02, follow=True),
    }[kind]
    wanted.out, wanted.state, wanted.as_json = out, state, True
    send = {"file": partial(append_lines, grows, lines), "database": partial(insert_rows, table, rows)}
    if kind == "database":
        insert_rows(table, [])
    n_kills = 0
    with beside(send.get(kind, nothing)):
        while not watch_for(chance.uniform(MIN_DELAY, MAX_DELAY), wanted, model, lines if kind == "pipe" else None):
            n_kills += 1
    return n_kills, out.read_bytes()


def watch_for(delay: float, wanted: watching.Wanted, model: Path, sent: bytes | None) -> bool:
    """Watches until everything is done, or until the watch is killed. Returns whether everything is done."""
    pipe = None if sent is None else os.pipe()
    with ExitStack() as stack:
        process = stack.enter_context(beside(partial(run_watch, wanted, model, pipe)))
        if pipe is not None and sent is not None:
            os.close(pipe[0])
            stack.enter_context(beside(partial(write_pipe, pipe[1], sent)))
            os.close(pipe[1])
        assert wanted.out is not None
        assert process.pid is not None
        is_done = run_for(process, delay, wanted.out)
        # One whose pipe has ended may have ended, too.
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM if is_done else signal.SIGKILL)
        process.join(MAX_SECONDS)
        assert process.exitcode == (0 if is_done else -signal.SIGKILL), f"the watch ended with {process.exitcode}"
    return is_done


def kill_watches(n_kills: int, seed: int) -> dict[str, dict[str, int]]:
    """By kind of source: how many watches were killed, and how many whole outputs were wrong."""
    rows, chance = make_rows(), random.Random(seed)
    lines = "".join(json.dumps(each) + "\n" for each in rows).encode()
    table = {name: [each[name] for each in rows[:200]] for name in ("x", "y")}
    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model, source = folder / "model.paribus", folder / "rows.jsonl"
        source.write_bytes(lines)
        ConditionalSurprise(["x"], ["y"], n_trees=2, n_jobs=1).fit(table).save(model)
        wanted = watching.Wanted(str(source), key="id", out=folder / "expected", as_json=True)
        with beside(partial(run_watch, wanted, model)) as process:
            process.join(MAX_SECONDS)
        expected = (folder / "expected").read_bytes()
        assert expected.count(b"\n") == N_ROWS
        for kind in ("pipe", "file", "database"):
            counts = {"kills": 0, "streams": 0, "wrong": 0}
            while counts["kills"] < n_kills:
                own = folder / f"{kind} {counts['streams']}"
                own.mkdir()
                killed, out = watch_with_kills(kind, own, model, lines, chance)
                counts = {
                    "kills": counts["kills"] + killed,
                    "streams": counts["streams"] + 1,
                    "wrong": counts["wrong"] + (out != expected),
                }
            print(kind, counts, flush=True)
            found[kind] = counts
    return found


def page_part(found: dict[str, dict[str, int]]) -> list[str]:
    """The counts, for the page."""
    lines = header(["source of a watch", "streams", "kills", "streams with a verdict lost, doubled or changed"])
    return lines + [row([kind, *(f"{each[name]:,}" for name in ("streams", "kills", "wrong"))])
                    for kind, each in found.items()]  # fmt: skip


def main() -> int:
    """Runs the loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40, help="of each kind of source, at least")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="store the counts")
    given = parser.parse_args()
    found = kill_watches(given.kills, given.seed)
    if given.write:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        rewrite_part(PAGE, "watch_kills", page_part(found))
    return 1 if any(each["wrong"] for each in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
