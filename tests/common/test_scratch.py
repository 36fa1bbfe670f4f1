"""Folders of killed processes are removed by the next one, and those of living processes are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from paribus._common.atomic_files import atomic_write, check_writable
from paribus._common.scratch import LOCK, Scratch, scratch_folder

SCRIPT = """
import os, signal, sys
from paribus._common.atomic_files import atomic_write
from paribus._common.scratch import scratch_folder
with scratch_folder() as folder, atomic_write(sys.argv[1]) as file:
    (folder / "x").write_bytes(b"x"); file.write(b"half"); file.flush()
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that nothing is left of a killed process after the next write, and all of a living one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "out.txt")]
    (tmp_path / "out.txt").write_bytes(b"old")
    assert subprocess.run([*command, "die"], env=environment, check=False).returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 3
    with subprocess.Popen([*command, "live"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alive:
        assert alive.stdout is not None
        assert alive.stdout.readline() == b"ready\n"
        check_writable(tmp_path / "out.txt")
        with scratch_folder():
            pass
        assert len(os.listdir(tmp_path)) == 3
        alive.communicate(b"")
    assert alive.returncode == 0
    assert os.listdir(tmp_path) == ["out.txt"]
    assert (tmp_path / "out.txt").read_bytes() == b"half"


def test_only_own_folders_are_removed(tmp_path: Path) -> None:
    """Tests that files, links and folders of other programs stay, also if they are named alike."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept").write_bytes(b"x")
    (tmp_path / ".paribus-link.part").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".paribus-file.part").write_bytes(b"x")
    (tmp_path / ".paribus-dead.part").mkdir()
    (tmp_path / ".paribus-dead.part" / "draft").write_bytes(b"x")
    (tmp_path / ".paribus-dead.part" / LOCK).write_bytes(b"")
    (tmp_path / ".paribus-younger.part").mkdir()
    (tmp_path / "paribus-notes").mkdir()
    with atomic_write(tmp_path / "out.txt") as file:
        file.write(b"new")
    assert sorted(os.listdir(tmp_path)) == [
        ".paribus-file.part", ".paribus-link.part", "elsewhere", "out.txt", "paribus-notes"
    ]  # fmt: skip
    assert (tmp_path / "elsewhere" / "kept").exists()


def test_writers_at_the_same_time_do_not_remove_each_other(tmp_path: Path) -> None:
    """Tests that a folder that is not locked yet may be removed by another process without harm."""
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for _ in range(40):
                with atomic_write(tmp_path / name) as file:
                    file.write(name.encode())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[f"{place}.txt"]) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(os.listdir(tmp_path)) == ["0.txt", "1.txt", "2.txt", "3.txt"]


def test_a_folder_that_was_taken_for_a_stray_one_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the moment between the creation of a folder and its lock."""
    mkdir, made = os.mkdir, []

    def make_and_lose(path: Path, mode: int = 0o777) -> None:
        mkdir(path, mode)
        made.append(path)
        if len(made) == 1:
            os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", make_and_lose)
    found = Scratch(tmp_path)
    assert found.create() == made[1]
    found.remove()
    assert os.listdir(tmp_path) == []


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path) -> None:
    """Tests that drafts of the future and of long ago are judged by their locks, and files are replaced."""
    (tmp_path / "out.txt").write_bytes(b"old")
    os.utime(tmp_path / "out.txt", (2**33, 2**33))
    with atomic_write(tmp_path / "out.txt") as file:
        draft = next(tmp_path.glob(".paribus-*"))
        os.utime(draft, (0, 0))
        check_writable(tmp_path / "other.txt")
        assert draft.exists()
        file.write(b"new")
    assert (tmp_path / "out.txt").read_bytes() == b"new"
