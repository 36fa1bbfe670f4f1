"""Clocks that jump, backwards and forwards, by hours and by years: nothing stops, and the same is written."""

from __future__ import annotations

import io
import json
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paribus import Monitor
from paribus._common.atomic_files import atomic_write
from paribus._common.progress import reporter
from paribus._common.scratch import Scratch
from paribus.stream import queries, watching
from paribus.stream.watching import Wanted, Watch
from tests.stream.streams import fitted, make_rows, one
from tests.support.running import COMMAND

DAY = 86_400.0
FAKED = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


class JumpingClock:
    """A clock that is anywhere within ten years whenever it is asked, and counts how long it was told to sleep."""

    def __init__(self) -> None:
        self._random = random.Random(0)
        self.slept = 0.0

    def monotonic(self) -> float:
        return self._random.uniform(-3650 * DAY, 3650 * DAY)

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def rows_as_json() -> list[str]:
    rows = make_rows(20, 60)
    rows["x"][30] = 50.0
    return [json.dumps({"id": place, **one(rows, place)}) for place in range(60)]


def watch(wanted: Wanted) -> Watch:
    found = Watch(Monitor(fitted(), window=256, fdr_period=50), wanted, lambda _: None)
    found.run()
    return found


def test_a_watch_writes_the_same_by_any_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that verdicts do not depend on the clock, and that checkpoints are written although it goes back."""
    source = tmp_path / "rows.jsonl"
    source.write_text("\n".join(rows_as_json()) + "\n")
    watch(Wanted(str(source), out=tmp_path / "steady", as_json=True))
    clock = JumpingClock()
    monkeypatch.setattr(watching, "time", clock)
    monkeypatch.setattr(watching, "BATCH_SIZE", 5)
    n_saved = 0
    save = Watch.save

    def count(self: Watch) -> None:
        nonlocal n_saved
        n_saved += 1
        save(self)

    monkeypatch.setattr(Watch, "save", count)
    watch(Wanted(str(source), out=tmp_path / "jumping", state=tmp_path / "state", as_json=True))
    assert (tmp_path / "jumping").read_bytes() == (tmp_path / "steady").read_bytes()
    assert n_saved > 5


def test_a_checkpoint_is_due_when_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a clock that is set back by a day does not put off the next checkpoint by a day."""
    clock = JumpingClock()
    monkeypatch.setattr(watching, "time", clock)
    monkeypatch.setattr(clock, "monotonic", lambda: 10 * DAY)
    found = Watch(Monitor(fitted(), window=256), Wanted("-"), print)
    assert found._is_recent()
    for now in (9 * DAY, 11 * DAY, 10 * DAY - 1):
        monkeypatch.setattr(clock, "monotonic", lambda now=now: now)
        assert not found._is_recent()


@pytest.mark.parametrize(("every", "slept"), [(1.0, 1.0), (0.05, 0.05), (0.5, 0.6)])
def test_a_query_is_repeated_by_any_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float, slept: float
) -> None:
    """Tests that a clock that jumps neither stops the polling nor makes it faster."""
    clock = JumpingClock()
    monkeypatch.setattr(queries, "time", clock)
    with sqlite3.connect(tmp_path / "r.db") as database:
        database.execute("create table r (id integer)")
        database.execute("insert into r values (1)")
    n_asked = 0

    def is_stopped() -> bool:
        return n_asked > 4

    query = queries.PolledQuery(
        f"sqlite:///{tmp_path / 'r.db'}", "select * from r where id > :last", "id", 0, every, False, is_stopped
    )
    for _ in query.batches():
        n_asked += 1
    # The first answer has a row, and the next question follows at once; the last is not followed by a pause.
    assert clock.slept == pytest.approx(3 * slept)


@pytest.mark.parametrize(
    "time",
    [1e300, float("inf"), 10**400, -1e300, "9999-12-31T23:59:59-14:00", np.datetime64("NaT")],
    ids=["far", "infinite", "huge", "past", "zone", "missing"],
)
def test_a_clock_that_is_far_off_says_nothing(tmp_path: Path, time: Any) -> None:
    """Tests that a time that no calendar has is none: the row is judged, and the checkpoint can be read."""
    rows = make_rows(1, 20)
    rows["x"][10] = 50.0
    monitor = Monitor(fitted(), window=256, time="at")
    verdicts = monitor.update_many({**rows, "at": [time] * 20})
    assert verdicts[10].alarms[0].sentence.startswith("Row 10 is odd")
    monitor.save(tmp_path / "state")
    assert Monitor.load(tmp_path / "state").n_rows_ == 20


def test_a_line_whose_time_is_none_is_invalid(tmp_path: Path) -> None:
    """Tests that a list in place of a time is reported, and does not end the watch."""
    source = tmp_path / "rows.jsonl"
    rows = [{**json.loads(line), "at": 1.0} for line in rows_as_json()]
    rows[3]["at"] = [1]
    source.write_text("\n".join(json.dumps(row) for row in rows))
    notes: list[str] = []
    found = Watch(Monitor(fitted(), window=256, time="at"), Wanted(str(source), out=tmp_path / "out"), notes.append)
    found.run()
    assert found.counts.n_broken == 1
    assert notes == ["a line cannot be used: column 'at' holds no time"]


@pytest.mark.parametrize("moment", [0.0, 4e9, 1e11])
def test_drafts_are_stray_or_not_by_any_clock(tmp_path: Path, moment: float) -> None:
    """Tests that what a killed process left is removed and a living one's draft is not, whatever their dates."""
    stray = tmp_path / ".paribus-0123456789abcdef.part"
    stray.mkdir()
    (stray / "lock").touch()
    (stray / "o.csv").write_bytes(b"half")
    alive = Scratch(tmp_path, hidden=True)
    try:
        alive.create()
        # The stray one is gone by now.
        assert not stray.exists()
        for path in (alive.folder, alive.folder / "lock"):
            os.utime(path, (moment, moment))
        stray.mkdir()
        (stray / "lock").touch()
        for path in (stray / "lock", stray):
            os.utime(path, (moment, moment))
        with atomic_write(tmp_path / "o.csv") as file:
            file.write(b"new")
        assert sorted(os.listdir(tmp_path)) == sorted([alive.folder.name, "o.csv"])
    finally:
        alive.remove()


def test_a_progress_bar_survives_a_clock_that_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the remaining time is nonsense at worst."""
    monkeypatch.setattr("rich.console.monotonic", JumpingClock().monotonic)
    shown = io.StringIO()
    shown.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", shown)
    with reporter(True, 100, "working") as tick:
        assert tick is not None
        for n_done in range(0, 101, 20):
            tick(n_done)
    assert "100/100" in shown.getvalue()


@pytest.mark.skipif(FAKED is None, reason="needs libfaketime")
def test_a_running_watch_does_not_notice_that_the_clock_is_set(tmp_path: Path) -> None:
    """Tests a process whose clock is set by days and by decades while it runs."""
    fitted().save(tmp_path / "m.paribus")
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    environment = {
        **os.environ,
        "LD_PRELOAD": str(FAKED),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    command = [COMMAND, "watch", str(tmp_path / "m.paribus"), "-", "--json", "--state", str(tmp_path / "state")]
    numbers = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line, offset in zip(rows_as_json(), ["+0", "+3d", "-30d", "+30y", "-20000d", "+1h"], strict=False):
            clock.write_text(f"{offset}\n")
            process.stdin.write(line + "\n")
            process.stdin.flush()
            numbers.append(json.loads(process.stdout.readline())["number"])
        process.stdin.close()
        assert process.wait(60) == 0
    assert numbers == list(range(6))
    assert Monitor.load(tmp_path / "state").n_rows_ == 6
