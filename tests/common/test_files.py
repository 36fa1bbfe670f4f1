"""Atomic writes: completely, or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from paribus._common import atomic_files as files
from paribus._common.atomic_files import atomic_write, check_writable


def test_the_file_is_replaced_when_it_is_complete(tmp_path: Path) -> None:
    """Tests that the old content is there until the end of the block, then the new one, and no other file."""
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    """Tests that a new file has the permissions of any other new file."""
    with atomic_write(tmp_path / "ours") as file:
        file.write(b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "cannot write .*no space left on device"),
        (RuntimeError("halfway"), "halfway"),
        (KeyboardInterrupt("stop"), "stop"),
    ],
)
def test_a_failure_leaves_the_old_file(tmp_path: Path, error: BaseException, message: str) -> None:
    """Tests that an error during the write leaves the old file unchanged, and no other file."""
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")

    def write() -> None:
        with atomic_write(path) as file:
            file.write(b"half of the new")
            raise error

    with pytest.raises(type(error), match=message):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("write", [False, True])
def test_a_signal_leaves_no_draft_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, write: bool
) -> None:
    """Tests that a signal while a draft exists leaves no file behind, and is handled."""
    create, created = files._create, []
    others = set(threading.enumerate())

    def create_and_interrupt(draft: Path) -> int:
        handle = create(draft)
        created.append(draft)
        os.kill(os.getpid(), number)
        return handle

    def work() -> None:
        if not write:
            check_writable(tmp_path / "out.txt")
        else:
            with atomic_write(tmp_path / "out.txt"):
                pass

    monkeypatch.setattr(files, "_create", create_and_interrupt)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(number, before)
    assert len(created) == 1
    # Cleanup that is still running is done when its thread ends.
    for thread in threading.enumerate():
        if thread not in others and thread.name.startswith("ThreadPoolExecutor"):
            thread.join()
    assert os.listdir(tmp_path) == []


def test_a_killed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """Tests that a process that is killed during the write leaves the old file unchanged."""
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")
    script = (
        "import os, signal, sys\n"
        "from paribus._common.atomic_files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Tests that writing to a symbolic link replaces the file that it points to."""
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "out.txt")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "out.txt").read_bytes() == b"new"


def test_a_device_is_not_replaced() -> None:
    """Tests that writing to a device does not replace it by a file."""
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that only Linux has")
def test_a_full_device_is_named() -> None:
    """Tests that the message about a full device has its name."""
    with (
        pytest.raises(OSError, match=r"^cannot write '/dev/full': no space left on device$"),
        atomic_write("/dev/full") as file,
    ):
        file.write(b"x" * 100_000)


def test_the_content_is_flushed_before_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the complete draft is flushed to disk before it replaces the file."""
    steps: list[tuple[str, int]] = []
    replace = os.replace

    def remember(handle: int) -> None:
        steps.append(("flush", os.fstat(handle).st_size))

    def move(draft: Path, target: Path) -> None:
        steps.append(("replace", draft.stat().st_size))
        replace(draft, target)

    monkeypatch.setattr(os, "fsync", remember)
    monkeypatch.setattr(os, "replace", move)
    with atomic_write(tmp_path / "out.txt") as file:
        file.write(b"12345")
    assert steps == [("flush", 5), ("replace", 5)]


def test_unwritable_paths_give_one_sentence(tmp_path: Path) -> None:
    """Tests a missing folder, a folder, a file in place of a folder, and invalid names."""
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere'"):
        check_writable(tmp_path / "nowhere" / "out.txt")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        check_writable(tmp_path)
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / "file" / "out.txt")
    with pytest.raises(OSError, match="file name too long"):
        check_writable(tmp_path / ("x" * 300))
    with pytest.raises(ValueError, match="null character"):
        check_writable("a\0b")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root can write everything")
def test_missing_permissions_give_one_sentence(tmp_path: Path) -> None:
    """Tests a read-only file and a read-only folder."""
    path = tmp_path / "out.txt"
    path.write_bytes(b"x")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="the file exists and is read-only"):
        check_writable(path)
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError, match="permission denied"):
        check_writable(tmp_path / "other")
