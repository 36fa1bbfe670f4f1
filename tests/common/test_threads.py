"""How many threads are used, and work on some of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import joblib
import pytest

from paribus._common import control_groups
from paribus._common.threads import available_cores, in_threads, resolve_n_jobs


def test_cores_are_counted_as_by_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that as many cores are used as by other programs, by the affinity of the process and what a user asks."""
    assert available_cores() == joblib.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))
    monkeypatch.setattr(control_groups, "OWN_GROUPS", Path("nowhere"))
    assert available_cores() == 12
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "5")
    assert available_cores() == joblib.cpu_count() == 5
    assert [resolve_n_jobs(n_jobs) for n_jobs in (None, -1, -2, -9, 3)] == [5, 5, 4, 1, 3]


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/job/step", {"job/cpu.max": "250000 100000", "job/step/cpu.max": "max 100000"}, 3),
        ("0::/", {"cpu.max": "max 100000"}, 12),
        ("0::/", {"cpu.max": "\n"}, 12),
        ("4:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "200000", "cpu/job/cpu.cfs_period_us": "100000"}, 2),
        ("4:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "-1", "cpu/job/cpu.cfs_period_us": "100000"}, 12),
        ("4:cpu,cpuacct:/job", {"cpu/job/cpu.cfs_quota_us": "200000"}, 12),
    ],
)
def test_the_quota_of_a_container_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, files: dict[str, str], expected: int
) -> None:
    """Tests that a container with a share of the cores gets as many threads, in both versions of Linux's interface."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "groups").write_text(own + "\n")
    monkeypatch.setattr(control_groups, "OWN_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(control_groups, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(12)))
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT", raising=False)
    assert available_cores() == expected


@pytest.mark.parametrize("n_threads", [1, 4, 100])
def test_results_are_in_the_order_of_the_items(n_threads: int) -> None:
    """Tests items of which the first takes longest."""

    def work(item: int) -> int:
        time.sleep(0.01 / (1 + item))
        return 10 * item

    assert in_threads(work, range(9), n_threads) == [10 * item for item in range(9)]


@pytest.mark.parametrize("error", [ValueError("no"), RuntimeError("no"), KeyboardInterrupt()])
def test_errors_of_the_work_end_it(error: BaseException) -> None:
    """Tests that what one item raises arrives, and that items whose turn has not come are left out."""
    done = []

    def work(item: int) -> None:
        if item == 0:
            raise error
        time.sleep(0.001)
        done.append(item)

    with pytest.raises(type(error)):
        in_threads(work, range(200), 2)
    assert len(done) < 150


def test_an_interruption_ends_the_work() -> None:
    """Tests Ctrl-C, which the calling thread gets while others work."""
    done = []

    def work(item: int) -> None:
        if item == 0:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.001)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(200), 2)
    assert len(done) < 150


@pytest.mark.parametrize("n_started", [0, 1])
def test_without_threads_the_calling_one_does_the_work(monkeypatch: pytest.MonkeyPatch, n_started: int) -> None:
    """Tests a system that has no more threads, or a single one."""
    start = threading.Thread.start
    started: list[threading.Thread] = []

    def start_some(thread: threading.Thread) -> None:
        if len(started) == n_started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    def work(item: int) -> int:
        time.sleep(0.001)
        return 10 * item

    monkeypatch.setattr(threading.Thread, "start", start_some)
    assert in_threads(work, range(9), 4) == [10 * item for item in range(9)]
    assert len(started) == n_started
